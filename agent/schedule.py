"""Run each probe at its period, by APScheduler, with guards for a node's life.

One executor a probe: a hung one delays no other. The next time is counted from
now, never from the last: a clock that jumps by years yields one run, not a
million. No run is skipped for being late.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from apscheduler.events import EVENT_JOB_MAX_INSTANCES, JobSubmissionEvent
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.base import BaseTrigger

from agent.newest import Newest, Task

STEP: Final = 2.0
"""Seconds by which the wall clock must leave the monotonic one to count as set by hand."""


class Every(BaseTrigger):  # type: ignore[misc]  # apscheduler 3 has no types
    """A trigger that fires a period after now."""

    def __init__(self, seconds: float) -> None:
        self._period = timedelta(seconds=seconds)

    def get_next_fire_time(self, previous: datetime | None, now: datetime) -> datetime:
        """Return when to fire next; the time of the last run does not count."""
        del previous
        return now + self._period


class Schedule:
    """The probes' timetable."""

    def __init__(
        self, newest: Newest, tasks: tuple[Task, ...], skipped: Callable[[str], None]
    ) -> None:
        self._scheduler = BackgroundScheduler(
            timezone=UTC,
            executors={task.probe.value: ThreadPoolExecutor(1) for task in tasks},
            job_defaults={"coalesce": True, "misfire_grace_time": None, "max_instances": 1},
        )
        self._offset = time.time() - time.monotonic()
        for task in tasks:
            self._scheduler.add_job(
                newest.ask,
                Every(task.period),
                args=(task.probe,),
                id=task.probe.value,
                executor=task.probe.value,
                next_run_time=datetime.now(UTC),
            )

        def tell(event: JobSubmissionEvent) -> None:
            skipped(event.job_id)

        self._scheduler.add_listener(tell, EVENT_JOB_MAX_INSTANCES)

    def start(self) -> None:
        """Start; every probe runs at once."""
        self._scheduler.start()

    def mind_the_clock(self) -> bool:
        """Run every probe now if the wall clock was set; else a step back would silence them."""
        offset = time.time() - time.monotonic()
        if abs(offset - self._offset) < STEP:
            return False
        self._offset = offset
        for job in self._scheduler.get_jobs():
            job.modify(next_run_time=datetime.now(UTC))
        return True

    def stop(self) -> None:
        """Start no more runs; a hung one is not waited for."""
        self._scheduler.shutdown(wait=False)
