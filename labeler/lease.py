"""Vouch for a Node by a Lease of its own, renewed while the Node is confirmed.

By PUT at the version of the last answer: nothing is read before a renewal.
"""

from datetime import datetime
from http import HTTPStatus
from typing import Final

import msgspec

from labeler.api import Answer, Api
from labeler.evidence import UNREADABLE
from labeler.node import NodeUnavailable
from labeler.seen import Seen
from labeler.wire import stamp

LEASE_SECONDS: Final = 180
"""Three missed renewals, and the Node is no longer vouched for."""


class LeaseSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    """Who vouches for a Node, and since and until when."""

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: str | None = None
    renew_time: str | None = None


class LeaseMeta(msgspec.Struct, rename="camel", omit_defaults=True):
    """As much of a Lease's metadata as a PUT must send back."""

    name: str
    resource_version: str | None = None
    owner_references: list[dict[str, object]] = []


class Lease(msgspec.Struct, rename="camel"):
    """A Lease of coordination.k8s.io/v1."""

    metadata: LeaseMeta
    spec: LeaseSpec
    api_version: str = "coordination.k8s.io/v1"
    kind: str = "Lease"


def lease(seen: Seen, holder: str, now: datetime, there: Lease | None = None) -> Lease:
    """Return a Node's Lease as of ``now``; the Node owns it, so it goes when the Node goes."""
    owner: dict[str, object] = {
        "apiVersion": "v1",
        "kind": "Node",
        "name": seen.name,
        "uid": seen.uid,
    }
    kept = there is not None and there.spec.holder_identity == holder
    return Lease(
        LeaseMeta(seen.name, there.metadata.resource_version if there else None, [owner]),
        LeaseSpec(
            holder_identity=holder,
            lease_duration_seconds=LEASE_SECONDS,
            acquire_time=there.spec.acquire_time if there and kept else stamp(now),
            renew_time=stamp(now),
        ),
    )


class NodeLease:
    """The Lease of one Node, in the agent's namespace."""

    def __init__(self, api: Api, node: str, holder: str) -> None:
        self._api = api
        self._holder = holder
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{api.namespace}/leases"
        self._mine = f"{self._path}/{node}"
        self._held: Lease | None = None

    def renew(self, seen: Seen, now: datetime) -> None:
        """Renew it; make it, or take over the one that lies there, where we hold none yet."""
        # Where this fails, it is gone or was changed: the next renewal begins anew.
        held, self._held = self._held, None
        self._held = self._replace(held, seen, now) if held else self._begin(seen, now)

    def end(self) -> None:
        """Delete it; nothing happens where there is none."""
        self._api.delete(self._mine)

    def _begin(self, seen: Seen, now: datetime) -> Lease:
        try:
            return _decoded(self._api.request("POST", self._path, lease(seen, self._holder, now)))
        except Answer as err:
            if err.code != HTTPStatus.CONFLICT:
                raise
        return self._replace(_decoded(self._api.request("GET", self._mine)), seen, now)

    def _replace(self, there: Lease, seen: Seen, now: datetime) -> Lease:
        fresh = lease(seen, self._holder, now, there)
        return _decoded(self._api.request("PUT", self._mine, fresh))


def _decoded(body: bytes) -> Lease:
    try:
        return msgspec.json.decode(body, type=Lease)
    except UNREADABLE as err:
        raise NodeUnavailable("Lease", f"an answer that can't be read: {err}") from err
