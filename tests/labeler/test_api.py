"""The client against a server that answers as told: statuses, cuts, silence, tokens, TLS."""

import socket
from collections.abc import Callable
from pathlib import Path

import pytest
import urllib3

from labeler import api as module
from labeler import credentials
from labeler.api import MERGE, Answer, Api
from labeler.cluster import ClusterNode
from labeler.credentials import Credentials, in_cluster
from labeler.diff import Patch
from labeler.node import NodeError, NodeMissing, NodeMoved, NodeRefused, NodeUnavailable
from labeler.seen import Seen
from tests.labeler.scripted import chunks, hang_up, reply, serving


def client(
    url: str, bearer: Callable[[], str | None] = lambda: None
) -> tuple[Api, list[tuple[str, int]]]:
    seen: list[tuple[str, int]] = []
    return Api(
        Credentials(url=url, bearer=bearer), lambda verb, code: seen.append((verb, code))
    ), seen


def test_a_request_says_who_asks_and_what_for() -> None:
    with serving(reply("200 OK", '{"a":1}')) as (url, asked):
        api, seen = client(f"{url}/base/", lambda: "secret")

        body = api.request("PATCH", "/x", {"b": None}, kind=MERGE, fieldManager="nodetruth")

    assert body == b'{"a":1}'
    assert asked[0].startswith("PATCH /base/x?fieldManager=nodetruth HTTP/1.1")
    assert "Authorization: Bearer secret" in asked[0]
    assert "Content-Type: application/merge-patch+json" in asked[0]
    assert asked[0].endswith('{"b":null}')
    assert seen == [("PATCH", 200)]


def test_an_error_carries_the_servers_own_words() -> None:
    body = '{"kind":"Status","message":"nodes is forbidden"}'
    with serving(reply("403 Forbidden", body), reply("502 Bad Gateway", "<html>")) as (url, _):
        api, seen = client(url)

        with pytest.raises(Answer, match="403 nodes is forbidden"):
            api.request("GET", "/x")
        with pytest.raises(Answer, match="502 <html>"):
            api.request("GET", "/x")

    assert seen == [("GET", 403), ("GET", 502)]


@pytest.mark.parametrize(
    ("header", "wait"),
    [("7", 7.0), ("soon", None), ("", None), ("99999999999", 60.0), ("9" * 999, 60.0)],
)
def test_the_server_may_say_when_to_come_back(header: str, wait: float | None) -> None:
    with serving(reply("429 Too Many Requests", "{}", f"Retry-After: {header}")) as (url, _):
        with pytest.raises(Answer) as caught:
            client(url)[0].request("GET", "/x")

    assert caught.value.wait == wait


def test_a_connection_that_was_closed_between_requests_is_no_error() -> None:
    with serving(reply("200 OK"), hang_up, reply("200 OK", "[2]")) as (url, asked):
        api, _ = client(url)
        api.request("GET", "/x")

        assert api.request("PATCH", "/x", {}) == b"[2]"

    assert len(asked) == 3


def test_what_makes_something_new_is_not_sent_twice() -> None:
    with serving(hang_up, reply("200 OK")) as (url, asked):
        with pytest.raises(
            NodeUnavailable, match=r"POST http://127.0.0.1:\d+/x: RemoteDisconnected"
        ):
            client(url)[0].request("POST", "/x", {})

    assert len(asked) == 1


def test_a_server_that_does_not_listen_is_named() -> None:
    with serving() as (url, _):
        pass
    api, seen = client(url)

    with pytest.raises(
        NodeUnavailable, match=r"GET http://127.0.0.1:\d+/x: .*[Cc]onnection refused"
    ):
        api.request("GET", "/x")
    assert seen == [("GET", 0)]


def silence(peer: socket.socket, _request: str) -> None:
    """Keep the connection and say nothing."""
    peer.recv(1)


def test_a_silent_server_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANSWER", urllib3.Timeout(connect=1, read=0.1))
    with serving(silence) as (url, _):
        api, _ = client(url)

        with pytest.raises(NodeUnavailable, match="timed out"):
            api.request("POST", "/x")


def test_lines_come_whole_whatever_the_chunks() -> None:
    with serving(chunks('{"a"', ":1}\n{", '"b":2}\n')) as (url, _):
        lines = client(url)[0].lines("/x", watch="true")

        assert list(lines) == [b'{"a":1}', b'{"b":2}']


