"""What was found at the table, and what made-up campaigns found: each told in a few words."""

from typing import Any

import pytest

from tests.campaign.play import Table
from tests.campaign.plots import PlannedScene, Plot, Said
from tests.toolsets.narrative.kit import World, a_world

pytestmark = pytest.mark.anyio


def said(line: str, value: str, authority: str = "gm", **more: Any) -> Said:
    kind, *about = line.split()
    return Said(line=(kind, *about), value=value, authority=authority, **more)


async def told(*scenes: tuple[Said, ...], order: tuple[int, ...]) -> Table:
    """The table after these scenes were canonized in that order, each step as the model has it."""
    planned = tuple(
        PlannedScene(number=number, day=None, said=each)
        for number, each in enumerate(scenes, start=1)
    )
    table = Table(world=await a_world(), plot=Plot(seed=0, scenes=planned, steps=order))
    await table.play()
    return table


async def here(world: World, entity: str, kind: str) -> list[str]:
    """The other ends of the current relations of a type."""
    reply = await world.call(
        "neo4j_query_relationships", entity_id=entity, rel_type=kind, current_only=True
    )
    return [
        each["to_entity_id"] if each["from_entity_id"] == entity else each["from_entity_id"]
        for each in reply["relationships"]
    ]


async def test_d1_a_backstory_keeps_the_present_where_it_is() -> None:
    hall = said("place Ann", "Keep", "player", day=3000)
    town = said("place Ann", "Inn", day=10)

    table = await told((hall,), (town,), order=(1, 2))

    assert await here(table.world, table.ids["Ann"], "LOCATED_IN") == [table.ids["Keep"]]


async def test_d3_a_change_of_heart_ends_an_enmity_and_leaves_it_true() -> None:
    war, peace = said("feeling Ann Bo", "ENEMY_OF"), said("feeling Ann Bo", "ALLY_OF")

    table = await told((war,), (peace,), order=(1, 2))

    found = await table.world.call(
        "neo4j_query_relationships", entity_id=table.ids["Ann"], current_only=False
    )
    shown = {r["rel_type"]: (r["canon_level"], r["current"]) for r in found["relationships"]}
    assert shown == {"ENEMY_OF": ("canon", False), "ALLY_OF": ("canon", True)}


async def test_d6_who_confirms_what_the_game_master_said_does_not_weaken_it() -> None:
    scenes = (
        (said("state Bo", "dead"), said("owner Crown", "Ann")),
        (said("state Bo", "dead", "system"), said("owner Crown", "Ann", "system")),
        (said("state Bo", "alive", "player"), said("owner Crown", "Cid", "player")),
    )

    table = await told(*scenes, order=(1, 2, 3))

    waiting = await table.world.call("mongodb_get_scene", scene_id=table.scenes[3])
    assert waiting["canonical_outcomes"] == []
    assert await here(table.world, table.ids["Crown"], "OWNS") == [table.ids["Ann"]]


async def test_d11_what_is_told_late_of_an_earlier_scene_comes_earlier() -> None:
    titles = ("Ann is there in 1", "Ann is there in 2")
    first, second = (said("event Ann is-there", title) for title in titles)

    table = await told((first,), (second,), order=(2, 1))

    shown = await table.world.call("neo4j_query_events", entity_id=table.ids["Ann"])
    assert [event["title"] for event in shown["events"]] == list(titles)


async def test_d1_where_somebody_was_said_to_be_again_they_are_after_a_detour_told_late() -> None:
    inn, mill = said("place Ann", "Inn"), said("place Ann", "Mill")

    table = await told((inn,), (mill,), (inn,), order=(1, 3, 2))

    assert await here(table.world, table.ids["Ann"], "LOCATED_IN") == [table.ids["Inn"]]


async def test_d1_a_curse_that_was_lifted_stays_lifted_when_its_beginning_is_told_late() -> None:
    cursed, lifted = said("state Ann", "cursed"), said("state Ann", "cursed", holds=False)

    table = await told((cursed,), (lifted,), order=(2, 1))

    shown = await table.world.call("neo4j_get_entity", entity_id=table.ids["Ann"])
    assert shown["state_tags"] == []


async def test_d1_what_was_told_before_the_first_date_held_on_that_date() -> None:
    cursed = said("state Ann", "cursed")
    friendly = said("state Ann", "friendly", day=10)

    table = await told((cursed,), (friendly,), order=(1, 2))

    at = "1400-01-11T00:00:00Z"
    then = await table.world.call("neo4j_get_entity_at", entity_id=table.ids["Ann"], at=at)
    assert then["state_tags"] == ["cursed", "friendly"]
