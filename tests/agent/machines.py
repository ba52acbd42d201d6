"""Read a machine that is a folder: its trees, and what its Node is to say.

``node.toml`` holds the data paths (``disk``), the site's ``overrides``, the
``labels`` by their short keys, those that are ``held``, and the reason of each
``unknown`` probe, in which ``{proc}``, ``{sys}`` and ``{root}`` stand for the trees.
"""

from pathlib import Path
from typing import Final

import msgspec
import yaml

from agent.machine import tasks
from agent.newest import Newest
from agent.settings import DiskLook, Override, Roots, Settings
from labeler.facts import Facts, Probe

FOLDER: Final = Path(__file__).resolve().parents[1] / "machines"
MACHINES: Final = sorted(FOLDER.iterdir())
TREES: Final = ("proc", "sys", "root")


class Expected(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``node.toml`` says; a key it does not know is refused."""

    disk: tuple[str, ...]
    labels: dict[str, str]
    held: tuple[str, ...] = ()
    unknown: dict[Probe, str] = {}
    overrides: tuple[Override, ...] = ()


def expected(machine: Path) -> Expected:
    return msgspec.toml.decode((machine / "node.toml").read_bytes(), type=Expected)


def reasons(machine: Path) -> dict[Probe, str]:
    trees = {tree: machine / tree for tree in TREES}
    return {probe: why.format_map(trees) for probe, why in expected(machine).unknown.items()}


def settings(machine: Path) -> Settings:
    want = expected(machine)
    return Settings(
        roots=Roots(**{tree: str(machine / tree) for tree in TREES}),
        disk=DiskLook(paths=want.disk, overrides=want.overrides),
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


def look(machine: Settings) -> Facts:
    """Run every probe here, one after the other."""
    newest = Newest(tasks(machine))
    for probe in Probe:
        newest.ask(probe)
    return newest.facts()
