"""The toolsets of Pydantic AI: an error of a tool becomes a request to the model to try again."""

import asyncio
import os
from pathlib import Path

from fastmcp.client.transports import StdioTransport
from pydantic_ai import ModelRetry
from pydantic_ai.mcp import MCPToolset
from session import ASKED, print_outcome


async def main():
    if "url" in ASKED:
        where = ASKED["url"]
    else:
        command, *args = ASKED["command"]
        where = StdioTransport(command=command, args=args, log_file=Path(os.devnull))
    async with MCPToolset(where) as toolset:
        tools = await toolset.list_tools()
        results = []
        for name, arguments in ASKED["calls"]:
            try:
                results.append({"text": str(await toolset.direct_call_tool(name, arguments))})
            except ModelRetry as error:
                results.append({"text": str(error), "refused": True})
    print_outcome([tool.name for tool in tools], results)


asyncio.run(main())
