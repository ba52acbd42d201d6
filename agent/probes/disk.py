"""Tell what the data paths lie on: medium, attachment and devices.

path -> mount -> ``/sys/dev/block`` -> whole disk -> what it is made of. Where
the kernel's word is worth nothing the medium is ``virtual``, never a guess: on
virtual disks ``rotational`` is a default, not a measurement.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

from agent.probes import mounts
from agent.probes.mounts import Mount
from labeler.facts import Disk, Medium, Unknown

_DEPTH: Final = 16
"""Layers of overlays and stacked devices that are followed; real ones have five."""

_NETWORK: Final = frozenset(
    [
        "nfs",
        "nfs4",
        "ceph",
        "cifs",
        "smb3",
        "9p",
        "afs",
        "glusterfs",
        "lustre",
        "gpfs",
        "beegfs",
        "virtiofs",
        "ocfs2",
        "gfs2",
        "wekafs",
    ]
)
_RAM: Final = frozenset({"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"})
_REMOTE_NVME: Final = frozenset({"tcp", "rdma", "fc"})


class Word(Protocol):
    """A site's own word on a path or a device."""

    @property
    def path(self) -> str | None: ...  # noqa: D102
    @property
    def device(self) -> str | None: ...  # noqa: D102
    @property
    def medium(self) -> Medium: ...  # noqa: D102
    @property
    def interface(self) -> str | None: ...  # noqa: D102


class Lost(Exception):
    """The trail from the path to a device ends; the message says where."""


def probe(
    paths: tuple[str, ...], proc: Path, sys: Path, root: Path, words: tuple[Word, ...] = ()
) -> Disk | Unknown:
    """Resolve every path; of several disks the slowest is the one that counts."""
    table = mounts.parse(mounts.read(proc))
    try:
        found = [leaf for path in paths for leaf in _resolve(path, table, sys, root, words)]
    except Lost as err:
        return Unknown(str(err))
    slowest = min(found, key=lambda disk: list(Medium).index(disk.medium))
    devices = dict.fromkeys(device for disk in found for device in disk.devices)
    return Disk(slowest.medium, slowest.interface, tuple(devices))


def _resolve(
    path: str, table: tuple[Mount, ...], sys: Path, root: Path, words: tuple[Word, ...]
) -> Iterator[Disk]:
    for word in words:
        if word.path == path:
            yield Disk(word.medium, word.interface or "unknown", ())
            return
    for disk in _behind(_real(path, root), table, sys, _DEPTH):
        yield next((_said(word, disk) for word in words if word.device in disk.devices), disk)


def _said(word: Word, disk: Disk) -> Disk:
    return Disk(word.medium, word.interface or disk.interface, disk.devices)


def _real(path: str, root: Path) -> str:
    """Return the path without symbolic links; it must exist, or its disk would be a guess."""
    there = root / path.lstrip("/")
    try:
        real = there.resolve(strict=True)
    except (OSError, RuntimeError) as err:
        why = getattr(err, "strerror", None) or "a loop of symbolic links"
        raise Lost(f"data path {path}: {why}") from err
    base = root.resolve()
    inside = real.is_relative_to(base)
    return "/" + str(real.relative_to(base)).lstrip(".") if inside else str(real)


def _behind(path: str, table: tuple[Mount, ...], sys: Path, depth: int) -> Iterator[Disk]:
    mount = mounts.carrier(table, path)
    if mount is None or depth == 0:
        raise Lost(f"{path} lies on no mount that is visible here")
    if mount.kind in _RAM:
        yield Disk(Medium.RAM, "memory", ())
    elif mount.kind in _NETWORK or mount.kind.startswith("fuse."):
        yield Disk(Medium.NETWORK, "network", ())
    elif mount.kind == "overlay":
        yield from _behind(_upper(mount, table, path), table, sys, depth - 1)
    else:
        block = sys / "dev/block" / _number(mount, sys)
        if not block.exists():
            raise Lost(f"{mount.source} ({mount.kind} on {mount.point}) has no device in sysfs")
        yield from _leaves(block.resolve(), depth)


def _upper(mount: Mount, table: tuple[Mount, ...], path: str) -> str:
    upper = next((o[9:] for o in mount.options if o.startswith("upperdir=")), None)
    if upper is None or mounts.carrier(table, upper) == mount:
        raise Lost(f"{path} lies on an overlay whose upper folder is not visible here")
    return upper


def _number(mount: Mount, sys: Path) -> str:
    """Return major:minor; btrfs and kin have an anonymous one, but name their device."""
    if not mount.device.startswith("0:"):
        return mount.device
    name = mount.source.removeprefix("/dev/").replace("/", "!")
    dev = sys / "class/block" / name / "dev"
    return dev.read_text().strip() if mount.source.startswith("/dev/") and dev.exists() else "0:0"


def _leaves(device: Path, depth: int) -> Iterator[Disk]:
    """Follow a block device to the disks it is made of."""
    if depth == 0:
        raise Lost(f"{device.name} is stacked too deep")
    if (device / "partition").exists():
        device = device.parent
    below = sorted((device / "slaves").glob("*"))
    if not below:
        yield _disk(device)
    for slave in below:
        yield from _leaves(slave.resolve(), depth - 1)


def _disk(device: Path) -> Disk:
    interface = _interface(device)
    return Disk(_medium(device, interface), interface, (device.name,))


def _medium(device: Path, interface: str) -> Medium:
    if interface in {"network", "memory"}:
        return Medium(interface)
    if interface == "loop":
        return Medium.VIRTUAL
    rotates = (device / "queue/rotational").read_text().strip() != "0"
    if not rotates:
        return Medium.SSD
    return Medium.VIRTUAL if _is_virtual(device, interface) else Medium.HDD


def _is_virtual(device: Path, interface: str) -> bool:
    """Tell whether ``rotational`` is but a default: a hypervisor's disk, or one without a model."""
    vendor, model = _text(device / "device/vendor"), _text(device / "device/model")
    invented = {"QEMU", "VMware", "Msft", "Virtual", "Google", "VBOX", "XEN"}
    return interface in {"virtio", "xen"} or vendor in invented or not model


def _interface(device: Path) -> str:
    name, trail = device.name, str(device)
    if name.startswith("nvme"):
        return "network" if _text(device / "device/transport") in _REMOTE_NVME else "nvme"
    for start, label in _BY_NAME.items():
        if name.startswith(start):
            return label
    for mark, label in _BY_TRAIL.items():
        if mark in trail:
            return label
    return "scsi" if name.startswith("sd") else "unknown"


_BY_NAME: Final = {
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
_BY_TRAIL: Final = {
    "/session": "network",  # iSCSI
    "/rport-": "network",  # Fibre Channel
    "/usb": "usb",
    "/ata": "sata",
    "/virtio": "virtio",
    "/end_device": "sas",
}


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
