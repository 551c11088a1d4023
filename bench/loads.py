"""A load client: pre-encoded requests over keep-alive connections, to cost little itself."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

PROTOCOL = "2026-07-28"


def call_body(number: int, tool: str, arguments: Mapping[str, Any], agent: str | None) -> bytes:
    """A `tools/call` of the stateless protocol revision."""
    meta: dict[str, Any] = {
        "io.modelcontextprotocol/protocolVersion": PROTOCOL,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "load", "version": "1"},
    }
    if agent is not None:
        meta["dev.canonry/agent"] = {"agent_id": "load", "agent_type": agent}
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    request = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    return json.dumps(request).encode()


def request_bytes(port: int, path: str, tool: str, body: bytes) -> bytes:
    """The body in an HTTP request with the headers that the revision demands."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        f"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {PROTOCOL}\r\n"
        f"Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Connection:
    """One keep-alive connection."""

    def __init__(self, port: int) -> None:
        """Connect lazily."""
        self._port = port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def ask(self, request: bytes) -> bytes:
        """Send a request; the body of its answer.

        Raises:
            RuntimeError: the answer is not HTTP 200.
        """
        if self._reader is None or self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        lower = head.lower()
        if b"content-length:" in lower:
            length = int(lower.split(b"content-length:")[1].split(b"\r\n")[0])
            body = await self._reader.readexactly(length)
        else:
            body = await self._chunks()
        if b" 200 " not in head.split(b"\r\n")[0]:
            raise RuntimeError(f"{head.decode()}{body[:500].decode()}")
        return body

    async def _chunks(self) -> bytes:
        assert self._reader is not None
        whole = b""
        while True:
            size = int((await self._reader.readline()).strip(), 16)
            whole += await self._reader.readexactly(size)
            await self._reader.readexactly(2)
            if size == 0:
                return whole

    def close(self) -> None:
        """Hang up."""
        if self._writer is not None:
            self._writer.close()


async def closed_loop(
    port: int, make_request: Callable[[int], bytes], *, calls: int, clients: int = 1
) -> list[float]:
    """Seconds of each of `calls` calls, `clients` at a time; the first answer is checked."""
    durations: list[float] = []
    numbers = iter(range(calls))

    async def client() -> None:
        connection = Connection(port)
        for number in numbers:
            request = make_request(number)
            began = time.perf_counter()
            body = await connection.ask(request)
            durations.append(time.perf_counter() - began)
            if number == 0:
                refuse_errors(body)
        connection.close()

    await asyncio.gather(*(client() for _ in range(clients)))
    return durations


def refuse_errors(body: bytes) -> None:
    """Stop the run where the server answers an error: its speed would mean nothing."""
    text = body.decode()
    if '"isError":true' in text.replace(" ", "") or '"error":{' in text.replace(" ", "")[:80]:
        raise RuntimeError(f"the server answers an error: {text[:500]}")
