"""The Python SDK of the first line."""

import asyncio
import os
from contextlib import asynccontextmanager

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from session import ASKED, print_outcome, text_of


@asynccontextmanager
async def streams():
    if "url" in ASKED:
        async with streamablehttp_client(ASKED["url"]) as (read, write, _):
            yield read, write
    else:
        command, *args = ASKED["command"]
        with open(os.devnull, "w") as unheard:
            server = StdioServerParameters(command=command, args=args)
            async with stdio_client(server, errlog=unheard) as (read, write):
                yield read, write


async def main():
    async with streams() as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = (await session.list_tools()).tools
        results = []
        for name, arguments in ASKED["calls"]:
            result = await session.call_tool(name, arguments)
            results.append({"text": text_of(result.content), "refused": bool(result.isError)})
    print_outcome([tool.name for tool in tools], results)


asyncio.run(main())
