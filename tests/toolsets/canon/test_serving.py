"""Who a caller is: on one's own machine a person alone, and over HTTP nobody whom nobody named."""

import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from canonry.app.load_settings import load_settings
from canonry.app.packages import load_toolsets
from canonry.app.serving import advice_on, principal_for
from canonry.gateway.principal import Principal
from canonry.server.http import http_app
from canonry.server.options import HttpLimits, ServerOptions
from canonry.values.errors import InvalidInput
from tests.said import said
from tests.server.http_thread import served
from tests.toolsets.canon.kit import a_desk
from tests.toolsets.canon.playing import at_the_desk

pytestmark = pytest.mark.anyio


async def test_row_4_on_ones_own_machine_one_may_do_everything_without_a_setting(
    tmp_path: Path,
) -> None:
    async with at_the_desk(tmp_path) as client:
        assert len((await client.list_tools()).tools) == 12
        opened: Any = await client.call_tool("open", {"name": "Home"})
        refused: Any = await client.call_tool("get", {"of": "Nobody"})
    assert said(opened)["name"] == "Home"
    assert opened.structured_content is None
    assert refused.is_error
    assert refused.structured_content is None
    assert said(refused)["error"]["code"] == "NOT_FOUND"


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_n4_over_stdio_the_space_opened_last_is_meant(tmp_path: Path, mode: Any) -> None:
    async with at_the_desk(tmp_path, mode=mode) as client:
        await client.call_tool("tell", {"text": "The wifi password is swordfish."})
        await client.call_tool("open", {"name": "Home"})
        found: Any = await client.call_tool("find", {"text": "swordfish"})
        told: Any = await client.call_tool("tell", {"text": "A door creaks."})
    assert said(found)["found"][0]["space"] == "account"
    assert said(told)["passages"][0]["says"] == "A door creaks."


@pytest.mark.parametrize(("mode", "remembers"), [("legacy", True), ("auto", False)])
async def test_n4_over_http_a_session_remembers_its_space_and_a_single_request_none(
    mode: Any, *, remembers: bool
) -> None:
    desk = a_desk("Keeper")
    await desk.call("tell", text="The wifi password is swordfish.")
    await desk.saltmere()
    principal = Principal(agent_id="keeper", agent_type="Keeper", authorities=None)
    app = http_app(desk.gateway, principal, server_options=ServerOptions())
    told: list[Any] = []
    with served(app, HttpLimits()) as port:
        url = f"http://127.0.0.1:{port}/mcp/canon"
        async with Client(url, mode=mode) as one, Client(url, mode=mode) as other:
            await one.call_tool("find", {"text": "light", "space": "Saltmere"})
            await other.call_tool("find", {"text": "wifi", "space": "account"})
            told += [
                await each.call_tool("tell", {"text": "A door creaks."}) for each in (one, other)
            ]
            found: Any = await other.call_tool("find", {"text": "light"})
    assert {row["space"] for row in said(found)["found"]} == {"Saltmere"}
    if remembers:
        assert ["passages" in said(each) for each in told] == [True, False]
    else:
        calls = said(told[0])["error"]["details"]["calls"]
        assert calls[0]["arguments"] == {"text": "A door creaks.", "space": "Saltmere"}


async def test_a_reader_at_the_same_place_only_reads(tmp_path: Path) -> None:
    async with at_the_desk(tmp_path, "--agent-type", "Reader") as client:
        denied: Any = await client.call_tool("open", {"name": "Home"})
        spaces: Any = await client.call_tool("spaces", {})
    assert said(denied)["error"]["code"] == "NOT_ALLOWED"
    assert said(spaces)["total"] == 1


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize(("agent", "shown"), [(None, 0), ("Reader", 8), ("Keeper", 12)])
async def test_over_http_a_caller_is_who_the_operator_says_and_else_nobody(
    mode: Any, agent: str | None, shown: int
) -> None:
    desk = a_desk()
    await desk.saltmere()
    principal = Principal(agent_id=agent, agent_type=agent, authorities=None)
    app = http_app(desk.gateway, principal, server_options=ServerOptions())
    with served(app, HttpLimits()) as port:
        async with Client(f"http://127.0.0.1:{port}/mcp/canon", mode=mode) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            found: Any = await client.call_tool("find", {"text": "light"})
            opened: Any = await client.call_tool("open", {"name": "Home"})
    assert len(tools) == shown
    assert found.is_error is (agent is None)
    assert opened.is_error is (agent != "Keeper")
    if agent is None:
        assert "--agent-type" in said(found)["error"]["message"]
    else:
        assert json.loads(found.content[0].text)["found"]


@pytest.mark.parametrize(
    ("given", "why"), [({"http": "127.0.0.1:8000"}, "Solo"), ({"agent_type": "keeper"}, "Keeper?")]
)
def test_a_server_that_would_refuse_every_call_does_not_start(
    given: dict[str, str], why: str
) -> None:
    canon = load_toolsets(["canon"])
    alone = load_settings({}, environment={})

    assert principal_for(alone).local
    assert not principal_for(load_settings({"http": "127.0.0.1:8000"}, environment={})).local
    assert advice_on(alone, canon) is None
    with pytest.raises(InvalidInput) as caught:
        advice_on(load_settings(given, environment={}), canon)
    assert why in caught.value.message
