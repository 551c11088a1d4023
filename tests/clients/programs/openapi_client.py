"""fastmcp makes tools of the OpenAPI document, and calls them over REST."""

import asyncio

import httpx2
from fastmcp import Client, FastMCP
from session import ASKED, print_outcome, text_of


async def main():
    async with httpx2.AsyncClient(base_url=ASKED["url"].removesuffix("/mcp")) as http:
        document = (await http.get("/api/v1/openapi.json")).json()
        made = FastMCP.from_openapi(openapi_spec=document, client=http)
        async with Client(made) as client:
            tools = await client.list_tools()
            results = []
            for name, arguments in ASKED["calls"]:
                result = await client.call_tool(name, arguments, raise_on_error=False)
                refused = bool(result.is_error)
                results.append({"text": text_of(result.content), "refused": refused})
    print_outcome([tool.name for tool in tools], results)


asyncio.run(main())
