"""Keep a Node that lives in a YAML file: the same loop, with no cluster.

Comments and everything that is not ours survive a write; a file that is no
Node is reported and never touched. Followed by looking at the file's stamp
four times a second: unlike inotify that works on every file system and through
every editor's way of saving.
"""

import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import IO, Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString as Quoted

from labeler import legal, wire
from labeler.diff import Patch
from labeler.node import NodeMissing, NodeMoved, NodeRefused
from labeler.seen import Condition, Seen, Taint

GLANCE: Final = 0.25
"""Seconds between two looks at the file's stamp: an edit is put right within the second."""

Tree = dict[str, Any]
"""What a YAML parser makes of a mapping; checked by ``_checked`` before it is used."""


class ManifestNode:
    """A Node manifest on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.place = str(path)
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
            self._last = content, _seen(self._tree(content), content)
        return self._last[1]

    def apply(self, patch: Patch, seen: Seen) -> Seen:
        """Write the file anew, in one step, unless it changed since ``seen``."""

        def change(tree: Tree) -> None:
            _merge(tree["metadata"], "labels", patch.labels)
            _merge(tree["metadata"], "annotations", patch.annotations)
            if patch.taints is not None:
                _retaint(tree, patch.taints)

        self._rewrite(change, seen.version)
        return self.read()

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
        entry = _quoted(wire.condition(condition, datetime.now(UTC), seen))

        def change(tree: Tree) -> None:
            conditions = _part(_part(tree, "status", {}), "conditions", [])
            same = [c for c in conditions if c.get("type") == entry["type"]]
            if same:
                same[0].update(entry)
            else:
                conditions.append(entry)

        self._rewrite(change, seen.version)

    def withdraw(self, condition: str) -> None:
        """Take the condition out; a file has no attestation."""
        seen = self.read()
        if condition not in seen.conditions:
            return

        def change(tree: Tree) -> None:
            status = tree["status"]
            kept = [c for c in status["conditions"] if c.get("type") != condition]
            status["conditions"][:] = kept
            _drop_if_empty(status, "conditions")
            _drop_if_empty(tree, "status")

        self._rewrite(change, seen.version)

    def attest(self) -> None:
        """Do nothing: whoever reads the file sees its time of change."""

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
        except (YAMLError, UnicodeDecodeError, RecursionError, ValueError) as err:
            why = " ".join(str(err).split())
            raise self._refuse(f"is no YAML: {why}", _MEND) from err
        fault = _fault(tree)
        if fault:
            raise self._refuse(fault, _MEND)
        checked: Tree = tree
        return checked

    def _refuse(self, why: str, way_out: str) -> NodeRefused:
        return NodeRefused(f"Node file {self.path}", why, way_out)

    def _rewrite(self, change: Callable[[Tree], None], version: str) -> None:
        content = self._content()
        if _version(content) != version:
            raise NodeMoved(self.name, version[:12])
        tree = self._tree(content)
        change(tree)
        try:
            _replace(self.path.resolve(), lambda file: _yaml().dump(tree, file))
        except OSError as err:
            raise self._refuse(str(err.strerror), "the agent must be able to write it") from err


def _replace(target: Path, write: Callable[[IO[bytes]], None]) -> None:
    """Write a file in one step: whoever reads it sees the old content or the new."""
    stat = target.stat()
    with tempfile.NamedTemporaryFile("wb", dir=target.parent, delete=False) as file:
        fresh = Path(file.name)
        try:
            write(file)
            file.flush()
            os.fsync(file.fileno())
            fresh.chmod(stat.st_mode & 0o777)
            with suppress(PermissionError):
                os.chown(fresh, stat.st_uid, stat.st_gid)
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


_MEND: Final = "it is left as it is; mend it"


def _yaml() -> YAML:
    parser = YAML()  # Round trip: comments, quotes and order survive.
    parser.preserve_quotes = True
    parser.width = 4096
    return parser


def _fault(tree: object) -> str | None:
    """Say why this is no Node manifest; ``None`` when it is one."""
    if not isinstance(tree, dict) or tree.get("kind") != "Node":
        return "is no Node manifest: it must say kind: Node"
    meta = tree.get("metadata")
    if not isinstance(meta, dict) or not isinstance(meta.get("name"), str):
        return "is no Node manifest: it must have a metadata.name"
    spec, status = tree.get("spec") or {}, tree.get("status") or {}
    maps = {
        "metadata.labels": meta.get("labels") or {},
        "metadata.annotations": meta.get("annotations") or {},
        "spec": spec,
        "status": status,
    }
    wrong = [f"{where} is no mapping" for where, part in maps.items() if not isinstance(part, dict)]
    if not wrong:
        lists = {"spec.taints": spec.get("taints"), "status.conditions": status.get("conditions")}
        wrong = [f"{where} is no list of mappings" for where, p in lists.items() if not _maps(p)]
    return wrong[0] if wrong else None


def _maps(part: object) -> bool:
    return part is None or (isinstance(part, list) and all(isinstance(one, dict) for one in part))


def _seen(tree: Tree, content: bytes) -> Seen:
    meta, spec, status = tree["metadata"], tree.get("spec") or {}, tree.get("status") or {}
    conditions = status.get("conditions") or []
    return Seen(
        name=str(meta["name"]),
        uid=str(meta.get("uid") or ""),
        version=_version(content),
        labels=_texts(meta.get("labels")),
        annotations=_texts(meta.get("annotations")),
        taints=tuple(_taint(t) for t in spec.get("taints") or []),
        cordoned=spec.get("unschedulable") is True,
        conditions={str(c.get("type")): _condition(c) for c in conditions},
    )


def _version(content: bytes) -> str:
    return sha256(content).hexdigest()


def _texts(tree: Mapping[object, object] | None) -> dict[str, str]:
    """Return a mapping of texts; a value that YAML reads as no text equals none of ours."""
    return {
        str(key): str(value) if isinstance(value, str) else f"<{type(value).__name__}> {value}"
        for key, value in (tree or {}).items()
    }


def _taint(tree: Tree) -> Taint:
    added = tree.get("timeAdded")
    if isinstance(added, datetime):
        added = added.strftime("%Y-%m-%dT%H:%M:%SZ")
    key, effect, value = (str(tree.get(part) or "") for part in ("key", "effect", "value"))
    return Taint(key, effect, value, str(added) if added else None)


def _condition(tree: Tree) -> Condition:
    parts = {part: str(tree.get(part) or "") for part in ("type", "status", "reason", "message")}
    return Condition(**parts)


def _merge(parent: Tree, name: str, changes: Mapping[str, str | None]) -> None:
    tree = _part(parent, name, {})
    for key, value in changes.items():
        if value is None:
            tree.pop(key, None)
        else:
            tree[key] = Quoted(value)
    _drop_if_empty(parent, name)


def _retaint(tree: Tree, taints: tuple[Taint, ...]) -> None:
    spec = _part(tree, "spec", {})
    listed = _part(spec, "taints", [])
    there = {_taint(old): old for old in listed}
    listed[:] = [there.get(taint) or _quoted(wire.taint(taint)) for taint in taints]
    _drop_if_empty(spec, "taints")
    _drop_if_empty(tree, "spec")


def _part(parent: Tree, name: str, empty: Any) -> Any:
    """Return a part of the tree, made where it is missing or null."""
    if parent.get(name) is None:
        parent[name] = empty
    return parent[name]


def _quoted(tree: Mapping[str, object]) -> Tree:
    return {key: Quoted(value) if isinstance(value, str) else value for key, value in tree.items()}


def _drop_if_empty(parent: Tree, name: str) -> None:
    if not parent[name]:
        del parent[name]
