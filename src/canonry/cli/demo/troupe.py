"""The troupe: one MCP client and one server process for each role, all on one folder."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import TextContent

from canonry.cli.whole_files import whole_file
from canonry.values.errors import BrokenInvariant, Unavailable

START_SECONDS = 60.0


class Troupe:
    """The agents by role; each call goes over the wire to that agent's own server."""

    def __init__(self, clients: Mapping[str, Client]) -> None:
        """Take connected clients."""
        self._clients = clients

    async def ask(self, role: str, tool: str, **arguments: Any) -> dict[str, Any]:
        """What the tool answers; an error is a value as well, under `error`."""
        try:
            result = await self._clients[role].call_tool(tool, arguments)
        except MCPError as error:
            return {"error": {"code": error.code, "message": error.message}}
        said = result.content[0]
        reply: dict[str, Any] = json.loads(said.text) if isinstance(said, TextContent) else {}
        return reply

    async def do(self, role: str, tool: str, **arguments: Any) -> dict[str, Any]:
        """The same where an error would be a defect of the demonstration.

        Raises:
            BrokenInvariant: `demo.refused`, with what the server said.
        """
        reply = await self.ask(role, tool, **arguments)
        if "error" in reply:
            message = f"{tool} was refused to {role}: {reply['error'].get('message')}"
            raise BrokenInvariant("demo.refused", message)
        return reply


@asynccontextmanager
async def troupe(data: Path, roles: Sequence[str]) -> AsyncIterator[Troupe]:
    """Start a server for every role at once; all of them end with the block.

    Raises:
        Unavailable: `demo.no-server`, one did not start.
    """
    server = _Server(data=data, settings=_no_settings(data))
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    ready: dict[str, asyncio.Future[Client]] = {role: loop.create_future() for role in roles}
    with _log(data) as log:
        hosts = [
            asyncio.create_task(_host(server.parameters(role), ready[role], over, log))
            for role in roles
        ]
        try:
            async with asyncio.timeout(START_SECONDS):
                clients = {role: await future for role, future in ready.items()}
            yield Troupe(clients)
        except TimeoutError as error:
            message = f"a server did not start within {START_SECONDS:g} s"
            raise Unavailable("demo.no-server", message) from error
        finally:
            over.set()
            await asyncio.gather(*hosts, return_exceptions=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Server:
    """How the server of a role is started."""

    data: Path
    settings: Path

    def parameters(self, role: str) -> StdioServerParameters:
        return StdioServerParameters(
            command=sys.executable,
            args=[
                *("-m", "canonry.cli", "serve", "--toolsets", "narrative"),
                *("--config", str(self.settings)),
                *("--data", str(self.data)),
                *("--agent-type", role),
                *("--agent-id", f"{role.lower()}-1"),
            ],
            env={key: os.environ[key] for key in ("PYTHONPATH",) if key in os.environ},
        )


def _no_settings(data: Path) -> Path:
    """A settings file that lets the Narrator speak as the game master; the user's is not read."""
    data.mkdir(parents=True, exist_ok=True)
    path = data / "demo.toml"
    with whole_file(path) as out:
        out.write('authorities = ["source", "gm", "player", "system"]\n')
    return path


def _log(data: Path) -> TextIO:
    path = data / "servers.log"
    path.unlink(missing_ok=True)
    return path.open("x", encoding="utf-8")


async def _host(
    server: StdioServerParameters,
    ready: "asyncio.Future[Client]",
    over: asyncio.Event,
    log: TextIO,
) -> None:
    """Keep one client and its server alive: they must begin and end in the same task."""
    try:
        async with Client(stdio_client(server, errlog=log)) as client:
            ready.set_result(client)
            await over.wait()
    except Exception as error:
        if ready.done():
            raise
        failure = Unavailable("demo.no-server", "a server of the demonstration did not start")
        failure.__cause__ = error
        ready.set_exception(failure)
