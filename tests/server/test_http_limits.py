"""Hostile connections: each phase of a request is bounded, and idle ones make room for others."""

import contextlib
import socket
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from canonry.server.options import HttpLimits
from tests.server.http_thread import (
    PATIENCE,
    connect_from,
    read_until_closed,
    request_plainly,
    serve_app,
)

FEW = HttpLimits(connections=40, each_address=30)
HURRIED = HttpLimits(head_seconds=1, body_seconds=1, idle_seconds=1, answer_seconds=1)


async def answer_hello(scope: Any, receive: Any, send: Any) -> None:
    """Says hello once it has read the body; `/large` says it very often."""
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body", False):
        pass
    body = b"hello" * (20_000_000 if scope["path"] == "/large" else 1)
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with serve_app(answer_hello, HttpLimits()) as port:
        yield port


@pytest.fixture(scope="module")
def hurried() -> Iterator[int]:
    with serve_app(answer_hello, HURRIED) as port:
        yield port


def pour_text(connection: socket.socket, begin: bytes, piece: bytes, most: int) -> int:
    """Return how many bytes the other end takes, of an endless text at most `most`."""
    taken = 0
    with contextlib.suppress(ConnectionError):
        connection.sendall(begin)
        while taken < most:
            connection.sendall(piece)
            taken += len(piece)
    return taken


@pytest.mark.parametrize(
    ("begin", "piece"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Bomb: ", b"x" * 65_536),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"x" * 65_536, b"x" * 65_536),
        (b"GET /", b"x" * 65_536),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n", b"X-Bomb: x\r\n" * 5_000),
        (
            (
                b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                b"1\r\nx\r\n0\r\nX-Bomb: "
            ),
            b"x" * 65_536,
        ),
        (b"", b"\r\n" * 32_768),
    ],
    ids=["value", "name", "target", "fields", "trailer", "nothing"],
)
def test_an_endless_header_is_refused_after_a_while(port: int, begin: bytes, piece: bytes) -> None:
    most = 60_000_000
    with connect_from(port) as connection:
        taken = pour_text(connection, begin, piece, most)
    assert taken < most // 2, "the server took it all"
    with connect_from(port) as connection:
        assert request_plainly(connection).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "fields",
    [b"X-Large: " + b"x" * 70_000 + b"\r\n", b"X-Many: x\r\n" * 200],
    ids=["large", "many"],
)
def test_an_oversized_header_gets_an_error(port: int, fields: bytes) -> None:
    with connect_from(port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + fields + b"\r\n")
        assert read_until_closed(connection).startswith(b"HTTP/1.1 431 ")


def test_a_header_of_ordinary_size_is_served(port: int) -> None:
    token = b"Authorization: Bearer " + b"t" * 16_384 + b"\r\n"
    with connect_from(port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + token + b"\r\n")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "begin",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: loc",
        b"\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nx",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n\r\n",
    ],
    ids=["silent", "head", "empty lines", "body", "after an answer"],
)
def test_a_client_that_stalls_is_disconnected(hurried: int, begin: bytes) -> None:
    with connect_from(hurried) as connection:
        connection.sendall(begin)
        read_until_closed(connection)  # a server without bounds lets this wait run out


@pytest.mark.parametrize("length", [b"Content-Length: 100000", b"Transfer-Encoding: chunked"])
def test_a_request_that_trickles_is_disconnected(hurried: int, length: bytes) -> None:
    with connect_from(hurried) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\n" + length + b"\r\n\r\n")
        connection.settimeout(0.05)
        with contextlib.suppress(ConnectionError):
            for _ in range(int(PATIENCE / 0.05)):
                connection.sendall(b"1\r\nx\r\n")
                with contextlib.suppress(TimeoutError):
                    if not connection.recv(65_536):
                        return
            pytest.fail("it was never disconnected")


def test_a_client_that_reads_no_answer_is_disconnected(hurried: int) -> None:
    with connect_from(hurried) as idle:
        idle.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for _ in range(3):  # each is closed by a later look at all connections
            with connect_from(hurried) as silent:
                read_until_closed(silent)
        said = read_until_closed(idle)
    assert 0 < len(said) < 50_000_000


def test_idle_connections_are_closed_oldest_first_for_new_ones() -> None:
    with serve_app(answer_hello, FEW) as port, contextlib.ExitStack() as stack:
        idle = [stack.enter_context(connect_from(port)) for _ in range(200)]
        assert request_plainly(idle[-1]).startswith(b"HTTP/1.1 200")
        assert read_until_closed(idle[0]) == b""
        newest = [request_plainly(each) for each in idle[-20:]]
        assert all(each.startswith(b"HTTP/1.1 200") for each in newest)
        with connect_from(port) as another:
            assert request_plainly(another).startswith(b"HTTP/1.1 200")


def test_slow_headers_are_closed_for_an_active_client() -> None:
    with serve_app(answer_hello, FEW) as port, contextlib.ExitStack() as stack:
        for _ in range(200):
            slow = stack.enter_context(connect_from(port))
            slow.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
        with connect_from(port) as another:
            for _ in range(3):
                assert request_plainly(another).startswith(b"HTTP/1.1 200")


def test_an_upload_survives_the_closing_of_idle_connections() -> None:
    with serve_app(answer_hello, FEW) as port, contextlib.ExitStack() as stack:
        working = stack.enter_context(connect_from(port))
        working.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nh")
        for _ in range(20):
            idle = stack.enter_context(connect_from(port))
            assert request_plainly(idle).startswith(b"HTTP/1.1 200")
        for _ in range(20):
            idle = stack.enter_context(connect_from(port))
            assert request_plainly(idle).startswith(b"HTTP/1.1 200")
        working.sendall(b"ello")
        assert working.recv(65_536).startswith(b"HTTP/1.1 200")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have one loopback address")
def test_one_address_cannot_displace_another() -> None:
    with serve_app(answer_hello, FEW) as port, contextlib.ExitStack() as stack:
        quiet = stack.enter_context(connect_from(port, "127.0.0.2"))
        assert request_plainly(quiet).startswith(b"HTTP/1.1 200")
        for _ in range(200):
            stack.enter_context(connect_from(port, "127.0.0.3"))
        with connect_from(port, "127.0.0.4") as newcomer:
            assert request_plainly(newcomer).startswith(b"HTTP/1.1 200")
        assert request_plainly(quiet).startswith(b"HTTP/1.1 200")


def test_a_request_with_two_hosts_is_refused(port: int) -> None:
    with connect_from(port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")
        assert read_until_closed(connection).startswith(b"HTTP/1.1 400 ")
