"""Build a machine of which a test says only what it is about."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agent.probes import disk
from agent.settings import Override
from labeler.facts import Disk, Medium, Unknown

SATA: Final = "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0"


@dataclass(frozen=True)
class Box:
    """A machine as a folder, empty at first."""

    folder: Path

    def disk(self, name: str, below: str, number: str, rotational: int, **device: str) -> Path:
        home = self.folder / "sys/devices" / below
        block = home / ("" if name.startswith("nvme") else "block") / name
        (block / "queue").mkdir(parents=True)
        (block / "queue/rotational").write_text(f"{rotational}\n")
        (block / "device").symlink_to(os.path.relpath(home, block))
        for field, text in device.items():
            (home / field).write_text(f"{text:<8}\n")
        self.number(number, block)
        return block

    def number(self, number: str, block: Path) -> None:
        numbers = self.folder / "sys/dev/block"
        numbers.mkdir(parents=True, exist_ok=True)
        (numbers / number).symlink_to(os.path.relpath(block, numbers))

    def mount(self, number: str, point: str, kind: str = "ext4", rest: str = "/dev/x rw") -> None:
        """Mount at a point, and make the folder there."""
        self.mounted("1", f"40 29 {number} / {point} rw - {kind} {rest}\n")
        (self.folder / "root" / point.lstrip("/")).mkdir(parents=True, exist_ok=True)

    def mounted(self, process: str, line: str) -> None:
        (self.folder / "proc" / process).mkdir(parents=True, exist_ok=True)
        with (self.folder / "proc" / process / "mountinfo").open("a") as file:
            file.write(line)

    def look(self, *paths: str, words: tuple[Override, ...] = ()) -> Disk | Unknown:
        proc, sys, root = (self.folder / tree for tree in ("proc", "sys", "root"))
        return disk.probe(paths or ("/data",), proc, sys, root, words)

    def medium(self) -> Medium:
        found = self.look()
        assert isinstance(found, Disk)
        return found.medium
