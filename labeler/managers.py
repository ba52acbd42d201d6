"""Tell who set a field of a Node, as far as the server noted it. Pure.

``metadata.managedFields`` names for each manager the fields whose value is its
own. A field that is gone is in no entry, a Node in a file has no entries, and
what can't be read proves nothing: all that is ``unknown``, never a guess.
"""

from enum import StrEnum
from typing import Final

import msgspec

from labeler.vocabulary import FIELD_MANAGER

UNKNOWN: Final = "unknown"
"""Stands for a hand that left no name."""

_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Part(StrEnum):
    """The parts of a Node in which keys of ours lie."""

    LABEL = "label"
    ANNOTATION = "annotation"
    TAINT = "taint"


class _Meta(msgspec.Struct):
    labels: dict[str, msgspec.Raw] = msgspec.field(name="f:labels", default_factory=dict)
    annotations: dict[str, msgspec.Raw] = msgspec.field(name="f:annotations", default_factory=dict)


class _Spec(msgspec.Struct):
    taints: msgspec.Raw = msgspec.field(name="f:taints", default=msgspec.Raw())


class _Fields(msgspec.Struct):
    meta: _Meta = msgspec.field(name="f:metadata", default_factory=_Meta)
    spec: _Spec = msgspec.field(name="f:spec", default_factory=_Spec)


class _Entry(msgspec.Struct):
    manager: str = ""
    time: str | None = None
    fields: _Fields = msgspec.field(name="fieldsV1", default_factory=_Fields)


class Managers:
    """Who holds what of one Node, at one version."""

    def __init__(self, fields: bytes) -> None:
        self._others = [one for one in _read(fields) if one.manager not in {"", FIELD_MANAGER}]

    def of(self, part: Part, key: str) -> str:
        """Name the manager that set a key last; ``unknown`` where that was nobody but us."""
        holders = [one for one in self._others if _holds(one.fields, part, key)]
        # RFC 3339 in UTC, as the server writes it, sorts as text.
        newest = max(holders, key=lambda one: one.time or "", default=None)
        return newest.manager if newest else UNKNOWN


def _read(fields: bytes) -> list[_Entry]:
    try:
        return msgspec.json.decode(fields, type=list[_Entry] | None) or []
    except _UNREADABLE:
        return []


def _holds(fields: _Fields, part: Part, key: str) -> bool:
    match part:
        case Part.LABEL:
            return f"f:{key}" in fields.meta.labels
        case Part.ANNOTATION:
            return f"f:{key}" in fields.meta.annotations
        case Part.TAINT:
            # The list is atomic: whoever wrote it last holds all of it.
            return bytes(fields.spec.taints) != b""
