"""Make a Node say what it should: compare, write once, start over when it moved.

The straight line between ``desired`` and ``diff``, which decide, and the Node,
which is written. What happened is a ``Round``; log, metrics and readiness look
at that and at nothing else.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from labeler.desired import Desired
from labeler.diff import Patch, diff
from labeler.node import Node, NodeError, NodeMoved, NodeRefused
from labeler.seen import Seen
from labeler.vocabulary import Mode, Vocabulary

TRIES: Final = 5
"""Times a moved Node is read again in one round; then the next round goes on."""

Decide = Callable[[Seen], Desired]


@dataclass(frozen=True, slots=True, kw_only=True)
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

    @property
    def settled(self) -> bool:
        """Whether the Node says all that it should."""
        return self.refused is None and (self.written is not None or not self.patch)


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
    return replace(plan, after=after, written=patch, refused=_altered(after, want))


def _altered(after: Seen, want: Desired) -> NodeRefused | None:
    """Tell whether the server took the write but did not do it: a webhook may drop a key."""
    left = diff(after, want)
    keys = [*left.labels, *left.annotations, *(["taints"] if left.taints is not None else [])]
    if not keys:
        return None
    return NodeRefused(
        f"Node {after.name!r}",
        f"{', '.join(keys)} did not come out as written",
        "look for a webhook or a policy that alters Nodes",
    )


def _insist(node: Node, plan: Round, vocabulary: Vocabulary) -> Round:
    """Send alone what keeps work off a bad machine."""
    vital = plan.patch.vital(vocabulary)
    if not vital or vital == plan.patch:
        return plan
    try:
        return replace(plan, after=node.apply(vital, plan.seen), written=vital)
    except NodeRefused as refusal:
        return replace(plan, refused=refusal)
