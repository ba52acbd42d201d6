"""Say which datasets lie here and how much of each, and choose what of it is labelled.

Percentages come in steps and rise only when they may, so that a copy that runs
for hours writes to the Node a few times and not at every shard. Pure.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from labeler import legal

MOST: Final = 32
"""Datasets that are labelled: every label travels to every watcher of Nodes."""
MOST_SHARDS: Final = 1_000_000
STEP: Final = 5
WHOLE: Final = 100

_HIDDEN: Final = 16
"""Hex digits of a hidden name, 64 bits: there is no readable head to tell two apart by."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset by its folder's name, and which of the shards in its manifest lie here.

    Bit ``i`` of ``present``, the highest of a byte first, is shard ``i`` in the
    manifest's order.
    """

    name: str
    shards: int
    present: bytes

    def __post_init__(self) -> None:
        """Refuse what no folder can be; a published document may come from anybody."""
        spell(self.name)
        if not self.name or not 1 <= self.shards <= MOST_SHARDS:
            raise ValueError(f"{self.shards} shards of {self.name!r}")
        size = -(-self.shards // 8)
        if len(self.present) != size or self.present[-1] & (1 << (size * 8 - self.shards)) - 1:
            raise ValueError(f"{len(self.present)} bytes for {self.shards} shards of {self.name!r}")

    @property
    def held(self) -> int:
        """The number of shards that lie here."""
        return int.from_bytes(self.present, "big").bit_count()

    @property
    def complete(self) -> bool:
        """Whether every shard lies here."""
        return self.held == self.shards

    @property
    def percent(self) -> int:
        """How much lies here, rounded down: 100 is complete and nothing else."""
        return WHOLE * self.held // self.shards


@dataclass(frozen=True, slots=True)
class Datasets:
    """Every dataset that was found, by name, each once."""

    found: tuple[Dataset, ...]

    def __post_init__(self) -> None:
        """Refuse another order: equal findings must be equal values."""
        names = [one.name for one in self.found]
        if names != sorted(set(names)):
            raise ValueError("datasets are not in the order of their names, each once")


@dataclass(frozen=True, slots=True)
class Listing:
    """What a look at the data roots gave: the datasets, and why others are none.

    A fault is named as its folder can be shown. One of a dataset that is found
    too is that of another root's copy.
    """

    datasets: Datasets
    faults: Mapping[str, str]


def spell(name: str) -> bytes:
    """Return the bytes of a folder's name; not every one is UTF-8."""
    return name.encode("utf-8", "surrogateescape")


def label(name: str, *, hashed: bool = False) -> str:
    """Return the name as it is labelled: itself where it is legal, else a head and a hash.

    With ``hashed``, the first 16 hex digits of the name's SHA-256. That hides a
    name from who reads it, not from who guesses it.
    """
    return sha256(spell(name)).hexdigest()[:_HIDDEN] if hashed else legal.distinct(name)


def apart(
    found: Iterable[Dataset], *, hashed: bool
) -> tuple[dict[str, Dataset], tuple[Dataset, ...]]:
    """Return the datasets by label in the order of their names, and those that share one.

    A folder may bear the very name that another's was made into. Neither is
    labelled then, however much of it is here: the label would speak of both.
    """
    pairs = [
        (label(one.name, hashed=hashed), one) for one in sorted(found, key=lambda one: one.name)
    ]
    times = Counter(key for key, _ in pairs)
    alone = {key: one for key, one in pairs if times[key] == 1}
    return alone, tuple(one for key, one in pairs if times[key] > 1)


def labelled(
    found: Iterable[Dataset],
    before: Mapping[str, int],
    *,
    rise: bool,
    hashed: bool,
    most: int = MOST,
) -> tuple[Mapping[str, int], int]:
    """Return the percentage of each dataset that is labelled, by label; and how many are left out.

    None of which no shard is here is labelled; one of which there is little
    stands at 0. Those that were labelled ``before`` stay, the rest follow by
    name. Unless it may ``rise``, a percentage stays at what it was before; but
    completion is said at once, and so is a fall.
    """
    alone, shared = apart(found, hashed=hashed)
    here = {key: one.percent for key, one in alone.items() if one.held}
    chosen = choose(here, before, most)
    said = {key: _said(here[key], before.get(key), rise=rise) for key in sorted(chosen)}
    return said, sum(one.held > 0 for one in shared) + len(here) - len(chosen)


def choose(here: Iterable[str], before: Collection[str], most: int = MOST) -> list[str]:
    """Return which of the labels are said: those that were said ``before``, then in their order."""
    return sorted(here, key=lambda key: key not in before)[:most]


def _said(percent: int, before: int | None, *, rise: bool) -> int:
    now = percent - percent % STEP
    if before is None or rise or now <= before or now == WHOLE:
        return now
    # What was remembered may come from anybody.
    return max(0, before - before % STEP)
