"""Listen on a socket, and bound connections."""

import asyncio
import contextlib
import socket
from collections.abc import Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final, NoReturn, cast

import uvicorn
from starlette.types import ASGIApp
from typing_extensions import override
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from canonry.gateway.rates import KEPT, Full, Seats
from canonry.server.options import LOOPBACK, HttpLimits
from canonry.values.errors import Unavailable

# Bytes and time of a connection are bounded in every phase, and idle connections are closed.
#
# Uvicorn bounds neither the head of a request nor the time for its head and body, and it counts
# connections only in order to refuse requests. See the decision
# `0023-bound-connections-below-asgi`.

_IDLE: Final = 0
_HEAD: Final = 1
_BODY: Final = 2
_LISTENING: Final = 3
_RANKS: Final = 4
_FIELDS: Final = 128  # against requests of many header fields
_AHEAD: Final = 16  # against a client that sends requests without reading answers
_SWEEP_SECONDS: Final = 1.0  # one timer for all connections, instead of one each


class Connections:
    """All connections of a server. When there are too many, the longest idle one is closed.

    Silent connections go first, then those with a slow head, then with a slow body, and at last
    those that only listen. A connection whose answer is being made is never closed for another.
    """

    def __init__(self, limits: HttpLimits, *, body_bytes: int) -> None:
        """Start without connections; bodies longer than `body_bytes` are not read."""
        self.limits = limits
        self.body_bytes = body_bytes
        self._seats: Seats[str, BoundedProtocol] = Seats(
            total=limits.connections, each=limits.each_address, ranks=_RANKS
        )
        self._sweeper: asyncio.TimerHandle | None = None

    def make_protocol(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> "BoundedProtocol":
        """Return the protocol of a new connection, which uvicorn asks for."""
        return BoundedProtocol(config, server_state, app_state, _loop, connections=self)

    def admit_connection(self, new: "BoundedProtocol") -> bool:
        """Make room for `new` if possible; return whether there is room."""
        try:
            victim = self._seats.find_leaver(new.owner)
        except Full:
            return False
        if victim is not None:
            self._seats.release_seat(*victim)
            victim[1].transport.abort()
        self.move_connection(new, _IDLE)
        if self._sweeper is None:
            self._sweeper = new.loop.call_later(_SWEEP_SECONDS, self._close_slow, new.loop)
        return True

    def move_connection(self, connection: "BoundedProtocol", rank: int) -> None:
        """Move a connection to its rank."""
        self._seats.seat_holder(connection.owner, connection, rank)

    def remove_connection(self, connection: "BoundedProtocol") -> None:
        """Remove a connection that has ended."""
        self._seats.release_seat(connection.owner, connection)

    def _close_slow(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close slow connections. One timer for all costs less than one per request."""
        now = loop.time()
        for connection in [each for each in self._seats if each.is_overdue(now)]:
            connection.transport.abort()
        again = len(self._seats) > 0
        self._sweeper = loop.call_later(_SWEEP_SECONDS, self._close_slow, loop) if again else None


class _RefusedError(Exception):
    """Stops the parser; the connection holds the reason."""


class BoundedProtocol(HttpToolsProtocol):
    """One connection; `owner` is the address of the client."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        connections: Connections,
    ) -> None:
        """Prepare a connection."""
        super().__init__(config, server_state, app_state, _loop)
        self.owner = ""
        self._connections = connections
        self._limits = connections.limits
        self._head_bytes = connections.limits.head_bytes
        self._rank = _IDLE
        self._since = self.loop.time()
        self._admitted = False
        self._status = HTTPStatus.BAD_REQUEST
        self._asked = False  # a request has begun
        self._begun = False  # part of a head has arrived
        self._reading = False  # the head has arrived, the body not whole
        self._fruitless = 0  # bytes since the parser last yielded a part
        self._named = 0  # bytes of the target and the fields of this request
        self._fields = 0
        self._body = 0
        self._left = 0  # bytes of an answer that the client has not read
        self._taken_at = 0.0

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.owner = self.client[0] if self.client else ""
        self._since = self.loop.time()
        self._admitted = self._connections.admit_connection(self)
        if not self._admitted:
            self._status = HTTPStatus.SERVICE_UNAVAILABLE
            self.send_400_response("")

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._unset_keepalive_if_required()  # uvicorn leaves it running after a reset
        self._connections.remove_connection(self)
        self._admitted = False

    @override
    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._begun = self._begun or not self._reading
        self._fruitless += len(data)
        super().data_received(data)
        if self._fruitless > self._head_bytes and not self.transport.is_closing():
            self._status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            self.send_400_response("")
        self._update_rank()

    @override
    def send_400_response(self, msg: str) -> None:
        """Refuse with `self._status`, unless another answer is on its way."""
        if not self._is_answering():
            words = f"{self._status.phrase}\n".encode()
            retry = b"retry-after: 1\r\n" if self._status == HTTPStatus.SERVICE_UNAVAILABLE else b""
            self.transport.write(
                STATUS_LINE[self._status]
                + b"content-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\n" % len(words)
                + retry
                + b"connection: close\r\n\r\n"
                + words
            )
        self.transport.close()

    @override
    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._begun = True
        self._named = self._fields = 0

    @override
    def on_url(self, url: bytes) -> None:
        self._named += len(url)
        if self._named > self._head_bytes:
            self._refuse_head()
        super().on_url(url)

    @override
    def on_header(self, name: bytes, value: bytes) -> None:
        # Called for each field. Written out, because a function call costs more than the check.
        self._fields += 1
        self._named += len(name) + len(value)
        if self._named > self._head_bytes or self._fields > _FIELDS:
            self._refuse_head()
        if (
            not self._reading
        ):  # trailers after the body: no application asks for them, and the scope is in use
            super().on_header(name, value)

    @override
    def on_headers_complete(self) -> None:
        hosts = [name for name, _ in self.headers].count(b"host")
        if len(self.pipeline) >= _AHEAD or hosts > 1:
            raise _RefusedError
        self._begun = False
        self._reading = True
        self._body = self._fruitless = 0
        super().on_headers_complete()
        self._asked = True

    @override
    def on_body(self, body: bytes) -> None:
        self._fruitless = 0
        self._body += len(body)
        if self._body > self._connections.body_bytes and self.cycle.response_complete:
            raise _RefusedError  # the client has its answer and still sends
        super().on_body(body)

    @override
    def on_message_complete(self) -> None:
        self._reading = False
        self._fruitless = 0
        super().on_message_complete()

    @override
    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._update_rank()

    def is_overdue(self, now: float) -> bool:
        """Return whether the current phase has taken longer than it may."""
        limits, passed = self._limits, now - self._since
        if self._rank in {KEPT, _LISTENING} or self.transport.is_closing():
            # A client that reads nothing of its answer for a long time is overdue.
            left = self.transport.get_write_buffer_size()
            if not left or left != self._left:
                self._left, self._taken_at = left, now
            return now - self._taken_at > self._limits.answer_seconds
        if self._rank == _BODY:
            return passed > limits.body_seconds + self._body / limits.body_rate
        return passed > (limits.head_seconds if self._rank == _HEAD else limits.idle_seconds)

    def _refuse_head(self) -> NoReturn:
        self._status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        raise _RefusedError

    def _update_rank(self) -> None:
        rank = self._current_rank()
        if rank != self._rank and self._admitted:
            self._rank = rank
            self._since = self.loop.time()
            self._connections.move_connection(self, rank)

    def _current_rank(self) -> int:
        if self._reading and not self.pipeline:
            return _BODY
        if self._is_answering():
            return _LISTENING if self.cycle.scope["method"] == "GET" else KEPT
        return _HEAD if self._begun else _IDLE

    def _is_answering(self) -> bool:
        return self._asked and not self.cycle.response_complete


_BACKLOG: Final = 2_048  # a burst of clients waits instead of being refused
_SPARE_FILES: Final = 1_024  # files for the store while clients fill the others
_SILENT_SECONDS: Final = 60  # a peer that vanished frees its seat after two minutes


def open_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises:
        Unavailable: `http.address`.
    """
    address = host.strip("[]")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        taken = socket.create_server((address, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        message = f"The address {host}:{port} is not free: {error.strerror}. Choose another port."
        raise Unavailable("http.address", message) from error
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", _SILENT_SECONDS),
        ("TCP_KEEPINTVL", _SILENT_SECONDS // 4),
        ("TCP_KEEPCNT", 4),
        ("TCP_USER_TIMEOUT", _SILENT_SECONDS * 1_000),
    ):
        option = getattr(socket, name, None)
        if option is not None:  # some systems lack some of these
            with contextlib.suppress(OSError):
                taken.setsockopt(socket.IPPROTO_TCP, option, value)
    # Else the end of an answer waits until its start is acknowledged: 44 ms for each call.
    taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return taken


def bounded_config(
    app: ASGIApp,
    limits: HttpLimits,
    body_bytes: int,
    *,
    shutdown_seconds: float,
    proxies: Sequence[str] = LOOPBACK,
) -> uvicorn.Config:
    """Return the configuration of uvicorn for `app`."""
    connections = Connections(_within_files(limits), body_bytes=body_bytes)
    return uvicorn.Config(
        app,
        http=cast("Any", connections.make_protocol),  # uvicorn expects a class, and only calls it
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        forwarded_allow_ips=list(proxies),
        timeout_keep_alive=max(1, round(limits.idle_seconds)),
        timeout_graceful_shutdown=max(1, round(shutdown_seconds)),
    )


def _within_files(limits: HttpLimits) -> HttpLimits:
    """Return the limits, reduced to the number of files that this process may have open.

    A connection takes a file before another one can be closed for it.
    """
    wanted = limits.connections + _BACKLOG + _SPARE_FILES
    allowed = _raise_file_limit(wanted)
    if allowed is None or allowed >= wanted:
        return limits
    connections = max(1, min(limits.connections, allowed // 2))
    return replace(
        limits, connections=connections, each_address=min(limits.each_address, connections)
    )


def _raise_file_limit(wanted: int) -> int | None:
    """Return how many files may be open, after a request for `wanted`."""
    try:
        import resource  # noqa: PLC0415 - Windows has no such module and no such limit
    except ImportError:
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return None
    more = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
