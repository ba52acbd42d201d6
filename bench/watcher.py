"""See each change of a Node as any client sees it: over a watch of its own.

By ``http.client`` and a connection of its own, so that neither the agent's
client nor the hand that edits can hide a delay.
"""

import http.client
import json
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from threading import Condition, Thread
from typing import Final, Self

from tests.cluster.controlplane import ControlPlane
from tests.cluster.place import ADMIN

PATIENCE: Final = 30.0
"""Seconds to wait for a change: far above what passes for slow."""
WATCH: Final = "/api/v1/nodes?watch=true&timeoutSeconds=3600&resourceVersion="


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """One change of a Node, and when it was seen."""

    at: float
    """Seconds of the monotonic clock, taken before the line was decoded."""
    node: str
    version: int
    labels: Mapping[str, str]


class Watcher:
    """Follows every Node, in a thread of its own."""

    def __init__(self, plane: ControlPlane) -> None:
        listed = plane.admin.get("/api/v1/nodes")["metadata"]["resourceVersion"]
        trusted = ssl.create_default_context(cafile=str(plane.ca_file))
        place = plane.place
        self._connection = http.client.HTTPSConnection("127.0.0.1", place.port, context=trusted)
        self._connection.connect()
        self._socket: Final = self._connection.sock
        headers = {"Authorization": f"Bearer {place.tokens[ADMIN]}"}
        self._connection.request("GET", WATCH + listed, headers=headers)
        self._response = self._connection.getresponse()
        self._seen: list[Sighting] = []
        self._news = Condition()
        self._thread = Thread(target=self._follow, name="watcher", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # Not the response, whose lock the reader holds. A shut socket wakes that reader.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._connection.close()

    def forget(self) -> None:
        """Forget what was seen so far: it belongs to what was done before."""
        with self._news:
            self._seen.clear()

    def first(self, fits: Callable[[Sighting], bool]) -> Sighting:
        """Return the first sighting that fits; wait for it."""
        with self._news:
            if not self._news.wait_for(lambda: any(map(fits, self._seen)), PATIENCE):
                message = f"no such change of a Node within {PATIENCE:g} s"
                raise TimeoutError(message)
            return next(filter(fits, self._seen))

    def _follow(self) -> None:
        # An end in mid-watch is no news here: whoever waits for a change will say that none came.
        with suppress(OSError, http.client.HTTPException):
            while line := self._response.readline():
                self._take_in(line, time.monotonic())

    def _take_in(self, line: bytes, at: float) -> None:
        meta = json.loads(line)["object"]["metadata"]
        one = Sighting(
            at=at,
            node=meta["name"],
            version=int(meta["resourceVersion"]),
            labels=meta.get("labels", {}),
        )
        with self._news:
            self._seen.append(one)
            self._news.notify_all()
