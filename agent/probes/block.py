"""Tell what a block device is made of, and what each of its parts is.

Where the kernel's word is worth nothing the medium is ``virtual``, never a
guess: ``rotational`` is a measurement on disks whose own protocol says it, and
a default on all others, 1 on older kernels and 0 on newer ones.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from labeler.facts import Disk, Medium

DEPTH: Final = 16
"""Layers of overlays and stacked devices that are followed; real ones have five."""

_NAMED: Final = {
    "vd": "virtio",
    "xvd": "xen",
    "mmcblk": "mmc",
    "pmem": "pmem",
    "zram": "memory",
    "ram": "memory",
    "rbd": "network",
    "nbd": "network",
    "drbd": "network",
    "loop": "loop",
}
_TRAILS: Final = {
    "/session": "network",  # iSCSI
    "/rport-": "network",  # Fibre Channel
    "/usb": "usb",
    "/ata": "sata",
    "/virtio": "virtio",
    "/end_device": "sas",
}
"""Marks in the device's place in sysfs; the first that is there names the attachment."""

_TELLS: Final = frozenset({"sata", "sas"})
"""Where ``rotational`` 1 comes from the disk itself (ATA word 217, SCSI VPD page B1)."""
_NO_DISKS: Final = ("loop", "zd", "sr")
"""Files, ZFS volumes and optical drives: never rotating by default, whatever they lie on."""
_REMOTE: Final = frozenset({"tcp", "rdma", "fc"})
_CLOUD: Final = re.compile(r"Amazon Elastic Block Store|nvme_card-pd|MSFT NVMe Accelerator")
"""Models of network volumes that are attached as NVMe over PCIe."""
_INVENTED: Final = re.compile(
    r"QEMU|VBOX|VMware|Virtual|Msft|Google|XEN|LOGICAL VOLUME|PERC|RAID|\bMR\d", re.IGNORECASE
)
"""Vendors and models behind which a hypervisor or a RAID controller hides the real disks."""


class Lost(Exception):
    """The trail from a path to a disk ends; the message says where."""


def leaves(device: Path, sys: Path, depth: int) -> Iterator[Disk]:
    """Follow a block device (a folder in sysfs) to the disks it is made of."""
    if depth == 0:
        raise Lost(f"{device.name} is stacked too deep")
    if (device / "partition").exists():
        device = device.parent
    below = sorted((device / "slaves").glob("*"))
    if not below:
        yield _disk(device, sys)
    for slave in below:
        yield from leaves(slave.resolve(), sys, depth - 1)


def _disk(device: Path, sys: Path) -> Disk:
    trail = f"/{device.relative_to(sys.resolve())}"
    interface = _interface(device, trail)
    return Disk(_medium(device, interface), interface, (device.name,))


def _medium(device: Path, interface: str) -> Medium:
    if interface in {"network", "memory"}:
        return Medium(interface)
    if interface == "unknown" or device.name.startswith(_NO_DISKS):
        return Medium.VIRTUAL
    if (device / "queue/rotational").read_text().strip() == "0":
        return Medium.SSD
    return Medium.HDD if interface in _TELLS and _is_real(device) else Medium.VIRTUAL


def _is_real(device: Path) -> bool:
    vendor, model = _text(device / "device/vendor"), _text(device / "device/model")
    return bool(model) and _INVENTED.search(f"{vendor} {model}") is None


def _interface(device: Path, trail: str) -> str:
    if device.name.startswith("nvme"):
        return "network" if _is_remote(device) else "nvme"
    for start, label in _NAMED.items():
        if device.name.startswith(start):
            return label
    for mark, label in _TRAILS.items():
        if mark in trail:
            return label
    return "scsi" if device.name.startswith("sd") else "unknown"


def _is_remote(device: Path) -> bool:
    """Tell whether an NVMe namespace is across a network; under multipath, by its controllers."""
    ports = [device / "device/transport", *(device / "device").glob("nvme[0-9]*/transport")]
    remote = not _REMOTE.isdisjoint(map(_text, ports))
    return remote or _CLOUD.search(_text(device / "device/model")) is not None


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
