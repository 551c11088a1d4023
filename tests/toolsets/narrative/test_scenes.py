"""Scenes: opened in a story, read with their turns, noted in secret, closed for good."""

import asyncio
import json
from typing import Any

import pytest

from canonry.log.entries import SceneMoved
from canonry.log.items.scenes import SceneStatus
from canonry.values.ids import SceneId
from tests.toolsets.narrative.kit import NOWHERE
from tests.toolsets.narrative.stage import Stage, a_stage

pytestmark = pytest.mark.anyio


async def get_scene(stage: Stage, scene_id: str, **more: Any) -> dict[str, Any]:
    return await stage.world.call("mongodb_get_scene", "Narrator", scene_id=scene_id, **more)


def find_scenes(stage: Stage, **more: Any) -> dict[str, Any]:
    return {
        "story_id": stage.story_id,
        "universe_id": stage.world.universe_id,
        "title": "A scene",
        "participating_entities": [stage.frodo],
        **more,
    }


async def test_a_new_scene_is_active_and_shows_its_arguments() -> None:
    stage = await a_stage()
    scene_id = await stage.scene(purpose="To begin")
    scene = await get_scene(stage, scene_id)
    assert scene["status"] == "active"
    assert scene["story_id"] == stage.story_id
    assert scene["universe_id"] == stage.world.universe_id
    assert scene["purpose"] == "To begin"
    assert scene["location_ref"] == stage.shire
    assert scene["participating_entities"] == [stage.frodo, stage.sam]
    assert (scene["turns"], scene["proposed_changes"], scene["summary"]) == ([], [], None)


async def test_the_first_scene_makes_a_planned_story_active() -> None:
    stage = await a_stage()
    await stage.scene()
    found = await stage.world.call("neo4j_query_stories", universe_id=stage.world.universe_id)
    assert [story["status"] for story in found["stories"]] == ["active"]


async def test_scenes_without_an_order_come_last_in_their_story() -> None:
    stage = await a_stage()
    orders = []
    for order in ({}, {"order": 7}, {}, {"order": 7}):
        reply = await stage.world.call(
            "mongodb_create_scene", "Orchestrator", **find_scenes(stage, **order)
        )
        orders.append(reply["order"])
    assert orders == [1, 7, 8, 7]


async def test_scenes_opened_concurrently_get_different_orders() -> None:
    stage = await a_stage()
    scenes = await asyncio.gather(*(stage.scene(f"Scene {n}") for n in range(5)))
    found = [await get_scene(stage, scene_id) for scene_id in scenes]
    assert sorted(scene["order"] for scene in found) == [1, 2, 3, 4, 5]


async def test_a_scene_refuses_missing_references() -> None:
    stage = await a_stage()
    for wrong in (
        {"story_id": NOWHERE},
        {"universe_id": NOWHERE},
        {"location_ref": NOWHERE},
        {"participating_entities": [stage.frodo, NOWHERE]},
    ):
        await stage.world.refused(
            "mongodb_create_scene", "Orchestrator", code=-32002, **find_scenes(stage, **wrong)
        )


async def test_a_scene_refuses_references_to_another_universe() -> None:
    stage = await a_stage()
    other = await stage.world.another_universe()
    stranger = await other.entity("Stranger")
    for wrong in (
        {"story_id": await other.story()},
        {"participating_entities": [stranger]},
        {"location_ref": await other.entity("Elsewhere", entity_type="location")},
    ):
        data = await stage.world.refused(
            "mongodb_create_scene", "Orchestrator", code=-32004, **find_scenes(stage, **wrong)
        )
        assert data["code"] == "space.foreign"


async def test_a_place_is_a_location_and_participants_are_instances() -> None:
    stage = await a_stage()
    archetype = await stage.world.entity("Hobbit", entity_class="EntityArchetype")
    data = await stage.world.refused(
        "mongodb_create_scene",
        "Orchestrator",
        code=-32004,
        **find_scenes(stage, location_ref=stage.sam),
    )
    assert data["code"] == "scene.not-a-location"
    data = await stage.world.refused(
        "mongodb_create_scene",
        "Orchestrator",
        code=-32004,
        **find_scenes(stage, participating_entities=[archetype]),
    )
    assert (data["code"], data["conflicts"]) == ("entity.not-an-instance", [archetype])


