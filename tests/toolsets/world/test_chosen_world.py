"""Bound worlds: a caller asks about one world, and never sees another."""

from dataclasses import replace
from typing import Any

import pytest

from canonry.app.compose import compose_memory
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.values.ids import SpaceId
from canonry.world.toolset import WORLD
from tests.toolsets.world.kit import a_world, an_isle, brought_in

pytestmark = pytest.mark.anyio
NOWHERE = SpaceId("0f8fad5b-d9cb-469f-a165-70867728950e")


def a_principal(**bound: Any) -> Principal:
    return Principal(agent_id="n", agent_type="Narrative", **bound)


async def test_the_only_world_of_the_store_is_the_default() -> None:
    isle = await a_world()
    outcome = await isle.gateway.call("get-location-context", {}, a_principal())
    assert outcome.body["location"]["name"] == "Inn"
    granted = a_principal(spaces=frozenset({NOWHERE}))
    unseen = await isle.gateway.call("get-location-context", {}, granted)
    assert unseen.body["error"]["details"]["reason"] == "world.unbound"

    other = await brought_in(isle.canon, replace(an_isle(), name="The Twin"))
    several = await isle.gateway.call("list-exits", {}, a_principal())
    details = several.body["error"]["details"]
    assert details["reason"] == "world.ambiguous"
    assert f"The Twin ({other.world_id})" in details["candidates"]


async def test_an_error_without_a_world_names_the_setting() -> None:
    gateway = Gateway(compose_memory(), (WORLD,))
    outcome = await gateway.call("get-location-context", {}, a_principal())
    error = outcome.body["error"]
    assert error["code"] == "INVALID_ARGUMENT"
    assert error["details"]["reason"] == "world.unbound"
    assert error["details"]["setting"] == "--world / CANONRY_WORLD"


async def test_the_only_world_in_a_callers_spaces_is_the_default() -> None:
    isle = await a_world()
    alone = a_principal(spaces=frozenset({isle.world}))
    outcome = await isle.gateway.call("get-location-context", {}, alone)
    assert outcome.body["location"]["name"] == "Inn"


async def test_two_worlds_in_one_store_never_mix() -> None:
    isle = await a_world()
    twin = replace(an_isle(), name="The Twin")
    other = await brought_in(isle.canon, twin)
    both = a_principal(spaces=frozenset({isle.world, other.world_id}))
    ambiguous = await isle.gateway.call("list-exits", {}, both)
    assert ambiguous.body["error"]["details"]["reason"] == "world.ambiguous"

    mine = a_principal(world=isle.world)
    theirs = isle.id("inn")
    there = await isle.gateway.call(
        "get-location-context", {"locationId": theirs}, a_principal(world=other.world_id)
    )
    assert there.text == "null"
    for tool, arguments in (
        ("search-lore", {"query": "mages", "k": 20}),
        ("get-recent-events", {"scope": "location", "scopeId": "inn"}),
        ("get-spatial-context", {"depth": 5}),
    ):
        here = await isle.gateway.call(tool, arguments, mine)
        hits = here.body if isinstance(here.body, list) else here.body["neighbors"]
        assert hits
        ids = [each.get("factId") or each["id"] for each in hits]
        assert len(set(ids)) == len(ids), tool


async def test_an_invisible_world_does_not_exist() -> None:
    isle = await a_world()
    blind = a_principal(world=isle.world, spaces=frozenset({SpaceId("0" * 8)}))
    outcome = await isle.gateway.call("list-exits", {}, blind)
    assert outcome.body["error"]["code"] == "NOT_FOUND"
