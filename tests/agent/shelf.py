"""Build data roots of which a test says only what it is about."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agent.probes.data import DataProbe
from labeler.datasets import Dataset, Listing
from tests.agent.clock import Clock

SUM: Final = "0" * 64


def touch(path: Path, size: int = 3, age: float = 3600) -> Path:
    """Make a file that was last changed ``age`` seconds ago, by the clock of the tests."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    return aged(path, age)


def aged(path: Path, age: float = 3600, now: float = 1e9) -> Path:
    os.utime(path, (now - age, now - age))
    return path


@dataclass
class Shelf:
    """Folders with datasets, ``data`` the first root, and the probe that looks at them."""

    tree: Path
    roots: tuple[str, ...] = ("/data",)
    clock: Clock = field(default_factory=Clock)
    probe: DataProbe = field(init=False)

    def __post_init__(self) -> None:
        self.clock.now = 1e9
        self.probe = DataProbe(self.roots, str(self.tree), self.clock)
        for root in self.roots:
            (self.tree / root.lstrip("/")).mkdir(parents=True, exist_ok=True)

    def folder(self, name: str, root: str = "data") -> Path:
        return self.tree / root / name

    def sums(self, name: str, *shards: str, root: str = "data") -> Path:
        """Make a dataset whose manifest names no sizes, without its shards."""
        return self._manifest(
            name, "SHA256SUMS", "".join(f"{SUM}  {shard}\n" for shard in shards), root
        )

    def sized(self, name: str, root: str = "data", **shards: int) -> Path:
        """Make a dataset of shards of three bytes; their names have a dot for each ``_``."""
        lines = (f"  {shard.replace('_', '.')}: {size}\n" for shard, size in shards.items())
        return self._manifest(name, "nodetruth.yaml", "shards:\n" + "".join(lines), root)

    def _manifest(self, name: str, file: str, text: str, root: str) -> Path:
        folder = self.folder(name, root)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)
        aged(folder / file)
        return folder

    def look(self, after: float = 60) -> Listing:
        """Look, and let time pass until the next look."""
        listing = self.probe.look()
        self.clock.now += after
        return listing

    def here(self) -> dict[str, str]:
        """Look; return the bits of each dataset's shards, ``1`` for one that is here."""
        return {one.name: bits(one) for one in self.look().datasets.found}

    def faults(self) -> dict[str, str]:
        return dict(self.look().faults)


def bits(dataset: Dataset) -> str:
    return "".join(f"{byte:08b}" for byte in dataset.present)[: dataset.shards]


class Meddler:
    """Stands in for ``os.scandir``, and meddles when the first entry of a folder is taken."""

    def __init__(self, folder: Path, meddle: Callable[[], None]) -> None:
        self._folder, self._meddle, self._scandir = str(folder), meddle, os.scandir

    def __call__(self, path: str | Path) -> "Meddler":
        self._entries = list(self._scandir(path))
        if str(path) == self._folder:
            self._meddle()
        return self

    def __enter__(self) -> list[os.DirEntry[str]]:
        return self._entries

    def __exit__(self, *_: object) -> None:
        pass
