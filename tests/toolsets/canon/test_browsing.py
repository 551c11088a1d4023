"""Spaces and things are listed, read and completed for those who may; others see nothing."""

import json
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, MCPError

from canonry.gateway.principal import Principal
from canonry.server.binding import bind_gateway
from canonry.server.options import ServerOptions
from tests.toolsets.canon.kit import a_desk

pytestmark = pytest.mark.anyio
THING = types.ResourceTemplateReference(type="ref/resource", uri="canon://thing/{thing_id}")


def client_of(desk: Any, **more: Any) -> Client:
    """A client of the desk's server, who is a reader."""
    who = Principal(agent_id="reader", agent_type="Reader", **more)
    return Client(bind_gateway(desk.gateway, lambda: who, ServerOptions()))


async def test_spaces_and_entities_are_listed_with_their_names_and_can_be_read() -> None:
    desk = a_desk()
    await desk.saltmere()
    async with client_of(desk) as client:
        listed = {str(each.uri): each.title for each in (await client.list_resources()).resources}
        for uri, title in listed.items():
            read: Any = (await client.read_resource(uri)).contents[0]
            assert json.loads(read.text)["name"] == str(title).split(" (")[0]

    assert "Saltmere" in listed.values()
    assert any(str(title).endswith("(character)") for title in listed.values())


async def test_a_name_completes_to_the_id_of_the_thing() -> None:
    desk = a_desk()
    await desk.saltmere()
    async with client_of(desk) as client:
        found = (await client.complete(THING, {"name": "thing_id", "value": "Ils"})).completion
        read: Any = (await client.read_resource(f"canon://thing/{found.values[0]}")).contents[0]

    assert found.total == 1
    assert json.loads(read.text)["name"].startswith("Ilsa")


async def test_who_may_see_no_space_is_shown_none_of_its_things() -> None:
    desk = a_desk()
    await desk.saltmere()
    async with client_of(desk) as client:
        uris = [str(each.uri) for each in (await client.list_resources()).resources]
    async with client_of(desk, spaces=frozenset()) as stranger:
        seen = [str(each.uri) for each in (await stranger.list_resources()).resources]
        hidden = [uri for uri in uris if uri.startswith("canon://thing/")]
        assert hidden
        for uri in hidden:
            with pytest.raises(MCPError):
                await stranger.read_resource(uri)

    assert not set(seen) & set(hidden)
