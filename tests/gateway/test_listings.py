"""A caller is shown exactly the tools that they may call, in each of several roles."""

import json
from typing import Any

import pytest
from mcp import Client

from canonry.gateway.call import Gateway
from canonry.gateway.offers import select_toolsets
from canonry.gateway.principal import AGENT_META, Principal, acting_principal
from canonry.server.binding import bind_gateway
from canonry.server.options import ServerOptions
from canonry.values.errors import InvalidInput
from tests.gateway.sample import GUEST, KEEPER, LAMP, LAMPS, TRUSTED, a_gateway

pytestmark = pytest.mark.anyio
BOTH = Principal(agent_id="both", agent_type="Visitor", agent_types=("Visitor", "Keeper"))
FOR_KEEPERS = {"light", "found"}


async def list_tools(principal: Principal, gateway: Gateway | None = None) -> set[str]:
    """The tools that are listed to somebody."""
    server = bind_gateway(gateway or a_gateway(), lambda: principal, ServerOptions())
    async with Client(server) as client:
        return {tool.name for tool in (await client.list_tools()).tools}


async def test_tools_resources_and_prompts_are_listed_to_permitted_callers() -> None:
    everything = {tool.name for tool in LAMPS.tools}
    guest = bind_gateway(a_gateway(), lambda: GUEST, ServerOptions())
    async with Client(guest) as client:
        templates = (await client.list_resource_templates()).resource_templates
        prompts = (await client.list_prompts()).prompts

    assert await list_tools(KEEPER) == everything
    assert await list_tools(GUEST) == everything - FOR_KEEPERS
    assert (templates, prompts) == ([], [])
    assert await list_tools(Principal()) == set()


async def test_a_client_naming_its_agent_per_call_is_shown_everything() -> None:
    gateway = a_gateway()
    meta: Any = {AGENT_META: {"agent_id": "v", "agent_type": "Visitor"}}
    tools = gateway.catalogue.tools.values()

    assert await list_tools(TRUSTED) == {tool.name for tool in LAMPS.tools}
    named = {offer.item.name for offer in gateway.offers_for(tools, TRUSTED, meta)}
    assert named == await list_tools(GUEST)


async def test_each_call_takes_the_first_of_several_permitted_roles() -> None:
    gateway = a_gateway()
    lit = await gateway.call("light", {"lamp_id": LAMP, "level": 7}, BOTH)
    counted = await gateway.call("count", {}, BOTH)
    said: list[bytes] = []
    gateway.audit.write_to(said.append)
    await gateway.call("light", {"lamp_id": LAMP}, BOTH)
    await gateway.call("count", {}, BOTH)

    assert lit.error is None
    assert counted.error is None
    assert [json.loads(line)["agent_type"] for line in said] == ["Keeper", "Visitor"]
    assert await list_tools(BOTH) == {tool.name for tool in LAMPS.tools}


async def test_a_call_may_name_one_of_several_roles_and_no_other() -> None:
    gateway = a_gateway()
    as_guest: Any = {AGENT_META: {"agent_type": "Visitor"}}
    as_warden: Any = {AGENT_META: {"agent_type": "Warden"}}
    denied = await gateway.call("light", {"lamp_id": LAMP}, BOTH, as_guest)
    unbound = await gateway.call("count", {}, BOTH, as_warden)

    assert denied.error is not None
    assert "'Visitor' is not authorized" in denied.error.message
    assert unbound.error is not None
    assert "cannot take another" in unbound.error.message


async def test_only_reads_are_served_if_the_operator_says_so() -> None:
    reading = a_gateway(*select_toolsets((LAMPS,), read_only=True, only=("light", "lo*", "count")))
    refused = await reading.call("light", {"lamp_id": LAMP}, KEEPER)

    assert await list_tools(KEEPER, reading) == {"look", "look_uncached", "count"}
    assert refused.protocol
    assert await list_tools(KEEPER, a_gateway(*select_toolsets((LAMPS,), only=("light",)))) == {
        "light"
    }


def test_a_caller_in_the_connections_role_reuses_its_principal() -> None:
    guest = BOTH

    assert acting_principal(LAMPS, frozenset({"Keeper"}), KEEPER) is KEEPER
    assert acting_principal(LAMPS, frozenset({"Visitor"}), guest) is guest
    assert acting_principal(LAMPS, frozenset({"Keeper"}), guest).agent_type == "Keeper"


def test_a_published_toolset_has_the_title_of_its_contract() -> None:
    (lamps,) = select_toolsets((LAMPS,), contract_only=True)
    assert (LAMPS.title, lamps.title) == ("", LAMPS.server_name)


def test_a_missing_tool_cannot_be_selected() -> None:
    with pytest.raises(InvalidInput) as caught:
        select_toolsets((LAMPS,), only=("ligth",))
    assert "light" in caught.value.message
