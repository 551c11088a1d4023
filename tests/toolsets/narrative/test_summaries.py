"""The summary of a scene: what somebody wrote, else what became canon in it."""

from typing import Any

import pytest

from tests.toolsets.narrative.stage import Stage, a_stage, assemble_context

pytestmark = pytest.mark.anyio
CANONIZE, UPDATE = "composite_canonize_scene", "mongodb_update_scene"


async def accept_proposal(
    stage: Stage, scene_id: str, kind: str, turn: str, **content: Any
) -> None:
    evidence = [{"type": "turn", "ref_id": turn}]
    more = {"turn_id": turn, "evidence": evidence, "content": content}
    await stage.propose(scene_id, type=kind, **more)


async def test_a_summary_contains_a_late_death_and_not_the_first_turns() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    for n in range(30):
        turn = await stage.turn(scene_id, f"Turn number {n} tells of the road.")
    last = await stage.turn(scene_id, "Sam is struck down.")
    dead: dict[str, Any] = {"entity_id": stage.sam, "add": ["dead"], "remove": []}
    await accept_proposal(stage, scene_id, "state_change", last, **dead)
    arguments = {"title": "The road is long", "entity_ids": [stage.frodo]}
    await accept_proposal(stage, scene_id, "event", turn, **arguments)

    summary = (await stage.world.call(CANONIZE, scene_id=scene_id))["summary"]

    assert summary == "The road is long. Sam is dead."


async def test_a_summary_can_be_given_when_a_scene_is_canonized() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    await stage.propose(scene_id)

    reply = await stage.world.call(CANONIZE, scene_id=scene_id, summary="They set out at dawn.")

    assert reply["summary"] == "They set out at dawn."
    (reported,) = (await assemble_context(stage, await stage.scene("Next")))["narrative"][
        "previous_scenes"
    ]
    assert reported["summary"] == "They set out at dawn."


async def test_a_summary_written_during_play_stays_and_can_be_removed() -> None:
    stage = await a_stage()
    kept, taken = await stage.scene("Kept"), await stage.scene("Taken")
    for scene_id in (kept, taken):
        await stage.propose(scene_id)
        await stage.world.call(UPDATE, scene_id=scene_id, summary="A ring is found.")
    await stage.world.call(UPDATE, scene_id=taken, summary=None)

    first = await stage.world.call(CANONIZE, scene_id=kept)
    second = await stage.world.call(CANONIZE, scene_id=taken)

    assert first["summary"] == "A ring is found."
    assert second["summary"] == "Frodo has the Ring."


async def test_relations_are_summarized_and_an_unchanging_scene_has_its_title() -> None:
    stage = await a_stage()
    scene_id, empty = await stage.scene(), await stage.scene("A quiet evening")
    ally = {"from_entity_id": stage.sam, "rel_type": "ALLY_OF", "to_entity_id": stage.frodo}
    await stage.propose(scene_id, type="relationship", content=ally)
    await stage.turn(empty, "Nobody speaks. The fire burns low.")

    first = await stage.world.call(CANONIZE, scene_id=scene_id)
    second = await stage.world.call(CANONIZE, scene_id=empty)

    assert first["summary"] == "Sam ally of Frodo."
    assert second["summary"] == "A quiet evening"