def test_a_watch_that_breaks_says_so() -> None:
    with serving(chunks('{"a":1}\n', end=False)) as (url, _):
        api, seen = client(url)
        lines = api.lines("/x")

        assert next(lines) == b'{"a":1}'
        with pytest.raises(NodeUnavailable, match=r"WATCH http://127.0.0.1:\d+/x: "):
            next(lines)

    assert seen == [("WATCH", 200)]


def test_a_silent_watch_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FOLLOWING", urllib3.Timeout(connect=1, read=0.1))

    def start(peer: socket.socket, request: str) -> None:
        peer.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        silence(peer, request)

    with serving(start) as (url, _):
        lines = client(url)[0].lines("/x")

        with pytest.raises(NodeUnavailable, match="timed out"):
            next(lines)


def test_a_token_is_read_at_every_request(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("one\n")
    with serving(reply("200 OK"), reply("200 OK")) as (url, asked):
        api, _ = client(url, lambda: token.read_text().strip())
        api.request("GET", "/x")
        token.write_text("two\n")
        api.request("GET", "/x")
        token.unlink()
        with pytest.raises(NodeUnavailable, match=r"service account token: .*No such file"):
            api.request("GET", "/x")

    assert ["Bearer one" in asked[0], "Bearer two" in asked[1]] == [True, True]


@pytest.mark.parametrize("token", ["one\ntwo", "t\N{BULLET}ken"])
def test_a_token_that_no_header_can_carry_is_reported(token: str) -> None:
    api, _ = client("http://127.0.0.1:1", lambda: token)

    with pytest.raises(NodeUnavailable, match="service account token: it holds what no header"):
        api.request("GET", "/x")


def test_a_redirect_is_no_answer() -> None:
    with serving(reply("301 Moved Permanently", "{}", "Location: /y")) as (url, _):
        with pytest.raises(Answer, match="301"):
            client(url)[0].request("GET", "/x")


def test_a_refused_token_is_reported_to_where_it_came_from() -> None:
    tokens = ["old", "new"]
    with serving(reply("401 Unauthorized"), reply("200 OK")) as (url, asked):
        credentials = Credentials(
            url=url, bearer=lambda: tokens[0], rejected=lambda: tokens.remove("old")
        )
        api = Api(credentials)
        with pytest.raises(Answer, match="401"):
            api.request("GET", "/x")
        api.request("GET", "/x")

    assert "Bearer new" in asked[1]


def test_a_ca_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    api = Api(Credentials(url="https://127.0.0.1:1", authority=tmp_path / "ca.crt"))

    with pytest.raises(NodeRefused, match=r"TLS for https://127.0.0.1:1: .*check the CA"):
        api.request("GET", "/x")


SEEN = Seen(name="n1", uid="u1", version="5")


@pytest.mark.parametrize(
    ("status", "error"),
    [
        ("401 Unauthorized", NodeUnavailable),
        ("403 Forbidden", NodeRefused),
        ("404 Not Found", NodeMissing),
        ("409 Conflict", NodeMoved),
        ("422 Unprocessable Entity", NodeRefused),
        ("429 Too Many Requests", NodeUnavailable),
        ("500 Internal Server Error", NodeUnavailable),
        ("503 Service Unavailable", NodeUnavailable),
    ],
)
def test_every_status_is_answered_on_purpose(status: str, error: type[NodeError]) -> None:
    with serving(reply(status)) as (url, _):
        with pytest.raises(error):
            ClusterNode(client(url)[0], "n1").apply(Patch({"a": "b"}), SEEN)


def test_a_pod_knows_its_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "ACCOUNT", tmp_path)
    for name, text in {"token": "t\n", "ca.crt": "c", "namespace": "ns\n"}.items():
        (tmp_path / name).write_text(text)
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}

    found = in_cluster(environ)

    assert found.url == "https://[fd00::1]:443"
    assert found.namespace == "ns"
    assert found.bearer() == "t"
    assert found.authority == tmp_path / "ca.crt"


def test_outside_a_pod_the_way_out_is_named() -> None:
    with pytest.raises(NodeRefused, match="name a --kubeconfig or a --node-file"):
        in_cluster({})
