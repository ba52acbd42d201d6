"""Keep the newest fact of each probe; what does not answer in time is unknown.

The only state of the looking side. A probe runs in its own thread; how long it
has been running is read off the clock, so that a hung one turns ``Unknown`` at
its deadline by nobody's doing.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from threading import Lock
from typing import Final

from labeler.facts import Facts, Known, Probe, Unknown

STALE: Final = 3
"""Periods after which a fact that nobody renewed no longer counts."""

Observer = Callable[[Probe, Known | Unknown, float], None]
"""Told the probe, its answer and the seconds it took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A probe with its period and deadline, in seconds."""

    probe: Probe
    look: Callable[[], Known | Unknown]
    period: float
    deadline: float


@dataclass(slots=True)
class _State:
    task: Task
    born: float
    asked: float | None = None
    answered: float | None = None
    fact: Known | Unknown | None = None

    def now(self, now: float) -> Known | Unknown | None:
        """Return what counts at ``now``; ``None`` while the first answer may still come."""
        due = self.due()
        if due is not None and now >= due:
            return Unknown(late(self.task.deadline))
        if self.answered is not None and now - self.answered > STALE * self.task.period:
            return Unknown(f"not looked at for {STALE} periods of {self.task.period:g} s")
        return self.fact

    def due(self) -> float | None:
        """Return when the probe's deadline ends, if one is running."""
        start = self.asked if self.asked is not None or self.answered is not None else self.born
        return None if start is None else start + self.task.deadline

    def latest(self) -> float:
        """Return when its deadline ends, of this run or of the next."""
        due = self.due()
        if due is None:
            assert self.answered is not None
            due = self.answered + self.task.period + self.task.deadline
        return due


class Newest:
    """The newest fact of each probe."""

    def __init__(
        self,
        tasks: Iterable[Task],
        changed: Callable[[], None] = lambda: None,
        observe: Observer = lambda _probe, _fact, _seconds: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.clock = self._clock = clock
        self._since: float | None = None
        self._changed = changed
        self._observe = observe
        self._lock = Lock()
        self._states = {task.probe: _State(task, clock()) for task in tasks}

    def ask(self, probe: Probe) -> None:
        """Run one probe here and now; whatever it raises is an ``Unknown`` like any other."""
        state = self._states[probe]
        start = self._clock()
        with self._lock:
            before = state.now(start)
            state.asked = start
        try:
            fact = state.task.look()
        except Exception as err:  # noqa: BLE001  (the firewall: a probe never takes the agent down)
            fact = Unknown(_reason(err))
        if isinstance(fact, Unknown):
            fact = replace(fact, reason=fact.reason.encode(errors="backslashreplace").decode())
        end = self._clock()
        with self._lock:
            # Also an answer as before is news where the clock has called the probe late meanwhile.
            news = not fact == before == state.now(end)
            state.asked, state.answered, state.fact = None, end, fact
            if news and self._since is None:
                self._since = end
        self._observe(probe, fact, end - start)
        if news:
            self._changed()

    def facts(self) -> Facts:
        """Return what is known now; a probe whose first answer may still come is absent."""
        now = self._clock()
        with self._lock:
            found = {probe: state.now(now) for probe, state in self._states.items()}
        return {probe: fact for probe, fact in found.items() if fact is not None}

    def since(self) -> float | None:
        """Return when the first of the changes came that nobody asked for yet, and forget it."""
        with self._lock:
            since, self._since = self._since, None
        return since

    def complete(self) -> bool:
        """Tell whether every probe has answered or missed its deadline."""
        return len(self.facts()) == len(self._states)

    def age(self, probe: Probe) -> float | None:
        """Return the seconds since the probe last answered; ``None`` if it never did."""
        answered = self._states[probe].answered
        return None if answered is None else self._clock() - answered

    def patience(self) -> float:
        """Return the seconds until a probe can next miss its deadline; infinite without any."""
        now = self._clock()
        with self._lock:
            ends = [state.latest() for state in self._states.values()]
        return min((end - now for end in ends if end > now), default=float("inf"))


def late(deadline: float) -> str:
    """Say that a probe missed its deadline, given in seconds."""
    return f"no answer within {deadline:g} s"


def _reason(err: Exception) -> str:
    """Say what went wrong in words that are the same at the next try."""
    if isinstance(err, OSError) and err.strerror:
        return f"{err.filename}: {err.strerror}" if err.filename else err.strerror
    return f"{type(err).__name__}: {err}"