async def test_a_scene_refuses_empty_titles_repeated_people_and_huge_orders() -> None:
    stage = await a_stage()
    for wrong, path in (
        ({"title": " "}, "/title"),
        ({"title": "x" * 201}, "/title"),
        ({"purpose": ""}, "/purpose"),
        ({"order": -1}, "/order"),
        ({"order": 10**30}, "/order"),
        ({"participating_entities": [stage.frodo, stage.frodo]}, "/participating_entities"),
    ):
        data = await stage.world.refused(
            "mongodb_create_scene", "Orchestrator", code=-32003, **find_scenes(stage, **wrong)
        )
        assert data["path"] == path


async def test_a_merged_participant_appears_as_its_survivor() -> None:
    stage = await a_stage()
    double = await stage.world.entity("Frodo Baggins")
    await stage.world.call(
        "neo4j_merge_entities", kept_entity_id=stage.frodo, merged_entity_id=double, reason="same"
    )
    scene_id = await stage.scene(participating_entities=[double, stage.frodo])
    assert (await get_scene(stage, scene_id))["participating_entities"] == [stage.frodo]


async def test_a_scene_returns_its_last_turns_in_play_order() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    for n in range(4):
        await stage.turn(scene_id, f"turn {n}")
    scene = await get_scene(stage, scene_id, turn_limit=2)
    assert [turn["text"] for turn in scene["turns"]] == ["turn 2", "turn 3"]
    assert [turn["index"] for turn in scene["turns"]] == [2, 3]
    assert scene["total_turns"] == 4
    without = await get_scene(stage, scene_id, include_turns=False)
    assert (without["turns"], without["total_turns"]) == ([], 4)


async def test_a_turn_limit_is_at_least_one_and_bounded() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    for limit in (0, -1, 501, 10**30):
        data = await stage.world.refused(
            "mongodb_get_scene", code=-32003, scene_id=scene_id, turn_limit=limit
        )
        assert data["path"] == "/turn_limit"


async def test_a_scene_lists_ids_of_proposals_and_details_on_request() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    proposal_id = await stage.propose(scene_id)
    scene = await get_scene(stage, scene_id)
    assert scene["proposed_changes"] == [proposal_id]
    assert "proposals" not in scene
    scene = await get_scene(stage, scene_id, include_proposals=True)
    assert [each["proposal_id"] for each in scene["proposals"]] == [proposal_id]


async def test_a_cached_scene_is_fresh_after_every_kind_of_change() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    assert (await get_scene(stage, scene_id))["total_turns"] == 0
    await stage.turn(scene_id)
    assert (await get_scene(stage, scene_id))["total_turns"] == 1
    await stage.propose(scene_id)
    assert len((await get_scene(stage, scene_id))["proposed_changes"]) == 1
    await stage.complete(scene_id)
    assert (await get_scene(stage, scene_id))["status"] == "completed"


async def test_no_scene_tool_returns_the_game_masters_notes() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    await stage.world.call(
        "mongodb_update_scene", "Orchestrator", scene_id=scene_id, gm_notes="the butler"
    )
    for tool, arguments in (
        ("mongodb_get_scene", {"scene_id": scene_id, "include_proposals": True}),
        ("mongodb_query_scenes", {}),
    ):
        outcome = await stage.world.outcome(tool, arguments)
        assert outcome.error is None
        assert "butler" not in outcome.text
        assert "gm_notes" not in outcome.text


async def test_repeated_notes_write_nothing_and_null_clears_them() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    note = {"scene_id": scene_id, "gm_notes": "the butler"}
    await stage.world.call("mongodb_update_scene", "Orchestrator", **note)
    before = await stage.world.heads()
    await stage.world.call("mongodb_update_scene", "Orchestrator", **note)
    assert await stage.world.heads() == before
    await stage.world.call("mongodb_update_scene", scene_id=scene_id, gm_notes=None)
    assert await stage.world.heads() != before


async def test_a_narrator_may_not_change_the_notes() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    await stage.world.refused(
        "mongodb_update_scene", "Narrator", code=-32001, scene_id=scene_id, gm_notes="x"
    )


async def test_finalizing_closes_a_scene_and_counts_pending_proposals() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    await stage.propose(scene_id)
    outcomes = [
        await stage.world.fact("They left", stage.frodo),
        await stage.world.event("Departure", stage.frodo),
        await stage.world.relation(stage.frodo, "KNOWS", stage.sam),
        stage.sam,
    ]
    reply = await stage.world.call(
        "mongodb_finalize_scene",
        scene_id=scene_id,
        canonical_outcome_ids=outcomes,
        summary="They left.",
    )
    assert (reply["status"], reply["pending_proposals"]) == ("completed", 1)
    scene = await get_scene(stage, scene_id)
    assert scene["canonical_outcomes"] == outcomes
    assert scene["summary"] == "They left."
    assert scene["completed_at"] == reply["completed_at"]


