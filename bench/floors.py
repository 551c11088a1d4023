"""Floors: the least that a server could do; run as `python -m bench.floors starlette|tool|stdio`.

`starlette` answers a fixed JSON body. `tool` and `stdio` serve tools on the same MCP SDK that do
nothing but answer a fixed payload: what remains above them is Canonry's own cost.
"""

import json
import sys
from typing import Any

PAYLOAD: dict[str, Any] = {}


def starlette_app() -> Any:
    """An endpoint that parses the request and answers the payload."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    async def answer(request: Request) -> JSONResponse:
        await request.json()
        return JSONResponse(PAYLOAD)

    return Starlette(routes=[Route("/mcp", answer, methods=["POST"])])


def noop_server() -> Any:
    """A low-level server with one tool of the same schema, which answers the payload."""
    import mcp_types as types
    from mcp.server import Server

    schema = {
        "type": "object",
        "properties": {"entity_id": {"type": "string", "format": "uuid"}},
        "required": ["entity_id"],
    }
    tool = types.Tool(name="noop", description="Answer.", input_schema=schema)

    async def list_tools(ctx: Any, params: Any) -> Any:
        del ctx, params
        return types.ListToolsResult(tools=[tool])

    async def call_tool(ctx: Any, params: Any) -> Any:
        del ctx, params
        text = json.dumps(PAYLOAD)
        content: list[Any] = [types.TextContent(type="text", text=text)]
        return types.CallToolResult(content=content, structured_content=PAYLOAD)

    return Server(
        "noop",
        version="1",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=lambda name: schema if name == "noop" else None,
    )


def serve_http(app: Any, port: int) -> None:
    """Serve as Canonry does: one worker, no access log."""
    import uvicorn

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)


async def serve_stdio() -> None:
    """Serve the no-op tool over standard input and output."""
    from mcp.server.stdio import stdio_server

    server = noop_server()
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


def main() -> None:
    """Start the floor that the arguments name: `starlette|tool PORT PAYLOAD_FILE`, or `stdio`."""
    kind = sys.argv[1]
    if kind == "stdio":
        import asyncio

        asyncio.run(serve_stdio())
        return
    with open(sys.argv[3], encoding="utf-8") as file:  # noqa: PTH123 - imports stay few
        PAYLOAD.update(json.load(file))
    app = starlette_app() if kind == "starlette" else noop_server().streamable_http_app()
    serve_http(app, int(sys.argv[2]))


if __name__ == "__main__":
    main()
