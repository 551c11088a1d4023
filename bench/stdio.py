"""A line to a server over standard input and output: a real client, whose calls are timed."""

import os
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from bench.processes import children, cpu_seconds


@dataclass(frozen=True, slots=True)
class Line:
    """A connected client, and the process that serves it."""

    client: Client
    pid: int

    def cpu_seconds(self) -> float:
        """The server's processor time so far, which says more than the clock on a busy machine."""
        return cpu_seconds(self.pid)

    async def timed(self, tool: str, arguments: Mapping[str, Any]) -> tuple[float, dict[str, Any]]:
        """Seconds until the answer, and the answer.

        Raises:
            RuntimeError: the server answers an error, whose speed would mean nothing.
        """
        began = time.perf_counter()
        result = await self.client.call_tool(tool, dict(arguments))
        seconds = time.perf_counter() - began
        reply: dict[str, Any] = result.structured_content or {}
        if result.is_error:
            raise RuntimeError(f"{tool} answers {str(result.content)[:500]}")
        return seconds, reply

    async def weights(self) -> tuple[int, int]:
        """The bytes of the listed tools, and of the instructions."""
        listed = await self.client.list_tools()
        text = listed.model_dump_json(by_alias=True, exclude_none=True)
        return len(text.encode()), len((self.client.instructions or "").encode())


@asynccontextmanager
async def connected(data: Path, *arguments: str) -> AsyncIterator[Line]:
    """A server on the store in `data`, and a client of it; both end with the block."""
    settings = data / "bench.toml"
    settings.write_text("# The defaults.\n", encoding="utf-8")
    command: tuple[str, ...] = (
        "-m",
        "canonry.cli",
        "serve",
        "--config",
        str(settings),
        "--data",
        str(data),
    )
    command += ("--toolsets", "narrative")
    server = StdioServerParameters(
        command=sys.executable,
        args=[*command, *arguments, "--log-level", "warning"],
        env={key: os.environ[key] for key in ("PYTHONPATH",) if key in os.environ},
    )
    with (data / "server.log").open("w", encoding="utf-8") as log:
        before = children()
        async with Client(stdio_client(server, errlog=log)) as client:
            (pid,) = children() - before
            yield Line(client, pid)
