"""Put a cable between an agent and the API server, to pull it."""

import socket
from contextlib import suppress
from threading import Thread
from typing import Final, Self


class Cable:
    """A TCP relay on a loopback port that can be cut and plugged in again."""

    def __init__(self, port: int) -> None:
        self._target: Final = ("127.0.0.1", port)
        self._listener: Final = socket.create_server(("127.0.0.1", 0))
        self._ends: Final[list[socket.socket]] = []
        self._plugged = True
        self.port: Final = self._listener.getsockname()[1]
        self._pumps: Final[list[Thread]] = []
        self._accepting: Final = Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.unplug()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._listener.close()
        self.cut()
        for thread in self._pumps:
            thread.join()

    def cut(self) -> None:
        """Break every connection; new ones may be made at once."""
        ends, self._ends[:] = list(self._ends), []
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def unplug(self) -> None:
        """Break every connection and let none through."""
        self._plugged = False
        self.cut()

    def plug(self) -> None:
        """Let connections through again."""
        self._plugged = True

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self._join(near)

    def _join(self, near: socket.socket) -> None:
        try:
            if not self._plugged:
                raise ConnectionRefusedError
            far = socket.create_connection(self._target)
        except OSError:
            near.close()
            return
        self._ends.extend((near, far))
        for source, sink in ((near, far), (far, near)):
            thread = Thread(target=pump, args=(source, sink), daemon=True)
            self._pumps.append(thread)
            thread.start()


def pump(source: socket.socket, sink: socket.socket) -> None:
    """Carry bytes one way until either end breaks; then break both, and close one's own."""
    with suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
    for end in (source, sink):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
    source.close()
