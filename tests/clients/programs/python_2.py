"""The Python SDK of the second line."""

import asyncio
import os

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from session import ASKED, print_outcome, text_of


async def main():
    with open(os.devnull, "w") as unheard:
        if "url" in ASKED:
            where = ASKED["url"]
        else:
            command, *args = ASKED["command"]
            server = StdioServerParameters(command=command, args=args)
            where = stdio_client(server, errlog=unheard)
        async with Client(where) as client:
            tools = (await client.list_tools()).tools
            results = []
            for name, arguments in ASKED["calls"]:
                result = await client.call_tool(name, arguments)
                results.append({"text": text_of(result.content), "refused": bool(result.is_error)})
    print_outcome([tool.name for tool in tools], results)


asyncio.run(main())
