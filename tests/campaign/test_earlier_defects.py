"""Defects that players and random campaigns found, each in a few sentences."""

from typing import Any

import pytest

from tests.campaign.play import Table
from tests.campaign.plots import PlannedScene, PlannedStatement, Plot
from tests.toolsets.narrative.kit import World, a_world

pytestmark = pytest.mark.anyio


def plan_statement(line: str, value: str, authority: str = "gm", **more: Any) -> PlannedStatement:
    kind, *about = line.split()
    return PlannedStatement(line=(kind, *about), value=value, authority=authority, **more)


async def play_scenes(*scenes: tuple[PlannedStatement, ...], order: tuple[int, ...]) -> Table:
    """The table after these scenes were canonized in that order, each step as the model has it."""
    planned = tuple(
        PlannedScene(number=number, day=None, said=each)
        for number, each in enumerate(scenes, start=1)
    )
    table = Table(world=await a_world(), plot=Plot(seed=0, scenes=planned, steps=order))
    await table.play_plot()
    return table


async def current_ends(world: World, entity: str, kind: str) -> list[str]:
    """The other ends of the current relations of a type."""
    reply = await world.call(
        "neo4j_query_relationships", entity_id=entity, rel_type=kind, current_only=True
    )
    return [
        each["to_entity_id"] if each["from_entity_id"] == entity else each["from_entity_id"]
        for each in reply["relationships"]
    ]


async def test_a_backstory_leaves_the_present_location() -> None:
    room = plan_statement("place Ann", "Keep", "player", day=3000)
    town = plan_statement("place Ann", "Inn", day=10)

    table = await play_scenes((room,), (town,), order=(1, 2))

    assert await current_ends(table.world, table.ids["Ann"], "LOCATED_IN") == [table.ids["Keep"]]


async def test_a_change_of_heart_ends_an_enmity_and_keeps_its_past() -> None:
    war, peace = (
        plan_statement("feeling Ann Bo", "ENEMY_OF"),
        plan_statement("feeling Ann Bo", "ALLY_OF"),
    )

    table = await play_scenes((war,), (peace,), order=(1, 2))

    found = await table.world.call(
        "neo4j_query_relationships", entity_id=table.ids["Ann"], current_only=False
    )
    shown = {r["rel_type"]: (r["canon_level"], r["current"]) for r in found["relationships"]}
    del shown["OWNS"]  # the coins
    assert shown == {"ENEMY_OF": ("canon", False), "ALLY_OF": ("canon", True)}


async def test_a_confirmation_does_not_weaken_the_game_masters_statement() -> None:
    scenes = (
        (plan_statement("state Bo", "dead"), plan_statement("owner Crown", "Ann")),
        (
            plan_statement("state Bo", "dead", "system"),
            plan_statement("owner Crown", "Ann", "system"),
        ),
        (
            plan_statement("state Bo", "alive", "player"),
            plan_statement("owner Crown", "Cid", "player"),
        ),
    )

    table = await play_scenes(*scenes, order=(1, 2, 3))

    waiting = await table.world.call("mongodb_get_scene", scene_id=table.scenes[3])
    assert waiting["canonical_outcomes"] == []
    assert await current_ends(table.world, table.ids["Crown"], "OWNS") == [table.ids["Ann"]]


async def test_a_late_statement_about_an_earlier_scene_comes_earlier() -> None:
    titles = ("Ann is there in 1", "Ann is there in 2")
    first, second = (plan_statement("event Ann is-there", title) for title in titles)

    table = await play_scenes((first,), (second,), order=(2, 1))

    shown = await table.world.call("neo4j_query_events", entity_id=table.ids["Ann"])
    assert [event["title"] for event in shown["events"]] == list(titles)


async def test_a_return_still_holds_after_a_detour_stated_late() -> None:
    inn, mill = plan_statement("place Ann", "Inn"), plan_statement("place Ann", "Mill")

    table = await play_scenes((inn,), (mill,), (inn,), order=(1, 3, 2))

    assert await current_ends(table.world, table.ids["Ann"], "LOCATED_IN") == [table.ids["Inn"]]


async def test_a_lifted_curse_stays_lifted_when_its_beginning_is_stated_late() -> None:
    cursed, lifted = (
        plan_statement("state Ann", "cursed"),
        plan_statement("state Ann", "cursed", holds=False),
    )

    table = await play_scenes((cursed,), (lifted,), order=(2, 1))

    shown = await table.world.call("neo4j_get_entity", entity_id=table.ids["Ann"])
    assert shown["state_tags"] == []


