"""What a caller is shown is what they may call; several roles are acted in by turns."""

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
from tests.gateway.sample import KEEPER, LAMP, LAMPS, TRUSTED, VISITOR, a_gateway

pytestmark = pytest.mark.anyio
BOTH = Principal(agent_id="both", agent_type="Visitor", agent_types=("Visitor", "Keeper"))
FOR_KEEPERS = {"light", "found"}


async def shown(principal: Principal, gateway: Gateway | None = None) -> set[str]:
    """The tools that are listed to somebody."""
    server = bind_gateway(gateway or a_gateway(), lambda: principal, ServerOptions())
    async with Client(server) as client:
        return {tool.name for tool in (await client.list_tools()).tools}


async def test_tools_resources_and_prompts_are_listed_to_those_who_may_use_them() -> None:
    everything = {tool.name for tool in LAMPS.tools}
    visitor = bind_gateway(a_gateway(), lambda: VISITOR, ServerOptions())
    async with Client(visitor) as client:
        templates = (await client.list_resource_templates()).resource_templates
        prompts = (await client.list_prompts()).prompts

    assert await shown(KEEPER) == everything
    assert await shown(VISITOR) == everything - FOR_KEEPERS
    assert (templates, prompts) == ([], [])
    assert await shown(Principal()) == set()


async def test_who_names_an_agent_in_each_call_is_shown_everything() -> None:
    gateway = a_gateway()
    meta: Any = {AGENT_META: {"agent_id": "v", "agent_type": "Visitor"}}
    tools = gateway.catalogue.tools.values()

    assert await shown(TRUSTED) == {tool.name for tool in LAMPS.tools}
    named = {offer.item.name for offer in gateway.offers_for(tools, TRUSTED, meta)}
    assert named == await shown(VISITOR)


async def test_of_several_roles_each_call_takes_the_first_that_may_make_it() -> None:
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
    assert await shown(BOTH) == {tool.name for tool in LAMPS.tools}


async def test_a_call_may_name_one_of_several_roles_and_no_other() -> None:
    gateway = a_gateway()
    as_visitor: Any = {AGENT_META: {"agent_type": "Visitor"}}
    as_warden: Any = {AGENT_META: {"agent_type": "Warden"}}
    denied = await gateway.call("light", {"lamp_id": LAMP}, BOTH, as_visitor)
    unbound = await gateway.call("count", {}, BOTH, as_warden)

    assert denied.error is not None
    assert "'Visitor' is not authorized" in denied.error.message
    assert unbound.error is not None
    assert "cannot take another" in unbound.error.message


async def test_only_what_reads_is_served_where_the_operator_says_so() -> None:
    reading = a_gateway(*select_toolsets((LAMPS,), read_only=True, only=("light", "lo*", "count")))
    refused = await reading.call("light", {"lamp_id": LAMP}, KEEPER)

    assert await shown(KEEPER, reading) == {"look", "look_uncached", "count"}
    assert refused.protocol
    assert await shown(KEEPER, a_gateway(*select_toolsets((LAMPS,), only=("light",)))) == {"light"}


def test_who_acts_in_the_role_of_the_connection_is_not_made_anew() -> None:
    visitor = BOTH

    assert acting_principal(LAMPS, frozenset({"Keeper"}), KEEPER) is KEEPER
    assert acting_principal(LAMPS, frozenset({"Visitor"}), visitor) is visitor
    assert acting_principal(LAMPS, frozenset({"Keeper"}), visitor).agent_type == "Keeper"


def test_a_published_toolset_bears_the_title_of_its_contract() -> None:
    (lamps,) = select_toolsets((LAMPS,), contract_only=True)
    assert (LAMPS.title, lamps.title) == ("", LAMPS.server_name)


def test_a_tool_that_does_not_exist_cannot_be_picked() -> None:
    with pytest.raises(InvalidInput) as caught:
        select_toolsets((LAMPS,), only=("ligth",))
    assert "light" in caught.value.message
