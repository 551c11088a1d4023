"""The client of fastmcp."""

import asyncio
import os
from pathlib import Path

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from session import ASKED, print_outcome, text_of


async def main():
    if "url" in ASKED:
        where = ASKED["url"]
    else:
        command, *args = ASKED["command"]
        where = StdioTransport(command=command, args=args, log_file=Path(os.devnull))
    async with Client(where) as client:
        tools = await client.list_tools()
        results = []
        for name, arguments in ASKED["calls"]:
            result = await client.call_tool(name, arguments, raise_on_error=False)
            results.append({"text": text_of(result.content), "refused": bool(result.is_error)})
    print_outcome([tool.name for tool in tools], results)


asyncio.run(main())
