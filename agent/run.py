"""Wire the parts together and run the agent.

The one module that knows every part. Returns exit codes; prints nothing that
was not asked for.
"""

import logging
import os
import signal
import threading
import time
from dataclasses import replace
from importlib.metadata import version
from typing import Final

from agent.aside import Aside
from agent.log import Log
from agent.loop import Identity, Loop
from agent.machine import Machine, boot_id
from agent.metrics import Metrics
from agent.newest import Newest
from agent.outcome import Outcome, Wish
from agent.place import Place, open_node
from agent.schedule import Schedule
from agent.serve import Health, Server
from agent.settings import Settings
from labeler.node import NodeRefused
from labeler.reconcile import Round
from labeler.vocabulary import Mode

OK: Final = 0
FAILED: Final = 1
PATIENCE: Final = 60.0
"""Seconds that ``--once`` waits for a confirmed round."""
ENDING: Final = frozenset({signal.SIGTERM, signal.SIGINT})
TICK: Final = 10.0
"""Seconds between two looks at the wall clock: short against a probe's period."""

_log = logging.getLogger(__name__)


class Agent:
    """The whole agent, ready to run."""

    def __init__(self, settings: Settings, place: Place, wish: Wish) -> None:
        self._wish = wish
        self._code = OK
        self._policy = settings.policy()
        self._metrics = Metrics(version("nodetruth"), settings.mode, self._policy.vocabulary)
        self._health = Health(settings.mode)
        self._machine = Machine(settings, self._child_lost)
        jobs = self._machine.tasks
        self._newest = Newest(jobs, lambda: self._loop.wake(), self._metrics.probed)  # noqa: PLW0108
        self._metrics.watch(self._newest, [job.probe for job in jobs], self._machine.shelf)
        self._schedule = Schedule(self._newest, jobs, self._metrics.skipped)
        writes = settings.mode is not Mode.OBSERVE
        self._node = open_node(place, self._metrics.requested, make=writes)
        self._server = None if wish.once else self._listen(settings)
        self._outcome = Outcome(settings.mode, wish, self._show)
        identity = Identity(boot_id(settings.roots), version("nodetruth"))
        observers = (Log(), self._metrics, self._health, self._outcome)
        shelf = self._machine.shelf
        document = shelf.document if shelf else lambda: None
        aside = Aside(self._node, self._policy, document=document)
        self._loop = Loop(self._node, self._newest, self._policy, identity, (*observers, aside))

    def _listen(self, settings: Settings) -> Server:
        try:
            return Server(settings.address(), self._health, self._metrics.page)
        except OSError as err:
            why = err.strerror or str(err)
            raise NodeRefused(f"can't listen on {settings.listen}", why, "set listen") from err

    def run(self) -> int:
        """Run until a signal, or with ``once`` until the first confirmed round."""
        # Blocked in every thread and taken by sigtimedwait: a handler would run only when
        # the main thread next wakes by itself, if the signal came just before it slept.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        threading.excepthook = self._crash
        try:
            self._start()
            return self._once() if self._wish.once else self._for_ever()
        finally:
            self._loop.stop()
            self._schedule.stop()
            self._machine.close()
            while signal.sigtimedwait(ENDING, 0):
                pass  # A second signal asks for what is being done.
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _start(self) -> None:
        if self._server:
            self._server.start()
            _log.info("listening on port %s", self._server.port)
        self._schedule.start()
        self._loop.start()

    def _crash(self, args: threading.ExceptHookArgs) -> None:
        """End the agent when one of its threads dies of a bug: half an agent is worse than none."""
        thread = args.thread.name if args.thread else "a thread"
        cause = (args.exc_type, args.exc_value or args.exc_type(), args.exc_traceback)
        _log.critical("a bug ended the agent, in %s; please report it", thread, exc_info=cause)
        self._code = FAILED
        os.kill(os.getpid(), signal.SIGTERM)

    def _child_lost(self, how: str) -> None:
        _log.warning("the process that reads the GPU driver was lost: %s", how)
        self._metrics.child_lost(how)

    def _for_ever(self) -> int:
        while not signal.sigtimedwait(ENDING, TICK):
            if self._schedule.mind_the_clock():
                _log.warning("the wall clock was set; every probe looks again now")
        return self._code

    def _once(self) -> int:
        end = time.monotonic() + PATIENCE
        while not self._outcome.done.is_set() and time.monotonic() < end:
            if signal.sigtimedwait(ENDING, 0.05):
                return self._code
        if self._outcome.done.is_set() and self._outcome.error is None:
            return OK
        why = self._outcome.error or f"no round was confirmed within {PATIENCE:.0f} s"
        _log.error("gave up: %s", why)
        return FAILED

    def _show(self, one: Round) -> None:
        if not self._wish.output:
            return
        from agent.show import of_round, show  # noqa: PLC0415  (rich is for people)

        facts = self._newest.facts()
        try:
            show(of_round(one, facts, self._policy, self._node.place), self._wish.output)
        except (OSError, SystemExit) as err:
            # Whoever read it went away; the Node is kept true all the same.
            _log.warning("can't show the Node any more: %s", err)
            self._wish = replace(self._wish, output=None)


def agent(settings: Settings, place: Place, wish: Wish) -> int:
    """Run the agent; return its exit code."""
    return Agent(settings, place, wish).run()
