"""The adapters of LangChain: every tool becomes one of its own, and is called as a model would."""

import asyncio

from langchain_core.tools import ToolException
from langchain_mcp_adapters.client import MultiServerMCPClient
from session import ASKED, print_outcome


async def main():
    if "url" in ASKED:
        server = {"transport": "streamable_http", "url": ASKED["url"]}
    else:
        command, *args = ASKED["command"]
        server = {"transport": "stdio", "command": command, "args": args}
    tools = {
        tool.name: tool for tool in await MultiServerMCPClient({"canonry": server}).get_tools()
    }
    results = []
    for name, arguments in ASKED["calls"]:
        try:
            results.append({"text": str(await tools[name].ainvoke(arguments)), "refused": False})
        except ToolException as error:
            results.append({"text": str(error), "refused": True})
    print_outcome(tools, results)


asyncio.run(main())
