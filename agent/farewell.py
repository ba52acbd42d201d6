"""Leave a Node as it was found: take off what is ours, put back what was there before."""

from contextlib import suppress

from agent.place import Place, open_node
from agent.settings import Settings
from labeler.diff import Patch, cleaned
from labeler.node import Node, NodeMoved
from labeler.reconcile import TRIES
from labeler.seen import Seen
from labeler.vocabulary import Vocabulary


def clean(settings: Settings, place: Place, *, dry_run: bool) -> int:
    """Take everything of ours off a Node and put back what we had found there."""
    node = open_node(place, lambda _verb, _code: None, make=False)
    policy = settings.policy()
    seen, patch = _take_off(node, policy.vocabulary, dry_run=dry_run)
    if not dry_run:
        node.withdraw(policy.condition)
    word = "would change" if dry_run else "changed"
    changes = [*patch.labels.items(), *patch.annotations.items()]
    for key, value in changes:
        print(f"{key}: {'removed' if value is None else f'restored to {value!r}'}")
    if patch.taints is not None:
        print(f"taints: {len(seen.taints)} before, {len(patch.taints)} after")
    print(f"Node {node.name}: {word} {len(changes) + (patch.taints is not None)} entries")
    return 0


def _take_off(node: Node, vocabulary: Vocabulary, *, dry_run: bool) -> tuple[Seen, Patch]:
    for _ in range(TRIES):
        seen = node.read()
        patch = cleaned(seen, vocabulary)
        if dry_run or not patch:
            return seen, patch
        with suppress(NodeMoved):
            node.apply(patch, seen)
            return seen, patch
    raise NodeMoved(node.name, seen.version)
