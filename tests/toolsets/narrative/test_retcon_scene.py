"""A canonization taken back as a whole, as agents call it."""

import pytest

from tests.toolsets.narrative.kit import NOWHERE, World, a_world
from tests.toolsets.narrative.stage import a_stage
from tests.toolsets.narrative.test_canonization import a_scene, propose_content

pytestmark = pytest.mark.anyio
TOOL = "composite_retcon_scene"


async def a_wrong_scene(world: World) -> tuple[str, str, str]:
    """Ana stands in the hall; a scene kills her, moves her and brings up Gimli, who then allies."""
    ana = await world.entity("Ana", state_tags=["alive"])
    room = await world.entity("Hall", entity_type="location")
    town = await world.entity("Town", entity_type="location")
    first = await a_scene(world)
    content = {"from": ana, "to": room, "rel_type": "LOCATED_IN"}
    await propose_content(world, first, "relationship", content)
    await world.call("composite_canonize_scene", scene_id=first)
    wrong = await a_scene(world)
    gimli = {"name": "Gimli", "entity_type": "character", "ref": "$g"}
    await propose_content(world, wrong, "entity", gimli)
    await propose_content(world, wrong, "relationship", {**content, "to": town})
    await propose_content(world, wrong, "state_change", {"entity_id": ana, "add": ["dead"]})
    reply = await world.call("composite_canonize_scene", scene_id=wrong)
    (dwarf,) = reply["canonical_entity_ids"]
    later = await a_scene(world)
    await propose_content(
        world, later, "relationship", {"from": dwarf, "to": ana, "rel_type": "ALLY_OF"}
    )
    await world.call("composite_canonize_scene", scene_id=later)
    return wrong, ana, dwarf


async def places_of(world: World, entity: str) -> list[str]:
    found = await world.call("neo4j_query_relationships", entity_id=entity, rel_type="LOCATED_IN")
    return [
        each["to_entity_id"]
        for each in found["relationships"]
        if each["current"] and each["canon_level"] == "canon"
    ]


async def test_dependents_of_a_scene_are_listed_first_and_retracted_with_it() -> None:
    world = await a_world()
    wrong, ana, dwarf = await a_wrong_scene(world)
    because = {"scene_id": wrong, "reason": "it was a dream"}
    heads = await world.heads()

    listed = await world.call(TOOL, **because, dry_run=True)

    assert await world.heads() == heads
    assert dwarf in listed["made"]
    assert ana not in listed["made"]
    assert [each["says"] for each in listed["dependents"] if each["certain"]] == ["ALLY_OF"]
    assert listed["retconned"] == []
    done = await world.call(TOOL, **because)
    certain = {each["id"] for each in listed["dependents"] if each["certain"]}
    assert set(done["retconned"]) == {*listed["made"], *certain}
    assert (await world.call("neo4j_get_entity", entity_id=ana))["state_tags"] == ["alive"]
    assert (await world.call("neo4j_get_entity", entity_id=dwarf))["canon_level"] == "retconned"
    (room,) = await places_of(world, ana)
    assert (await world.call("neo4j_get_entity", entity_id=room))["name"] == "Hall"
    heads = await world.heads()
    assert (await world.call(TOOL, **because))["retconned"] == []
    assert await world.heads() == heads


async def test_only_the_keeper_retracts_a_scene() -> None:
    world = await a_world()
    scene = await a_scene(world)

    await world.refused(TOOL, agent="Narrator", code=-32001, scene_id=scene, reason="x")
    await world.refused(TOOL, code=-32002, scene_id=NOWHERE, reason="x")


async def test_the_summary_of_a_retracted_scene_disappears() -> None:
    stage = await a_stage()
    scene_id = await stage.scene("The fall")
    content = {"entity_id": stage.frodo, "add": ["dead"]}
    await stage.propose(scene_id, type="state_change", content=content)
    await stage.world.call("composite_canonize_scene", scene_id=scene_id)

    for _twice in range(2):
        await stage.world.call("composite_retcon_scene", scene_id=scene_id, reason="we replay it")

    shown = await stage.world.call("mongodb_get_scene", scene_id=scene_id)
    later = await stage.scene("later", order=9)
    context = await stage.world.call(
        "composite_assemble_scene_context", "ContextAssembly", scene_id=later
    )
    assert shown["summary"] == "This scene was retconned: we replay it"
    assert "Frodo is dead" not in str(context)
