"""What does a plain agent ask, compute and hold while nothing changes?"""

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from bench.resident import Resident, Rest
from bench.row import MIB, Row
from tests.cluster.audit import AuditLine

HOUR: Final = 3600.0
TEN_MINUTES: Final = 600.0


class Kind(StrEnum):
    """What a request is, in the words of the promise."""

    LEASE = "Lease writes"
    WATCH = "watches begun"
    GET = "GET, lists included"
    PATCH = "PATCH"
    OTHER = "anything else"


MOST: Final = {Kind.LEASE: 60, Kind.WATCH: 3, Kind.GET: 0, Kind.PATCH: 0, Kind.OTHER: 0}
"""Requests an hour."""


def kind(line: AuditLine) -> Kind | None:
    """Say what a line of the audit log counts as; the end of a watch is no request."""
    if line.verb == "watch":
        return Kind.WATCH if line.stage == "ResponseStarted" else None
    if line.resource == "leases" and line.verb in {"create", "update", "patch"}:
        return Kind.LEASE
    verbs = {"get": Kind.GET, "list": Kind.GET, "patch": Kind.PATCH}
    return verbs.get(line.verb, Kind.OTHER)


def count(lines: Iterable[AuditLine]) -> Counter[Kind]:
    """Count requests by kind."""
    return Counter(one for line in lines if (one := kind(line)))


def requests(rest: Rest) -> list[Row]:
    """Return the requests an hour, by kind."""
    found = count(rest.asked)
    how = f"audit log, this agent's token, {rest.seconds:.0f} s after the first minute"
    return [
        Row(
            figure=f"requests an hour at rest: {one}",
            value=found[one] * HOUR / rest.seconds,
            limit=MOST[one],
            how=how,
        )
        for one in Kind
    ]


def rows(rest: Rest) -> list[Row]:
    """Return the figures of the plain agent."""
    side = "counted by share with the Pythons beside it: lower than alone"
    return [
        *requests(rest),
        Row(
            figure="CPU at rest, not scraped",
            value=rest.cpu * TEN_MINUTES / rest.seconds,
            unit="s per 10 min",
            limit=0.35,
            how=f"utime and stime with children, {rest.seconds:.0f} s after the first minute",
        ),
        Row(
            figure="memory at rest, RSS",
            value=rest.memory.rss / MIB,
            unit="MiB",
            limit=36,
            how="smaps_rollup at the end of the same window",
        ),
        Row(figure="memory at rest, PSS", value=rest.memory.tree_pss / MIB, unit="MiB", how=side),
    ]


RESIDENT: Final = Resident(node="resting", rows=rows)
