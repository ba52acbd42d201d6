"""Follow symbolic links inside the machine's own tree, and not out of a folder."""

import errno
import os
import stat
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final

_LINKS: Final = 40
"""Symbolic links that are followed, as many as the kernel follows."""


class Outside(Exception):
    """The path leads out of the folder that it must stay in."""


class TooFar(Exception):
    """More had to be looked at than the folder is worth."""


class Steps:
    """Counts what is looked at for one folder; ``TooFar`` where that comes to no end."""

    def __init__(self, most: int) -> None:
        self._left = most

    def __call__(self) -> None:
        """Take one."""
        self._left -= 1
        if self._left < 0:
            raise TooFar


def real(path: str, tree: str, within: str = "/", step: Callable[[], None] = lambda: None) -> str:
    """Return ``path``, in the words of the machine, without symbolic links.

    The machine's root lies at ``tree``, empty for ``/``. ``within`` is free of links, and the
    path stays in it: what lies outside is not even looked at, since it may be
    a network mount that hangs. ``step`` is called before each look.
    """
    done, left, links = "", deque(_parts(path)), _LINKS
    while left:
        part = left.popleft()
        step()
        if part == "..":
            done = done.rpartition("/")[0]
            continue
        done = f"{done}/{part}"
        if not _is_above(done, within) and (target := _target(done, tree, within)) is not None:
            if (links := links - 1) == 0:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            done = "" if target.startswith("/") else done.rpartition("/")[0]
            left.extendleft(reversed(_parts(target)))
    done = done or "/"
    if not _is_beneath(done, within):
        raise Outside(path)
    return done


def _target(path: str, tree: str, within: str) -> str | None:
    if not _is_beneath(path, within):
        raise Outside(path)
    there = tree + path
    return os.fspath(Path(there).readlink()) if stat.S_ISLNK(os.lstat(there).st_mode) else None


def _is_above(path: str, within: str) -> bool:
    return path == within or within.startswith(path + "/")


def _is_beneath(path: str, within: str) -> bool:
    return path == within or path.startswith(within.rstrip("/") + "/")


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in {"", "."}]
