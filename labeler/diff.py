"""Compare what a Node says with what it should say.

Only keys of ours are compared, so a key that is not ours can't appear in a
patch. The same comparison, asked against what the Node is known to have said,
is drift. Pure.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from labeler import evidence
from labeler.desired import Desired
from labeler.managers import UNKNOWN, Managers, Part
from labeler.seen import Seen, Taint
from labeler.vocabulary import ANNOTATIONS, EVIDENCE, FOUND, TaintKey, Vocabulary, is_our_taint


@dataclass(frozen=True, slots=True)
class Patch:
    """What to write; ``None`` removes a key, and leaves taints alone."""

    labels: Mapping[str, str | None] = field(default_factory=dict)
    annotations: Mapping[str, str | None] = field(default_factory=dict)
    taints: tuple[Taint, ...] | None = None

    def __bool__(self) -> bool:
        """Tell whether there is anything to write."""
        return bool(self.labels or self.annotations or self.taints is not None)

    def vital(self, vocabulary: Vocabulary) -> "Patch":
        """Return the part that keeps work off a bad machine, to be sent when all is refused."""
        kept = {key: value for key, value in self.labels.items() if key in vocabulary.vital}
        return Patch(kept, {}, self.taints)


class Cause(StrEnum):
    """How a key of ours came to differ from what the Node had said."""

    CHANGED = "changed"
    REMOVED = "removed"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class Drift:
    """One key of ours, or one taint, that another hand touched."""

    key: str
    cause: Cause
    manager: str = UNKNOWN
    """Whose hand it was, where the server noted it."""


def diff(seen: Seen, want: Desired) -> Patch:
    """Return what makes ``seen`` say ``want``."""
    notes = {EVIDENCE: evidence.encode(want.evidence), FOUND: evidence.encode_found(want.found)}
    taints = _taints(seen, want)
    return Patch(
        labels=_changes(seen.labels, want.labels, _awake({*seen.labels, *want.owned}, want)),
        annotations=_changes(seen.annotations, notes, notes.keys() - want.resting),
        taints=None if taints == seen.taints else taints,
    )


def drift(seen: Seen, said: Desired) -> tuple[Drift, ...]:
    """Name every key of ours that no longer reads as the Node said it, and who set it."""
    patch = diff(seen, said)
    if not patch:
        return ()
    who = Managers(seen.fields)
    parts = (
        (Part.LABEL, seen.labels, patch.labels),
        (Part.ANNOTATION, seen.annotations, patch.annotations),
    )
    keys = tuple(
        Drift(key, _cause(key, has, value), who.of(part, key))
        for part, has, changes in parts
        for key, value in changes.items()
    )
    hand = who.of(Part.TAINT, "")
    return (*keys, *(Drift(key, cause, hand) for key, cause in _tainted(seen, patch)))


def wrong(seen: Seen, want: Desired) -> frozenset[str]:
    """Name every key of ours that does not read as it should, those that rest included."""
    patch = diff(seen, replace(want, resting=frozenset()))
    return frozenset(
        (*patch.labels, *patch.annotations, *(key for key, _ in _tainted(seen, patch)))
    )


def cleaned(seen: Seen, vocabulary: Vocabulary) -> Patch:
    """Return what takes everything of ours off and puts back what had been found."""
    if not ANNOTATIONS & seen.annotations.keys():
        return Patch()
    found = evidence.found(seen, vocabulary)
    found = {**evidence.lost(found, seen, vocabulary), **found}
    ours = found.keys() | {key for key in seen.labels if vocabulary.stem(key)}
    theirs = tuple(taint for taint in seen.taints if not is_our_taint(taint.key))
    return Patch(
        labels=_changes(seen.labels, found, ours),
        annotations=_changes(seen.annotations, {}, ANNOTATIONS),
        taints=None if theirs == seen.taints else theirs,
    )


def _changes(
    has: Mapping[str, str], want: Mapping[str, str | None], keys: Iterable[str]
) -> dict[str, str | None]:
    return {key: want.get(key) for key in sorted(keys) if has.get(key) != want.get(key)}


def _awake(keys: Collection[str], want: Desired) -> list[str]:
    """Return those of the keys that are ours and do not rest; forged ones rest as one."""
    ours = filter(want.owns, keys)
    resting = want.resting
    return [key for key in ours if not (resting and {key, want.folded(key)} & resting)]


def _taints(seen: Seen, want: Desired) -> tuple[Taint, ...]:
    """Return the whole list: foreign taints verbatim and in their order, then ours."""
    wanted = {taint.key: _identity(taint) for taint in want.taints}
    open_yet = set() if want.complete else set(TaintKey) - wanted.keys()
    let_be = open_yet | want.resting
    kept = [
        taint
        for taint in seen.taints
        if not is_our_taint(taint.key)
        or taint.key in let_be
        or wanted.get(taint.key) == _identity(taint)
    ]
    there = {taint.key for taint in kept} | want.resting
    return (*kept, *(taint for taint in want.taints if taint.key not in there))


def _identity(taint: Taint) -> tuple[str, str, str]:
    return taint.key, taint.effect, taint.value


def _cause(key: str, before: Collection[str], value: str | None) -> Cause:
    if value is None:
        return Cause.ADDED
    return Cause.CHANGED if key in before else Cause.REMOVED


def _tainted(seen: Seen, patch: Patch) -> list[tuple[str, Cause]]:
    """Name the taints of ours that a patch would change."""
    if patch.taints is None:
        return []
    before = {_identity(taint) for taint in seen.taints if is_our_taint(taint.key)}
    after = {_identity(taint) for taint in patch.taints if is_our_taint(taint.key)}
    touched = sorted({key for key, _, _ in before ^ after})
    there = {key for key, _, _ in before}
    wanted = {key for key, _, _ in after}
    return [(key, _cause(key, there, key if key in wanted else None)) for key in touched]
