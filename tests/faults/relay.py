"""A relay between clients and a server: it counts how often the talk turns round, and harms it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit


class Relay:
    """Stands between client and server, and counts how often the talk turns round."""

    def __init__(self) -> None:
        self.trips = 0
        self.delay = 0.0
        """Seconds by which whatever is said comes later."""
        self.away = False
        """True if new clients cannot connect."""
        self._asking = False
        self._lines: set[asyncio.StreamWriter] = set()

    async def carry_connection(
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
        both = {writer, server}
        self._lines |= both
        passing = [
            asyncio.ensure_future(self._pass_bytes(client, server, asks=True)),
            asyncio.ensure_future(self._pass_bytes(answers, writer, asks=False)),
        ]
        try:
            await asyncio.gather(*passing)
        except ConnectionError:
            for each in both:
                each.transport.abort()
            await asyncio.gather(*passing, return_exceptions=True)
        self._lines -= both

    async def cut_lines(self) -> None:
        """Drop every line, whatever is under way on it; who comes next is let through."""
        for each in tuple(self._lines):
            each.transport.abort()

    async def _pass_bytes(
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
    carrying: set[asyncio.Task[None]] = set()

    def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        carrying.add(asyncio.ensure_future(relay.carry_connection(reader, writer, port)))

    server = await asyncio.start_server(carry, "127.0.0.1", 0)
    here = server.sockets[0].getsockname()[1]
    yield relay, url.replace(f":{port}", f":{here}")
    server.close()
    relay.away = True
    while any(not each.done() for each in carrying):
        await relay.cut_lines()
        await asyncio.wait(carrying, timeout=0.05)
