"""Serve HTTP by a script: each request gets the next answer, whatever it asked."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread

Script = Callable[[socket.socket, str], None]
"""Answers one request, given its head and body."""


def reply(status: str, body: str = "{}", *headers: str) -> Script:
    """Answer with a status and a body."""
    head = "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers])
    return lambda peer, _request: peer.sendall(f"{head}\r\n\r\n{body}".encode())


def hang_up(peer: socket.socket, _request: str) -> None:
    """Break the connection without an answer."""
    peer.shutdown(socket.SHUT_RDWR)


def chunks(*parts: str, end: bool = True) -> Script:
    """Answer in chunks, as a watch does; without an end the connection breaks."""

    def answer(peer: socket.socket, _request: str) -> None:
        peer.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for part in parts:
            peer.sendall(f"{len(part.encode()):x}\r\n{part}\r\n".encode())
        if end:
            peer.sendall(b"0\r\n\r\n")
        else:
            peer.shutdown(socket.SHUT_RDWR)

    return answer


@contextmanager
def serving(*scripts: Script) -> Iterator[tuple[str, list[str]]]:
    """Serve the scripts one after the other; yield the address and what was asked."""
    listener = socket.create_server(("127.0.0.1", 0))
    asked: list[str] = []
    left = list(scripts)

    def serve() -> None:
        while left:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with peer:
                while left and (request := receive(peer)):
                    asked.append(request)
                    try:
                        left.pop(0)(peer, request)
                    except OSError:
                        break

    thread = Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", asked
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(2)
        listener.close()


def receive(peer: socket.socket) -> str:
    """Read one request; empty when the peer is gone."""
    data = b""
    while b"\r\n\r\n" not in data:
        try:
            part = peer.recv(65536)
        except OSError:
            return ""
        if not part:
            return ""
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        (int(h[15:]) for h in head.split(b"\r\n") if h.lower().startswith(b"content-length:")), 0
    )
    while len(body) < length:
        body += peer.recv(65536)
    return (head + b"\r\n\r\n" + body).decode()
