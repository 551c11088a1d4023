"""Worlds by path: `/mcp/world/{id}` binds a request to one world, through the real transport."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from canonry.app.compose import compose_memory
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.server.http import http_app
from canonry.server.middleware import bind_world, narrow_principal, world_in
from canonry.server.options import ServerOptions
from canonry.values.ids import SpaceId
from canonry.world.toolset import WORLD
from tests.server.lamp_process import ENVELOPE, MODERN
from tests.toolsets.world.kit import an_isle, brought_in

pytestmark = pytest.mark.anyio
ONE = SpaceId("0f8fad5b-d9cb-469f-a165-70867728950e")
OTHER = SpaceId("1f8fad5b-d9cb-469f-a165-70867728950e")
ACCEPT = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


def test_a_path_names_one_world_or_none() -> None:
    assert world_in(f"/mcp/world/{ONE.upper()}") == ONE
    for path in ("/mcp/world", "/mcp/world/", "/mcp/world/x", f"/mcp/{ONE}", f"/mcp/lamp/{ONE}"):
        assert world_in(path) is None


def test_a_path_narrows_and_never_widens() -> None:
    free, bound = Principal(agent_type="World"), Principal(agent_type="World", world=OTHER)
    assert narrow_principal(bound) == bound
    with bind_world(ONE):
        assert narrow_principal(free).world == ONE
        assert narrow_principal(bound).spaces == frozenset()
        some = Principal(spaces=frozenset({OTHER}))
        assert narrow_principal(some).spaces == frozenset({OTHER})
    assert narrow_principal(free).world is None


@asynccontextmanager
async def run_app(app: Any) -> AsyncIterator[None]:
    """The application between its start and its end, as a server would tell it."""
    received: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    heard: asyncio.Queue[Any] = asyncio.Queue()
    life = asyncio.ensure_future(app({"type": "lifespan"}, received.get, heard.put))
    await received.put({"type": "lifespan.startup"})
    assert (await heard.get())["type"] == "lifespan.startup.complete"
    try:
        yield
    finally:
        await received.put({"type": "lifespan.shutdown"})
        await life


async def test_a_request_is_about_the_world_of_its_path() -> None:
    canon = compose_memory()
    done = await brought_in(canon, an_isle())
    gateway = Gateway(canon, (WORLD,))
    app = http_app(
        gateway,
        Principal(agent_id="n", agent_type="Narrative"),
        server_options=ServerOptions(),
    )
    name = "get-location-context"
    params = {"name": name, "arguments": {}, "_meta": ENVELOPE}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    routing = {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": name}

    async def ask(path: str) -> Any:
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(
            transport=transport, base_url="http://127.0.0.1:8000"
        ) as client:
            answer = await client.post(path, content=json.dumps(body), headers=ACCEPT | routing)
        assert answer.status_code == 200, answer.text
        return json.loads(answer.json()["result"]["content"][0]["text"])

    async with run_app(app):
        assert (await ask(f"/mcp/world/{done.world_id}"))["location"]["name"] == "Inn"
        assert (await ask(f"/mcp/world/{OTHER}"))["error"]["code"] == "NOT_FOUND"
        assert (await ask("/mcp/world"))["location"]["name"] == "Inn"  # there is no other
