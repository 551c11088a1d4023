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
    del shown["OWNS"]  # the coins
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


async def test_d1_a_death_that_never_was_dates_nothing() -> None:
    first = (said("state Bo", "healthy", day=101), said("state Bo", "dead", day=133))
    second = (said("state Bo", "wounded"), said("event Bo acts", "Bo acts in 2"))

    table = await told(first, second, order=(1, 2))

    at = "1400-04-12T00:00:00Z"
    then = await table.world.call("neo4j_get_entity_at", entity_id=table.ids["Bo"], at=at)
    assert then["state_tags"] == ["wounded"]


async def test_d6_a_word_that_comes_later_does_not_strengthen_what_was_before() -> None:
    late = (
        said("state Ann", "wounded", "system", holds=False, day=57),
        said("state Ann", "wounded"),
    )
    early = (said("state Ann", "wounded", "system", day=40),)

    table = await told(late, early, order=(2, 1))

    at = "1400-02-26T00:00:00Z"
    then = await table.world.call("neo4j_get_entity_at", entity_id=table.ids["Ann"], at=at)
    assert then["state_tags"] == ["wounded"]


async def test_d1_an_owner_of_whom_a_date_moves_the_beginning_owns_again() -> None:
    first = (said("owner Sword", "Ann", day=40), said("owner Sword", "Cid", "system"))
    second = (said("owner Sword", "Bo", "system", day=30),)

    table = await told(first, second, order=(2, 1))

    assert await here(table.world, table.ids["Sword"], "OWNS") == [table.ids["Cid"]]


async def test_d1_who_is_said_to_own_once_more_may_move_the_beginning_of_another() -> None:
    first = (said("owner Crown", "Cid", day=131),)
    second = (said("owner Crown", "Bo", "system"), said("owner Crown", "Cid", "system", day=97))

    table = await told(first, second, order=(2, 1))

    assert await here(table.world, table.ids["Crown"], "OWNS") == [table.ids["Bo"]]


async def test_d6_a_death_that_was_told_of_two_times_leaves_no_fact_when_it_never_was() -> None:
    late, early = said("state Bo", "dead", "player", day=30), said("state Bo", "dead", day=3)
    act = said("event Bo acts", "Bo acts in 3", day=40)

    table = await told((late,), (early,), (act,), order=(1, 2, 3))

    shown = await table.world.call("neo4j_query_facts", entity_id=table.ids["Bo"])
    assert [fact["statement"] for fact in shown["facts"] if fact["canon_level"] == "canon"] == []


async def test_d1_a_line_is_what_it_is_without_the_relation_that_is_retconned() -> None:
    first = (said("owner Sword", "Ann", day=40), said("owner Sword", "Cid", "system"))
    second = (said("owner Sword", "Bo", "system", day=30),)
    table = await told(first, second, order=(2, 1))
    shown = await table.world.call("neo4j_query_relationships", entity_id=table.ids["Sword"])
    (ann,) = [
        each["relationship_id"]
        for each in shown["relationships"]
        if each["from_entity_id"] == table.ids["Ann"]
    ]

    await table.world.call("neo4j_retcon_thing", id=ann, reason="she never did")

    assert await here(table.world, table.ids["Sword"], "OWNS") == [table.ids["Bo"]]


async def test_d2_what_holds_on_without_a_state_that_never_was_ends_where_another_begins() -> None:
    scenes = tuple((said("state Bo", tag),) for tag in ("neutral", "hostile", "friendly"))
    table = await told(*scenes, order=(2, 1, 3))
    facts = (await table.world.call("neo4j_query_facts", entity_id=table.ids["Bo"]))["facts"]
    (hostile,) = [each["fact_id"] for each in facts if each["statement"] == "Bo is hostile"]

    await table.world.call("neo4j_retcon_thing", id=hostile, reason="he never was")

    shown = await table.world.call("neo4j_get_entity", entity_id=table.ids["Bo"])
    assert shown["state_tags"] == ["friendly"]
