"""mcpo, by which Open WebUI calls: each reply as the server sent it, and as mcpo passes it on."""

import asyncio
import json
import os

from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcpo.main import create_dynamic_endpoints
from session import ASKED, print_outcome, text_of


def filled(arguments, replies):
    """The arguments; `$name` stands for that member of the last reply that has it."""
    text = json.dumps(arguments)
    for name, value in {n: v for reply in replies for n, v in reply.items()}.items():
        text = text.replace(f"${name}", str(value)) if name.endswith("_id") else text
    return json.loads(text)


async def main():
    command, *args = ASKED["command"]
    sent, results = [], []
    with open(os.devnull, "w") as unheard:
        server = StdioServerParameters(command=command, args=args)
        async with (
            stdio_client(server, errlog=unheard) as (read, write),
            ClientSession(read, write) as session,
        ):
            call = session.call_tool

            async def heard(*words, **named):
                result = await call(*words, **named)
                sent.append(json.loads(text_of(result.content)))
                return result

            session.call_tool = heard
            app = FastAPI()
            app.state.session = session
            await create_dynamic_endpoints(app)
            async with AsyncClient(transport=ASGITransport(app), base_url="http://mcpo") as client:
                for name, arguments in ASKED["calls"]:
                    reply = await client.post(f"/{name}", json=filled(arguments, sent))
                    assert len(sent) > len(results), reply.text
                    results.append({"sent": sent[len(results)], "passed_on": reply.json()})
            tools = [route.name for route in app.routes]
    print_outcome(tools, results)


asyncio.run(main())
