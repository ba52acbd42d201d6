"""Put GPUs on the bus of a machine that is a folder."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

_CARD: Final = {"vendor": "0x10de\n", "class": "0x030200\n"}


def plug(machine: Path, addresses: Iterable[str]) -> None:
    """Add a GPU of NVIDIA's at each address, and the driver's module."""
    for address in addresses:
        device = machine / "sys/bus/pci/devices" / address
        device.mkdir(parents=True)
        for name, text in _CARD.items():
            (device / name).write_text(text)
    (machine / "sys/module/nvidia").mkdir(parents=True)
