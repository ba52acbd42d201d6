"""Find the mount that carries a path, in the words of ``/proc/PID/mountinfo`` (proc(5))."""

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of mountinfo."""

    device: str
    """``major:minor``."""
    point: str
    kind: str
    """File-system type."""
    source: str
    options: tuple[str, ...]
    """Those of the file system itself: an overlay's ``upperdir=`` is among them."""


def read(proc: Path) -> str:
    """Return the host's mounts; this process's own where the host's are not ours to read.

    Byte for byte: a carriage return in a mount point ends no line.
    """
    return (proc / whose(proc) / "mountinfo").read_bytes().decode(errors="surrogateescape")


def whose(proc: Path) -> str:
    """Tell whose mounts are read: those of process ``1``, or of ``self``."""
    try:
        (proc / "1/mountinfo").open("rb").close()
    except (PermissionError, FileNotFoundError):
        return "self"
    return "1"


def parse(text: str) -> tuple[Mount, ...]:
    """Parse mountinfo; a line of another shape is left out."""
    return tuple(mount for line in text.split("\n") if (mount := _parse(line)))


def carrier(mounts: tuple[Mount, ...], path: str) -> Mount | None:
    """Return the mount that ``path`` lies on: the longest prefix, of equals the last mounted."""
    best = None
    for mount in mounts:
        if _within(path, mount.point) and (best is None or len(mount.point) >= len(best.point)):
            best = mount
    return best


def _parse(line: str) -> Mount | None:
    left, dash, right = line.partition(" - ")
    fields, tail = left.split(" "), right.split(" ")
    if not dash or len(fields) < 6 or len(tail) < 3:  # noqa: PLR2004  (as many as proc(5) lists)
        return None
    return Mount(
        fields[2],
        _plain(fields[4]),
        tail[0],
        _plain(tail[1]),
        tuple(map(_plain, tail[2].split(","))),
    )


def _within(path: str, point: str) -> bool:
    return path == point or path.startswith(point.rstrip("/") + "/")


def _plain(text: str) -> str:
    """Undo the kernel's octal escapes of space, tab, newline and backslash."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
