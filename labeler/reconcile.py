"""Make a Node say what it should: compare, write once, start over when it moved.

The straight line between ``desired`` and ``diff``, which decide, and the Node,
which is written. What happened is a ``Round``; log, metrics and readiness look
at that and at nothing else.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from labeler.contention import Contest
from labeler.desired import Desired
from labeler.diff import Patch, diff, wrong
from labeler.node import Node, NodeError, NodeMoved, NodeRefused
from labeler.seen import Seen
from labeler.vocabulary import FOUND, Mode, Vocabulary

TRIES: Final = 5
"""Times a moved Node is read again in one round; then the next round goes on."""

Decide = Callable[[Seen], Desired]


@dataclass(frozen=True, kw_only=True)
class Round:
    """One pass: what the Node said, what it should say, how they differ, what it says now."""

    seen: Seen
    want: Desired
    patch: Patch
    after: Seen
    written: Patch | None = None
    """The patch, or the vital part of it, if it was written."""
    moves: int = 0
    """Times the Node moved under us before."""
    refused: NodeError | None = None
    """Why the whole was refused; then at most the vital part was written."""
    contests: tuple[Contest, ...] = ()
    """Which keys somebody else keeps writing, as of the end of the round."""
    lag: float | None = None
    """Seconds from a fact's change to the answer to the write that says it."""

    @property
    def settled(self) -> bool:
        """Whether the Node says all that it should, but for contested keys that rest."""
        return self.refused is None and (self.written is not None or not self.patch)

    @cached_property
    def left(self) -> frozenset[str]:
        """Keys of ours that still do not read as they should, those that rest included."""
        return wrong(self.after, self.want)

    @property
    def repaired(self) -> frozenset[str]:
        """Keys of ours that this round put right."""
        return wrong(self.seen, self.want) - self.left


def reconcile(node: Node, seen: Seen, decide: Decide, vocabulary: Vocabulary, mode: Mode) -> Round:
    """Settle the Node; read it again when it moved under us, but not for ever."""
    for moves in range(TRIES - 1):
        try:
            return replace(_settle(node, seen, decide, vocabulary, mode), moves=moves)
        except NodeMoved:
            seen = node.read()
    return replace(_settle(node, seen, decide, vocabulary, mode), moves=TRIES - 1)


def _settle(node: Node, seen: Seen, decide: Decide, vocabulary: Vocabulary, mode: Mode) -> Round:
    want = decide(seen)
    patch = diff(seen, want)
    plan = Round(seen=seen, want=want, patch=patch, after=seen)
    if mode is Mode.OBSERVE or not patch:
        return plan
    try:
        after = node.apply(patch, seen)
    except NodeRefused as refusal:
        return _insist(node, replace(plan, refused=refusal), vocabulary)
    return replace(plan, after=after, written=patch, refused=_altered(after, want, patch))


def _altered(after: Seen, want: Desired, patch: Patch) -> NodeRefused | None:
    """Tell whether the server took the write but did not do it: a webhook may drop a key.

    What was not in the write is another's work of the same moment: the next round's.
    """
    left = diff(after, want)
    taints = left.taints is not None and patch.taints is not None
    keys = sorted(left.labels.keys() & patch.labels.keys())
    keys += sorted(left.annotations.keys() & patch.annotations.keys())
    keys += ["taints"] if taints else []
    if not keys:
        return None
    return NodeRefused(
        f"Node {after.name!r}",
        f"{', '.join(keys)} did not come out as written",
        "look for a webhook or a policy that alters Nodes",
    )


def _insist(node: Node, plan: Round, vocabulary: Vocabulary) -> Round:
    """Send alone what keeps work off a bad machine, with the note of what stood there if it goes.

    Without the note a later agent would take our own words for what it found.
    """
    vital = plan.patch.vital(vocabulary)
    note = {key: text for key, text in plan.patch.annotations.items() if key == FOUND}
    tries = [replace(vital, annotations=note), vital] if note else [vital]
    for part in tries if vital else []:
        if part == plan.patch:
            continue
        try:
            return replace(plan, after=node.apply(part, plan.seen), written=part)
        except NodeRefused as refusal:
            plan = replace(plan, refused=refusal)
    return plan
