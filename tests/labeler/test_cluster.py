"""A Node behind a scripted server: what is kept, resumed and forgotten."""

import json
from threading import Event

import pytest

from labeler.api import Api
from labeler.cluster import ClusterNode
from labeler.credentials import Credentials
from labeler.diff import Patch
from labeler.node import NodeMissing, NodeRefused, NodeUnavailable
from labeler.seen import Condition, Seen
from tests.labeler.scripted import Script, chunks, reply, serving

FOREVER = Event()


def body(version: int, **labels: str) -> dict[str, object]:
    meta = {"name": "n1", "uid": "u1", "resourceVersion": str(version), "labels": labels}
    return {"metadata": meta, "spec": {}, "status": {}}


def listed(version: int, *nodes: dict[str, object]) -> Script:
    return reply(
        "200 OK", json.dumps({"metadata": {"resourceVersion": str(version)}, "items": nodes})
    )


def line(kind: str, thing: object) -> str:
    return json.dumps({"type": kind, "object": thing}) + "\n"


def bookmark(version: int) -> str:
    return line("BOOKMARK", {"metadata": {"resourceVersion": str(version)}})


def status(code: int, text: str) -> dict[str, object]:
    return {"kind": "Status", "code": code, "message": text}


def node(url: str) -> ClusterNode:
    return ClusterNode(Api(Credentials(url=url)), "n1", "pod")


def follow(node: ClusterNode) -> list[Seen | None]:
    """Follow until the server ends the watch; return what was known at each change."""
    known: list[Seen | None] = []
    node.follow(lambda: known.append(node.seen()), FOREVER)
    return known


def queries(asked: list[str]) -> list[str]:
    return [request.split(" ", 2)[1] for request in asked]


def test_a_watch_goes_on_where_it_ended() -> None:
    watched = chunks(line("MODIFIED", body(7, a="1")), bookmark(9))
    with serving(listed(5, body(3)), watched, chunks()) as (url, asked):
        one = node(url)

        assert [seen.version for seen in follow(one) if seen] == ["3", "7"]
        follow(one)

    places = queries(asked)
    assert "watch" not in places[0]
    assert "fieldSelector=metadata.name%3Dn1" in places[0]
    assert "resourceVersion=5&allowWatchBookmarks=true" in places[1]
    assert "resourceVersion=9&" in places[2]


def test_a_node_that_goes_and_comes_is_seen_to() -> None:
    watched = chunks(line("DELETED", body(7)), line("ADDED", body(8, new="1")))
    with serving(listed(5, body(3)), watched) as (url, _):
        known = follow(node(url))

    assert known[1] is None
    assert known[2] is not None
    assert known[2].labels == {"new": "1"}


def test_a_node_that_is_not_there_yet_is_none() -> None:
    with serving(listed(5), chunks(line("ADDED", body(6)))) as (url, _):
        known = follow(node(url))

    assert known[0] is None
    assert known[1] is not None


@pytest.mark.parametrize(
    "ended",
    [
        chunks(line("ERROR", status(410, "too old"))),
        reply("410 Gone", json.dumps(status(410, "too old"))),
        reply("504 Gateway Timeout", json.dumps(status(504, "Too large resource version"))),
    ],
    ids=["in the watch", "before it", "too large"],
)
def test_a_place_that_the_server_does_not_know_is_given_up(ended: Script) -> None:
    with serving(listed(5, body(3)), ended, listed(2, body(1)), chunks()) as (url, asked):
        one = node(url)
        with pytest.raises(NodeUnavailable, match=r"410 too old|504 Too large"):
            follow(one)
        follow(one)

        # A server that was restored from a backup counts from where it was.
        seen = one.seen()
        assert seen is not None
        assert seen.version == "1"

    assert ["watch=true" in place for place in queries(asked)] == [False, True, False, True]


