"""Wire the parts together and run the agent.

The one module that knows every part. Returns exit codes; prints nothing that
was not asked for.
"""

import logging
import signal
import threading
from importlib.metadata import version
from threading import Event
from typing import Final

from agent.aside import Aside
from agent.log import Log
from agent.loop import Identity, Loop
from agent.machine import boot_id, tasks
from agent.metrics import Metrics
from agent.newest import Newest
from agent.outcome import Outcome, Wish
from agent.place import Place, open_node
from agent.schedule import Schedule
from agent.serve import Health, Server
from agent.settings import Settings
from labeler.reconcile import Round

OK: Final = 0
FAILED: Final = 1
PATIENCE: Final = 60.0
"""Seconds that ``--once`` waits for a confirmed round."""
TICK: Final = 2.0
"""Seconds between two looks at the wall clock."""

_log = logging.getLogger(__name__)


class Agent:
    """The whole agent, ready to run."""

    def __init__(self, settings: Settings, place: Place, wish: Wish) -> None:
        self._wish = wish
        self._code = OK
        self._policy = settings.policy()
        self._metrics = Metrics(version("nodetruth"), settings.mode)
        self._health = Health(settings.mode)
        jobs = tasks(settings)
        self._newest = Newest(jobs, lambda: self._loop.wake(), self._metrics.probed)  # noqa: PLW0108
        self._metrics.watch(self._newest, [job.probe for job in jobs])
        self._schedule = Schedule(self._newest, jobs, self._metrics.skipped)
        self._node = open_node(place, self._metrics.requested)
        self._server = (
            None if wish.once else Server(settings.address(), self._health, self._metrics.page)
        )
        self._outcome = Outcome(settings.mode, wish, self._show)
        identity = Identity(boot_id(settings.roots), version("nodetruth"))
        observers = (Log(), self._metrics, self._health, self._outcome)
        aside = Aside(self._node, self._policy)
        self._loop = Loop(self._node, self._newest, self._policy, identity, (*observers, aside))

    def run(self) -> int:
        """Run until a signal, or with ``once`` until the first confirmed round."""
        stop = Event()
        for one in (signal.SIGTERM, signal.SIGINT):
            signal.signal(one, lambda _number, _frame: stop.set())
        threading.excepthook = lambda args: self._crash(args, stop)
        if self._server:
            self._server.start()
            _log.info("listening on port %s", self._server.port)
        self._schedule.start()
        self._loop.start()
        return self._once(stop) if self._wish.once else self._for_ever(stop)

    def _crash(self, args: threading.ExceptHookArgs, stop: Event) -> None:
        """End the agent when one of its threads dies of a bug: half an agent is worse than none."""
        thread = args.thread.name if args.thread else "a thread"
        cause = (args.exc_type, args.exc_value or args.exc_type(), args.exc_traceback)
        _log.critical("a bug ended the agent, in %s; please report it", thread, exc_info=cause)
        self._code = FAILED
        stop.set()

    def _for_ever(self, stop: Event) -> int:
        while not stop.wait(TICK):
            if self._schedule.mind_the_clock():
                _log.warning("the wall clock was set; every probe looks again now")
        self._loop.stop()
        self._schedule.stop()
        return self._code

    def _once(self, stop: Event) -> int:
        waited = 0.0
        while not self._outcome.done.wait(0.1) and not stop.is_set() and waited < PATIENCE:
            waited += 0.1
        self._loop.stop()
        finished = self._outcome.done.is_set() and self._outcome.error is None
        if not finished and not self._code:
            why = self._outcome.error or f"no round was confirmed within {PATIENCE:.0f} s"
            _log.error("gave up: %s", why)
            return FAILED
        return self._code

    def _show(self, one: Round) -> None:
        if self._wish.output:
            from agent.show import of_round, show  # noqa: PLC0415  (rich is for people)

            facts = self._newest.facts()
            show(of_round(one, facts, self._policy, self._node.place), self._wish.output)


def agent(settings: Settings, place: Place, wish: Wish) -> int:
    """Run the agent; return its exit code."""
    try:
        return Agent(settings, place, wish).run()
    except OSError as err:
        _log.error("can't listen on %s: %s; set listen", settings.listen, err.strerror)
        return FAILED
