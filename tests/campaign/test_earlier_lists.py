"""Campaigns made up from seeds: every narrative list answers as of a position as it did then."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.campaign.play import Table
from tests.campaign.plots import HEROES, ITEMS, PLACES, a_plot, with_merges, with_secrets
from tests.toolsets.canon.kit import ToolDriver, make_driver
from tests.toolsets.narrative.kit import World

pytestmark = pytest.mark.anyio
Asked = tuple[str, dict[str, Any]]


def reads_of(table: Table, items: list[str]) -> Iterator[Asked]:
    """Yield every read of the toolset that takes a position, asked about what there is."""
    here: dict[str, Any] = {"universe_id": table.world.universe_id}
    page: dict[str, Any] = {"limit": 500, "detail": True}
    for tool in ("entities", "relationships", "facts", "events", "axioms", "stories"):
        yield f"neo4j_query_{tool}", {**here, **page}
    yield "neo4j_query_sources", {**here, "limit": 500}
    for tool in ("scenes", "proposals", "reviews"):
        yield f"mongodb_query_{tool}", {**here, **page}
    yield "neo4j_get_timeline", {**here, **page}
    for name in (*HEROES, *PLACES, *ITEMS, "Stranger"):
        if (entity := table.ids.get(name)) is not None:
            about = {"entity_id": entity}
            extras = {"include_relationships": True, "include_state_history": True}
            yield "neo4j_get_entity", {**about, **extras}
            yield "neo4j_query_facts", {**here, **about, **page}
            yield "neo4j_query_relationships", {**here, **about, "current_only": True, **page}
            yield "mongodb_retrieve_character_memories", about
    for scene in table.scenes.values():
        named = {"scene_id": scene}
        yield "mongodb_get_scene", {**named, "include_proposals": True}
        yield "mongodb_get_turns", named
        yield "mongodb_get_pending_proposals", named
        yield "composite_assemble_scene_context", {**named, "include_semantic": False}
    for item in items:
        yield "neo4j_explain", {"id": item}


async def stated_ids(table: Table) -> list[str]:
    """Return the ids of the facts and relations that there are."""
    here: dict[str, Any] = {"universe_id": table.world.universe_id, "limit": 500}
    facts = await table.world.call("neo4j_query_facts", **here)
    ties = await table.world.call("neo4j_query_relationships", **here)
    return [
        *(each["fact_id"] for each in facts["facts"]),
        *(each["relationship_id"] for each in ties["relationships"]),
    ]


async def answer_call(table: Table, asked: Asked, **view: Any) -> Any:
    tool, arguments = asked
    reply = await table.world.outcome(tool, {**arguments, **view}, agent="ContextAssembly")
    return without_changes(reply.body)


def without_changes(reply: Any) -> Any:
    """Return a reply without the times at which scenes changed, whose versions are not stored."""
    if isinstance(reply, list):
        return [without_changes(each) for each in reply]
    if not isinstance(reply, dict):
        return reply
    scene = {"updated_at"} if "order" in reply else set[str]()
    return {name: without_changes(each) for name, each in reply.items() if name not in scene}


@pytest.mark.parametrize("seed", [710, 711, 712])
@pytest.mark.parametrize("merges", [False, True])
async def test_each_list_at_a_known_position_equals_the_earlier_list(
    seed: int, merges: bool
) -> None:
    driver = make_driver()
    world = World(canon=driver.canon, gateway=driver.gateway, clock=driver.clock)
    await world.begin("Middle-earth")
    plot = with_secrets(a_plot(seed, scenes=3))
    table = Table(world=world, plot=with_merges(plot) if merges else plot)
    await table.open_scene()
    then: list[tuple[int, Asked, Any]] = []
    for step in table.plot.steps:
        await table.play_step(step)
        (at,) = (p for space, p in await world.heads() if space == world.universe_id)
        then += [
            (at, asked, await answer_call(table, asked))
            for asked in reads_of(table, await stated_ids(table))
        ]

    for at, asked, reply in then:
        assert await answer_call(table, asked, as_known_at=at) == reply, (plot.seed, at, asked)
    assert len(then) > 100


async def play_seed(seed: int) -> tuple[World, ToolDriver]:
    """A campaign that has been played, and a game master's driver at it."""
    driver = make_driver()
    world = World(canon=driver.canon, gateway=driver.gateway, clock=driver.clock)
    await world.begin("Middle-earth")
    table = Table(world=world, plot=with_merges(with_secrets(a_plot(seed, scenes=4))))
    await table.open_scene()
    for step in table.plot.steps:
        await table.play_step(step)
    return world, driver


@pytest.mark.parametrize("seed", [720, 721])
async def test_both_toolsets_agree_at_every_scene_and_day(seed: int) -> None:
    world, driver = await play_seed(seed)
    here: dict[str, Any] = {"universe_id": world.universe_id, "limit": 500}
    scenes = (await world.call("mongodb_query_scenes", **here))["scenes"]
    found = 0
    for at in (*(each["scene_id"] for each in scenes), "1400-02-15", "1400-09-15"):
        facts = (await world.call("neo4j_query_facts", **here, at=at))["facts"]
        ties = await world.call("neo4j_query_relationships", **here, current_only=True, at=at)
        listed = {each["fact_id"] for each in facts if each["canon_level"] == "canon"}
        listed |= {each["relationship_id"] for each in ties["relationships"]}
        rows = [
            *(await driver.call("find", kinds=["fact"], limit=50, full=True, at=at))["found"],
            *(await driver.call("find", kinds=["relation"], limit=50, full=True, at=at))["found"],
        ]
        assert {row["id"] for row in rows} == listed, at
        got = await world.call("neo4j_query_entities", **here, at=at)
        for each in got["entities"]:
            then = await world.outcome(
                "neo4j_get_entity_at", {"entity_id": each["entity_id"], "at": at}
            )
            assert then.body["state_tags"] == each["state_tags"]
        found += len(listed)
    assert found > 20


async def test_a_list_refuses_a_time_that_it_cannot_use() -> None:
    world, _ = await play_seed(720)
    here = {"universe_id": world.universe_id}

    proposals = await world.outcome("mongodb_query_proposals", {**here, "at": "1400-02-15"})
    universes = await world.outcome("neo4j_query_universes", {"as_known_at": 3})
    wrong = await world.outcome("neo4j_query_facts", {**here, "as_known_at": ["1"]})
    unknown = await world.outcome("neo4j_query_facts", {**here, "at": "no such time"})

    for refused in (proposals, universes):
        assert refused.error is not None
        assert "These tools take it: neo4j_" in refused.error.message
    assert wrong.error is not None
    assert "/as_known_at" in wrong.error.message
    assert unknown.error is not None
    assert "/at" in unknown.error.message
