"""Say what was seen of a machine, in values that mean something.

A fact is what a probe's readings mean; ``Unknown`` is a fact too. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from labeler.vocabulary import Label

GIB: Final = 1 << 30
MOST_CORES: Final = 1 << 20
MOST_BYTES: Final = 1 << 60


class Probe(StrEnum):
    """The names of the probes, as in metrics, evidence and configuration."""

    CPU = "cpu"
    MEMORY = "memory"
    DISK = "disk"


@dataclass(frozen=True, slots=True)
class Unknown:
    """The probe failed, hung or could not look; ``reason`` never holds a changing number."""

    reason: str


@dataclass(frozen=True, slots=True)
class Cpu:
    """Family as it is labelled (``intel-xeon``) and physical cores, not hardware threads."""

    family: str
    cores: int

    def __post_init__(self) -> None:
        """Refuse what no machine has; evidence may come from anybody."""
        if not self.family or not 1 <= self.cores <= MOST_CORES:
            raise ValueError(f"{self.cores} cores of {self.family!r}")


@dataclass(frozen=True, slots=True)
class Memory:
    """What the kernel manages, in bytes: a little less than what is installed."""

    total: int

    def __post_init__(self) -> None:
        """Refuse what no machine has; evidence may come from anybody."""
        if not 1 <= self.total <= MOST_BYTES:
            raise ValueError(f"{self.total} bytes of memory")


class Medium(StrEnum):
    """What the bits lie on, worst first; ``VIRTUAL`` is a disk nobody can vouch for."""

    HDD = "hdd"
    VIRTUAL = "virtual"
    NETWORK = "network"
    SSD = "ssd"
    RAM = "memory"


@dataclass(frozen=True, slots=True)
class Disk:
    """The devices behind the data paths: the slowest medium, how it is attached, their names."""

    medium: Medium
    interface: str
    devices: tuple[str, ...]


Known = Cpu | Memory | Disk
Facts = Mapping[Probe, Known | Unknown]
"""The newest fact of each probe; a probe that has not answered yet is absent."""

KEYS: Final[Mapping[Probe, frozenset[Label]]] = {
    Probe.CPU: frozenset({Label.CPU, Label.CPU_CORES}),
    Probe.MEMORY: frozenset({Label.MEMORY, Label.MEMORY_GIB}),
    Probe.DISK: frozenset({Label.DISKTYPE, Label.DISK_INTERFACE}),
}
"""Which labels rest on which probe; ``status`` and derived labels rest on several."""
