"""Run an agent as it runs on a node, and read off the kernel what it costs.

The settings are the defaults, but for the machine, which is the small one of
the tests: what is measured depends on no real disk.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

import psutil

from bench.node import python
from bench.row import Row
from tests.cluster.agents import Agent
from tests.cluster.audit import AuditLine
from tests.cluster.controlplane import ControlPlane

PLAIN: Final[Mapping[str, object]] = {
    "derived": [],
    "disk": {"paths": ["/data"]},
    "memory": {},
}
"""Undoes what the tests set to be quick: the periods are the defaults again."""


class Benched(Agent):
    """An agent whose process can be measured, with variables of its own."""

    def __init__(
        self,
        plane: ControlPlane,
        node: str,
        folder: Path,
        config: Mapping[str, object],
        environ: Mapping[str, str],
    ) -> None:
        self._environ = environ
        super().__init__(plane, node, folder, **{**PLAIN, **config})

    def command(self, *arguments: str) -> tuple[list[str], dict[str, str]]:
        """Return the command line and the environment of a Pod of the agent's."""
        (_, *line), environ = super().command(*arguments)
        return [*python(), *line], {**environ, **self._environ}

    @property
    def pid(self) -> int:
        """Whose costs are measured."""
        assert self._process
        return self._process.pid


Mapped = tuple[str, int, int]
"""A file, and how many bytes a process has mapped of it: in all, and for itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Bytes of an agent: of its own process, and of that and its children."""

    rss: int
    tree_pss: int
    """Pages shared with others count by share: lower beside other Pythons than on a node alone."""
    tree_alone: int
    """The PSS as it would be on a node without other Pythons: what the tree shares counts once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """What one agent cost in a window in which nothing changed."""

    seconds: float
    cpu: float
    """Seconds of its process and of its children, ended ones included."""
    memory: Memory
    """At the end of the window."""
    asked: list[AuditLine]
    """What its user asked of the API server."""


Given = tuple[Mapping[str, object], Mapping[str, str]]
"""Settings, and variables of the environment."""


def nothing(_folder: Path) -> Given:
    """Give the defaults."""
    return {}, {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Resident:
    """An agent at rest: how it differs from a plain one, and which figures it gives."""

    node: str
    rows: Callable[[Rest], list[Row]]
    scrape: float | None = None
    """Seconds between two readings of /metrics; ``None`` for none."""
    given: Callable[[Path], Given] = nothing
    """Called before its agent starts, with a folder for whatever is to be built."""
    plug: Callable[[Path], None] = lambda _machine: None
    """Called before its agent starts, with the folder that is its machine."""


def tree(pid: int) -> list[psutil.Process]:
    """Return a process and all below it."""
    parent = psutil.Process(pid)
    return [parent, *parent.children(recursive=True)]


def cpu_seconds(pid: int) -> float:
    """Return what a process, its living children and its ended ones have used, to 10 ms each."""
    return sum(sum(process.cpu_times()[:4]) for process in tree(pid))


def memory(pid: int) -> Memory:
    """Return what a process and its children hold, by the kernel's own sums."""
    parts = [process.memory_full_info() for process in tree(pid)]
    return Memory(
        rss=parts[0].rss,
        tree_pss=sum(part.pss for part in parts),
        tree_alone=alone(map(mapped, tree(pid))),
    )


def alone(processes: Iterable[Iterable[Mapped]]) -> int:
    """Add up what each process has for itself, and of what it shares the most of any. Pure.

    Two processes of one program touch much the same pages of each file.
    """
    own = 0
    shared: dict[str, int] = {}
    for path, whole, mine in chain.from_iterable(processes):
        own += mine
        shared[path] = max(shared.get(path, 0), whole - mine)
    return own + sum(shared.values())


def mapped(process: psutil.Process) -> list[Mapped]:
    """Return what a process has mapped, by file."""
    maps = process.memory_maps()
    return [(one.path, one.rss, one.private_clean + one.private_dirty) for one in maps]
