"""Read from the API server's audit log who asked for what.

A watch shows as two lines: ``ResponseStarted`` when it opens and
``ResponseComplete`` when it ends. Every other request shows as one,
``ResponseComplete``.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.cluster.api import Json

POLICY: Final[Json] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}
NODE_NAME: Final = "authentication.kubernetes.io/node-name"
"""The extra of a Pod-bound token that says on which Node its Pod is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    """One request, or the opening of one watch."""

    at: str
    """When the server received it: RFC 3339, to the microsecond."""
    verb: str
    uri: str
    user: str
    node: str
    """Of a Pod-bound token's Pod, else empty: all agents share one user name."""
    code: int
    resource: str
    subresource: str
    name: str
    stage: str
    user_agent: str


def read(log: Path, since: int = 0) -> list[AuditLine]:
    """List the lines after a byte offset; one that is half written is left out."""
    if not log.exists():
        return []
    with log.open("rb") as file:
        file.seek(since)
        *lines, _ = file.read().split(b"\n")
    return [parse(json.loads(line)) for line in lines]


def parse(event: Json) -> AuditLine:
    """Take from an audit event what tests ask about. Pure."""
    target = event.get("objectRef", {})
    user = event["user"]
    return AuditLine(
        at=event["requestReceivedTimestamp"],
        verb=event["verb"],
        uri=event["requestURI"],
        user=user.get("username", ""),
        node=next(iter(user.get("extra", {}).get(NODE_NAME, ())), ""),
        code=event.get("responseStatus", {}).get("code", 0),
        resource=target.get("resource", ""),
        subresource=target.get("subresource", ""),
        name=target.get("name", ""),
        stage=event["stage"],
        user_agent=event.get("userAgent", ""),
    )
