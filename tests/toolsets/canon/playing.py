"""Play a session: an agent's calls through a real client over stdio."""

import json
import os
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.cli.run import SOURCE
from tests.replies import parse_result

ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_NOW = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z")


@dataclass
class Session:
    """A client at its server; `shown` is the last reply as a page shows it."""

    client: Client
    shown: str = ""
    longest: int = 0
    ids: dict[str, str] = field(default_factory=dict)

    async def call(self, tool_: str, **arguments: Any) -> dict[str, Any]:
        """Return the reply, which may be an error."""
        result = await self.client.call_tool(tool_, arguments)
        assert result.structured_content is None, "the text says it all"
        reply = parse_result(result)
        text = json.dumps(reply, ensure_ascii=False)
        self.longest = max(self.longest, len(text.encode()))
        self.shown = self._format_reply(reply)
        return dict(reply)

    async def done(self, tool_: str, **arguments: Any) -> dict[str, Any]:
        """The same where an error would be a defect."""
        reply = await self.call(tool_, **arguments)
        assert "error" not in reply, reply
        return reply

    def _format_reply(self, reply: Any) -> str:
        """One line a member, and one a row: short enough to read, and the same every time."""
        lines = []
        for name, value in reply.items():
            if isinstance(value, list) and value and isinstance(value[0], dict):
                rows = ",\n".join(f"    {json.dumps(row, ensure_ascii=False)}" for row in value)
                lines.append(f'  "{name}": [\n{rows}\n  ]')
            else:
                lines.append(f'  "{name}": {json.dumps(value, ensure_ascii=False)}')
        return self._stabilise_text("{\n" + ",\n".join(lines) + "\n}")

    def _stabilise_text(self, text: str) -> str:
        """The text with the same ids and instants whenever it is played."""
        text = _NOW.sub("NOW", text)
        return ID.sub(lambda found: self.ids.setdefault(found[0], f"#{len(self.ids) + 1}"), text)


Script = Callable[[Session], Awaitable[None]]


@asynccontextmanager
async def connect_over_stdio(folder: Path, *more: str, mode: Any = "auto") -> AsyncIterator[Client]:
    """A client of `canonry serve` as whoever installs it has it: canon, over stdio, Solo."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "canonry.cli", "serve", "--data", str(folder), *more],
        env={
            "PYTHONPATH": str(SOURCE),
            "HOME": os.environ["HOME"],
            "CANONRY_RECALL_EMBEDDER": "none",
            "CANONRY_DURABILITY": "normal",
        },
    )
    with open(os.devnull, "w", encoding="utf-8") as log:  # noqa: PTH123 - never blocks
        async with Client(stdio_client(server, errlog=log), mode=mode) as client:
            yield client


async def play_script(folder: Path, script: Script) -> Session:
    """Play a script on a new store in `folder`."""
    async with connect_over_stdio(folder) as client:
        session = Session(client)
        await script(session)
    return session
