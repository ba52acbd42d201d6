"""Have the Node say what is seen, round after round, until told to stop.

One thread settles and one follows the Node. Whatever happens wakes the settling
thread; it alone writes labels and taints, so no two rounds ever overlap.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from threading import Event, Thread
from typing import Final

from agent.backoff import Backoff
from agent.newest import Newest
from agent.observer import Observer
from labeler.contention import Contention
from labeler.desired import Desired, Policy, Recall, desired
from labeler.diff import drift
from labeler.evidence import Evidence, believe, found
from labeler.node import Node, NodeError, NodeMissing, NodeMoved, NodeUnavailable
from labeler.reconcile import Round, reconcile
from labeler.seen import Seen
from labeler.vocabulary import Mode

HEARTBEAT: Final = 15.0
"""Seconds the loop rests at most: it shows that it lives, and nothing is asked of the server."""
GRACE: Final = 1.0
"""Seconds the first round waits for every probe; a hung one delays no longer."""
STEADY: Final = 5.0
"""Seconds a watch must have lived for its end to count as no failure."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Which boot of the machine this is, and which version of the agent."""

    boot: str
    version: str


class Loop:
    """Keeps one Node true."""

    def __init__(
        self,
        node: Node,
        newest: Newest,
        policy: Policy,
        identity: Identity,
        observers: tuple[Observer, ...],
    ) -> None:
        self._node = node
        self._newest = newest
        self._policy = policy
        self._identity = identity
        self._observers = observers
        self._recall: Recall | None = None
        self._said: Desired | None = None
        self._contention = Contention(policy.vocabulary.vital)
        self._since: float | None = None
        self._stop = Event()
        self._wake = Event()
        self._read = Event()
        self._holding = self._dirty = False
        self._backoff = Backoff(0.2, 30)
        self._crowd = Backoff(0.05, 1)
        self.confirmed = False
        """Whether the Node is known to say all that it should, by the way others see it."""

    def start(self) -> None:
        """Start the threads; they are daemons, so that a hung server keeps no process alive."""
        for work in (self._settle_for_ever, self._follow_for_ever):
            Thread(target=work, name=work.__name__.strip("_"), daemon=True).start()

    def stop(self) -> None:
        """Ask the threads to end after what they are at."""
        self._stop.set()
        self._read.set()
        self._wake.set()

    def wake(self) -> None:
        """Have the next round begin now: a fact has changed."""
        self._wake.set()

    def turn(self) -> float:
        """Do one round; return the seconds until the next is due unless something wakes it."""
        self._dirty = False
        try:
            seen = self._seen()
        except NodeError as err:
            return self._trouble(err, hold=False)
        try:
            one = self._round(seen)
        except NodeError as err:
            return self._trouble(err, hold=True)
        vouched = not any(contest.vital for contest in one.contests)
        said = one.settled and one.want.complete and not one.patch and vouched
        self.confirmed = said and self._node.confirmed()
        self._tell(lambda observer: observer.ended(one, confirmed=self.confirmed))
        if one.refused:
            return self._trouble(one.refused, hold=True)
        self._backoff.reset()
        self._crowd.reset()
        self._holding = False
        # What came while this round was under way, and held back, was not seen by it.
        return 0 if self._dirty else self._rest(one)

    def _seen(self) -> Seen:
        seen = self._node.seen()
        if seen is None:
            # What changed meanwhile could be said to nobody: a Node that comes late is no lag.
            self._newest.since()
            self._recall = self._said = self._since = None
            self._contention = Contention(self._contention.vital)
            raise NodeMissing(self._node.name, self._node.place)
        return seen

    def _round(self, seen: Seen) -> Round:
        self._look_for_drift(seen)
        # Asked before the facts: a change that comes in between belongs to the next round.
        since = self._newest.since()
        self._since = since if self._since is None else self._since
        facts = self._newest.facts()

        def decide(seen: Seen) -> Desired:
            memory = self._remember(seen)
            want = desired(facts, memory, seen, self._policy, datetime.now(UTC))
            return self._contention.rest(want, self._newest.clock())

        one = reconcile(self._node, seen, decide, self._policy.vocabulary, self._policy.mode)
        settled = one.settled and self._policy.mode is not Mode.OBSERVE
        # What had been found at a key that is no longer ours is forgotten once it is back.
        found = one.want.found if settled else self._remember(one.seen).found
        self._recall = Recall(one.want.evidence, found, self._identity.version)
        self._said = one.want if settled else None
        return self._timed(one)

    def _timed(self, one: Round) -> Round:
        """Note what took place when: who contests what, and how long a fact waited to be said."""
        now = self._newest.clock()
        if self._contention.tracks:
            self._contention = self._contention.settled(one.want, one.left, one.repaired, now)
        since = self._since
        if one.settled or one.written:
            self._since = None
        lag = now - since if one.written and since is not None else None
        return replace(one, contests=self._contention.contests(), lag=lag)

    def _look_for_drift(self, seen: Seen) -> None:
        said, self._said = self._said, None
        # Whatever comes of this round, the next starts from what it leaves: no edit counts twice.
        if self._recall and self._recall.evidence.uid != seen.uid:
            self._contention = Contention(self._contention.vital)
        if said is None or said.evidence.uid != seen.uid:
            return
        drifts = drift(seen, said)
        if drifts:
            now = self._newest.clock()
            self._contention = self._contention.drifted(seen, said, drifts, now)
            self._tell(lambda observer: observer.drifted(seen, drifts))

    def _remember(self, seen: Seen) -> Recall:
        """Return what is known from before; another uid is another Node, and starts anew."""
        if self._recall and self._recall.evidence.uid == seen.uid:
            return self._recall
        now = Evidence(boot=self._identity.boot, uid=seen.uid)
        words = self._policy.vocabulary
        return Recall(believe(seen, now), found(seen, words), self._identity.version)

    def _rest(self, one: Round) -> float:
        turn = self._contention.patience(self._newest.clock())
        rest = min(HEARTBEAT, self._newest.patience(), turn)
        if one.want.ends:
            rest = min(rest, max(0.0, (one.want.ends - datetime.now(UTC)).total_seconds()))
        return rest

    def _trouble(self, err: NodeError, *, hold: bool) -> float:
        """Report; return when to try again. ``hold`` lets no event of the Node hasten that."""
        self._report(err)
        self._holding = hold
        if isinstance(err, NodeMissing):
            return HEARTBEAT
        if isinstance(err, NodeMoved):
            # A server that answers is in no trouble: among many writers the one that rests loses.
            return self._crowd.next()
        wait = err.wait if isinstance(err, NodeUnavailable) else None
        return self._backoff.next() if wait is None else wait

    def _report(self, err: NodeError) -> None:
        self.confirmed = False
        self._tell(lambda observer: observer.troubled(err))

    def _tell(self, what: Callable[[Observer], None]) -> None:
        for observer in self._observers:
            what(observer)

    def _stir(self) -> None:
        """Take note that the Node changed; while holding back, no round begins for it."""
        self._read.set()
        self._dirty = True
        if not self._holding:
            self._wake.set()

    def _gather(self) -> None:
        """Wait a moment for the first answers, so that a new Node is labelled in one write."""
        end = time.monotonic() + GRACE
        while not self._newest.complete() and time.monotonic() < end:
            self._wake.wait(GRACE / 20)
            self._wake.clear()

    def _settle_for_ever(self) -> None:
        self._gather()
        while not self._stop.is_set():
            self._tell(lambda observer: observer.beat())
            rest = self.turn() if self._read.wait(HEARTBEAT) else 0
            self._wake.wait(rest)
            self._wake.clear()

    def _follow_for_ever(self) -> None:
        backoff = Backoff(0.2, 30)
        while not self._stop.is_set():
            began = time.monotonic()
            wait = None
            try:
                self._node.follow(self._stir, self._stop)
            except NodeError as err:
                wait = err.wait if isinstance(err, NodeUnavailable) else None
                self._report(err)
            if time.monotonic() - began >= STEADY:
                backoff.reset()
            if not self._stop.wait(max(wait or 0, backoff.next())):
                self._tell(lambda observer: observer.resumed())
