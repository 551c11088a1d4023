"""Turns: appended to active scenes, each one its own, without getting in each other's way."""

import asyncio
from typing import Any

import pytest

from canonry.log.entries import EntityRetconned
from canonry.values.ids import EntityId
from tests.toolsets.narrative.kit import NOWHERE
from tests.toolsets.narrative.stage import Stage, a_stage

pytestmark = pytest.mark.anyio


async def refuse_turn(stage: Stage, scene_id: str, code: int, **wrong: Any) -> dict[str, Any]:
    arguments = {"scene_id": scene_id, "speaker": "gm", "text": "x", **wrong}
    return await stage.world.refused("mongodb_append_turn", "Narrator", code=code, **arguments)


async def turn_texts(stage: Stage, scene_id: str) -> list[str]:
    scene = await stage.world.call("mongodb_get_scene", scene_id=scene_id)
    return [turn["text"] for turn in scene["turns"]]


async def test_a_turn_is_kept_as_said() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    turn_id = await stage.turn(
        scene_id,
        "  I will take it!\n",
        speaker="entity",
        entity_id=stage.frodo,
        resolution_ref=NOWHERE,
    )
    scene = await stage.world.call("mongodb_get_scene", scene_id=scene_id)
    (turn,) = scene["turns"]
    assert turn["turn_id"] == turn_id
    assert (turn["speaker"], turn["entity_id"]) == ("entity", stage.frodo)
    assert turn["text"] == "  I will take it!\n"
    assert turn["resolution_ref"] == NOWHERE


async def test_the_same_text_twice_is_two_turns() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    assert await stage.turn(scene_id, "Again.") != await stage.turn(scene_id, "Again.")
    assert await turn_texts(stage, scene_id) == ["Again.", "Again."]


async def test_a_retry_with_the_same_key_is_one_turn() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    said = {"scene_id": scene_id, "speaker": "gm", "text": "Once."}
    first, second = [
        await stage.world.call("mongodb_append_turn", "Narrator", "key-1", **said) for _ in range(2)
    ]
    assert first == second
    assert await turn_texts(stage, scene_id) == ["Once."]


async def test_concurrently_appended_turns_have_distinct_indexes() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    await asyncio.gather(*(stage.turn(scene_id, str(n)) for n in range(20)))
    scene = await stage.world.call("mongodb_get_scene", scene_id=scene_id)
    assert [turn["index"] for turn in scene["turns"]] == list(range(20))
    assert sorted(turn["text"] for turn in scene["turns"]) == sorted(map(str, range(20)))


async def test_an_entity_is_named_exactly_if_one_speaks() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    data = await refuse_turn(stage, scene_id, -32003, speaker="entity")
    assert data["path"] == "/entity_id"
    for speaker in ("gm", "user"):
        data = await refuse_turn(stage, scene_id, -32003, speaker=speaker, entity_id=stage.frodo)
        assert data["path"] == "/entity_id"


async def test_only_a_current_instance_of_the_universe_speaks() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    archetype = await stage.world.entity("Hobbit", entity_class="EntityArchetype")
    stranger = await (await stage.world.another_universe()).entity("Stranger")
    retracted = await stage.world.entity("Bingo")
    gone = EntityRetconned(entity_id=EntityId(retracted), replaced_by=None, reason="never was")
    await stage.write(gone)
    for speaker, number, code in (
        (NOWHERE, -32002, "entity.unknown"),
        (archetype, -32004, "entity.not-an-instance"),
        (stranger, -32004, "space.foreign"),
        (retracted, -32004, "entity.retconned"),
    ):
        data = await refuse_turn(stage, scene_id, number, speaker="entity", entity_id=speaker)
        assert data["code"] == code


async def test_a_merged_entity_speaks_as_its_survivor() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    double = await stage.world.entity("Frodo Baggins")
    await stage.world.call(
        "neo4j_merge_entities", kept_entity_id=stage.frodo, merged_entity_id=double, reason="same"
    )
    await stage.turn(scene_id, speaker="entity", entity_id=double)
    scene = await stage.world.call("mongodb_get_scene", scene_id=scene_id)
    assert [turn["entity_id"] for turn in scene["turns"]] == [stage.frodo]


async def test_a_turn_is_neither_empty_nor_too_long() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    await stage.turn(scene_id, "x" * 10_000)
    for text in ("", " \n", "x" * 10_001):
        data = await refuse_turn(stage, scene_id, -32003, text=text)
        assert data["path"] == "/text"


async def test_a_turn_needs_a_scene() -> None:
    stage = await a_stage()
    await refuse_turn(stage, NOWHERE, -32002)
    await refuse_turn(stage, stage.frodo, -32002)


async def test_a_transcript_is_read_page_by_page_with_the_speakers_names() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    for n in range(5):
        await stage.turn(scene_id, str(n), speaker="entity", entity_id=stage.sam)
    said: list[str] = []
    after: int | None = -1
    while after is not None:
        page = await stage.world.call(
            "mongodb_get_turns", "Indexer", scene_id=scene_id, after_index=after, limit=2
        )
        said += [turn["text"] for turn in page["turns"]]
        assert {turn["entity_name"] for turn in page["turns"]} == {"Sam"}
        assert page["total_turns"] == 5
        after = page["next_after_index"]
    assert said == ["0", "1", "2", "3", "4"]


async def test_earlier_turns_are_read_under_the_survivors_name() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    await stage.turn(scene_id, speaker="entity", entity_id=stage.frodo)
    kept = await stage.world.entity("Mr Underhill")
    await stage.world.call(
        "neo4j_merge_entities", kept_entity_id=kept, merged_entity_id=stage.frodo, reason="same"
    )

    page = await stage.world.call("mongodb_get_turns", "Indexer", scene_id=scene_id)

    (turn,) = page["turns"]
    assert (turn["entity_id"], turn["entity_name"]) == (stage.frodo, "Mr Underhill")


async def test_a_transcript_ends_at_its_last_turn() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    page = await stage.world.call("mongodb_get_turns", scene_id=scene_id)
    assert page == {"turns": [], "total_turns": 0, "next_after_index": None}
    data = await stage.world.refused(
        "mongodb_get_turns", code=-32003, scene_id=scene_id, after_index=10**30
    )
    assert data["path"] == "/after_index"


async def test_a_key_reused_for_another_turn_is_refused() -> None:
    stage = await a_stage()
    scene = await stage.scene()
    said = {"scene_id": scene, "speaker": "gm", "key": "k"}

    first = await stage.world.call(
        "mongodb_append_turn", text="It rains.", agent="Narrator", **said
    )
    again = await stage.world.call(
        "mongodb_append_turn", text="It rains.", agent="Narrator", **said
    )
    asked = {"scene_id": scene, "speaker": "gm", "text": "It pours."}
    other = await stage.world.outcome("mongodb_append_turn", asked, agent="Narrator", key="k")

    assert first["turn_id"] == again["turn_id"]
    assert other.error is not None
    assert other.error.data["code"] == "request.key-reused"
