"""Do what may wait, so that labels and taints never wait for it.

The condition, the shards, the attestation and the Events go out from a thread
of their own, one after the other. What fails is logged, once while it fails
alike. The condition and the shards are tried again, less and less often; the
attestation at its next turn; an Event not at all.
"""

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from agent.backoff import Backoff
from labeler.desired import Policy
from labeler.diff import Drift
from labeler.node import Node, NodeError
from labeler.reconcile import Round
from labeler.seen import Seen
from labeler.vocabulary import MAINTENANCE, Label, Mode, Status

ATTEST: Final = 60.0
"""Seconds between two renewals of the Lease."""
PUBLISH: Final = 60.0
"""Seconds between two writes of the list of shards, while a copy runs."""
REMARK: Final = 60.0
"""Seconds between two Events about edits by hand."""
AGAIN: Final = 600.0
"""Seconds between two Events about one contest, while it lasts."""

_log = logging.getLogger(__name__)


class Aside:
    """An observer that says the rest."""

    def __init__(
        self,
        node: Node,
        policy: Policy,
        clock: Callable[[], float] = time.monotonic,
        document: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._node = node
        self._policy = policy
        self._clock = clock
        self._document = document
        self._published: tuple[str, str] | None = None
        self._pool = ThreadPoolExecutor(1, "aside")
        self._errands = {"condition": _Errand(), "shards": _Errand()}
        self._attested = self._remarked = float("-inf")
        self._told: dict[tuple[str, float], float] = {}
        self._status: str | None = None
        self._key = policy.vocabulary.key(Label.STATUS)

    def beat(self) -> None:
        """Do nothing."""

    def resumed(self) -> None:
        """Do nothing."""

    def troubled(self, error: NodeError) -> None:
        """Do nothing: without a confirmed round nothing is attested."""

    def drifted(self, seen: Seen, drifts: tuple[Drift, ...]) -> None:
        """Tell whoever wrote the status by hand what to do instead."""
        now = self._clock()
        if self._key not in {one.key for one in drifts} or now - self._remarked < REMARK:
            return
        self._remarked = now
        value = seen.labels.get(self._key)
        text = (
            f"label {self._key} was {f'set to {value!r}' if value else 'removed'} by another hand"
            f" and is put right; to take the Node out of use: kubectl annotate node {seen.name}"
            f" {MAINTENANCE}=REASON"
        )
        self._submit("remark", lambda: self._node.tell("LabelPutRight", text, warning=True))

    def ended(self, one: Round, *, confirmed: bool) -> None:
        """Say the contests, the condition, the transition and the attestation, where due."""
        if self._policy.mode is Mode.OBSERVE:
            return
        self._contended(one)
        if not one.settled:
            return
        self._transition(one)
        condition = one.want.condition
        now = self._clock()
        differs = condition and one.after.conditions.get(condition.type) != condition
        if condition and differs and now >= self._errands["condition"].pause_until:
            self._submit("condition", lambda: self._node.condition(condition))
        self._publish(one.after.uid)
        if confirmed and now - self._attested >= ATTEST:
            self._attested = now
            self._submit("attestation", self._node.attest)

    def _publish(self, uid: str) -> None:
        """Write the list of shards when it has changed; another Node has none yet."""
        document = self._document()
        now = self._clock()
        if document is None or (uid, document) == self._published:
            return
        if now >= self._errands["shards"].pause_until:
            self._submit("shards", partial(self._put, uid, document))

    def _put(self, uid: str, document: str) -> None:
        self._node.publish(document)
        self._published = uid, document
        self._errands["shards"].pause_until = self._clock() + PUBLISH

    def _contended(self, one: Round) -> None:
        """Name each key that somebody keeps writing, who does it, and the way out."""
        now = self._clock()
        lasting = {(contest.key, contest.since): contest for contest in one.contests}
        self._told = {which: at for which, at in self._told.items() if which in lasting}
        for which, contest in lasting.items():
            if now - self._told.get(which, float("-inf")) >= AGAIN:
                self._told[which] = now
                reason, text = f"{contest.part.capitalize()}Contested", str(contest)
                tell = partial(self._node.tell, reason, text, warning=True)
                self._submit(f"word on {contest.key}", tell)

    def _transition(self, one: Round) -> None:
        before = self._status or one.seen.labels.get(self._key)
        status = one.want.status
        self._status = status
        if status is None or status == before or (before is None and status == Status.HEALTHY):
            return
        why = "; ".join(one.want.judgement.reasons) or "no fault seen"
        text = f"status is {status}: {why}"
        warning = status != Status.HEALTHY
        self._submit(
            "transition",
            lambda: self._node.tell(f"Status{status.capitalize()}", text, warning=warning),
        )

    def _submit(self, what: str, act: Callable[[], None]) -> None:
        errand = self._errands.setdefault(what, _Errand())
        if errand.done is None or errand.done.done():
            errand.done = self._pool.submit(self._do, what, errand, act)

    def _do(self, what: str, errand: "_Errand", act: Callable[[], None]) -> None:
        try:
            act()
        except NodeError as err:
            self._failed(what, errand, str(err))
        except Exception as err:  # noqa: BLE001  (a pool would keep it to itself; a bug ends the agent)
            cause = (type(err), err, err.__traceback__, threading.current_thread())
            threading.excepthook(threading.ExceptHookArgs(cause))
        else:
            errand.failure = ""
            errand.backoff.reset()

    def _failed(self, what: str, errand: "_Errand", why: str) -> None:
        errand.pause_until = self._clock() + errand.backoff.next()
        if why != errand.failure:
            errand.failure = why
            _log.warning("the %s was not written: %s", what, why)


@dataclass(slots=True)
class _Errand:
    """One kind of thing to say: what succeeds for one says nothing of another."""

    backoff: Backoff = field(default_factory=lambda: Backoff(1, 600))
    pause_until: float = float("-inf")
    failure: str = ""
    done: Future[None] | None = None
