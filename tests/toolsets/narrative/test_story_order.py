"""The order of a story is that of its scenes, in whatever order they are canonized."""

from collections.abc import Mapping
from itertools import permutations
from typing import Any

import pytest

from tests.toolsets.narrative.kit import World, a_world

pytestmark = pytest.mark.anyio


async def a_scene(world: World, story: str, order: int) -> str:
    made = await world.call(
        "mongodb_create_scene",
        "Orchestrator",
        story_id=story,
        universe_id=world.universe_id,
        title=f"Scene {order}",
        order=order,
        participating_entities=[],
    )
    return str(made["scene_id"])


async def propose_content(world: World, scene: str, kind: str, content: Mapping[str, Any]) -> None:
    await world.call(
        "mongodb_create_proposed_change",
        "Resolver",
        scene_id=scene,
        type=kind,
        content=content,
        confidence=1.0,
        authority="player",
        evidence=[{"type": "source", "ref_id": world.source_id}],
    )


@pytest.mark.parametrize("turn", list(permutations((0, 1, 2))))
async def test_the_order_of_canonizing_makes_no_difference(turn: tuple[int, ...]) -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    inn, mill, keep = [
        await world.entity(name, entity_type="location") for name in ("Inn", "Mill", "Keep")
    ]
    story = await world.story("The road")
    scenes = [await a_scene(world, story, order) for order in (10, 20, 30)]
    for scene, tag, place in zip(
        scenes, ("healthy", "wounded", "healthy"), (inn, mill, keep), strict=True
    ):
        await propose_content(world, scene, "state_change", {"entity_id": ann, "add": [tag]})
        at = {"from": ann, "to": place, "type": "LOCATED_IN"}
        await propose_content(world, scene, "relationship", at)
        await propose_content(world, scene, "event", {"title": f"she is {tag}", "involved": [ann]})

    for number in turn:
        reply = await world.call("composite_canonize_scene", scene_id=scenes[number])
        assert {each["status"] for each in reply["verdicts"]} == {"accepted"}

    now = await world.call("neo4j_get_entity", entity_id=ann)
    assert now["state_tags"] == ["healthy"]
    here = await world.call("neo4j_query_relationships", entity_id=ann, current_only=True)
    assert [each["to_entity_id"] for each in here["relationships"]] == [keep]
    events = await world.call("neo4j_query_events", entity_id=ann)
    assert [e["title"] for e in events["events"]] == [
        "she is healthy", "she is wounded", "she is healthy",
    ]  # fmt: skip
    answer = await world.call("neo4j_get_timeline", universe_id=world.universe_id)
    scene_ids = [each["event"]["scene_id"] for each in answer["items"]]
    assert scene_ids == scenes
