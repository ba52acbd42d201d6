"""Tell which datasets lie below the data roots.

A dataset is a folder directly below a root that holds a manifest. What is wrong
with one takes that one out and no other; but without one of the roots there is
no telling what lies here at all.
"""

import errno
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from agent.probes import folder
from agent.probes.folder import Kept, Place
from agent.probes.links import Outside, TooFar, real
from labeler.datasets import Dataset, Datasets, Listing, label

Memory = Mapping[tuple[str, str], Kept]
"""What was kept of each root's folders."""

_QUOTED: Final = re.compile(r"['\"].*['\"]", re.DOTALL)
"""What a manifest says, as a fault repeats it."""


class DataProbe:
    """Looks at the data roots, and remembers how the shards looked before.

    The roots are named as the machine names them; its own root lies at ``tree``.
    """

    def __init__(
        self,
        roots: tuple[str, ...],
        tree: str = "/",
        clock: Callable[[], float] = time.time,
        *,
        hashed: bool = False,
    ) -> None:
        self._roots = roots
        self._hashed = hashed
        self._tree = tree.rstrip("/")
        self._clock = clock
        self._memory: Memory = {}

    def look(self) -> Listing:
        """Look once; ``OSError`` names the root that can't be looked at."""
        places = (place for root in self._roots for place in _places(root, self._tree))
        listing, self._memory = scan(places, self._memory, self._clock, hashed=self._hashed)
        return listing


def scan(
    places: Iterable[Place], previous: Memory, clock: Callable[[], float], *, hashed: bool = False
) -> tuple[Listing, Memory]:
    """Return which of the folders are datasets, and what the next look must know.

    Of a dataset below two roots the fuller copy counts, of equals the first root's.
    A look may take long, so each folder is judged by the time at which it is looked at.
    With ``hashed`` no fault repeats a name.
    """
    found: dict[str, Dataset] = {}
    faults: dict[str, str] = {}
    memory: dict[tuple[str, str], Kept] = {}
    for place in places:
        kept, why = _look(place, previous.get(place.key), clock(), hashed=hashed)
        if why:
            name = label(place.name, hashed=True) if hashed else show(place.name)
            faults.setdefault(name, show(why))
        if kept:
            memory[place.key] = kept
        if kept and kept.dataset:
            found[place.name] = _fuller(found.get(place.name), kept.dataset)
    return Listing(Datasets(tuple(found[name] for name in sorted(found))), faults), memory


def show(text: str) -> str:
    """Return text that lay on a disk so that it can be printed and encoded, on one line."""
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )


def _fuller(one: Dataset | None, other: Dataset) -> Dataset:
    if one and one.held * other.shards >= other.held * one.shards:
        return one
    return other


def _look(
    place: Place, before: Kept | None, now: float, *, hashed: bool
) -> tuple[Kept | None, str]:
    """Look at one folder; return what it is, and what is wrong with it."""
    try:
        kept = folder.look(place, before, now)
    except Outside:
        return None, f"leads out of {place.root}; put the files themselves there"
    except TooFar:
        return None, "too many links and folders to follow; put the files themselves there"
    except OSError as err:
        why = str(err.strerror)
        return None, why if hashed else f"{str(err.filename).removeprefix(place.tree)}: {why}"
    fault = kept.fault if kept else ""
    return kept, _QUOTED.sub("a name", fault) if hashed else fault


def _places(root: str, tree: str) -> Iterator[Place]:
    try:
        path = real(root, tree)
        there = Path(tree + path)
        before = there.stat()
        with os.scandir(there) as entries:
            names = sorted(entry.name for entry in entries if _may_be_a_dataset(entry))
        yield from (Place(tree, path, name) for name in names)
        after = there.stat()
    except OSError as err:
        raise OSError(err.errno, err.strerror, root) from err
    if (before.st_dev, before.st_ino) != (after.st_dev, after.st_ino):
        # Mounted or unmounted meanwhile: half of what was seen lies on another disk.
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), root)


def _may_be_a_dataset(entry: os.DirEntry[str]) -> bool:
    """Tell whether an entry is a folder, also by a link; not one that is hidden."""
    hidden = entry.name.startswith(".") or entry.name == "lost+found"
    return not hidden and (entry.is_symlink() or entry.is_dir())
