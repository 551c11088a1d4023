"""Taking an address, and uvicorn as it is run everywhere here: with bounds on every connection."""

import contextlib
import socket
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, cast

import uvicorn
from starlette.types import ASGIApp

from canonry.server.connections import Connections
from canonry.server.options import LOOPBACK, HttpLimits
from canonry.values.errors import Unavailable

_BACKLOG: Final = 2_048
_SPARE_FILES: Final = 1_024
_SILENT_SECONDS: Final = 60


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        Unavailable: `http.address`.
    """
    address = host.strip("[]")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        taken = socket.create_server((address, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        message = f"the address {host}:{port} cannot be taken: {error.strerror}; choose another"
        raise Unavailable("http.address", message) from error
    _notice_the_dead(taken)
    # Else the end of an answer waits until the start was acknowledged: 44 ms, call for call.
    taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return taken


def _notice_the_dead(taken: socket.socket) -> None:
    """Let the system end connections whose other end has vanished; accepted ones inherit this."""
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", _SILENT_SECONDS),
        ("TCP_KEEPINTVL", _SILENT_SECONDS // 4),
        ("TCP_KEEPCNT", 4),
        ("TCP_USER_TIMEOUT", _SILENT_SECONDS * 1_000),
    ):
        option = getattr(socket, name, None)
        if option is not None:  # not every system has each of them
            with contextlib.suppress(OSError):
                taken.setsockopt(socket.IPPROTO_TCP, option, value)


def bounded_config(
    app: ASGIApp,
    limits: HttpLimits,
    body_bytes: int,
    *,
    shutdown_seconds: float,
    proxies: Sequence[str] = LOOPBACK,
) -> uvicorn.Config:
    """How uvicorn runs `app`."""
    connections = Connections(_within_files(limits), body_bytes=body_bytes)
    return uvicorn.Config(
        app,
        http=cast("Any", connections.protocol),  # a class is expected, and only ever called
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        forwarded_allow_ips=list(proxies),
        timeout_keep_alive=max(1, round(limits.idle_seconds)),
        timeout_graceful_shutdown=max(1, round(shutdown_seconds)),
    )


def _within_files(limits: HttpLimits) -> HttpLimits:
    """The limits, as far as the system lets this process have files open at one time.

    What waits to be accepted takes a file before anything can be shed for it.
    """
    wanted = limits.connections + _BACKLOG + _SPARE_FILES
    allowed = _files(wanted)
    if allowed is None or allowed >= wanted:
        return limits
    connections = max(1, min(limits.connections, allowed // 2))
    return replace(
        limits, connections=connections, each_address=min(limits.each_address, connections)
    )


def _files(wanted: int) -> int | None:
    """How many files may be open, after asking for more if `wanted` are more."""
    try:
        import resource  # noqa: PLC0415 - Windows has none, and no such limit
    except ImportError:
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return None
    more = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
