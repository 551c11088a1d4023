"""Where signed links lead: to the HTTP server itself, or to a local one that starts late."""

import asyncio
import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from canonry.canon.session.canon import Canon
from canonry.records.ports.interpreter import FileHost
from canonry.records.usecases.services import RecordServices
from canonry.values.errors import Unavailable

if TYPE_CHECKING:
    import uvicorn

_LOOPBACK: Final = "127.0.0.1"


class KnownHost(FileHost):
    """A server that runs anyway, under an address that somebody told."""

    def __init__(self, address: str) -> None:
        """Clients reach it there."""
        self._address = address.rstrip("/")

    @override
    async def address(self) -> str:
        return self._address

    @override
    async def close(self) -> None:
        """It is not ours to stop."""


class LoopbackHost(FileHost):
    """A server for links alone, reachable from this machine, that starts with the first link."""

    def __init__(self, canon: Canon) -> None:
        """Serve the files of `canon`."""
        self._canon = canon
        self._address = ""
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()

    @override
    async def address(self) -> str:
        async with self._starting:
            if self._serving is None or self._serving.done():
                await self._start()
            return self._address

    @override
    async def close(self) -> None:
        server, serving = self._server, self._serving
        self._server = self._serving = None
        if server is not None and serving is not None:
            server.should_exit = True
            with contextlib.suppress(asyncio.CancelledError):
                await serving

    async def _start(self) -> None:
        # A session that asks for no link needs none of this.
        from starlette.applications import Starlette  # noqa: PLC0415 - as above

        from canonry.server.files import file_route  # noqa: PLC0415 - as above
        from canonry.server.listening import bounded_config, listen  # noqa: PLC0415 - as above
        from canonry.server.options import HttpLimits  # noqa: PLC0415 - as above

        try:
            taken = listen(_LOOPBACK, 0)
        except Unavailable as error:
            message = "no port of this machine can be taken to serve files; try again"
            raise Unavailable("file.signing-failed", message) from error
        app = Starlette(routes=[file_route(self._canon)])
        config = bounded_config(app, HttpLimits(), 0, shutdown_seconds=1)
        self._server = _quiet_server(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=[taken]))
        # The socket listens already, so a client that comes at once waits and is served.
        self._address = f"http://{_LOOPBACK}:{taken.getsockname()[1]}"


def _quiet_server(config: "uvicorn.Config") -> "uvicorn.Server":
    """A server that leaves the signals of the process to whoever has them."""
    import uvicorn  # noqa: PLC0415 - see above

    class Quiet(uvicorn.Server):
        @override
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    return Quiet(config)


def host_files(canon: Canon, public_url: str | None) -> None:
    """Let links lead to `public_url`, or to a server that starts with the first of them."""
    filing = canon.service(RecordServices).filing
    if filing is not None and filing.host is None:
        filing.host = LoopbackHost(canon) if public_url is None else KnownHost(public_url)
