"""Contexts as of their scenes: notes have their share, and everybody is as they were then."""

from typing import Any

import pytest

from canonry.values.policy import ContextLimits, Policy
from tests.toolsets.narrative.stage import a_stage, assemble_context, names_in, statements_in

pytestmark = pytest.mark.anyio


async def test_long_notes_and_summaries_leave_room_for_the_rest() -> None:
    stage = await a_stage(Policy(context=ContextLimits(tokens=2_000)))
    scene_id = await stage.scene()
    for number in range(5):
        await stage.world.fact(f"Frodo has {number} rings", stage.frodo)
    long = "The butler did it. " * 500
    await stage.world.call(
        "mongodb_update_scene", scene_id=scene_id, gm_notes=long, summary="He did not. " * 100
    )

    context = await assemble_context(stage, scene_id)

    assert len(statements_in(context)) == 5
    assert names_in(context) == ["Frodo", "Sam", "The Shire"]
    reported = context["narrative"]
    assert long.startswith(reported["gm_notes"].removesuffix("…"))
    assert 500 < len(reported["gm_notes"]) < len(long)
    assert reported["scene_summary"].startswith("He did not. He did not.")
    assert context["metadata"]["tokens"]["used"] <= 2_000


async def test_names_descriptions_and_properties_are_those_of_the_scenes_time() -> None:
    stage = await a_stage()
    early = await stage.scene(time_ref="1401-01-01T00:00:00Z")
    late = await stage.scene(time_ref="1419-01-01T00:00:00Z")
    changed = {
        "name": "Frodo",
        "entity_type": "character",
        "description": "The bearer of the Ring.",
        "properties": {"fingers": 9},
    }
    await stage.propose(late, type="entity", content=changed)
    await stage.world.call("composite_canonize_scene", scene_id=late)

    then, now = [await assemble_context(stage, scene_id) for scene_id in (early, late)]

    def frodo(context: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        result = next(e for e in context["canonical"]["entities"] if e["name"] == "Frodo")
        return result["description"], result["properties"]

    assert frodo(then) == ("This is Frodo.", {})
    assert frodo(now) == ("The bearer of the Ring.", {"fingers": 9})
    at = {"entity_id": stage.frodo, "at": "1410-01-01T00:00:00Z"}
    was = await stage.world.call("neo4j_get_entity_at", **at)
    assert (was["description"], was["properties"]) == ("This is Frodo.", {})


async def test_an_earlier_scene_recorded_later_keeps_the_present() -> None:
    stage = await a_stage()
    first, second = await stage.scene("One", order=1), await stage.scene("Two", order=2)
    for scene_id, colour in ((second, "green"), (first, "blue")):
        reported = {"name": "Frodo", "entity_type": "character", "properties": {"eyes": colour}}
        await stage.propose(scene_id, type="entity", content=reported)
        await stage.world.call("composite_canonize_scene", scene_id=scene_id)

    now = await stage.world.call("neo4j_get_entity", entity_id=stage.frodo)
    contexts = [await assemble_context(stage, scene_id) for scene_id in (first, second)]

    assert now["properties"] == {"eyes": "green"}
    eyes = [context["canonical"]["entities"][0]["properties"]["eyes"] for context in contexts]
    assert eyes == ["blue", "green"]
