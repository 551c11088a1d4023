"""The binding, through the SDK's own client in one process: everything listed, every call said."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Literal

import pytest
from mcp import Client, MCPError
from mcp.server import Server

from canonry import __version__
from canonry.gateway.principal import AGENT_META, Principal
from canonry.gateway.tool import Toolset
from canonry.server.binding import bind_gateway
from canonry.server.options import ServerOptions
from tests.gateway.sample import GUEST, KEEPER, LAMP, LAMPS, SECRET, TRUSTED, a_gateway
from tests.replies import parse_result

pytestmark = pytest.mark.anyio

Mode = Literal["legacy", "auto"]
MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])


def a_server(
    principal: Principal = KEEPER, *toolsets: Toolset, options: ServerOptions | None = None
) -> Server:
    return bind_gateway(a_gateway(*toolsets), lambda: principal, options or ServerOptions())


@asynccontextmanager
async def connect_client(
    mode: Mode, principal: Principal = KEEPER, options: ServerOptions | None = None
) -> AsyncIterator[Client]:
    async with Client(a_server(principal, options=options), mode=mode) as client:
        yield client


@MODES
async def test_tools_are_listed_as_written(mode: Mode) -> None:
    async with connect_client(mode) as client:
        listed = (await client.list_tools()).tools
    assert [tool.name for tool in listed] == [tool.name for tool in LAMPS.tools]
    for tool, written in zip(listed, LAMPS.tools, strict=True):
        assert tool.input_schema == written.input_schema
        assert tool.output_schema == written.output_schema
        assert tool.description == written.description
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is written.read_only
        marked = (tool.meta or {}).get("dev.canonry/extension")
        assert marked is (True if written.extension else None)


@MODES
async def test_the_server_names_the_served_contract(mode: Mode) -> None:
    async with connect_client(mode) as client:
        info = client.server_info
    assert info is not None
    assert (info.name, info.version) == ("lamp-layer", __version__)
    assert info.title == "Canonry: lamps"


async def test_several_toolsets_are_served_under_our_own_name() -> None:
    tools = tuple(replace(tool, name=f"other_{tool.name}") for tool in LAMPS.tools)
    other = replace(LAMPS, name="others", tools=tools, resources=(), prompts=())
    async with Client(a_server(KEEPER, LAMPS, other)) as client:
        info = client.server_info
        listed = (await client.list_tools()).tools
        result = await client.call_tool("other_light", {"lamp_id": LAMP})
    assert info is not None
    assert (info.name, info.version) == ("canonry", __version__)
    assert len(listed) == 2 * len(LAMPS.tools)
    assert not result.is_error


@MODES
async def test_a_reply_is_returned_structured_and_as_text(mode: Mode) -> None:
    async with connect_client(mode) as client:
        result = await client.call_tool("light", {"lamp_id": LAMP})
    assert not result.is_error
    assert result.structured_content == {"lamp_id": LAMP, "level": 50, "by": "keeper-001"}


@MODES
async def test_an_error_is_a_result_readable_by_a_model(mode: Mode) -> None:
    async with connect_client(mode, GUEST) as client:
        result = await client.call_tool("light", {"lamp_id": LAMP})
    assert result.is_error
    error = parse_result(result)["error"]
    assert error["code"] == -32001
    assert error["data"]["allowed_types"] == ["Keeper"]


@pytest.mark.parametrize(("mode", "offset"), [("legacy", 0), ("auto", 1000)])
async def test_in_protocol_mode_an_error_is_a_protocol_error(mode: Mode, offset: int) -> None:
    async with connect_client(mode, options=ServerOptions(error_mode="jsonrpc")) as client:
        with pytest.raises(MCPError) as invalid:
            await client.call_tool("light", {"lamp_id": "?"})
        with pytest.raises(MCPError) as refused:
            await client.call_tool("refuse", {})
    assert invalid.value.error.code == -32003 + offset
    assert invalid.value.error.data["error"] == "input.invalid"
    assert refused.value.error.code == -32004 + offset
    assert refused.value.error.data["conflicts"] == [LAMP]


@MODES
@pytest.mark.parametrize("error_mode", ["result", "jsonrpc"])
async def test_an_unknown_tool_is_always_an_error_of_the_protocol(
    mode: Mode, error_mode: Literal["result", "jsonrpc"]
) -> None:
    async with connect_client(mode, options=ServerOptions(error_mode=error_mode)) as client:
        with pytest.raises(MCPError, match="Unknown tool: nothing") as caught:
            await client.call_tool("nothing", {})
    assert caught.value.error.code == -32602


@MODES
async def test_a_defect_never_shows_its_text(mode: Mode) -> None:
    async with connect_client(mode) as client:
        result = await client.call_tool("fail", {})
    assert result.is_error
    assert SECRET not in str(result)
    assert parse_result(result)["error"]["code"] == -32603


@MODES
async def test_only_a_trusted_client_names_its_agent(mode: Mode) -> None:
    meta: Any = {AGENT_META: {"agent_id": "keeper-9", "agent_type": "Keeper"}}
    async with connect_client(mode, TRUSTED) as client:
        result = await client.call_tool("light", {"lamp_id": LAMP}, meta=meta)
        assert result.structured_content["by"] == "keeper-9"
        anonymous = await client.call_tool("light", {"lamp_id": LAMP})
        assert "--agent-type" in parse_result(anonymous)["error"]["message"]
    async with connect_client(mode, GUEST) as client:
        result = await client.call_tool("light", {"lamp_id": LAMP}, meta=meta)
        assert parse_result(result)["error"]["code"] == -32001


@MODES
async def test_progress_is_reported_to_a_client_that_listens(mode: Mode) -> None:
    seen: list[tuple[float, float | None]] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total))

    async with connect_client(mode) as client:
        await client.call_tool("count", {}, progress_callback=listen)
    assert seen == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(("mode", "unknown"), [("legacy", -32002), ("auto", -32602)])
async def test_resources_are_listed_and_read(mode: Mode, unknown: int) -> None:
    async with connect_client(mode) as client:
        assert (await client.list_resources()).resources == []
        templates = (await client.list_resource_templates()).resource_templates
        assert [each.uri_template for each in templates] == ["lamps://lamp/{lamp_id}"]
        read = await client.read_resource(f"lamps://lamp/{LAMP}")
        assert "read by Keeper" in str(read.contents[0])
        for uri in ("lamps://lamp/x", "nothing://x"):
            with pytest.raises(MCPError) as caught:
                await client.read_resource(uri)
            assert caught.value.error.code == unknown


@pytest.mark.parametrize(("mode", "denied"), [("legacy", -32001), ("auto", -31001)])
async def test_resources_and_prompts_require_authority(mode: Mode, denied: int) -> None:
    async with connect_client(mode, GUEST) as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(f"lamps://lamp/{LAMP}")
        assert caught.value.error.code == denied
        with pytest.raises(MCPError) as caught:
            await client.get_prompt("keep", {"room": "hall"})
        assert caught.value.error.code == denied


@MODES
async def test_prompts_are_listed_and_rendered(mode: Mode) -> None:
    async with connect_client(mode) as client:
        prompts = (await client.list_prompts()).prompts
        assert [prompt.name for prompt in prompts] == ["keep"]
        assert prompts[0].arguments is not None
        assert prompts[0].arguments[0].required
        rendered = await client.get_prompt("keep", {"room": "hall"})
        assert "Keep the lamps of hall." in str(rendered.messages[0].content)
        with pytest.raises(MCPError) as caught:
            await client.get_prompt("nothing", {})
        assert caught.value.error.code == -32602


def test_a_schema_without_mirrored_arguments_is_not_searched_for_headers() -> None:
    server = a_server()
    lookup = server.get_tool_input_schema
    assert lookup is not None
    assert lookup("light") == {"type": "object"}
    assert lookup("nothing") is None
