"""The Lease: owned by its Node, kept while its holder stays, renewed without a read."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec
import pytest

from labeler.api import Answer, Api
from labeler.credentials import Credentials
from labeler.lease import Lease, LeaseMeta, NodeLease, lease
from labeler.seen import Seen

NOW = datetime(2026, 12, 1, 12, 0, 3, 0, tzinfo=UTC)
LATER = datetime(2026, 12, 1, 13, tzinfo=UTC)
NODE = Seen(name="n1", uid="u1", version="7")


def test_a_lease_is_owned_by_its_node() -> None:
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u1"}

    assert lease(NODE, "pod", NOW).metadata.owner_references == [owner]


def test_a_lease_says_since_when_its_holder_holds_it() -> None:
    first = lease(NODE, "pod", NOW)
    held = Lease(LeaseMeta("n1", "5"), first.spec)

    same, other = lease(NODE, "pod", LATER, held), lease(NODE, "pod2", LATER, held)

    assert (same.metadata.resource_version, first.metadata.resource_version) == ("5", None)
    assert same.spec.acquire_time == first.spec.acquire_time == "2026-12-01T12:00:03.000000Z"
    assert same.spec.renew_time == other.spec.acquire_time == "2026-12-01T13:00:00.000000Z"


@dataclass
class FakeLeases(Api):
    """One Lease behind the API, with its version as a precondition."""

    there: Lease | None = None
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(Credentials(url="http://127.0.0.1"))

    def request(
        self, verb: str, path: str, body: object = None, *, kind: str = "", **query: str
    ) -> bytes:
        del path, kind, query
        self.asked.append(verb)
        if verb == "POST" and self.there:
            raise Answer("POST", 409, "exists")
        if verb in {"PUT", "GET", "DELETE"} and not self.there:
            raise Answer(verb, 404, "not found")
        if verb == "DELETE":
            self.there = None
            return b"{}"
        if isinstance(body, Lease):
            self._put(verb, body)
        return msgspec.json.encode(self.there)

    def _put(self, verb: str, body: Lease) -> None:
        version = self.there.metadata.resource_version if self.there else None
        if verb == "PUT" and body.metadata.resource_version != version:
            raise Answer("PUT", 409, "moved")
        body.metadata.resource_version = str(int(version or 0) + 1)
        self.there = body


def test_a_renewal_reads_nothing() -> None:
    api = FakeLeases()
    ours = NodeLease(api, "n1", "pod")

    for _ in range(3):
        ours.renew(NODE, NOW)

    assert api.asked == ["POST", "PUT", "PUT"]


def test_a_lease_that_is_there_is_taken_over() -> None:
    api = FakeLeases(there=Lease(LeaseMeta("n1", "41"), lease(NODE, "old-pod", NOW).spec))
    ours = NodeLease(api, "n1", "pod")

    ours.renew(NODE, LATER)
    ours.renew(NODE, LATER)

    assert api.asked == ["POST", "GET", "PUT", "PUT"]
    assert api.there is not None
    assert api.there.spec.holder_identity == "pod"


def test_a_lease_that_was_lost_is_begun_anew_at_the_next_renewal() -> None:
    api = FakeLeases()
    ours = NodeLease(api, "n1", "pod")
    ours.renew(NODE, NOW)
    api.there = None

    with pytest.raises(Answer, match="404"):
        ours.renew(NODE, NOW)
    ours.renew(NODE, NOW)

    assert api.there is not None
    assert api.asked == ["POST", "PUT", "POST"]


def test_ending_it_twice_is_ending_it() -> None:
    api = FakeLeases()
    ours = NodeLease(api, "n1", "pod")
    ours.renew(NODE, NOW)

    ours.end()
    ours.end()

    assert api.there is None
