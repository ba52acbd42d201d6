"""Translate between the API server's JSON and our values: Nodes in, patches out. Pure."""

from datetime import datetime
from typing import Annotated, Final

import msgspec

from labeler.diff import Patch
from labeler.seen import Condition, Seen, Taint
from labeler.vocabulary import FIELD_MANAGER

MICROTIME: Final = "%Y-%m-%dT%H:%M:%S.%fZ"
"""Go's MicroTime takes exactly six digits; ``isoformat`` drops them when they are zero."""

NOTE_LIMIT: Final = 1024
"""Bytes of an Event's note that the server takes."""


Version = Annotated[str, msgspec.Meta(pattern="^[0-9]+$")]


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    uid: str = ""
    resource_version: Version = "0"
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    managed_fields: msgspec.Raw = msgspec.Raw()


class _Taint(msgspec.Struct, rename="camel"):
    key: str
    effect: str
    value: str = ""
    time_added: str | None = None


class _Spec(msgspec.Struct):
    taints: list[_Taint] | None = None
    unschedulable: bool = False


class _Condition(msgspec.Struct):
    type: str
    status: str
    reason: str = ""
    message: str = ""


class _NodeStatus(msgspec.Struct):
    conditions: list[_Condition] | None = None


class _Node(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _NodeStatus = msgspec.field(default_factory=_NodeStatus)


class _List(msgspec.Struct):
    metadata: _Meta
    items: list[_Node] | None = None


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Failure(msgspec.Struct):
    code: int = 500
    message: str = ""


class Event(msgspec.Struct, frozen=True):
    """One line of a watch: the Node after a change, or the server's word that it can't go on."""

    type: str
    version: str
    seen: Seen | None = None
    code: int = 0
    message: str = ""


def node(body: bytes) -> Seen:
    """Decode one Node."""
    return _seen(msgspec.json.decode(body, type=_Node))


def listed(body: bytes) -> tuple[str, Seen | None]:
    """Decode a list that holds one Node or none: the list's version, and the Node."""
    listing = msgspec.json.decode(body, type=_List)
    found = [_seen(item) for item in listing.items or []]
    return listing.metadata.resource_version, found[0] if found else None


def event(line: bytes) -> Event:
    """Decode one line of a watch."""
    raw = msgspec.json.decode(line, type=_Event)
    if raw.type == "ERROR":
        failure = msgspec.json.decode(raw.object, type=_Failure)
        return Event(raw.type, "", None, failure.code, failure.message)
    one = msgspec.json.decode(raw.object, type=_Node)
    seen = _seen(one) if raw.type in {"ADDED", "MODIFIED"} else None
    return Event(raw.type, one.metadata.resource_version, seen)


def merge_patch(patch: Patch, seen: Seen) -> dict[str, object]:
    """Return the merge patch for a Node that was read as ``seen``.

    The uid is always a precondition. The version is one only where the list of
    taints is replaced: labels merge key by key and can undo nobody's work,
    while a Node that is written often would turn a needless precondition into
    a starved agent.
    """
    meta: dict[str, object] = {"uid": seen.uid}
    meta |= {"labels": dict(patch.labels)} if patch.labels else {}
    meta |= {"annotations": dict(patch.annotations)} if patch.annotations else {}
    if patch.taints is None:
        return {"metadata": meta}
    meta["resourceVersion"] = seen.version
    return {"metadata": meta, "spec": {"taints": [taint(one) for one in patch.taints] or None}}


def taint(one: Taint) -> dict[str, str]:
    """Encode a taint; what it does not have is left out, as the server does."""
    parts = {"key": one.key, "value": one.value, "effect": one.effect, "timeAdded": one.added}
    return {name: text for name, text in parts.items() if text}


def condition(one: Condition, now: datetime, seen: Seen | None) -> dict[str, object]:
    """Encode a condition; the time of transition is kept while the status stays."""
    stamp = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    before = seen.conditions.get(one.type) if seen else None
    entry: dict[str, object] = {
        "type": one.type,
        "status": one.status,
        "reason": one.reason,
        "message": one.message,
        "lastHeartbeatTime": stamp,
    }
    if before is None or before.status != one.status:
        entry["lastTransitionTime"] = stamp
    return entry


def _seen(one: _Node) -> Seen:
    conditions = [
        Condition(type=c.type, status=c.status, reason=c.reason, message=c.message)
        for c in one.status.conditions or []
    ]
    return Seen(
        name=one.metadata.name,
        uid=one.metadata.uid,
        version=one.metadata.resource_version,
        labels=one.metadata.labels or {},
        annotations=one.metadata.annotations or {},
        taints=tuple(Taint(t.key, t.effect, t.value, t.time_added) for t in one.spec.taints or []),
        cordoned=one.spec.unschedulable,
        conditions={c.type: c for c in conditions},
        # A copy: the raw part alone would keep the whole message in memory.
        fields=bytes(one.metadata.managed_fields),
    )


def stamp(now: datetime) -> str:
    """Return a time as the API's MicroTime."""
    return now.strftime(MICROTIME)


def notice(reason: str, message: str, *, warning: bool, now: datetime) -> dict[str, object]:
    """Return what an Event says, and when."""
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "eventTime": stamp(now),
        "action": reason,
        "reason": reason,
        "type": "Warning" if warning else "Normal",
        "note": message.encode(errors="replace")[:NOTE_LIMIT].decode(errors="ignore"),
    }


def about(name: str, seen: Seen | None, holder: str, now: datetime) -> dict[str, object]:
    """Return whom an Event is about and who says it; one about a Node lies in ``default``."""
    uid = seen.uid if seen else ""
    return {
        "metadata": {"name": f"{name}.{int(now.timestamp() * 1e6):x}", "namespace": "default"},
        "reportingController": FIELD_MANAGER,
        "reportingInstance": holder,
        "regarding": {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid},
    }
