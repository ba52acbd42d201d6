"""Keep a Node that lives in a YAML file: the same loop, with no cluster.

Comments and everything that is not ours survive a write; a file that is no
Node is reported and never touched. Followed by looking at the file's stamp
four times a second: unlike inotify that works on every file system and through
every editor's way of saving.
"""

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from threading import Event, Lock
from typing import Final

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from labeler import legal, wire, yamltree
from labeler.diff import Patch
from labeler.node import NodeMissing, NodeMoved, NodeRefused
from labeler.seen import Condition, Seen
from labeler.yamltree import Tree

GLANCE: Final = 0.25
"""Seconds between two looks at the file's stamp: an edit is put right within the second."""


_NO_YAML: Final = (YAMLError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What the parser raises: a tag such as ``!!bool maybe`` is a KeyError."""
_MEND: Final = "it is left as it is; mend it"


class ManifestNode:
    """A Node manifest on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.place = str(path)
        self._lock = Lock()
        self._last: tuple[bytes, Seen] | None = None
        self.name = self.read().name

    def seen(self) -> Seen | None:
        """Read the file: on a disk, asking is as cheap as remembering."""
        try:
            return self.read()
        except NodeMissing:
            return None

    def read(self) -> Seen:
        """Read the file; parse it only where it has changed."""
        content = self._content()
        if self._last is None or self._last[0] != content:
            self._last = content, yamltree.read(self._tree(content), _version(content))
        return self._last[1]

    def apply(self, patch: Patch, seen: Seen) -> Seen:
        """Write the file anew, in one step, unless it changed since ``seen``."""

        def change(tree: Tree) -> None:
            yamltree.merge(tree["metadata"], "labels", patch.labels)
            yamltree.merge(tree["metadata"], "annotations", patch.annotations)
            if patch.taints is not None:
                yamltree.retaint(tree, patch.taints)

        return self._rewrite(change, seen.version)

    def confirmed(self) -> bool:
        """Tell whether our last write can be read: it was read back at once."""
        return True

    def follow(self, changed: Callable[[], None], stop: Event) -> None:
        """Call ``changed`` at once, then whenever the file's stamp has changed."""
        last: tuple[int, ...] | None = (0,)
        while not stop.is_set():
            stamp = self._stamp()
            if stamp != last:
                last = stamp
                changed()
            stop.wait(GLANCE)

    def condition(self, condition: Condition) -> None:
        """Write one condition into ``status``."""
        seen = self.read()
        entry = wire.condition(condition, datetime.now(UTC), seen)
        self._rewrite(lambda tree: yamltree.say(tree, entry), seen.version)

    def withdraw(self, condition: str) -> None:
        """Take the condition out; a file has no attestation."""
        seen = self.read()
        if condition in seen.conditions:
            self._rewrite(lambda tree: yamltree.unsay(tree, condition), seen.version)

    def attest(self) -> None:
        """Do nothing: whoever reads the file sees its time of change."""

    def publish(self, document: str) -> None:
        """Do nothing: a file has no ConfigMap beside it, and the labels say how much is here."""

    def tell(self, reason: str, message: str, *, warning: bool) -> None:
        """Do nothing: the log says it, and a file has no Events."""

    def _content(self) -> bytes:
        try:
            return self.path.read_bytes()
        except FileNotFoundError as err:
            raise NodeMissing(self.path.name, f"{self.path.parent} (no such file)") from err
        except OSError as err:
            raise self._refuse(str(err.strerror), "the agent must be able to read it") from err

    def _stamp(self) -> tuple[int, ...] | None:
        try:
            stat = self.path.stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size, stat.st_ino

    def _tree(self, content: bytes) -> Tree:
        try:
            tree = _yaml().load(content)
        except _NO_YAML as err:
            why = " ".join(str(err).split())
            raise self._refuse(f"is no YAML: {why}", _MEND) from err
        fault = yamltree.fault(tree)
        if fault:
            raise self._refuse(fault, _MEND)
        checked: Tree = tree
        return checked

    def _refuse(self, why: str, way_out: str) -> NodeRefused:
        return NodeRefused(f"Node file {self.path}", why, way_out)

    def _stay(self, version: str) -> bytes:
        """Return the content; somebody may have saved another."""
        content = self._content()
        if _version(content) != version:
            raise NodeMoved(self.name, version[:12])
        return content

    def _rewrite(self, change: Callable[[Tree], None], version: str) -> Seen:
        with self._lock:
            tree = self._tree(self._stay(version))
            change(tree)
            fresh = BytesIO()
            _yaml().dump(tree, fresh)
            try:
                _replace(self.path.resolve(), fresh.getvalue(), lambda: self._stay(version))
            except OSError as err:
                raise self._refuse(str(err.strerror), "the agent must be able to write it") from err
            return yamltree.read(tree, _version(fresh.getvalue()))


def _replace(target: Path, content: bytes, check: Callable[[], object]) -> None:
    """Write a file in one step: whoever reads it sees the old content or the new.

    ``check`` is asked at the last moment: a sync takes a while, in which
    somebody may have saved.
    """
    stat = target.stat()
    with tempfile.NamedTemporaryFile("wb", dir=target.parent, delete=False) as file:
        fresh = Path(file.name)
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            fresh.chmod(stat.st_mode & 0o777)
            with suppress(PermissionError):
                os.chown(fresh, stat.st_uid, stat.st_gid)
            check()
            fresh.replace(target)
        finally:
            fresh.unlink(missing_ok=True)


def create(path: Path, name: str) -> None:
    """Write a Node manifest that says nothing yet, where there is no file."""
    text = (
        "# A Node kept in a file by nodetruth. Edit a label of its own: it is put right.\n"
        f'apiVersion: v1\nkind: Node\nmetadata:\n  name: "{legal.distinct(name).lower()}"\n'
    )
    try:
        with path.open("x") as file:
            file.write(text)
    except FileExistsError:
        return
    except OSError as err:
        raise NodeRefused(
            f"Node file {path}", str(err.strerror), "name a file in a folder that can be written"
        ) from err


def _yaml() -> YAML:
    parser = YAML()  # Round trip: comments, quotes and order survive.
    parser.preserve_quotes = True
    parser.width = 4096
    return parser


def _version(content: bytes) -> str:
    return sha256(content).hexdigest()
