"""Speak to the API server: one request, one answer; or one long answer, line by line.

The only module that imports ``urllib3``. What goes wrong becomes a ``NodeError``
here, an HTTP status from 300 on an ``Answer``. TLS trusts the one CA that is given.
"""

import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final
from urllib.parse import urlencode, urlsplit

import msgspec
import urllib3
from urllib3.exceptions import HTTPError, ProtocolError, SSLError

from labeler.credentials import Credentials
from labeler.node import NodeError, NodeRefused, NodeUnavailable

MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
JSON: Final = "application/json"

ANSWER: Final = urllib3.Timeout(connect=3.05, read=10)
"""Seconds for an ordinary request; connect just over a SYN's retransmission."""
LONGEST: Final = 60.0
"""Seconds that a server may send us away for: a Node can't wait for a broken proxy's idea."""
FOLLOWING: Final = urllib3.Timeout(connect=3.05, read=150)
"""Seconds for a watch, which may stay silent for a while: a bookmark comes each minute or so."""

# A peer that vanished without a word is noticed after 30 + 4 x 15 s.
_KEEPALIVE: Final = [
    *urllib3.connection.HTTPConnection.default_socket_options,
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 15),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4),
]

Observer = Callable[[str, int], None]
"""Told the verb and the status code of every answer; 0 for none."""


class Answer(NodeError):
    """The server answered with an error status."""

    def __init__(self, what: str, code: int, message: str, wait: float | None = None) -> None:
        super().__init__(f"{what}: {code} {message}")
        self.what = what
        self.code = code
        self.message = message
        self.wait = wait


class _Status(msgspec.Struct):
    message: str = ""


@dataclass(frozen=True, slots=True)
class _Request:
    verb: str
    """An HTTP method, or ``WATCH`` for a GET whose answer does not end."""
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    data: bytes | None = None
    kind: str = JSON

    @property
    def whole(self) -> bool:
        return self.verb != "WATCH"

    @property
    def method(self) -> str:
        return self.verb if self.whole else "GET"

    @property
    def target(self) -> str:
        return self.path + (f"?{urlencode(self.query)}" if self.query else "")


class Api:
    """A connection to one API server, as one user."""

    def __init__(
        self, credentials: Credentials, observe: Observer = lambda _verb, _code: None
    ) -> None:
        self._credentials = credentials
        self._observe = observe
        self._base = urlsplit(credentials.url)
        self._pool: urllib3.HTTPConnectionPool | None = None
        self.url = credentials.url
        self.namespace = credentials.namespace

    def request(
        self, verb: str, path: str, body: object = None, *, kind: str = JSON, **query: str
    ) -> bytes:
        """Send one request and return the answer's body; raise ``Answer`` for an error status.

        A connection that was closed under us between two requests is no error:
        the request is sent once more, unless it makes something new.
        """
        data = None if body is None else msgspec.json.encode(body)
        request = _Request(verb, path, query, data, kind)
        try:
            return self._send(request).data
        except NodeUnavailable as err:
            if verb == "POST" or not isinstance(err.__cause__, ProtocolError):
                raise
            return self._send(request).data

    def delete(self, path: str) -> None:
        """Delete an object; nothing happens where there is none."""
        try:
            self.request("DELETE", path)
        except Answer as err:
            if err.code != HTTPStatus.NOT_FOUND:
                raise

    def lines(self, path: str, **query: str) -> Iterator[bytes]:
        """Start a long answer; return its lines as they come, until the server ends it."""
        return self._lines(path, self._send(_Request("WATCH", path, query)))

    def _lines(self, path: str, response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
        rest = b""
        try:
            for chunk in response.stream(amt=None):
                *whole, rest = (rest + chunk).split(b"\n")
                yield from whole
        except HTTPError as err:
            raise NodeUnavailable(f"WATCH {self.url}{path}", _plain(err)) from err
        finally:
            response.close()

    def _send(self, request: _Request) -> urllib3.BaseHTTPResponse:
        what = f"{request.verb} {self.url}{request.path}"
        try:
            response = self._connections().urlopen(
                request.method,
                self._base.path.rstrip("/") + request.target,
                body=request.data,
                headers=self._headers(request),
                retries=False,
                redirect=False,
                timeout=ANSWER if request.whole else FOLLOWING,
                preload_content=request.whole,
            )
        except HTTPError as err:
            self._observe(request.verb, 0)
            if isinstance(err, SSLError):
                self._pool = None  # The CA may have been replaced: read it again next time.
            raise NodeUnavailable(what, _plain(err)) from err
        self._observe(request.verb, response.status)
        if response.status == HTTPStatus.UNAUTHORIZED:
            self._credentials.rejected()
        if response.status >= HTTPStatus.MULTIPLE_CHOICES:
            raise _answer(what, response)
        return response

    def _headers(self, request: _Request) -> dict[str, str]:
        headers = {"Accept": JSON, "User-Agent": "nodetruth"}
        if request.data is not None:
            headers["Content-Type"] = request.kind
        try:
            bearer = self._credentials.bearer()
        except OSError as err:
            raise NodeUnavailable("service account token", str(err)) from err
        if bearer and not (bearer.isascii() and bearer.isprintable()):
            raise NodeUnavailable("service account token", "it holds what no header can carry")
        return headers | ({"Authorization": f"Bearer {bearer}"} if bearer else {})

    def _connections(self) -> urllib3.HTTPConnectionPool:
        if self._pool is None:
            self._pool = self._connect()
        return self._pool

    def _connect(self) -> urllib3.HTTPConnectionPool:
        host, port = self._base.hostname or "", self._base.port
        # One connection for the watch, one for the rest, one to spare.
        size = 3
        if self._base.scheme == "http":
            return urllib3.HTTPConnectionPool(
                host, port or 80, maxsize=size, socket_options=_KEEPALIVE
            )
        try:
            context = _context(self._credentials)
        except (OSError, ssl.SSLError) as err:
            raise NodeRefused(
                f"TLS for {self.url}", str(err), "check the CA and the client certificate"
            ) from err
        return urllib3.HTTPSConnectionPool(
            host,
            port or 443,
            maxsize=size,
            ssl_context=context,
            server_hostname=self._credentials.server_name,
            assert_hostname=self._credentials.server_name,
            socket_options=_KEEPALIVE,
        )


def _context(credentials: Credentials) -> ssl.SSLContext:
    context = ssl.create_default_context(
        cafile=str(credentials.authority) if credentials.authority else None
    )
    if credentials.certificate:
        certificate, key = credentials.certificate
        context.load_cert_chain(certificate, key)
    return context


def _answer(what: str, response: urllib3.BaseHTTPResponse) -> Answer:
    body = response.data
    try:
        message = msgspec.json.decode(body, type=_Status).message
    except msgspec.DecodeError:
        message = body[:200].decode(errors="replace")
    return Answer(what, response.status, message, _seconds(response.headers.get("Retry-After")))


def _seconds(text: str | None) -> float | None:
    """Read Retry-After in seconds, within reason; the API server never sends a date."""
    return min(float(text), LONGEST) if text and text.isascii() and text.isdigit() else None


def _plain(err: HTTPError) -> str:
    """Say what went wrong without urllib3's object addresses."""
    cause = err.__cause__ or err.__context__ or err
    reason = getattr(err, "reason", None) or cause
    return f"{type(reason).__name__}: {reason}" if str(reason) else type(reason).__name__
