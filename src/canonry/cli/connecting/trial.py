"""A trial of what was written: the server is started once, as the client would start it."""

import asyncio
from collections.abc import Sequence
from typing import Final, TextIO

from canonry.cli.entry import importing

_CHECK_SECONDS: Final = 60.0


async def offered(command: Sequence[str], unheard: TextIO) -> int:
    """How many tools the server offers that these words start; its log goes to `unheard`."""
    with importing():
        from mcp import Client  # noqa: PLC0415 - the SDK takes a second
        from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: PLC0415

    server = StdioServerParameters(command=command[0], args=list(command[1:]))
    async with asyncio.timeout(_CHECK_SECONDS):
        async with Client(stdio_client(server, errlog=unheard)) as client:
            return len((await client.list_tools()).tools)
