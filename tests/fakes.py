"""Stand in for a Node where the real API server is too slow: as strict as it is."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Event

from labeler import legal
from labeler.diff import Patch
from labeler.node import NodeError, NodeMissing, NodeMoved, NodeRefused
from labeler.seen import Condition, Seen


def applied(seen: Seen, patch: Patch) -> Seen:
    """Return what a Node says after a merge patch: keys merged, taints replaced whole."""
    return replace(
        seen,
        version=str(int(seen.version) + 1) if patch else seen.version,
        labels=_merged(seen.labels, patch.labels),
        annotations=_merged(seen.annotations, patch.annotations),
        taints=seen.taints if patch.taints is None else patch.taints,
    )


def _merged(has: object, changes: object) -> dict[str, str]:
    assert isinstance(has, dict)
    assert isinstance(changes, dict)
    return {key: value for key, value in {**has, **changes}.items() if value is not None}


@dataclass
class FakeNode:
    """A Node in memory. ``hand`` is run before each write, as another hand would."""

    node: Seen | None
    name: str = "n1"
    place: str = "memory"
    hand: Callable[["FakeNode"], None] = lambda _node: None
    refuse: Callable[[Patch], NodeError | None] = lambda _patch: None
    writes: list[Patch] = field(default_factory=list)
    said: list[Condition] = field(default_factory=list)
    told: list[tuple[str, str, bool]] = field(default_factory=list)
    attested: int = 0
    published: list[str] = field(default_factory=list)
    shown: bool = True
    stirred: Callable[[], None] | None = None

    def seen(self) -> Seen | None:
        return self.node

    def read(self) -> Seen:
        if self.node is None:
            raise NodeMissing(self.name, "memory")
        return self.node

    def apply(self, patch: Patch, seen: Seen) -> Seen:
        self.hand(self)
        there = self.read()
        if there.uid != seen.uid or (patch.taints is not None and there.version != seen.version):
            raise NodeMoved(self.name, seen.version)
        error = self.refuse(patch) or _invalid(patch)
        if error:
            raise error
        self.writes.append(patch)
        self.node = applied(there, patch)
        return self.node

    def edit(self, **changes: str | None) -> None:
        """Change labels by hand."""
        self.node = applied(self.read(), Patch(labels=changes))
        if self.stirred:
            self.stirred()

    def confirmed(self) -> bool:
        return self.shown

    def follow(self, changed: Callable[[], None], stop: Event) -> None:
        self.stirred = changed
        changed()
        stop.wait()

    def condition(self, condition: Condition) -> None:
        self.said.append(condition)
        there = self.read()
        self.node = replace(there, conditions={**there.conditions, condition.type: condition})

    def withdraw(self, condition: str) -> None:
        there = self.read()
        kept = {kind: one for kind, one in there.conditions.items() if kind != condition}
        self.node = replace(there, conditions=kept)

    def attest(self) -> None:
        self.attested += 1

    def publish(self, document: str) -> None:
        self.published.append(document)

    def tell(self, reason: str, message: str, *, warning: bool) -> None:
        self.told.append((reason, message, warning))


def _invalid(patch: Patch) -> NodeRefused | None:
    """Refuse what the API server refuses: illegal labels, and two taints of one key and effect."""
    wrong = [
        key
        for key, value in patch.labels.items()
        if not legal.is_key(key) or not legal.is_value(value or "")
    ]
    taints = [(taint.key, taint.effect) for taint in patch.taints or ()]
    if wrong or len(taints) != len(set(taints)):
        return NodeRefused("PATCH", f"422 invalid: {wrong or taints}", "mend it")
    return None
