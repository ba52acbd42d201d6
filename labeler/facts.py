"""Say what was seen of a machine, in values that mean something.

A fact is what a probe's readings mean; ``Unknown`` is a fact too. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

import msgspec

from labeler import legal
from labeler.datasets import WHOLE
from labeler.vocabulary import Label, Stem

GIB: Final = 1 << 30
MOST_CORES: Final = 1 << 20
MOST_BYTES: Final = 1 << 60


class Probe(StrEnum):
    """The names of the probes, as in metrics, evidence and configuration."""

    CPU = "cpu"
    MEMORY = "memory"
    DISK = "disk"
    GPU = "gpu"
    DATA = "data"


@dataclass(frozen=True, slots=True)
class Unknown:
    """The probe failed, hung or could not look; ``reason`` never holds a changing number."""

    reason: str
    grace: int | None = None
    """Seconds after which that it can't be seen is the machine's own fault; never, if ``None``."""


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


class Sharing(StrEnum):
    """How a GPU is cut up."""

    NONE = "none"
    MIG = "mig"
    UNKNOWN = "unknown"


class Card(msgspec.Struct, frozen=True, omit_defaults=True):
    """One GPU as it was last seen; empty where it never was. Never holds a changing number."""

    product: str = ""
    """The driver's name for it."""
    uuid: str = ""
    memory: int = 0
    """Bytes that can be had in one piece: under MIG, of the smallest instance; 0 is not known."""
    sharing: Sharing = Sharing.UNKNOWN
    clique: str = ""
    """The NVLink fabric it belongs to: cluster and clique."""
    fault: str = ""
    """Why no work can use it."""
    blind: str = ""
    """Why it can't be looked at; then the rest is what was seen before."""

    def __post_init__(self) -> None:
        """Refuse what no card has; evidence may come from anybody."""
        if not 0 <= self.memory <= MOST_BYTES:
            raise ValueError(f"{self.memory} bytes of memory on a GPU")

    @property
    def usable(self) -> bool:
        """Whether it was seen, and nothing is wrong with it."""
        return bool(self.product) and not self.fault


@dataclass(frozen=True, slots=True)
class Gpu:
    """The GPUs by PCI address (``0000:1b:00.0``); none on a machine that has none."""

    cards: Mapping[str, Card] = field(default_factory=dict)
    driver: str = ""
    """Version of the driver."""
    away: tuple[str, ...] = ()
    """Addresses of GPUs that are handed to virtual machines: not ours to judge."""


@dataclass(frozen=True, slots=True)
class Data:
    """The datasets of which something lies here, by the name they are labelled with.

    All of them as it is seen; no more than are labelled as it is remembered.
    """

    percents: Mapping[str, int]
    """Whole per cent of the shards that are here; 100 only where all are."""

    def __post_init__(self) -> None:
        """Refuse what no dataset is; evidence may come from anybody."""
        for name, percent in self.percents.items():
            if not (legal.is_name(name) and 0 <= percent <= WHOLE):
                raise ValueError(f"{percent} per cent of dataset {name!r}")


Known = Cpu | Memory | Disk | Gpu | Data
Facts = Mapping[Probe, Known | Unknown]
"""The newest fact of each probe; a probe that has not answered yet is absent."""

KEYS: Final[Mapping[Probe, frozenset[Label | Stem]]] = {
    Probe.CPU: frozenset({Label.CPU, Label.CPU_CORES}),
    Probe.MEMORY: frozenset({Label.MEMORY, Label.MEMORY_GIB}),
    Probe.DISK: frozenset({Label.DISKTYPE, Label.DISK_INTERFACE}),
    Probe.GPU: frozenset(
        {
            *(Label.ACCELERATOR, Label.ACCELERATOR_PRODUCT, Stem.ACCELERATOR),
            *(label for label in Label if label.startswith("gpu")),
        }
    ),
    Probe.DATA: frozenset({Label.DATA, Stem.DATA, Stem.DATA_PERCENT}),
}
"""Which labels rest on which probe; ``status`` and derived labels rest on several."""
