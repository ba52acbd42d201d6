"""Read a machine that is a folder: its trees, its driver, and what its Node is to say.

``tests/machines/README.md`` says how such a folder is made.
"""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from unittest import mock

import msgspec
import yaml

from agent.machine import Machine
from agent.newest import Newest
from agent.settings import DataLook, DiskLook, GpuLook, Override, Roots, Settings
from labeler.facts import Facts, Probe
from tests.nvml.scene import VARIABLE, Scene

FOLDER: Final = Path(__file__).resolve().parents[1] / "machines"
MACHINES: Final = sorted(path for path in FOLDER.iterdir() if path.is_dir())
TREES: Final = ("proc", "sys", "root")
SCENARIO: Final = "nvml.toml"
OLD: Final = 3600
"""Seconds ago that the shards of a machine were written; a checkout has just written them."""


class Expected(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``node.toml`` says; a key it does not know is refused."""

    disk: tuple[str, ...]
    labels: dict[str, str]
    held: tuple[str, ...] = ()
    unknown: dict[Probe, str] = {}
    reasons: tuple[str, ...] = ()
    overrides: tuple[Override, ...] = ()
    data: tuple[str, ...] = ()
    growing: tuple[str, ...] = ()
    faults: dict[str, str] = {}
    aliases: dict[str, str] = {}
    expected: int = 0


def expected(machine: Path) -> Expected:
    return msgspec.toml.decode((machine / "node.toml").read_bytes(), type=Expected)


def reasons(machine: Path) -> dict[Probe, str]:
    trees = {tree: machine / tree for tree in TREES}
    return {probe: why.format_map(trees) for probe, why in expected(machine).unknown.items()}


def settings(machine: Path, library: Path | None = None) -> Settings:
    want = expected(machine)
    return Settings(
        roots=Roots(**{tree: str(machine / tree) for tree in TREES}),
        disk=DiskLook(paths=want.disk, overrides=want.overrides),
        gpu=GpuLook(
            library=str(library or machine / "root/libnvidia-ml.so.1"),
            aliases=want.aliases,
            expected=want.expected,
        ),
        data=DataLook(roots=want.data),
    )


def configured(machine: Path, file: Path, **more: object) -> Path:
    """Write a configuration file by which the command looks at this machine."""
    tree = {
        "roots": {tree: str(machine / tree) for tree in TREES},
        "disk": {"paths": ["/data"]},
        "listen": "127.0.0.1:0",
    }
    file.write_text(yaml.safe_dump(tree | more))
    return file


@contextmanager
def driver(machine: Path) -> Iterator[Path | None]:
    """Install the machine's driver: the library to load, whose scenario a child will find."""
    if not (machine / SCENARIO).exists():
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        scene = Scene(machine / SCENARIO, Path(folder, "nvml.flat"))
        with mock.patch.dict(os.environ, {VARIABLE: str(scene.flat)}):
            yield scene.library


@contextmanager
def running(machine: Path) -> Iterator[Machine]:
    """Run the machine: its driver is there, and its shards are as old as they should be."""
    age(machine)
    with driver(machine) as library:
        running = Machine(settings(machine, library))
        try:
            yield running
        finally:
            running.gpu.child.stop()


def age(machine: Path) -> None:
    """Make every shard an old one, but for those that grow."""
    now = time.time()
    growing = {machine / "root" / path.lstrip("/") for path in expected(machine).growing}
    for root in expected(machine).data:
        for path in (machine / "root" / root.lstrip("/")).rglob("*"):
            when = now if path in growing else now - OLD
            os.utime(path, (when, when), follow_symlinks=False)


def look(machine: Machine) -> Facts:
    """Run every probe here, one after the other."""
    newest = Newest(machine.tasks)
    for probe in Probe:
        newest.ask(probe)
    return newest.facts()