async def test_outcomes_are_canon_items_of_the_universe() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    turn_id = await stage.turn(scene_id)
    other = await stage.world.another_universe()
    stranger = await other.entity("Stranger")
    for outcome, code in ((NOWHERE, -32002), (turn_id, -32002), (stranger, -32004)):
        await stage.world.refused(
            "mongodb_finalize_scene",
            code=code,
            scene_id=scene_id,
            canonical_outcome_ids=[outcome],
            summary="x",
        )


async def test_a_completed_scene_takes_nothing_more() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    await stage.complete(scene_id)
    for tool, agent, arguments in (
        ("mongodb_append_turn", "Narrator", {"speaker": "gm", "text": "x"}),
        ("mongodb_create_proposed_change", "Narrator", stage.proposal(scene_id)),
        ("mongodb_finalize_scene", "CanonKeeper", {"canonical_outcome_ids": [], "summary": "x"}),
        ("mongodb_update_scene", "CanonKeeper", {"gm_notes": "x"}),
    ):
        data = await stage.world.refused(
            tool, agent, code=-32006, **{"scene_id": scene_id, **arguments}
        )
        assert data["error"] == "ALREADY_CANONIZED"


async def test_a_scene_being_canonized_takes_no_turns_and_no_proposals() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    await stage.write(SceneMoved(scene_id=SceneId(scene_id), status=SceneStatus.FINALIZING))
    data = await stage.world.refused(
        "mongodb_append_turn", "Narrator", code=-32004, scene_id=scene_id, speaker="gm", text="x"
    )
    assert data["code"] == "scene.finalizing"
    await stage.world.refused(
        "mongodb_create_proposed_change", "Narrator", code=-32004, **stage.proposal(scene_id)
    )


async def test_scenes_are_listed_by_story_and_status_in_story_order() -> None:
    stage = await a_stage()
    late = await stage.scene("Late", order=9)
    early = await stage.scene("Early", order=1)
    elsewhere = await stage.scene("Elsewhere", story_id=await stage.world.story("Another"))
    await stage.complete(early)
    every = await stage.world.call("mongodb_query_scenes", universe_id=stage.world.universe_id)
    assert every["total"] == 3
    assert elsewhere in {scene["scene_id"] for scene in every["scenes"]}
    mine = await stage.world.call("mongodb_query_scenes", story_id=stage.story_id)
    assert [scene["scene_id"] for scene in mine["scenes"]] == [early, late]
    done = await stage.world.call("mongodb_query_scenes", status="completed")
    assert [scene["scene_id"] for scene in done["scenes"]] == [early]


async def test_a_list_of_many_long_scenes_is_short_by_default() -> None:
    stage = await a_stage()
    everybody = [await stage.world.entity(f"Guard {n}") for n in range(20)]
    for n in range(49):
        scene_id = await stage.scene(f"Scene {n}", participating_entities=everybody)
        await stage.complete(scene_id, "They met, spoke and parted. " * 40)
    listed = await stage.world.call("mongodb_query_scenes")
    more = await stage.world.call("mongodb_query_scenes", limit=50)

    assert listed["total"] == 49
    assert len(json.dumps(listed)) <= 10_000
    assert listed["scenes"][0]["total_participants"] == 20
    assert listed["scenes"][0]["summary"].endswith("…")
    assert len(more["scenes"]) == 49


async def test_a_scene_of_an_invisible_space_does_not_exist() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    stage.world.spaces = frozenset()
    await stage.world.refused("mongodb_get_scene", code=-32002, scene_id=scene_id)
    listed = await stage.world.call("mongodb_query_scenes")
    assert (listed["scenes"], listed["total"]) == ([], 0)


async def test_a_retry_with_the_same_key_opens_one_scene() -> None:
    stage = await a_stage()
    replies = [
        await stage.world.call(
            "mongodb_create_scene", "Orchestrator", "key-1", **find_scenes(stage)
        )
        for _ in range(2)
    ]
    assert replies[0] == replies[1]
    assert (await stage.world.call("mongodb_query_scenes"))["total"] == 1
