"""A relay between clients and a server: it counts how often the talk turns round, and harms it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit


class Relay:
    """Stands between client and server, and counts how often the talk turns round."""

    def __init__(self) -> None:
        self.trips = 0
        self.delay = 0.0
        """Seconds by which whatever is said comes later."""
        self.away = False
        """Whether nobody is let through who comes anew."""
        self._asking = False
        self._lines: set[asyncio.StreamWriter] = set()

    async def carry(
        self, client: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int
    ) -> None:
        if self.away:
            writer.transport.abort()
            return
        try:
            answers, server = await asyncio.open_connection("127.0.0.1", port)
        except OSError:  # the server is away, and whoever asks sees that
            writer.transport.abort()
            return
        self._lines |= {writer, server}
        with suppress(ConnectionError):
            await asyncio.gather(
                self._pass(client, server, asks=True), self._pass(answers, writer, asks=False)
            )
        self._lines -= {writer, server}

    async def cut(self) -> None:
        """Drop every line, whatever is under way on it; who comes next is let through."""
        for each in tuple(self._lines):
            each.transport.abort()

    async def _pass(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, *, asks: bool
    ) -> None:
        while data := await source.read(65_536):
            if not asks and self._asking:
                self.trips += 1
            self._asking = asks
            if self.delay:
                await asyncio.sleep(self.delay)
            target.write(data)
        target.close()


@asynccontextmanager
async def relayed_url(url: str) -> AsyncIterator[tuple[Relay, str]]:
    """A relay, and the address of the server behind it."""
    relay, port = Relay(), urlsplit(url).port
    assert port is not None
    server = await asyncio.start_server(
        lambda reader, writer: relay.carry(reader, writer, port), "127.0.0.1", 0
    )
    here = server.sockets[0].getsockname()[1]
    yield relay, url.replace(f":{port}", f":{here}")
    await relay.cut()
    server.close()
