"""Keep what a manifest says of its shards, in some 30 bytes for each, and count those here.

The names themselves are not kept: a shard is found by the 64-bit hash of its
name. That of Python has a secret of this process, so nobody can choose names
that meet; that two of a million do by chance, one process in 40 million sees.
"""

import os
import stat
from array import array
from collections.abc import Sequence
from typing import Final

from labeler.datasets import Dataset

SETTLE: Final = 30.0
"""Seconds without a change after which a file counts as at rest."""
UNSIZED: Final = -1
_LEAST: Final = 64


class Shards:
    """The shards of one manifest in its order, each with its size if it names one."""

    def __init__(self) -> None:
        self.sizes = array("q")
        self.sized = True
        """Whether the size of every shard is named."""
        self.folders: dict[str, None] = {}
        """Those that shards lie in, relative to the dataset's own, which is empty."""
        self._hashes = array("q")
        self._table = array("I", bytes(4 * _LEAST))
        """Open addressing: at the slot of a hash, or next after it, its index plus one."""

    def __len__(self) -> int:
        return len(self.sizes)

    def add(self, name: str, size: int = UNSIZED) -> bool:
        """Take a shard in; ``False`` where the name is there already."""
        digest = hash(name)
        slot = self._slot(digest)
        if self._table[slot]:
            return False
        self._hashes.append(digest)
        self.sizes.append(size)
        self.sized = self.sized and size != UNSIZED
        self.folders.setdefault(name.rpartition("/")[0])
        self._table[slot] = len(self.sizes)
        if 2 * len(self.sizes) > len(self._table):
            self._grow()
        return True

    def find(self, name: str) -> int | None:
        """Return the index of the shard of that name."""
        index = self._table[self._slot(hash(name))]
        return index - 1 if index else None

    def _slot(self, digest: int) -> int:
        table, hashes, mask = self._table, self._hashes, len(self._table) - 1
        slot = digest & mask
        while (index := table[slot]) and hashes[index - 1] != digest:
            slot = slot + 1 & mask
        return slot

    def _grow(self) -> None:
        self._table = array("I", bytes(self._table.itemsize * 4 * len(self._table)))
        for index, digest in enumerate(self._hashes, 1):
            self._table[self._slot(digest)] = index


class Count:
    """What was seen of a dataset's shards so far."""

    def __init__(self, shards: Shards, before: Sequence[int] | None, now: float) -> None:
        self.shards = shards
        self.seals = None if shards.sized else array("q", bytes(8 * len(shards)))
        self._before = before
        self._now = now
        self._present = bytearray(-(-len(shards) // 8))
        self._doubted: set[int] = set()

    def see(self, index: int, status: os.stat_result) -> None:
        """Count the file that stands in a shard's place, if it is the shard.

        The size alone is no proof: who writes in several places at once makes
        the file as long as it will be, and fills it then.
        """
        size = self.shards.sizes[index]
        if size == UNSIZED:
            whole = self._rests(index, status)
        else:
            whole = size == status.st_size and abs(self._now - status.st_mtime) >= SETTLE
        if whole and stat.S_ISREG(status.st_mode):
            self._present[index >> 3] |= 0x80 >> (index & 7)

    def doubt(self, index: int) -> None:
        """Count a shard out: a copy of it is under way."""
        self._doubted.add(index)

    def dataset(self, name: str) -> Dataset:
        """Return what was counted."""
        for index in self._doubted:
            self._present[index >> 3] &= ~(0x80 >> (index & 7))
        return Dataset(name, len(self.shards), bytes(self._present))

    def _rests(self, index: int, status: os.stat_result) -> bool:
        """Tell whether a file is at rest.

        One that was last changed in the future, by a clock that was set back or
        another machine's, is so when it looks as it did at the look before.
        """
        assert self.seals is not None
        size, changed = status.st_size, status.st_mtime
        self.seals[index] = seal = hash((size, changed)) or 1
        before = self._before[index] if self._before else 0
        if not size or (before and before != seal):
            return False
        if self._before and not before and abs(self._now - status.st_ctime) < SETTLE:
            # New since the look before. Its time may be one that the copier gave it while it
            # grows; the time that no one can give says that it was touched just now.
            return False
        return changed <= self._now - SETTLE or (before == seal and changed >= self._now + SETTLE)
