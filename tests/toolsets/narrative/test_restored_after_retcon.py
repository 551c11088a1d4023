"""Given back: what a fact had taken over from, when it turns out never to have been true."""

from typing import Any

import pytest

from tests.toolsets.narrative.kit import World, a_world
from tests.toolsets.narrative.test_canonization import a_scene, propose_content

pytestmark = pytest.mark.anyio


async def facts_of(world: World, entity: str) -> dict[str, tuple[str, str | None]]:
    """The level of each fact, and the statement of the one that took over from it."""
    facts = (await world.call("neo4j_query_facts", detail=True, entity_id=entity))["facts"]
    says = {fact["fact_id"]: fact["statement"] for fact in facts}
    return {f["statement"]: (f["canon_level"], says.get(f["superseded_by"])) for f in facts}


async def change_tags(world: World, entity: str, **changes: list[str]) -> list[str]:
    reply = await world.call(
        "neo4j_update_entity_state",
        entity_id=entity,
        state_tag_changes=changes,
        authority="gm",
        evidence_refs=world.evidence,
    )
    ids: list[str] = reply["fact_ids"]
    return ids


async def test_an_item_superseded_by_a_retconned_fact_holds_again() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    await change_tags(world, ann, add=["healthy"])
    wounded, _ = await change_tags(world, ann, add=["wounded"])
    assert (await facts_of(world, ann))["Ann is healthy"] == ("canon", "Ann is wounded")

    await world.call("neo4j_retcon_fact", fact_id=wounded, reason="only paint")

    assert await facts_of(world, ann) == {
        "Ann is healthy": ("canon", None),
        "Ann is no longer healthy": ("retconned", None),
        "Ann is wounded": ("retconned", None),
    }
    assert (await world.call("neo4j_get_entity", entity_id=ann))["state_tags"] == ["healthy"]


async def test_a_denial_ended_by_a_retconned_fact_holds_again() -> None:
    world = await a_world()
    ann = await world.entity("Ann", state_tags=["lost"])
    await change_tags(world, ann, remove=["lost"])
    (again,) = await change_tags(world, ann, add=["lost"])

    await world.call("neo4j_retcon_fact", fact_id=again, reason="no")

    assert (await facts_of(world, ann))["Ann is no longer lost"] == ("canon", None)


async def test_equal_neighbours_of_a_retconned_fact_both_hold() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    await change_tags(world, ann, add=["lost"])
    (found,) = await change_tags(world, ann, remove=["lost"])
    (again,) = await change_tags(world, ann, add=["lost"])

    await world.call("neo4j_retcon_fact", fact_id=found, reason="never found")

    facts = (await world.call("neo4j_query_facts", detail=True, entity_id=ann))["facts"]
    assert [(f["canon_level"], f["superseded_by"]) for f in facts] == [
        ("canon", None),
        ("retconned", again),
        ("canon", None),
    ]
    await world.call("neo4j_retcon_fact", fact_id=again, reason="nor lost again")
    first = (await world.call("neo4j_query_facts", detail=True, entity_id=ann))["facts"][0]
    assert (first["statement"], first["superseded_by"]) == ("Ann is lost", None)
    assert (await world.call("neo4j_get_entity", entity_id=ann))["state_tags"] == ["lost"]


async def test_a_tag_is_not_restored_beside_an_exclusive_one() -> None:
    world = await a_world()
    ann = await world.entity("Ann", state_tags=["healthy"])
    _, denial = await change_tags(world, ann, add=["wounded"])

    await world.call("neo4j_retcon_fact", fact_id=denial, reason="goes without saying")

    assert (await world.call("neo4j_get_entity", entity_id=ann))["state_tags"] == ["wounded"]


async def test_a_replacement_takes_the_place_of_the_replaced_fact() -> None:
    world = await a_world()
    content: dict[str, Any]
    gate, scene = await world.entity("Gate"), await a_scene(world)
    for day, statement in enumerate(("The gate is old", "The gate is not old"), start=1):
        content = {"statement": statement, "involved_entity_ids": [gate]}
        content |= {"time_ref": f"2020-01-0{day}T00:00:00Z"}
        await propose_content(world, scene, "fact", content)
    await world.call("composite_canonize_scene", scene_id=scene)
    first, second = (await world.call("neo4j_query_facts", detail=True, entity_id=gate))["facts"]
    assert first["superseded_by"] == second["fact_id"]

    reply = await world.call(
        "neo4j_retcon_fact",
        fact_id=second["fact_id"],
        reason="a slip",
        replacement_statement="The gate is repainted",
    )
    first = (await world.call("neo4j_query_facts", detail=True, entity_id=gate))["facts"][0]
    assert first["superseded_by"] == reply["replacement_fact_id"]
    await world.call("neo4j_retcon_fact", fact_id=reply["replacement_fact_id"], reason="nor that")

    first = (await world.call("neo4j_query_facts", detail=True, entity_id=gate))["facts"][0]
    assert (first["canon_level"], first["superseded_by"]) == ("canon", None)


async def test_a_character_acting_by_higher_authority_is_alive_again() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    await change_tags(world, ann, add=["alive"])
    first, later = await a_scene(world), await a_scene(world)
    death = {"entity_id": ann, "add": ["dead"]}
    await propose_content(
        world,
        first,
        "state_change",
        death,
        authority="gm",
        evidence=[{"type": "source", "ref_id": world.source_id}],
    )
    await world.call("composite_canonize_scene", scene_id=first)
    assert (await world.call("neo4j_get_entity", entity_id=ann))["state_tags"] == ["dead"]

    await propose_content(world, later, "event", {"title": "She laughs", "actor": ann})
    reply = await world.call("composite_canonize_scene", scene_id=later)

    assert [each["status"] for each in reply["verdicts"]] == ["accepted"]
    assert (await world.call("neo4j_get_entity", entity_id=ann))["state_tags"] == ["alive"]
    assert await facts_of(world, ann) == {
        "Ann is alive": ("canon", None),
        "Ann is dead": ("retconned", None),
        "Ann is no longer alive": ("retconned", None),
    }
