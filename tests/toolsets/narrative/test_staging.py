"""Staging: participants come and go, the place moves, speakers join, and a scene has its time."""

from typing import Any

import pytest

from tests.toolsets.narrative.kit import NOWHERE
from tests.toolsets.narrative.stage import Stage, a_stage, assemble_context, names_in

pytestmark = pytest.mark.anyio
UPDATE = "mongodb_update_scene"


async def scene_of(stage: Stage, scene_id: str) -> dict[str, Any]:
    return await stage.world.call("mongodb_get_scene", scene_id=scene_id)


async def test_participants_join_and_leave_and_the_context_follows() -> None:
    stage = await a_stage()
    gandalf = await stage.world.entity("Gandalf")
    scene_id = await stage.scene()

    await stage.world.call(
        UPDATE, scene_id=scene_id, joining_entities=[gandalf], leaving_entities=[stage.sam]
    )

    scene = await scene_of(stage, scene_id)
    assert scene["participating_entities"] == [stage.frodo, gandalf]
    assert scene["departed_entities"] == [stage.sam]
    assert names_in(await assemble_context(stage, scene_id)) == ["Frodo", "Gandalf", "The Shire"]
    await stage.world.call(UPDATE, scene_id=scene_id, joining_entities=[stage.sam])
    scene = await scene_of(stage, scene_id)
    assert scene["participating_entities"] == [stage.frodo, gandalf, stage.sam]
    assert scene["departed_entities"] == []


async def test_a_present_participant_does_not_join_again() -> None:
    stage = await a_stage()
    stranger = await stage.world.entity("Stranger")
    scene_id = await stage.scene()
    before = await stage.world.heads()

    await stage.world.call(
        UPDATE, scene_id=scene_id, joining_entities=[stage.sam], leaving_entities=[stranger]
    )

    assert await stage.world.heads() == before


async def test_the_place_of_a_scene_changes_and_may_be_cleared() -> None:
    stage = await a_stage()
    bree = await stage.world.entity("Bree", entity_type="location")
    scene_id = await stage.scene()

    await stage.world.call(UPDATE, scene_id=scene_id, location_ref=bree)

    assert (await scene_of(stage, scene_id))["location_ref"] == bree
    assert names_in(await assemble_context(stage, scene_id)) == ["Frodo", "Sam", "Bree"]
    await stage.world.call(UPDATE, scene_id=scene_id, location_ref=None)
    assert (await scene_of(stage, scene_id))["location_ref"] is None


async def test_a_speaker_joins_the_scene_and_its_context() -> None:
    stage = await a_stage()
    gandalf = await stage.world.entity("Gandalf", state_tags=["grey"])
    scene_id = await stage.scene()
    for text in ("You shall not pass!", "Fly, you fools!"):
        await stage.turn(scene_id, text, speaker="entity", entity_id=gandalf)

    scene = await scene_of(stage, scene_id)

    assert scene["participating_entities"] == [stage.frodo, stage.sam, gandalf]
    assert scene["total_turns"] == 2
    reported = (await assemble_context(stage, scene_id))["canonical"]["entities"]
    assert [(e["name"], e["state_tags"]) for e in reported if e["role"] == "participant"] == [
        ("Frodo", []),
        ("Sam", []),
        ("Gandalf", ["grey"]),
    ]


async def test_a_missing_entity_cannot_join_and_a_person_is_no_place() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()

    await stage.world.refused(UPDATE, code=-32002, scene_id=scene_id, joining_entities=[NOWHERE])
    data = await stage.world.refused(UPDATE, code=-32004, scene_id=scene_id, location_ref=stage.sam)

    assert data["code"] == "scene.not-a-location"


async def test_a_completed_scene_keeps_its_participants() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    await stage.complete(scene_id)

    await stage.world.refused(UPDATE, code=-32006, scene_id=scene_id, leaving_entities=[stage.sam])


async def test_a_scene_says_if_not_all_turns_are_returned() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    for n in range(3):
        await stage.turn(scene_id, f"turn {n}")

    whole = await scene_of(stage, scene_id)
    last = await stage.world.call("mongodb_get_scene", scene_id=scene_id, turn_limit=2)

    assert (len(whole["turns"]), whole["truncated"]) == (3, False)
    assert (len(last["turns"]), last["total_turns"], last["truncated"]) == (2, 3, True)


async def test_a_scene_takes_its_time_when_it_is_created() -> None:
    stage = await a_stage()
    noon = "3019-03-15T12:00:00Z"
    scene_id = await stage.scene(time_ref=noon)
    await stage.propose(scene_id)

    await stage.world.call("composite_canonize_scene", scene_id=scene_id)

    assert (await scene_of(stage, scene_id))["time_ref"] == noon
    query = {"entity_id": stage.frodo}
    (fact,) = (await stage.world.call("neo4j_query_facts", **query))["facts"]
    assert fact["time_ref"] == noon
