"""Universes and multiverses: created, read, listed, and seen only by those who may."""

import pytest

from canonry.values.ids import SpaceId
from tests.toolsets.narrative.kit import NOWHERE, a_world, an_empty_world

pytestmark = pytest.mark.anyio


async def test_a_universe_needs_only_a_name() -> None:
    world = an_empty_world()

    made = await world.call("neo4j_create_universe", name="Arda")

    got = await world.call("neo4j_get_universe", "Narrator", universe_id=made["universe_id"])
    assert got["name"] == "Arda"
    assert got["multiverse_id"] is None
    assert got["created_at"] == made["created_at"]


async def test_a_universe_keeps_its_details() -> None:
    world = an_empty_world()

    made = await world.call(
        "neo4j_create_universe", name="Arda", genre="epic", tone="grave", tech_level="iron"
    )

    got = await world.call("neo4j_get_universe", universe_id=made["universe_id"])
    assert (got["genre"], got["tone"], got["tech_level"]) == ("epic", "grave", "iron")


async def test_a_multiverse_contains_universes_and_is_none() -> None:
    world = an_empty_world()
    multiverse = await world.call("neo4j_create_multiverse", name="The Planes", system_name="D20")
    parent = multiverse["multiverse_id"]
    inside = await world.call("neo4j_create_universe", name="Faerûn", multiverse_id=parent)
    await world.call("neo4j_create_universe", name="Earth")

    listed = await world.call("neo4j_query_universes", multiverse_id=parent)

    assert [u["universe_id"] for u in listed["universes"]] == [inside["universe_id"]]
    assert (await world.call("neo4j_query_universes"))["total"] == 2
    await world.refused("neo4j_get_universe", universe_id=parent, code=-32002)


async def test_a_universe_cannot_lie_in_another_universe() -> None:
    world = await a_world()

    await world.refused(
        "neo4j_create_universe", name="X", multiverse_id=world.universe_id, code=-32002
    )


async def test_a_retry_with_the_same_key_finds_the_created_universe() -> None:
    world = an_empty_world()

    first = await world.call("neo4j_create_universe", key="once", name="Arda")
    again = await world.call("neo4j_create_universe", key="once", name="Arda")
    other = await world.call("neo4j_create_universe", key="twice", name="Arda")

    assert again == first
    assert other["universe_id"] != first["universe_id"]


@pytest.mark.parametrize("name", ["", "   ", "x" * 201])
async def test_a_name_is_not_empty_and_not_too_long(name: str) -> None:
    data = await an_empty_world().refused("neo4j_create_universe", name=name, code=-32003)

    assert data["path"] == "/name"


async def test_an_unknown_universe_is_not_found() -> None:
    await an_empty_world().refused("neo4j_get_universe", universe_id=NOWHERE, code=-32002)


async def test_invisible_universes_do_not_exist() -> None:
    world = await a_world()
    other = await world.another_universe()
    frodo = await other.entity("Frodo")
    world.spaces = frozenset((SpaceId(world.universe_id),))

    await world.refused("neo4j_get_universe", universe_id=other.universe_id, code=-32002)
    await world.refused("neo4j_get_entity", entity_id=frodo, code=-32002)
    await world.refused("neo4j_query_entities", universe_id=other.universe_id, code=-32002)
    assert (await world.call("neo4j_query_entities"))["entities"] == []
    listed = await world.call("neo4j_query_universes")
    assert [u["universe_id"] for u in listed["universes"]] == [world.universe_id]
    assert listed["total"] == 1


async def test_a_caller_bound_to_universes_cannot_create_another() -> None:
    world = await a_world()
    world.spaces = frozenset((SpaceId(world.universe_id),))

    data = await world.refused("neo4j_create_universe", name="Mine", code=-32001)

    assert data["code"] == "space.bound"