async def test_a_statement_before_the_first_date_held_on_that_date() -> None:
    cursed = plan_statement("state Ann", "cursed")
    friendly = plan_statement("state Ann", "friendly", day=10)

    table = await play_scenes((cursed,), (friendly,), order=(1, 2))

    at = "1400-01-11T00:00:00Z"
    then = await table.world.call("neo4j_get_entity_at", entity_id=table.ids["Ann"], at=at)
    assert then["state_tags"] == ["cursed", "friendly"]


async def test_a_retracted_death_dates_nothing() -> None:
    first = (
        plan_statement("state Bo", "healthy", day=101),
        plan_statement("state Bo", "dead", day=133),
    )
    second = (
        plan_statement("state Bo", "wounded"),
        plan_statement("event Bo acts", "Bo acts in 2"),
    )

    table = await play_scenes(first, second, order=(1, 2))

    at = "1400-04-12T00:00:00Z"
    then = await table.world.call("neo4j_get_entity_at", entity_id=table.ids["Bo"], at=at)
    assert then["state_tags"] == ["wounded"]


async def test_a_later_statement_does_not_strengthen_earlier_ones() -> None:
    late = (
        plan_statement("state Ann", "wounded", "system", holds=False, day=57),
        plan_statement("state Ann", "wounded"),
    )
    early = (plan_statement("state Ann", "wounded", "system", day=40),)

    table = await play_scenes(late, early, order=(2, 1))

    at = "1400-02-26T00:00:00Z"
    then = await table.world.call("neo4j_get_entity_at", entity_id=table.ids["Ann"], at=at)
    assert then["state_tags"] == ["wounded"]


async def test_an_owner_owns_again_after_a_date_moves_a_beginning() -> None:
    first = (
        plan_statement("owner Sword", "Ann", day=40),
        plan_statement("owner Sword", "Cid", "system"),
    )
    second = (plan_statement("owner Sword", "Bo", "system", day=30),)

    table = await play_scenes(first, second, order=(2, 1))

    assert await current_ends(table.world, table.ids["Sword"], "OWNS") == [table.ids["Cid"]]


async def test_a_repeated_ownership_may_move_anothers_beginning() -> None:
    first = (plan_statement("owner Crown", "Cid", day=131),)
    second = (
        plan_statement("owner Crown", "Bo", "system"),
        plan_statement("owner Crown", "Cid", "system", day=97),
    )

    table = await play_scenes(first, second, order=(2, 1))

    assert await current_ends(table.world, table.ids["Crown"], "OWNS") == [table.ids["Bo"]]


async def test_a_death_stated_at_two_times_leaves_no_fact_after_retraction() -> None:
    late, early = (
        plan_statement("state Bo", "dead", "player", day=30),
        plan_statement("state Bo", "dead", day=3),
    )
    act = plan_statement("event Bo acts", "Bo acts in 3", day=40)

    table = await play_scenes((late,), (early,), (act,), order=(1, 2, 3))

    shown = await table.world.call("neo4j_query_facts", entity_id=table.ids["Bo"])
    assert [fact["statement"] for fact in shown["facts"] if fact["canon_level"] == "canon"] == []


async def test_a_timeline_ignores_a_retconned_relation() -> None:
    first = (
        plan_statement("owner Sword", "Ann", day=40),
        plan_statement("owner Sword", "Cid", "system"),
    )
    second = (plan_statement("owner Sword", "Bo", "system", day=30),)
    table = await play_scenes(first, second, order=(2, 1))
    shown = await table.world.call("neo4j_query_relationships", entity_id=table.ids["Sword"])
    (ann,) = [
        each["relationship_id"]
        for each in shown["relationships"]
        if each["from_entity_id"] == table.ids["Ann"]
    ]

    await table.world.call("neo4j_retcon_thing", id=ann, reason="she never did")

    assert await current_ends(table.world, table.ids["Sword"], "OWNS") == [table.ids["Bo"]]


async def test_a_state_restored_by_retraction_ends_where_the_next_begins() -> None:
    scenes = tuple((plan_statement("state Bo", tag),) for tag in ("neutral", "hostile", "friendly"))
    table = await play_scenes(*scenes, order=(2, 1, 3))
    facts = (await table.world.call("neo4j_query_facts", entity_id=table.ids["Bo"]))["facts"]
    (hostile,) = [each["fact_id"] for each in facts if each["statement"] == "Bo is hostile"]

    await table.world.call("neo4j_retcon_thing", id=hostile, reason="he never was")

    shown = await table.world.call("neo4j_get_entity", entity_id=table.ids["Bo"])
    assert shown["state_tags"] == ["friendly"]
