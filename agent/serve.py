"""Answer /metrics, /healthz and /readyz on one port.

``/healthz``: the loop lives. ``/readyz``: the Node is known to say what it
should. The words behind a 503 tell an operator why.
"""

import logging
import socket
import time
from collections.abc import Callable, Iterable
from socketserver import TCPServer, ThreadingMixIn
from threading import BoundedSemaphore, Thread
from typing import TYPE_CHECKING, Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from agent.metrics import CONTENT_TYPE
from labeler.diff import Drift
from labeler.node import NodeError
from labeler.reconcile import Round
from labeler.seen import Seen
from labeler.vocabulary import Mode

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

_log = logging.getLogger(__name__)

LIFE: Final = 90.0
"""Seconds without a beat after which the loop counts as dead: six of its heartbeats."""

DOUBT: Final = 60.0
"""Seconds without a confirmed round after which readiness ends; a round comes each 15."""

SILENCE: Final = 3600.0
"""Seconds between two looks at whether to end: ``stop`` wakes the server, so none is needed."""


class Health:
    """An observer that remembers whether the loop lives and the Node is true."""

    def __init__(self, mode: Mode, clock: Callable[[], float] = time.monotonic) -> None:
        self._mode = mode
        self._clock = clock
        self._beaten = clock()
        self._ready = False
        self._since = clock()
        self._why = "no round has ended yet"

    def beat(self) -> None:
        """Note that the loop lives."""
        self._beaten = self._clock()

    def drifted(self, seen: Seen, drifts: tuple[Drift, ...]) -> None:
        """Do nothing: an edit that is put right makes nobody unready."""

    def resumed(self) -> None:
        """Do nothing: that a watch ended was said, and rounds say whether it is up."""

    def ended(self, one: Round, *, confirmed: bool) -> None:
        """Note that the Node is true, once it is known to be; doubt it when that takes long.

        A vital key that somebody else keeps writing is doubted at once.
        """
        contests = [str(contest) for contest in one.contests if contest.vital]
        if contests:
            self._ready, self._why = False, "; ".join(contests)
        elif confirmed or (self._mode is Mode.OBSERVE and one.want.complete):
            self._ready, self._since = True, self._clock()
        elif self._ready and self._clock() - self._since > DOUBT:
            self._ready, self._why = False, "the watch has not confirmed the Node's last state"

    def troubled(self, error: NodeError) -> None:
        """Note why not."""
        self._ready, self._why = False, str(error)

    def healthy(self) -> tuple[bool, str]:
        """Tell whether the loop lives, and since when not."""
        silent = self._clock() - self._beaten
        return silent < LIFE, f"the loop has been silent for {silent:.0f} s"

    def ready(self) -> tuple[bool, str]:
        """Tell whether the Node is known to say what it should, or why not."""
        return self._ready, self._why


class Server:
    """The HTTP server, in a thread of its own."""

    def __init__(self, address: tuple[str, int], health: Health, page: Callable[[], bytes]) -> None:
        self._health = health
        self._page = page
        host, port = address
        self._server = make_server(
            host,
            port,
            self._answer,
            server_class=_ThreadsV6 if ":" in host else _Threads,
            handler_class=_Quiet,
        )
        self.port = self._server.server_port

    def start(self) -> None:
        """Serve from now on."""
        # Left alone it would look twice a second, half of all that an agent at rest computes.
        serve = self._server.serve_forever
        Thread(target=serve, args=(SILENCE,), name="serve", daemon=True).start()

    def stop(self) -> None:
        """Serve no more."""
        self._server.socket.shutdown(socket.SHUT_RDWR)  # wakes it, for good
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, environ: "WSGIEnvironment", start: "StartResponse") -> Iterable[bytes]:
        match environ["PATH_INFO"]:
            case "/metrics":
                return _reply(start, "200 OK", self._page(), CONTENT_TYPE)
            case "/healthz":
                return _verdict(start, *self._health.healthy())
            case "/readyz":
                return _verdict(start, *self._health.ready())
            case _:
                return _reply(start, "404 Not Found", b"/metrics, /healthz, /readyz\n")


class _Threads(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    places = BoundedSemaphore(32)  # clients at a time: what is more waits in the backlog

    def server_bind(self) -> None:
        """Bind; http.server would ask a name server for this host's name, and wait for it."""
        TCPServer.server_bind(self)
        host, self.server_port = self.server_address[:2]
        self.server_name = str(host)
        self.setup_environ()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print no trace: a client that went away or was too slow is no fault of ours."""
        _log.debug("%s from %s", request, client_address, exc_info=True)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.places.acquire()
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.places.release()


class _ThreadsV6(_Threads):
    address_family = socket.AF_INET6


class _Quiet(WSGIRequestHandler):
    timeout = 5  # seconds a client may take over its request

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Do nothing: a probe each second is no news."""


def _verdict(start: "StartResponse", good: bool, why: str) -> Iterable[bytes]:  # noqa: FBT001
    status = "200 OK" if good else "503 Service Unavailable"
    return _reply(start, status, b"ok\n" if good else f"{why}\n".encode(errors="replace"))


def _reply(
    start: "StartResponse", status: str, body: bytes, kind: str = "text/plain; charset=utf-8"
) -> Iterable[bytes]:
    start(status, [("Content-Type", kind), ("Content-Length", str(len(body)))])
    return [body]
