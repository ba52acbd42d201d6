"""Put facts into labels. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from labeler import gpus, legal
from labeler.datasets import WHOLE
from labeler.facts import GIB, Cpu, Data, Disk, Gpu, Known, Medium, Memory
from labeler.vocabulary import Label, Stem


@dataclass(frozen=True, slots=True)
class GpuWords:
    """What a site says of GPUs that the machine can't."""

    aliases: Mapping[str, str] = field(default_factory=dict)
    """Its own names for models, by product name or by family."""
    expected: int = 0
    """GPUs that the machine was bought with; 0 takes what was seen."""


def spell(fact: Known, words: GpuWords) -> dict[str, str]:
    """Put a fact into labels, their keys without the site's prefix."""
    match fact:
        case Cpu():
            return {Label.CPU: legal.readable(fact.family), Label.CPU_CORES: str(fact.cores)}
        case Memory():
            return {
                Label.MEMORY: f"{nominal(fact.total)}gb",
                Label.MEMORY_GIB: str(fact.total // GIB),
            }
        case Disk():
            return _spell_disk(fact)
        case Gpu():
            return gpus.spell(fact, words.aliases, words.expected)
        case Data():
            return _spell_data(fact)


def _spell_data(data: Data) -> dict[str, str]:
    labels: dict[str, str] = {}
    for name, percent in data.percents.items():
        labels[Stem.DATA + name] = "complete" if percent == WHOLE else "partial"
        labels[Stem.DATA_PERCENT + name] = str(percent)
    if data.percents:
        labels[Label.DATA] = next(iter(data.percents)) if len(data.percents) == 1 else "multiple"
    return labels


def _spell_disk(disk: Disk) -> dict[str, str]:
    labels: dict[str, str] = {Label.DISK_INTERFACE: legal.readable(disk.interface)}
    match disk.medium:
        case Medium.SSD | Medium.HDD:
            labels[Label.DISKTYPE] = disk.medium.value
        case Medium.VIRTUAL:
            labels[Label.DISKTYPE] = "unknown"
        case Medium.NETWORK | Medium.RAM:
            # Neither ssd nor hdd, and known to be neither: the interface says it.
            pass
    return labels


def nominal(total: int) -> int:
    """Return the size in GiB that a machine of ``total`` bytes was sold as.

    The kernel keeps some per cent for itself, so 125.6 GiB are a 128 GiB
    machine. Modules come in eighths of a power of two (96, 160, 384, 1152), so
    the next eighth above is the size.
    """
    gib = -(-total // GIB)
    step = max(1, (1 << (gib.bit_length() - 1)) // 8)
    return -(-gib // step) * step
