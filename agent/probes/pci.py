"""Find NVIDIA's GPUs on the PCI bus: is there a device, whatever a driver says of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_NVIDIA: Final = "0x10de"
_DISPLAY: Final = ("0x0300", "0x0302")
"""VGA controller and 3D controller (PCI Code and ID Assignment, base class 03h)."""
_DEVICES: Final = "bus/pci/devices"


@dataclass(frozen=True, slots=True)
class Slot:
    """One GPU on the bus: its address (``0000:1b:00.0``) and the kernel driver bound to it."""

    address: str
    driver: str

    @property
    def away(self) -> bool:
        """Whether it is handed to virtual machines."""
        return self.driver == "vfio-pci"


def scan(sys: Path) -> tuple[Slot, ...]:
    """Return the GPUs by address; none on a machine without a PCI bus.

    Raise ``OSError`` where sysfs itself can't be read: then nothing is known.
    """
    if not (sys / "bus/pci").exists():
        # A machine without PCI has no such folder; without sysfs there is no bus at all.
        (sys / "bus").stat()
        return ()
    return tuple(sorted(_slots(sys / _DEVICES), key=lambda slot: slot.address))


def has_module(sys: Path) -> bool:
    """Tell whether NVIDIA's kernel module is loaded."""
    return (sys / "module/nvidia").exists()


def _slots(folder: Path) -> Iterator[Slot]:
    for device in folder.iterdir():
        try:
            if _is_gpu(device):
                yield Slot(device.name.lower(), _driver(device))
        except PermissionError:
            # It may be a GPU, and what we may not look at is not "none".
            raise
        except OSError:
            # It was unplugged while we looked; the next look finds it gone.
            continue


def _is_gpu(device: Path) -> bool:
    # A virtual function is a share of a card for virtual machines, not a card.
    return (
        _text(device / "vendor") == _NVIDIA
        and _text(device / "class").startswith(_DISPLAY)
        and not (device / "physfn").exists()
    )


def _driver(device: Path) -> str:
    link = device / "driver"
    return link.readlink().name if link.is_symlink() else ""


def _text(path: Path) -> str:
    return path.read_bytes().decode(errors="replace").strip()
