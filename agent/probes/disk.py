"""Tell what the data paths lie on: path -> mount -> block device -> disks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, Protocol

from agent.probes import mounts
from agent.probes.block import DEPTH, Lost, leaves
from agent.probes.links import real
from agent.probes.mounts import Mount
from labeler.facts import Disk, Medium, Unknown

_NETWORK: Final = frozenset(
    {
        *("nfs", "nfs4", "ceph", "cifs", "smb3", "9p", "afs", "glusterfs", "lustre", "gpfs"),
        *("beegfs", "virtiofs", "ocfs2", "gfs2", "wekafs"),
    }
)
_FUSE: Final = re.compile(
    r"fuse\.(sshfs|s3fs|mount-s3|mountpoint-s3|gcsfuse|blobfuse2?|goofys|rclone|juicefs|alluxio\S*"
    r"|ceph\S*|glusterfs|seaweedfs|mfs|moosefs|lizardfs|cvmfs2?|lustre|beegfs|gpfs|nfs\S*|smb\S*)"
)
"""FUSE carries local file systems too (mergerfs, overlays): only these are known to be remote."""
_RAM: Final = frozenset({"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"})
_NAMES: Final = 32
"""Devices that are named in the evidence; a pool may have hundreds."""


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


@dataclass(frozen=True, slots=True)
class _Trees:
    """The machine's trees, and its mounts as ``own`` or as the host sees them."""

    sys: Path
    root: Path
    table: tuple[Mount, ...]
    own: bool

    def named(self, path: str) -> str:
        """Return the path as the mount table names it."""
        return str(self.root.resolve() / path.lstrip("/")) if self.own else path


def probe(
    paths: tuple[str, ...], proc: Path, sys: Path, root: Path, words: tuple[Word, ...] = ()
) -> Disk | Unknown:
    """Resolve every path; of several disks the slowest is the one that counts."""
    trees = _Trees(sys, root, mounts.parse(mounts.read(proc)), mounts.whose(proc) == "self")
    try:
        found = [disk for path in paths for disk in _resolve(path, trees, words)]
    except Lost as err:
        return Unknown(str(err))
    slowest = min(found, key=lambda disk: list(Medium).index(disk.medium))
    devices = dict.fromkeys(device for disk in found for device in disk.devices)
    return Disk(slowest.medium, slowest.interface, tuple(devices)[:_NAMES])


def _resolve(path: str, trees: _Trees, words: tuple[Word, ...]) -> Iterator[Disk]:
    for word in words:
        if word.path and PurePosixPath(word.path) == PurePosixPath(path):
            yield Disk(word.medium, word.interface or "unknown", ())
            return
    for disk in _behind(trees.named(_real(path, trees.root)), trees, DEPTH):
        yield next((_said(word, disk) for word in words if word.device in disk.devices), disk)


def _said(word: Word, disk: Disk) -> Disk:
    return Disk(word.medium, word.interface or disk.interface, disk.devices)


def _real(path: str, root: Path) -> str:
    """Return the path without symbolic links; it must exist, or its disk would be a guess."""
    try:
        return real(path, str(root).rstrip("/"))
    except OSError as err:
        raise Lost(f"data path {path}: {err.strerror}") from err


def _behind(path: str, trees: _Trees, depth: int) -> Iterator[Disk]:
    mount = mounts.carrier(trees.table, path)
    if mount is None or depth == 0:
        raise Lost(f"{path} lies on no mount that is visible here")
    if mount.kind in _RAM:
        yield Disk(Medium.RAM, "memory", ())
    elif mount.kind in _NETWORK or _FUSE.fullmatch(mount.kind):
        yield Disk(Medium.NETWORK, "network", ())
    elif mount.kind == "overlay":
        yield from _behind(_upper(mount, trees.table, path), trees, depth - 1)
    else:
        for device in _devices(mount, trees.sys):
            yield from leaves(device.resolve(), trees.sys, depth)


def _upper(mount: Mount, table: tuple[Mount, ...], path: str) -> str:
    upper = next((o[9:] for o in mount.options if o.startswith("upperdir=")), None)
    if upper is None or mounts.carrier(table, upper) == mount:
        raise Lost(f"{path} lies on an overlay whose upper folder is not visible here")
    return upper


def _devices(mount: Mount, sys: Path) -> list[Path]:
    """Return the devices of a mount; btrfs and kin have an anonymous number, but name one."""
    numbered = sys / "dev/block" / mount.device
    if not mount.device.startswith("0:") and numbered.exists():
        return [numbered]
    named = sys / "class/block" / _kernel_name(mount.source, sys)
    if not mount.source.startswith("/dev/") or not named.exists():
        raise Lost(f"{mount.source} ({mount.kind} on {mount.point}) has no device in sysfs")
    # A file system over several disks names one of them here; sysfs knows them all.
    for member in sys.glob(f"fs/btrfs/*/devices/{named.name}"):
        return sorted(member.parent.iterdir())
    return [named]


def _kernel_name(source: str, sys: Path) -> str:
    """Return ``dm-0`` for ``/dev/mapper/NAME``; for others the name below /dev."""
    name = source.removeprefix("/dev/mapper/")
    for known in sys.glob("class/block/dm-*/dm/name"):
        if known.read_text().strip() == name:
            return known.parent.parent.name
    return source.removeprefix("/dev/").replace("/", "!")
