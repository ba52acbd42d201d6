"""The real scheduler: no probe waits for another, and no clock silences them."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from threading import Event
from types import SimpleNamespace

import pytest

from agent import schedule
from agent.newest import Newest, Task
from agent.schedule import STEP, Every, Schedule
from labeler.facts import Cpu, Known, Memory, Probe

SOON = 0.02
DAY = 86400.0


class Looks:
    """Count the looks of one probe and let a test wait for the next."""

    def __init__(self, fact: Known) -> None:
        self.count = 0
        self._fact = fact
        self._event = Event()

    def __call__(self) -> Known:
        self.count += 1
        self._event.set()
        return self._fact

    def reach(self, count: int) -> bool:
        end = time.monotonic() + 5
        while self.count < count and time.monotonic() < end:
            self._event.wait(0.05)
            self._event.clear()
        return self.count >= count


@pytest.fixture
def looks() -> Looks:
    return Looks(Memory(1 << 30))


@pytest.fixture
def start() -> Iterator[Callable[..., Schedule]]:
    """Return what starts a schedule; each is stopped when the test ends."""
    running = []

    def begin(*tasks: Task, skipped: Callable[[str], None] = lambda _probe: None) -> Schedule:
        running.append(Schedule(Newest(tasks), tasks, skipped))
        running[-1].start()
        return running[-1]

    yield begin
    for one in running:
        one.stop()


def task(look: Callable[[], Known], period: float, probe: Probe = Probe.MEMORY) -> Task:
    return Task(probe=probe, look=look, period=period, deadline=1)


@pytest.fixture
def jump(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Return what sets the wall clock; the monotonic one runs on."""

    def set_by(seconds: float) -> None:
        clocks = SimpleNamespace(time=lambda: time.time() + seconds, monotonic=time.monotonic)
        monkeypatch.setattr(schedule, "time", clocks)

    return set_by


def test_every_probe_looks_at_once_and_then_at_its_period(
    start: Callable[..., Schedule], looks: Looks
) -> None:
    start(task(looks, SOON))

    assert looks.reach(3)


def test_a_probe_that_hangs_delays_no_other_and_is_not_started_again(
    start: Callable[..., Schedule], looks: Looks
) -> None:
    free = Event()
    skipped: list[str] = []
    hung = Looks(Cpu("intel-xeon", 1))

    def hang() -> Known:
        fact = hung()
        free.wait(8)
        return fact

    start(task(hang, SOON, Probe.CPU), task(looks, SOON), skipped=skipped.append)

    try:
        assert looks.reach(5)
        assert hung.count == 1
        assert set(skipped) == {"cpu"}
    finally:
        free.set()


@pytest.mark.parametrize("seconds", [-3600, -STEP - 0.5, STEP + 0.5, 50 * 365 * DAY])
def test_a_clock_that_was_set_has_every_probe_look_now(
    start: Callable[..., Schedule],
    looks: Looks,
    jump: Callable[[float], None],
    seconds: float,
) -> None:
    running = start(task(looks, DAY))
    assert looks.reach(1)

    jump(seconds)

    assert running.mind_the_clock()
    assert looks.reach(2)
    assert not running.mind_the_clock(), "once is enough"


@pytest.mark.parametrize("seconds", [0, 0.5 - STEP, STEP - 0.5])
def test_a_clock_that_is_slewed_is_left_alone(
    start: Callable[..., Schedule],
    looks: Looks,
    jump: Callable[[float], None],
    seconds: float,
) -> None:
    running = start(task(looks, DAY))
    assert looks.reach(1)

    jump(seconds)

    assert not running.mind_the_clock()
    assert looks.count == 1


@pytest.mark.parametrize("years", [-50, 0, 50])
def test_the_next_look_is_a_period_from_now_however_long_the_last_is_ago(years: int) -> None:
    now = datetime(2026, 7, 1, tzinfo=UTC)
    last = now - timedelta(days=365 * years)

    assert Every(60).get_next_fire_time(last, now) == now + timedelta(minutes=1)


def test_a_stopped_schedule_does_not_wait_for_a_probe_that_hangs() -> None:
    free, begun = Event(), Event()

    def hang() -> Known:
        begun.set()
        free.wait(8)
        return Memory(1)

    tasks = (task(hang, DAY),)
    running = Schedule(Newest(tasks), tasks, lambda _probe: None)
    running.start()
    assert begun.wait(5)
    began = time.monotonic()

    running.stop()

    assert time.monotonic() - began < 1
    free.set()
