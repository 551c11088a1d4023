"""Spaces and items are listed, read and completed for those who may; others see nothing."""

import json
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, MCPError

from canonry.gateway.principal import Principal
from canonry.server.binding import bind_gateway
from canonry.server.options import ServerOptions
from tests.toolsets.canon.kit import make_driver

pytestmark = pytest.mark.anyio
ITEM_TEMPLATE = types.ResourceTemplateReference(type="ref/resource", uri="canon://thing/{thing_id}")


def client_of(driver: Any, **more: Any) -> Client:
    """A client of the driver's server, who is a reader."""
    who = Principal(agent_id="reader", agent_type="Reader", **more)
    return Client(bind_gateway(driver.gateway, lambda: who, ServerOptions()))


async def test_spaces_and_entities_are_listed_by_name_and_readable() -> None:
    driver = make_driver()
    await driver.saltmere()
    async with client_of(driver) as client:
        listed = {str(each.uri): each.title for each in (await client.list_resources()).resources}
        for uri, title in listed.items():
            read: Any = (await client.read_resource(uri)).contents[0]
            assert json.loads(read.text)["name"] == str(title).split(" (")[0]

    assert "Saltmere" in listed.values()
    assert any(str(title).endswith("(character)") for title in listed.values())


async def test_a_name_completes_to_the_id_of_the_item() -> None:
    driver = make_driver()
    await driver.saltmere()
    async with client_of(driver) as client:
        found = (
            await client.complete(ITEM_TEMPLATE, {"name": "thing_id", "value": "Ils"})
        ).completion
        read: Any = (await client.read_resource(f"canon://thing/{found.values[0]}")).contents[0]

    assert found.total == 1
    assert json.loads(read.text)["name"].startswith("Ilsa")


async def test_a_caller_without_spaces_is_shown_no_items() -> None:
    driver = make_driver()
    await driver.saltmere()
    async with client_of(driver) as client:
        uris = [str(each.uri) for each in (await client.list_resources()).resources]
    async with client_of(driver, spaces=frozenset()) as stranger:
        seen = [str(each.uri) for each in (await stranger.list_resources()).resources]
        hidden = [uri for uri in uris if uri.startswith("canon://thing/")]
        assert hidden
        for uri in hidden:
            with pytest.raises(MCPError):
                await stranger.read_resource(uri)

    assert not set(seen) & set(hidden)
