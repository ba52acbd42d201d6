"""Put facts into labels. Pure."""

from labeler import legal
from labeler.facts import GIB, Cpu, Disk, Known, Medium, Memory
from labeler.vocabulary import Label


def spell(fact: Known) -> dict[str, str]:
    """Put a fact into labels."""
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
