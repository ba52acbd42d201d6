"""Read and change the YAML tree of a Node manifest, leaving all that is not ours. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from ruamel.yaml.scalarstring import DoubleQuotedScalarString as Quoted

from labeler import wire
from labeler.seen import Condition, Seen, Taint

Tree = dict[str, Any]
"""What a YAML parser makes of a mapping; checked by ``fault`` before it is used."""


def fault(tree: object) -> str | None:
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
    return wrong[0] if wrong else _shared(tree)


def _shared(tree: Tree) -> str | None:
    """Say which part stands in two places: to write one would be to write the other."""
    meta, spec, status = tree["metadata"], tree.get("spec") or {}, tree.get("status") or {}
    ours = {
        "metadata": meta,
        "metadata.labels": meta.get("labels"),
        "metadata.annotations": meta.get("annotations"),
        "spec": spec,
        "spec.taints": spec.get("taints"),
        "status": status,
        "status.conditions": status.get("conditions"),
    }
    counts = Counter(_containers(tree))
    for where, part in ours.items():
        if getattr(part, "merge", None) or counts[id(part)] > 1:
            return f"{where} is shared with another part by a YAML alias"
    return None


def _containers(part: object) -> Iterator[int]:
    """Yield the identity of each mapping and list, as often as it stands in the tree."""
    seen: set[int] = set()
    left = [part]
    while left:
        one = left.pop()
        if isinstance(one, dict | list):
            yield id(one)
            if id(one) not in seen:
                seen.add(id(one))
                left.extend(one.values() if isinstance(one, dict) else one)


def _maps(part: object) -> bool:
    return part is None or (isinstance(part, list) and all(isinstance(one, dict) for one in part))


def read(tree: Tree, version: str) -> Seen:
    """Return what a manifest says."""
    meta, spec, status = tree["metadata"], tree.get("spec") or {}, tree.get("status") or {}
    conditions = status.get("conditions") or []
    return Seen(
        name=str(meta["name"]),
        uid=str(meta.get("uid") or ""),
        version=version,
        labels=_texts(meta.get("labels")),
        annotations=_texts(meta.get("annotations")),
        taints=tuple(_taint(t) for t in spec.get("taints") or []),
        cordoned=spec.get("unschedulable") is True,
        conditions={str(c.get("type")): _condition(c) for c in conditions},
    )


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


def merge(parent: Tree, name: str, changes: Mapping[str, str | None]) -> None:
    """Set and remove keys of a mapping of texts; every value is written quoted."""
    tree = _part(parent, name, {})
    for key, value in changes.items():
        if value is None:
            tree.pop(key, None)
        else:
            tree[key] = Quoted(value)
    _drop_if_empty(parent, name)


def retaint(tree: Tree, taints: tuple[Taint, ...]) -> None:
    """Replace the list of taints; one that stays is kept as it was written, comments and all."""
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


def say(tree: Tree, entry: Mapping[str, object]) -> None:
    """Write one condition, beside those of other types."""
    conditions = _part(_part(tree, "status", {}), "conditions", [])
    same = [one for one in conditions if one.get("type") == entry["type"]]
    if same:
        same[0].update(_quoted(entry))
    else:
        conditions.append(_quoted(entry))


def unsay(tree: Tree, kind: str) -> None:
    """Take the condition of a type out."""
    status = tree["status"]
    status["conditions"][:] = [one for one in status["conditions"] if one.get("type") != kind]
    _drop_if_empty(status, "conditions")
    _drop_if_empty(tree, "status")
