"""Resources: an entity, a transcript and a timeline as documents, on the same path as calls."""

import json

import jsonschema_rs
import pytest

from canonry.gateway.replies import Result
from tests.toolsets.narrative.kit import NOWHERE, a_principal
from tests.toolsets.narrative.stage import Stage, a_stage

pytestmark = pytest.mark.anyio


async def read_resource(stage: Stage, uri: str, agent: str | None = "Narrator") -> Result:
    principal = a_principal(agent, spaces=stage.world.spaces)
    _, outcome = await stage.world.gateway.read_resource(uri, principal)
    return outcome


async def text_of(stage: Stage, uri: str) -> str:
    outcome = await read_resource(stage, uri)
    assert outcome.error is None, outcome.text
    return outcome.text


async def test_an_entity_resource_equals_the_tool_reply() -> None:
    stage = await a_stage()
    reply = await stage.world.call("neo4j_get_entity", entity_id=stage.frodo)
    shown = json.loads(await text_of(stage, f"canonry://entity/{stage.frodo.upper()}"))
    assert shown["name"] == "Frodo"
    assert shown.items() <= reply.items()


async def test_proposal_contents_are_described_as_schemas() -> None:
    stage = await a_stage()
    reply = json.loads(await text_of(stage, "canonry://proposals/contents"))
    assert reply.keys() == {"fact", "entity", "relationship", "state_change", "event"}
    change = reply["state_change"]
    assert change["required"] == ["entity_id"]
    assert {"add", "remove"} <= change["properties"].keys()
    actors = reply["event"]["properties"]["actor_ids"]
    assert "Also taken as actors, participants" in actors["description"]
    for schema in reply.values():
        assert not jsonschema_rs.validator_for(schema).is_valid({})


async def test_a_transcript_names_speakers_and_ends_with_the_summary() -> None:
    stage = await a_stage()
    scene_id = await stage.scene("The party")
    await stage.turn(scene_id, "It is a fine day.")
    await stage.turn(scene_id, "Good morning!", speaker="entity", entity_id=stage.sam)
    await stage.turn(scene_id, "I wave.", speaker="user")
    await stage.complete(scene_id, "They met.")
    assert await text_of(stage, f"canonry://scene/{scene_id}/transcript") == (
        "# The party\n\n"
        "completed, 3 turns\n\n"
        "**Game master:** It is a fine day.\n\n"
        "**Sam:** Good morning!\n\n"
        "**User:** I wave.\n\n"
        "Summary: They met.\n"
    )


async def test_a_long_transcript_is_cut_and_names_the_next_position() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    for n in range(25):
        await stage.turn(scene_id, str(n % 10) * 10_000)
    text = await text_of(stage, f"canonry://scene/{scene_id}/transcript")
    assert len(text) < 210_000
    assert text.endswith("(Go on with mongodb_get_turns, after_index 19.)\n")
    page = await stage.world.call("mongodb_get_turns", scene_id=scene_id, after_index=19)
    assert [turn["index"] for turn in page["turns"]] == [20, 21, 22, 23, 24]


async def test_a_transcript_does_not_contain_the_notes() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    await stage.world.call(
        "mongodb_update_scene", "Orchestrator", scene_id=scene_id, gm_notes="the butler"
    )
    assert "butler" not in await text_of(stage, f"canonry://scene/{scene_id}/transcript")


async def test_a_timeline_lists_canon_events_in_world_order() -> None:
    stage = await a_stage()
    await stage.world.event("The fall", stage.frodo, time_ref="3019-03-25T00:00:00Z")
    await stage.world.event("The party", stage.frodo, time_ref="3001-09-22T00:00:00Z")
    text = await text_of(stage, f"canonry://universe/{stage.world.universe_id}/timeline")
    assert text.startswith("# Timeline of Middle-earth\n")
    assert text.index("3001-09-22T00:00:00Z**: The party") < text.index("The fall")


async def test_missing_or_invisible_items_are_not_found() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    uris = (
        "canonry://entity/{}",
        "canonry://scene/{}/transcript",
        "canonry://universe/{}/timeline",
    )
    for uri in uris:
        for item in (NOWHERE, "no-id"):
            outcome = await read_resource(stage, uri.format(item))
            assert outcome.error is not None
            assert outcome.error.code == -32002
    stage.world.spaces = frozenset()
    for uri, item in zip(uris, (stage.frodo, scene_id, stage.world.universe_id), strict=True):
        outcome = await read_resource(stage, uri.format(item))
        assert outcome.error is not None
        assert outcome.error.code == -32002


async def test_a_caller_without_a_known_role_reads_nothing() -> None:
    stage = await a_stage()
    for agent in ("Intruder", None):
        outcome = await read_resource(stage, f"canonry://entity/{stage.frodo}", agent)
        assert outcome.error is not None
        assert outcome.error.code == -32001
