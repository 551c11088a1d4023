"""When a scene plays: what is proposed in it without a time happens then."""

import pytest

from canonry.log.entries import SceneMoved
from canonry.log.items.scenes import SceneStatus
from canonry.values.ids import SceneId
from tests.toolsets.narrative.stage import Stage, a_stage

pytestmark = pytest.mark.anyio
TOOL = "mongodb_update_scene"
NOON, EVENING = "3019-03-15T12:00:00Z", "3019-03-15T18:00:00Z"


async def time_of(stage: Stage, scene_id: str) -> str | None:
    scene = await stage.world.call("mongodb_get_scene", scene_id=scene_id)
    found: str | None = scene["time_ref"]
    return found


async def test_undated_proposals_take_the_time_of_their_scene() -> None:
    stage = await a_stage()
    scene = await stage.scene()
    reported = {"statement": "Frodo rests", "entity_ids": [stage.frodo]}
    undated = await stage.propose(scene, content=reported)
    later = {"statement": "Sam rests", "entity_ids": [stage.sam], "time_ref": EVENING}
    dated = await stage.propose(scene, content=later)
    await stage.world.call(TOOL, "Orchestrator", scene_id=scene, time_ref=NOON)

    reply = await stage.world.call("composite_canonize_scene", scene_id=scene)

    became = {each["proposal_id"]: each["canonical_id"] for each in reply["verdicts"]}
    query = {"entity_id": stage.frodo}
    (fact,) = (await stage.world.call("neo4j_query_facts", **query))["facts"]
    assert (fact["fact_id"], fact["time_ref"]) == (became[undated], NOON)
    explained = await stage.world.call("neo4j_explain", id=became[dated])
    assert explained["since"] == EVENING


async def test_a_time_is_set_replaced_and_removed_beside_the_notes() -> None:
    stage = await a_stage()
    scene = await stage.scene()
    await stage.world.call(TOOL, scene_id=scene, time_ref=NOON, gm_notes="the butler")
    assert await time_of(stage, scene) == NOON
    await stage.world.call(TOOL, scene_id=scene, gm_notes=None)
    assert await time_of(stage, scene) == NOON
    before = await stage.world.heads()
    await stage.world.call(TOOL, scene_id=scene, time_ref=NOON)
    assert await stage.world.heads() == before
    await stage.world.call(TOOL, scene_id=scene, time_ref=None)
    assert await time_of(stage, scene) is None


async def test_an_empty_update_is_refused() -> None:
    stage = await a_stage()
    data = await stage.world.refused(TOOL, code=-32003, scene_id=await stage.scene())
    assert data["code"] == "scene.empty-change"


async def test_a_completed_scene_keeps_its_time() -> None:
    stage = await a_stage()
    scene = await stage.scene()
    await stage.complete(scene)
    data = await stage.world.refused(TOOL, code=-32006, scene_id=scene, time_ref=NOON)
    assert data["code"] == "scene.completed"


async def test_a_scene_being_canonized_takes_notes_but_no_other_time() -> None:
    stage = await a_stage()
    scene = await stage.scene()
    await stage.write(SceneMoved(scene_id=SceneId(scene), status=SceneStatus.FINALIZING))
    data = await stage.world.refused(TOOL, code=-32004, scene_id=scene, time_ref=NOON)
    assert data["code"] == "scene.finalizing"
    await stage.world.call(TOOL, scene_id=scene, gm_notes="x", time_ref=None)
