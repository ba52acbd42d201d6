"""Tell who keeps writing a key of ours, and when that key may be put right again.

A key that drifts three times in a minute is *contested*, until it has read
right for a minute. A contested key has turns: one repair a minute, and one each
30 s for what keeps work off a bad machine. Between its turns it rests: it is
left as it stands, is in no patch, and is no drift. So no second writer can draw
the agent into a fight in a loop. Pure: the time is an argument.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from labeler.desired import Desired
from labeler.diff import Drift
from labeler.managers import UNKNOWN, Part
from labeler.seen import Seen
from labeler.vocabulary import ANNOTATIONS, is_our_taint

MANY: Final = 3
"""Drifts within ``WINDOW`` that make a key contested: a person edits once, and perhaps again."""
WINDOW: Final = 60.0
PEACE: Final = 60.0
"""Seconds a key must have read right to be contested no more."""
PACE: Final = 60.0
"""Seconds between two repairs of a contested key."""
VITAL_PACE: Final = 30.0
"""The same for a vital key, which is never yielded for longer."""

_SHOWN: Final = 64
"""Characters of a foreign value that are worth repeating."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """A key of ours that somebody keeps writing."""

    key: str
    part: Part
    vital: bool
    manager: str
    """Who was last seen to set it."""
    value: str | None
    """What to; ``None`` where it was taken off."""
    since: float

    def __str__(self) -> str:
        """Say what happens, what we do about it, and the way out."""
        who = "an unknown hand" if self.manager == UNKNOWN else f"manager {self.manager!r}"
        does = "takes it off" if self.value is None else f"sets it to {self.value!r}"
        prefix = ", or set a labelPrefix" if self.part is Part.LABEL else ""
        return (
            f"{self.part} {self.key} is contested: {who} {does} again and again, and it is put"
            f" right at most once in {_pace(vital=self.vital):g} s; stop that writer{prefix}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Track:
    """What is remembered of one key."""

    wanted: str | None
    """What we wanted it to say when it last read right."""
    part: Part = Part.LABEL
    drifts: tuple[float, ...] = ()
    manager: str = UNKNOWN
    value: str | None = None
    repaired: float = float("-inf")
    right: float | None = None
    """Since when it has read right; ``None`` while it does not."""
    since: float | None = None
    """Since when it has been contested."""

    def next(self, pace: float) -> float:
        """Return when its next turn comes, or its contest ends."""
        return self.repaired + pace if self.right is None else self.right + PEACE

    def lasts(self, now: float) -> bool:
        """Tell whether it is still worth remembering."""
        if self.since is None:
            return now - self.drifts[-1] <= WINDOW
        return self.right is None or now - self.right < PEACE


@dataclass(frozen=True, slots=True)
class Contention:
    """Every key of ours that drifted lately; what nobody touches takes no memory."""

    vital: frozenset[str] = frozenset()
    """Whole label keys that outrank all others; taints of ours do so too."""
    tracks: Mapping[str, _Track] = field(default_factory=dict)

    def drifted(
        self, seen: Seen, said: Desired, drifts: tuple[Drift, ...], now: float
    ) -> "Contention":
        """Take in what drifted from what the Node had ``said``."""
        tracks = dict(self.tracks)
        # Keys that share a name and were made up in one edit are one drift.
        for name, one in {_name(one.key, said): one for one in drifts}.items():
            before = tracks.get(name, _Track(wanted=_wanted(said, name), part=_part(one.key)))
            tracks[name] = _after(before, one, _shown(seen, one.key), now)
        return replace(self, tracks=tracks)

    def rest(self, want: Desired, now: float) -> Desired:
        """Return ``want`` with every contested key resting whose turn has not come.

        What we want of a vital key by now and did not before waits for no turn:
        a broken machine loses its label in seconds also during a fight.
        """
        resting = frozenset(
            name
            for name, track in self.tracks.items()
            if track.since is not None
            and now < track.repaired + self._pace(name)
            and not (self._vital(name) and _wanted(want, name) != track.wanted)
        )
        return replace(want, resting=resting)

    def settled(
        self, want: Desired, left: Collection[str], repaired: Collection[str], now: float
    ) -> "Contention":
        """Take in a round: which keys it left wrong, and which it put right."""
        wrong = {_name(key, want) for key in left}
        mended = {_name(key, want) for key in repaired}
        tracks = {
            name: replace(track, right=None)
            if name in wrong
            else _right(track, _wanted(want, name), mended=name in mended, now=now)
            for name, track in self.tracks.items()
        }
        return replace(self, tracks={n: track for n, track in tracks.items() if track.lasts(now)})

    def contests(self) -> tuple[Contest, ...]:
        """Return every contest under way, by key."""
        return tuple(
            Contest(
                key=name,
                part=track.part,
                vital=self._vital(name),
                manager=track.manager,
                value=track.value,
                since=track.since,
            )
            for name, track in sorted(self.tracks.items())
            if track.since is not None
        )

    def patience(self, now: float) -> float:
        """Return the seconds until a turn comes or a contest ends; infinite without any."""
        ends = [
            track.next(self._pace(name))
            for name, track in self.tracks.items()
            if track.since is not None
        ]
        return max(0.0, min(ends, default=float("inf")) - now)

    def _vital(self, name: str) -> bool:
        return name in self.vital or is_our_taint(name)

    def _pace(self, name: str) -> float:
        return _pace(vital=self._vital(name))


def _pace(*, vital: bool) -> float:
    return VITAL_PACE if vital else PACE


def _after(track: _Track, one: Drift, value: str | None, now: float) -> _Track:
    recent = tuple(at for at in track.drifts if now - at <= WINDOW)
    drifts = (*recent, now)[-MANY:]
    # Who takes a key off leaves no name; who was seen to set it is the better word.
    named = one.manager != UNKNOWN or track.manager == UNKNOWN
    return replace(
        track,
        drifts=drifts,
        manager=one.manager if named else track.manager,
        value=value if named else track.value,
        since=now if track.since is None and len(drifts) == MANY else track.since,
    )


def _right(track: _Track, wanted: str | None, *, mended: bool, now: float) -> _Track:
    fresh = mended or track.right is None
    return replace(
        track,
        wanted=wanted,
        repaired=now if mended else track.repaired,
        right=now if fresh else track.right,
    )


def _name(key: str, want: Desired) -> str:
    """Return what a key is remembered by; keys that a stranger made up share one name."""
    return key if key in ANNOTATIONS or is_our_taint(key) else want.folded(key)


def _part(key: str) -> Part:
    if is_our_taint(key):
        return Part.TAINT
    return Part.ANNOTATION if key in ANNOTATIONS else Part.LABEL


def _wanted(want: Desired, name: str) -> str | None:
    if is_our_taint(name):
        return next((str(taint) for taint in want.taints if taint.key == name), None)
    return want.labels.get(name)


def _shown(seen: Seen, key: str) -> str | None:
    """Return what a key or taint reads as now, as far as that is worth repeating."""
    if is_our_taint(key):
        taints = ", ".join(str(taint) for taint in seen.taints if taint.key == key)
        return taints[:_SHOWN] or None
    value = seen.labels.get(key, seen.annotations.get(key))
    return None if value is None else value[:_SHOWN]
