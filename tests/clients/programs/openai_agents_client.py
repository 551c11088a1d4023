"""The agents library of OpenAI: its schemas are made strict where that is possible."""

import asyncio
import json

from agents import Agent, RunContextWrapper
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from agents.mcp.util import MCPUtil
from agents.tool_context import ToolContext
from session import ASKED, print_outcome


async def main():
    if "url" in ASKED:
        server = MCPServerStreamableHttp({"url": ASKED["url"]}, client_session_timeout_seconds=30)
    else:
        command, *args = ASKED["command"]
        server = MCPServerStdio(
            {"command": command, "args": args}, client_session_timeout_seconds=30
        )
    async with server:
        agent = Agent(name="canonry-tests", mcp_servers=[server])
        found = await MCPUtil.get_function_tools(server, True, RunContextWrapper(None), agent)
        tools = {tool.name: tool for tool in found}
        results = []
        for name, arguments in ASKED["calls"]:
            said = json.dumps(arguments)
            context = ToolContext(None, tool_name=name, tool_call_id="1", tool_arguments=said)
            text = await tools[name].on_invoke_tool(context, said)
            results.append({"text": str(text)})
    print_outcome(tools, results)


asyncio.run(main())
