"""Tell which shards of one dataset's folder are here, whole and at rest.

A shard is here when it is a regular file of the size that the manifest names;
where it names none, one that is not empty and did not change lately. A sign of
an unfinished copy beside it outweighs both. What the manifest was found to say
is kept for the next look, and so is how the shards without a size looked.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from agent.probes.links import Outside, Steps, real
from agent.probes.manifest_formats import FORMATS, LIMIT, BadManifest, read
from agent.probes.shards import SETTLE, Count, Shards
from labeler.datasets import Dataset

_NOT_THERE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})

_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""A pipe in a manifest's place must not make the probe wait for its writer."""
_UNFINISHED: Final = frozenset(
    {"part", "partial", "tmp", "crdownload", "aria2", "download", "incomplete"}
)
STEPS: Final = 1_000_000
"""Files and parts of paths that are looked at for one folder, beside a few for each shard:
links and folders can be laid so that a small manifest is days of work."""
_STEPS_A_SHARD: Final = 64

_RSYNC: Final = 6
"""Letters that rsync puts behind a name while it writes: ``.NAME.XXXXXX``."""
_FRESH: Final = "was written less than 30 s ago; it counts once it is at rest"


@dataclass(frozen=True, slots=True)
class Place:
    """A folder below a root; the root is named without symbolic links, as the machine does."""

    tree: str
    """Where the machine's own root lies; empty for ``/``."""
    root: str
    name: str

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from every other."""
        return self.root, self.name

    def at(self, below: str, step: Callable[[], None] = lambda: None) -> str:
        """Return where a path below the folder is to be opened; ``Outside`` if not in the root."""
        return self.tree + real(f"{self.root}/{self.name}/{below}", self.tree, self.root, step)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What one look at a folder found and leaves to the next: a dataset or a fault."""

    key: tuple[int, ...] = ()
    """Tells the manifest from every other, and from itself as it was before."""
    shards: Shards
    fault: str = ""
    seals: Sequence[int] | None = None
    """Size and time of each shard, hashed, where sizes are not named; 0 for none."""
    dataset: Dataset | None = None


def look(place: Place, before: Kept | None, now: float) -> Kept | None:
    """Return what there is of a dataset; ``None`` where no manifest is.

    ``OSError``, ``Outside`` and ``TooFar`` say that the folder can't be looked at.
    """
    kept = _manifest(place, before, now)
    if kept is None or kept.fault:
        return kept
    count = Count(kept.shards, kept.seals, now)
    step = Steps(STEPS + _STEPS_A_SHARD * len(kept.shards))
    for folder in kept.shards.folders:
        prefix = f"{folder}/" if folder else ""
        for entry in _entries(place, folder, step):
            step()
            _take(entry, prefix, place, count, step)
    return replace(kept, seals=count.seals, dataset=count.dataset(place.name))


def _manifest(place: Place, before: Kept | None, now: float) -> Kept | None:
    for file in FORMATS:
        try:
            descriptor = os.open(place.at(file), _FLAGS)
        except OSError as err:
            if err.errno not in _NOT_THERE:
                raise
            continue
        try:
            return _known(file, descriptor, before, now)
        finally:
            os.close(descriptor)
    return None


def _known(file: str, descriptor: int, before: Kept | None, now: float) -> Kept:
    """Return what was read before, if the manifest is the same; else read it."""
    status = os.fstat(descriptor)
    key = _key(status)
    if before and before.key == key:
        return before
    if abs(now - status.st_mtime) < SETTLE:
        # Half a manifest would call half a dataset complete.
        return before or Kept(shards=Shards(), fault=f"{file}: {_FRESH}")
    try:
        return Kept(key=key, shards=_read(file, descriptor, status))
    except BadManifest as err:
        return Kept(key=key, shards=Shards(), fault=f"{file}: {err}")


def _read(file: str, descriptor: int, status: os.stat_result) -> Shards:
    if not stat.S_ISREG(status.st_mode):
        raise BadManifest(0, "is no regular file", "put the manifest itself there")
    if status.st_size > LIMIT:
        raise BadManifest(0, f"is larger than {LIMIT >> 20} MiB", "make several datasets")
    with os.fdopen(descriptor, "rb", closefd=False) as stream:
        shards = read(file, stream)
    if _key(os.fstat(descriptor)) != _key(status):
        raise BadManifest(0, "changed while it was read", "let it rest")
    return shards


def _key(status: os.stat_result) -> tuple[int, ...]:
    times = status.st_mtime_ns, status.st_ctime_ns
    return status.st_dev, status.st_ino, status.st_size, *times


def _entries(place: Place, folder: str, step: Steps) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(place.at(folder, step)) as entries:
            yield from entries
    except OSError as err:
        if err.errno not in _NOT_THERE:
            raise


def _take(entry: os.DirEntry[str], prefix: str, place: Place, count: Count, step: Steps) -> None:
    index = count.shards.find(prefix + entry.name)
    if index is None:
        whole = _unfinished(entry.name)
        doubted = count.shards.find(prefix + whole) if whole else None
        if doubted is not None:
            count.doubt(doubted)
        return
    try:
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            status = Path(place.at(prefix + entry.name, step)).stat(follow_symlinks=False)
    except Outside:
        return
    except OSError as err:
        if err.errno not in _NOT_THERE:
            raise
        return
    count.see(index, status)


def _unfinished(name: str) -> str:
    """Return the name of the file that is being written under ``name``, if it is one."""
    whole, _, end = name.rpartition(".")
    if end in _UNFINISHED:
        return whole
    return whole[1:] if whole.startswith(".") and len(end) == _RSYNC else ""
