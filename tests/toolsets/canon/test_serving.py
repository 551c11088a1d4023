"""A local caller is the person at the machine; over HTTP, a caller without a name is nobody."""

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
from tests.replies import parse_result
from tests.server.http_thread import serve_app
from tests.toolsets.canon.kit import make_driver
from tests.toolsets.canon.playing import connect_over_stdio

pytestmark = pytest.mark.anyio


async def test_the_local_user_may_do_everything_without_a_setting(
    tmp_path: Path,
) -> None:
    async with connect_over_stdio(tmp_path) as client:
        assert len((await client.list_tools()).tools) == 12
        opened: Any = await client.call_tool("open", {"name": "Home"})
        refused: Any = await client.call_tool("get", {"of": "Nobody"})
    assert parse_result(opened)["name"] == "Home"
    assert opened.structured_content is None
    assert refused.is_error
    assert refused.structured_content is None
    assert parse_result(refused)["error"]["code"] == "NOT_FOUND"


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_over_stdio_the_last_opened_space_is_the_default(tmp_path: Path, mode: Any) -> None:
    async with connect_over_stdio(tmp_path, mode=mode) as client:
        await client.call_tool("tell", {"text": "The wifi password is swordfish."})
        await client.call_tool("open", {"name": "Home"})
        found: Any = await client.call_tool("find", {"text": "swordfish"})
        reply: Any = await client.call_tool("tell", {"text": "A door creaks."})
    assert parse_result(found)["found"][0]["space"] == "account"
    assert parse_result(reply)["passages"][0]["says"] == "A door creaks."


@pytest.mark.parametrize(("mode", "remembers"), [("legacy", True), ("auto", False)])
async def test_an_http_session_remembers_its_space_and_a_single_request_none(
    mode: Any, *, remembers: bool
) -> None:
    driver = make_driver("Keeper")
    await driver.call("tell", text="The wifi password is swordfish.")
    await driver.saltmere()
    principal = Principal(agent_id="keeper", agent_type="Keeper", authorities=None)
    app = http_app(driver.gateway, principal, server_options=ServerOptions())
    listed: list[Any] = []
    with serve_app(app, HttpLimits()) as port:
        url = f"http://127.0.0.1:{port}/mcp/canon"
        async with Client(url, mode=mode) as one, Client(url, mode=mode) as other:
            await one.call_tool("find", {"text": "light", "space": "Saltmere"})
            await other.call_tool("find", {"text": "wifi", "space": "account"})
            listed += [
                await each.call_tool("tell", {"text": "A door creaks."}) for each in (one, other)
            ]
            found: Any = await other.call_tool("find", {"text": "light"})
    assert {row["space"] for row in parse_result(found)["found"]} == {"Saltmere"}
    if remembers:
        assert ["passages" in parse_result(each) for each in listed] == [True, False]
    else:
        calls = parse_result(listed[0])["error"]["details"]["calls"]
        assert calls[0]["arguments"] == {"text": "A door creaks.", "space": "Saltmere"}


async def test_a_local_reader_only_reads(tmp_path: Path) -> None:
    async with connect_over_stdio(tmp_path, "--agent-type", "Reader") as client:
        denied: Any = await client.call_tool("open", {"name": "Home"})
        spaces: Any = await client.call_tool("spaces", {})
    assert parse_result(denied)["error"]["code"] == "NOT_ALLOWED"
    assert parse_result(spaces)["total"] == 1


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize(("agent", "shown"), [(None, 0), ("Reader", 8), ("Keeper", 12)])
async def test_an_http_caller_has_the_configured_identity_or_none(
    mode: Any, agent: str | None, shown: int
) -> None:
    driver = make_driver()
    await driver.saltmere()
    principal = Principal(agent_id=agent, agent_type=agent, authorities=None)
    app = http_app(driver.gateway, principal, server_options=ServerOptions())
    with serve_app(app, HttpLimits()) as port:
        async with Client(f"http://127.0.0.1:{port}/mcp/canon", mode=mode) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            found: Any = await client.call_tool("find", {"text": "light"})
            opened: Any = await client.call_tool("open", {"name": "Home"})
    assert len(tools) == shown
    assert found.is_error is (agent is None)
    assert opened.is_error is (agent != "Keeper")
    if agent is None:
        assert "--agent-type" in parse_result(found)["error"]["message"]
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
