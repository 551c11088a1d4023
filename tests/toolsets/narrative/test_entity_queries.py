"""Entity queries: filters, order, pages and bounds."""

from typing import Any

import pytest

from tests.toolsets.narrative.kit import a_world

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ({}, ["Ann", "Ben", "Cid", "100% Inn"]),
        ({"entity_type": "character"}, ["Ann", "Ben", "Cid"]),
        ({"state_tags": {"all_of": ["alive", "armed"]}}, ["Ann"]),
        ({"state_tags": {"any_of": ["armed", "dead"]}}, ["Ann", "Cid"]),
        ({"state_tags": {"none_of": ["alive"]}}, ["Cid", "100% Inn"]),
        ({"state_tags": {"all_of": ["alive"], "none_of": ["armed"]}}, ["Ben"]),
        ({"state_tags": {}}, ["Ann", "Ben", "Cid", "100% Inn"]),
        ({"name_pattern": "n"}, ["Ann", "Ben", "100% Inn"]),
        ({"name_pattern": "A*N"}, ["Ann"]),
        ({"name_pattern": "1%inn"}, ["100% Inn"]),
        ({"name_pattern": ".*"}, []),
        ({"name_pattern": "(a+)+$"}, []),
        ({"canon_level": "retconned"}, []),
        ({"canon_level": "canon", "limit": 2}, ["Ann", "Ben"]),
        ({"limit": 2, "offset": 3}, ["100% Inn"]),
        ({"offset": 10}, []),
    ],
)
async def test_a_query_returns_matches_oldest_first(
    filters: dict[str, Any], names: list[str]
) -> None:
    world = await a_world()
    await world.entity("Ann", state_tags=["alive", "armed"])
    await world.entity("Ben", state_tags=["alive"])
    await world.entity("Cid", state_tags=["dead"])
    await world.entity("100% Inn", entity_type="location")

    found = await world.call("neo4j_query_entities", universe_id=world.universe_id, **filters)

    assert [entity["name"] for entity in found["entities"]] == names


@pytest.mark.parametrize(
    ("filters", "path"),
    [
        ({"limit": 0}, "/limit"),
        ({"limit": 501}, "/limit"),
        ({"limit": -1}, "/limit"),
        ({"limit": 2.5}, "/limit"),
        ({"offset": -1}, "/offset"),
        ({"name_pattern": "*" * 11}, "/name_pattern"),
        ({"name_pattern": ""}, "/name_pattern"),
        ({"state_tags": {"all_of": [""]}}, "/state_tags/all_of/0"),
        ({"state_tags": ["alive"]}, "/state_tags"),
    ],
)
async def test_an_out_of_bounds_query_names_the_argument(
    filters: dict[str, Any], path: str
) -> None:
    world = await a_world()

    data = await world.refused("neo4j_query_entities", code=-32003, **filters)

    assert data["path"] == path


async def test_queries_do_not_cross_universes() -> None:
    world = await a_world()
    other = await world.another_universe()
    await world.entity("Ann")
    await other.entity("Ben")

    found = await world.call("neo4j_query_entities", universe_id=other.universe_id)
    both = await world.call("neo4j_query_entities")

    assert [entity["name"] for entity in found["entities"]] == ["Ben"]
    assert both["total"] == 2
