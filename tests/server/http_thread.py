"""An application behind a bounded server in a thread, and sockets that speak to it byte by byte."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator, Sequence
from typing import Any, Final

import uvicorn

from canonry.server.options import LOOPBACK, HttpLimits
from canonry.server.sockets import bounded_config, open_socket

PATIENCE: Final = 30.0
BODY: Final = 1 << 20


@contextlib.contextmanager
def serve_app(app: Any, limits: HttpLimits, proxies: Sequence[str] = LOOPBACK) -> Iterator[int]:
    """The port under which `app` is served until the block ends."""
    taken = open_socket("127.0.0.1", 0)
    config = bounded_config(app, limits, BODY, shutdown_seconds=1, proxies=proxies)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=asyncio.run, args=(run_server(server, taken),), daemon=True)
    thread.start()
    try:
        yield taken.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
    assert not thread.is_alive()


async def run_server(server: uvicorn.Server, taken: socket.socket) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        await server.serve(sockets=[taken])


def connect_from(port: int, source: str = "127.0.0.1") -> socket.socket:
    """A connection from `source`."""
    return socket.create_connection(("127.0.0.1", port), PATIENCE, source_address=(source, 0))


def read_until_closed(connection: socket.socket) -> bytes:
    """Return the bytes that the other end sends until it hangs up."""
    said = b""
    with contextlib.suppress(ConnectionError):
        while piece := connection.recv(1 << 16):
            said += piece
    return said


def request_plainly(connection: socket.socket, path: str = "/") -> bytes:
    """The answer to a plain request, which leaves the connection open; empty if it was closed."""
    said = b""
    with contextlib.suppress(ConnectionError):
        connection.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode())
        while not said.endswith(b"\r\n\r\nhello"):
            piece = connection.recv(1 << 16)
            if not piece:
                return b""
            said += piece
    return said
