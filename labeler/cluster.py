"""Keep a Node that lives in a cluster: read it, write it, follow it.

Followed by one LIST and one WATCH, both for this Node alone; at rest nothing
else is asked. The watch resumes where it ended and starts anew where the
server no longer knows that place.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus
from threading import Event, Lock
from typing import Final, TypeVar

from labeler import wire
from labeler.api import MERGE, STRATEGIC, Answer, Api
from labeler.diff import Patch
from labeler.evidence import UNREADABLE
from labeler.lease import NodeLease
from labeler.node import NodeError, NodeMissing, NodeMoved, NodeRefused, NodeUnavailable
from labeler.seen import Condition, Seen
from labeler.shards import NodeShards
from labeler.vocabulary import FIELD_MANAGER

T = TypeVar("T")

WATCH_SECONDS: Final = "3300"
"""A watch is asked for 55 minutes: one request an hour, and below the hour many a proxy cuts at."""


class ClusterNode:
    """A Node behind an API server."""

    def __init__(self, api: Api, name: str, holder: str = FIELD_MANAGER) -> None:
        self.name = name
        self._api = api
        self._holder = holder
        self.place = f"the cluster at {api.url}"
        self._path = f"/api/v1/nodes/{name}"
        self._lock = Lock()
        self._seen: Seen | None = None
        self._written = 0
        self._watched = 0
        self._resume: str | None = None
        self._following = False
        self._lease = NodeLease(api, name, holder)
        self._shards = NodeShards(api, name)

    def seen(self) -> Seen | None:
        """Return the newest state that the watch or an answer brought."""
        with self._lock:
            return self._seen

    def read(self) -> Seen:
        """GET the Node."""
        try:
            return self._keep(self._decoded(wire.node, self._api.request("GET", self._path)))
        except Answer as err:
            raise self._of_node(err) from err

    def apply(self, patch: Patch, seen: Seen) -> Seen:
        """PATCH the Node, once, with the preconditions that ``wire.merge_patch`` gives."""
        body = wire.merge_patch(patch, seen)
        try:
            answer = self._api.request(
                "PATCH", self._path, body, kind=MERGE, fieldManager=FIELD_MANAGER
            )
        except Answer as err:
            if err.code == HTTPStatus.CONFLICT:
                raise NodeMoved(self.name, seen.version) from err
            raise self._of_node(err) from err
        after = self._decoded(wire.node, answer)
        with self._lock:
            self._written = max(self._written, _order(after))
        return self._keep(after)

    def confirmed(self) -> bool:
        """Tell whether the watch is up and has come as far as our last write."""
        with self._lock:
            return self._following and self._watched >= self._written

    def follow(self, changed: Callable[[], None], stop: Event) -> None:
        """List and watch until the server ends the watch, an error, or ``stop``."""
        try:
            if self._resume is None:
                self._list()
            self._watch(changed, stop)
        except Answer as err:
            if err.code == HTTPStatus.GONE or err.code >= HTTPStatus.INTERNAL_SERVER_ERROR:
                # Too old a place, or one that a restored server has not reached: list again.
                self._resume = None
            raise _meaning(err) from err

    def condition(self, condition: Condition) -> None:
        """PATCH nodes/status by strategic merge: a merge patch would wipe kubelet's conditions."""
        entry = wire.condition(condition, datetime.now(UTC), self.seen())
        self._patch_status([entry])

    def withdraw(self, condition: str) -> None:
        """Delete the condition, the Lease and the ConfigMap."""
        seen = self.read()
        if condition in seen.conditions:
            self._patch_status([{"$patch": "delete", "type": condition}])
        try:
            self._lease.end()
            self._shards.end()
        except Answer as err:
            raise _meaning(err) from err

    def attest(self) -> None:
        """Renew the Lease."""
        try:
            self._lease.renew(self._there(), datetime.now(UTC))
        except Answer as err:
            raise _meaning(err) from err

    def publish(self, document: str) -> None:
        """Write which shards lie here into the Node's ConfigMap."""
        try:
            self._shards.write(self._there(), document)
        except Answer as err:
            raise _meaning(err) from err

    def tell(self, reason: str, message: str, *, warning: bool) -> None:
        """POST an Event; one about a Node belongs into the namespace ``default``."""
        now = datetime.now(UTC)
        body = wire.notice(reason, message, warning=warning, now=now)
        body |= wire.about(self.name, self.seen(), self._holder, now)
        try:
            self._api.request("POST", "/apis/events.k8s.io/v1/namespaces/default/events", body)
        except Answer as err:
            raise _meaning(err) from err

    def _there(self) -> Seen:
        seen = self.seen()
        if seen is None:
            raise NodeMissing(self.name, self.place)
        return seen

    def _patch_status(self, conditions: list[dict[str, object]]) -> None:
        body = {"status": {"conditions": conditions}}
        path = f"{self._path}/status"
        try:
            self._api.request("PATCH", path, body, kind=STRATEGIC, fieldManager=FIELD_MANAGER)
        except Answer as err:
            raise _meaning(err) from err

    def _list(self) -> None:
        with self._lock:
            before = self._written
        query = {"fieldSelector": f"metadata.name={self.name}"}
        answer = self._api.request("GET", "/api/v1/nodes", **query)
        version, seen = self._decoded(wire.listed, answer)
        with self._lock:
            self._resume = version
            if self._written == before or int(version) >= self._written:
                # The server's word on now, also where it was restored from a backup and
                # its versions begin anew; but a write that came in between may be newer.
                self._seen = seen
                self._written = self._watched = int(version)

    def _watch(self, changed: Callable[[], None], stop: Event) -> None:
        query = {
            "watch": "true",
            "fieldSelector": f"metadata.name={self.name}",
            "resourceVersion": self._resume or "",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": WATCH_SECONDS,
        }
        lines = self._api.lines("/api/v1/nodes", **query)
        self._following = True
        changed()
        try:
            for line in lines:
                if stop.is_set():
                    return
                if self._take_in(self._decoded(wire.event, line)):
                    changed()
        finally:
            self._following = False

    def _take_in(self, event: wire.Event) -> bool:
        """Take one event in; tell whether it changed what is known."""
        if event.type == "ERROR":
            raise Answer(f"watch of Node {self.name!r}", event.code, event.message)
        self._resume = event.version
        with self._lock:
            self._watched = max(self._watched, int(event.version))
            if event.type == "DELETED":
                self._seen = None
        if event.seen is not None:
            self._keep(event.seen)
        return event.type != "BOOKMARK"

    def _keep(self, seen: Seen) -> Seen:
        """Keep the newer of two states: an answer may overtake the watch, and the watch it.

        Resource versions are numbers that grow, by the API's own promise since 1.35.
        """
        with self._lock:
            # Of a Node that is gone, an answer from before its end brings nothing back.
            newest = self._watched if self._seen is None else _order(self._seen)
            if _order(seen) >= newest:
                self._seen = seen
        return seen

    def _of_node(self, err: Answer) -> NodeError:
        """Say what an error status means for the Node; that it went the watch will say."""
        missing = err.code == HTTPStatus.NOT_FOUND
        return NodeMissing(self.name, self.place) if missing else _meaning(err)

    def _decoded(self, decode: Callable[[bytes], T], body: bytes) -> T:
        try:
            return decode(body)
        except UNREADABLE as err:
            raise NodeUnavailable(self.place, f"an answer that can't be read: {err}") from err


def _meaning(err: Answer) -> NodeError:
    """Say what an error status means for us."""
    match err.code:
        case HTTPStatus.FORBIDDEN:
            return NodeRefused(err.what, err.message, "apply the RBAC of deploy/daemonset")
        case HTTPStatus.UNPROCESSABLE_ENTITY | HTTPStatus.BAD_REQUEST:
            return NodeRefused(err.what, err.message, "see the message for the field")
        case _:
            return NodeUnavailable(err.what, f"{err.code} {err.message}", err.wait)


def _order(seen: Seen) -> int:
    return int(seen.version)
