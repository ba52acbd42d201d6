"""Read what people ask of a Node: the maintenance annotation and, by choice, a cordon.

Pure: the time is an argument.
"""

import json
from dataclasses import dataclass
from datetime import datetime

from labeler.seen import Seen
from labeler.vocabulary import MAINTENANCE


@dataclass(frozen=True, slots=True)
class Maintenance:
    """Why the Node is out of use, and until when; ``None`` means until it is taken off."""

    reason: str
    until: datetime | None = None


def maintenance(seen: Seen, now: datetime, *, cordon: bool) -> Maintenance | None:
    """Return the maintenance that is under way, or ``None``.

    The annotation holds a reason in plain words, or JSON with ``reason`` and
    ``until`` (RFC 3339). An ``until`` that can't be read never ends the
    maintenance: somebody asked for it, and a typing error is no reason to put
    work on an open machine.
    """
    text = seen.annotations.get(MAINTENANCE)
    asked = None if text is None else _read(text)
    if asked and (asked.until is None or now < asked.until):
        return asked
    return Maintenance("cordoned") if cordon and seen.cordoned else None


def _read(text: str) -> Maintenance:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    if not isinstance(value, dict):
        return Maintenance(_plain(text.strip()))
    reason = _plain(str(value.get("reason") or ""))
    until = value.get("until")
    if until is None:
        return Maintenance(reason)
    try:
        end = datetime.fromisoformat(str(until))
    except ValueError:
        end = None
    if end is None or end.tzinfo is None:
        return Maintenance(f"{reason} (until {until!r} is not an RFC 3339 time with a zone)")
    return Maintenance(reason, end)


def _plain(reason: str) -> str:
    """Return a reason that can be sent: JSON may hold half of a surrogate pair."""
    return reason.encode(errors="replace").decode() or "no reason given"