def test_a_refused_watch_keeps_its_place() -> None:
    forbidden = reply("403 Forbidden", json.dumps(status(403, "no watching")))
    with serving(listed(5, body(3)), forbidden, chunks()) as (url, asked):
        one = node(url)
        with pytest.raises(NodeRefused, match="no watching; apply the RBAC"):
            follow(one)
        follow(one)

    assert "resourceVersion=5&" in queries(asked)[2]


def test_an_answer_that_is_newer_than_the_watch_is_not_forgotten() -> None:
    written = reply("200 OK", json.dumps(body(9, cpu="x")))
    with serving(listed(5, body(3)), chunks(), written, chunks(line("MODIFIED", body(7)))) as (
        url,
        _,
    ):
        one = node(url)
        follow(one)
        after = one.apply(Patch({"cpu": "x"}), Seen(name="n1", uid="u1", version="3"))
        follow(one)

        assert one.seen() == after


def test_a_round_is_confirmed_when_the_watch_has_come_as_far() -> None:
    written = reply("200 OK", json.dumps(body(9, cpu="x")))
    events = chunks(line("MODIFIED", body(8)), line("MODIFIED", body(9, cpu="x")))
    with serving(listed(5, body(3)), chunks(), written, events) as (url, _):
        one = node(url)
        follow(one)
        one.apply(Patch({"cpu": "x"}), Seen(name="n1", uid="u1", version="3"))
        assert not one.confirmed()

        known: list[bool] = []
        one.follow(lambda: known.append(one.confirmed()), FOREVER)

        assert known == [False, False, True]
        assert not one.confirmed(), "the watch is down"


@pytest.mark.parametrize(
    "junk",
    ["garbage\n", '{"type":"ADDED"}\n', line("ADDED", {"metadata": {"resourceVersion": "x"}})],
)
def test_a_line_that_is_no_event_ends_the_watch_and_not_the_agent(junk: str) -> None:
    with serving(listed(5, body(3)), chunks(junk)) as (url, _):
        with pytest.raises(NodeUnavailable, match="an answer that can't be read"):
            follow(node(url))


def test_a_404_at_the_write_is_not_the_watchs_word() -> None:
    """A proxy may answer so for a moment; that the Node went, the watch will say."""
    gone = reply("404 Not Found", json.dumps(status(404, 'nodes "n1" not found')))
    with serving(listed(5, body(3)), chunks(), gone) as (url, _):
        one = node(url)
        follow(one)
        with pytest.raises(NodeMissing, match=r"Node 'n1' is not in the cluster at http"):
            one.apply(Patch({"cpu": "x"}), Seen(name="n1", uid="u1", version="3"))

        assert one.seen() is not None


def test_an_answer_from_before_its_end_brings_no_node_back() -> None:
    written = reply("200 OK", json.dumps(body(11, cpu="x")))
    with serving(listed(5, body(3)), chunks(line("DELETED", body(12))), written) as (url, _):
        one = node(url)
        follow(one)
        one.apply(Patch({"cpu": "x"}), Seen(name="n1", uid="u1", version="3"))

        assert one.seen() is None


def test_a_condition_is_said_by_strategic_merge() -> None:
    said = Condition(type="H", status="True", reason="Healthy", message="m")
    with serving(reply("200 OK")) as (url, asked):
        node(url).condition(said)

    assert asked[0].startswith("PATCH /api/v1/nodes/n1/status?fieldManager=nodetruth ")
    assert "Content-Type: application/strategic-merge-patch+json" in asked[0]


def test_what_lies_elsewhere_and_is_missing_does_not_make_the_node_so() -> None:
    gone = reply("404 Not Found", json.dumps(status(404, 'namespaces "nodetruth" not found')))
    with serving(listed(5, body(3)), chunks(), gone, gone) as (url, _):
        one = node(url)
        follow(one)
        with pytest.raises(NodeUnavailable, match='404 namespaces "nodetruth" not found'):
            one.attest()
        with pytest.raises(NodeUnavailable, match="404"):
            one.tell("Reason", "text", warning=True)

        assert one.seen() is not None
