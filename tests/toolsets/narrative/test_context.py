"""Context: what a model is told about a scene: canon, what was said, what it recalls; no more."""

from typing import Any

import pytest

from canonry.log.entries import EntityRetconned
from canonry.testing.example_items import a_scene, creation_entries
from canonry.values.ids import EntityId, SceneId, SpaceId, StoryId
from canonry.values.moments import parse_instant
from canonry.values.policy import ContextLimits, Policy
from tests.toolsets.narrative.kit import NOWHERE
from tests.toolsets.narrative.stage import (
    CONTEXT_TOOL,
    a_stage,
    assemble_context,
    names_in,
    statements_in,
)

pytestmark = pytest.mark.anyio

NOTHING: dict[str, list[object]] = {"entities": [], "facts": [], "relations": [], "events": []}


async def test_every_section_is_present_and_metadata_names_the_scene() -> None:
    stage = await a_stage()
    scene_id = await stage.scene(purpose="To begin")
    context = await assemble_context(stage, scene_id)
    assert set(context) == {"canonical", "narrative", "recalled", "metadata"}
    metadata = context["metadata"]
    assert metadata["universe_id"] == stage.world.universe_id
    assert metadata["story_id"] == stage.story_id
    assert metadata["scene_id"] == scene_id
    assert metadata["recall_query"] == "To begin A long-expected party"
    assert metadata["degraded"] == ["vectors"]
    assert metadata["tokens"]["budget"] == 4_000


async def test_only_context_assembly_may_ask_and_the_scene_must_exist() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    for agent in (
        "Orchestrator",
        "CanonKeeper",
        "Narrator",
        "Resolver",
        "MemoryManager",
        "Indexer",
    ):
        await stage.world.refused(CONTEXT_TOOL, agent, code=-32001, scene_id=scene_id)
    await stage.world.refused(CONTEXT_TOOL, "ContextAssembly", code=-32002, scene_id=NOWHERE)


async def test_participants_come_first_then_their_direct_relations() -> None:
    stage = await a_stage()
    gandalf, bilbo = await stage.world.entity("Gandalf"), await stage.world.entity("Bilbo")
    far = await stage.world.entity("Saruman")
    await stage.world.relation(gandalf, "KNOWS", stage.frodo)
    await stage.world.relation(gandalf, "KNOWS", stage.sam)
    await stage.world.relation(stage.frodo, "KNOWS", bilbo)
    await stage.world.relation(gandalf, "KNOWS", far)
    inside = await stage.world.relation(stage.sam, "ALLY_OF", stage.frodo)
    context = await assemble_context(stage, await stage.scene())
    assert names_in(context) == ["Frodo", "Sam", "The Shire", "Gandalf", "Bilbo"]
    roles = [entity["role"] for entity in context["canonical"]["entities"]]
    assert roles == ["participant", "participant", "location", "related", "related"]
    relations = context["canonical"]["relations"]
    assert relations[0]["relationship_id"] == inside
    assert (relations[0]["from_name"], relations[0]["to_name"]) == ("Sam", "Frodo")
    assert len(relations) == 4


async def test_an_ended_relation_adds_nobody() -> None:
    stage = await a_stage()
    gandalf = await stage.world.entity("Gandalf")
    relation = await stage.world.relation(gandalf, "KNOWS", stage.frodo)
    await stage.world.call("neo4j_end_relationship", relationship_id=relation, reason="forgot")
    context = await assemble_context(stage, await stage.scene())
    assert "Gandalf" not in names_in(context)
    assert context["canonical"]["relations"] == []


async def test_retconned_and_superseded_items_are_left_out() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    await stage.world.fact("Frodo has the Ring", stage.frodo)
    wrong = await stage.world.fact("Frodo is a dwarf", stage.frodo)
    await stage.world.call("neo4j_retcon_fact", fact_id=wrong, reason="a slip")
    gone = EntityRetconned(entity_id=EntityId(stage.sam), replaced_by=None, reason="never was")
    await stage.write(gone)
    context = await assemble_context(stage, scene_id)
    assert names_in(context) == ["Frodo", "The Shire"]
    assert statements_in(context) == ["Frodo has the Ring"]


async def test_facts_rank_by_participants_and_recency_and_appear_once() -> None:
    stage = await a_stage()
    await stage.world.fact("The Shire is green", stage.shire)
    await stage.world.fact("Frodo is tired", stage.frodo)
    await stage.world.fact("Frodo is hungry", stage.frodo)
    await stage.world.fact("They are friends", stage.frodo, stage.sam)
    await stage.world.fact("they  are FRIENDS", stage.sam, stage.frodo)
    await stage.world.fact("Mordor is dark", await stage.world.entity("Mordor"))
    context = await assemble_context(stage, await stage.scene())
    assert statements_in(context) == [
        "they  are FRIENDS",
        "Frodo is hungry",
        "Frodo is tired",
        "The Shire is green",
    ]


async def test_a_dated_scene_shows_current_and_upcoming_facts() -> None:
    stage = await a_stage()
    early, late = "3001-09-22T00:00:00Z", "3018-09-23T00:00:00Z"
    await stage.world.fact("Bilbo has the Ring", stage.frodo, time_ref=early, duration=3600)
    await stage.world.fact("Frodo has the Ring", stage.frodo, time_ref=early)
    await stage.world.fact("Frodo leaves the Shire", stage.frodo, time_ref=late)
    scene = a_scene(
        space=SpaceId(stage.world.universe_id),
        story_id=StoryId(stage.story_id),
        participants=(EntityId(stage.frodo),),
        time_ref=parse_instant("3010-01-01T00:00:00Z"),
    )
    await stage.write(*creation_entries(scene))
    context = await assemble_context(stage, scene.id)
    assert statements_in(context) == ["Frodo has the Ring"]
    (thread,) = context["narrative"]["open_threads"]
    assert (thread["kind"], thread["text"]) == ("promised_fact", "Frodo leaves the Shire")


async def test_the_last_turns_appear_in_play_order_with_speaker_names() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    for n in range(25):
        await stage.turn(scene_id, f"turn {n}", speaker="entity", entity_id=stage.sam)
    context = await assemble_context(stage, scene_id)
    turns = context["narrative"]["prior_turns"]
    assert [turn["text"] for turn in turns] == [f"turn {n}" for n in range(5, 25)]
    assert {turn["entity_name"] for turn in turns} == {"Sam"}
    assert context["metadata"]["total_turns"] == 25


async def test_the_last_three_completed_scenes_appear_without_this_one() -> None:
    stage = await a_stage()
    for n in range(5):
        await stage.complete(await stage.scene(f"Scene {n}"), f"Summary {n}.")
    other = await stage.scene("Other", story_id=await stage.world.story("Another"))
    await stage.complete(other, "Elsewhere.")
    scene_id = await stage.scene("Now")
    reported = (await assemble_context(stage, scene_id))["narrative"]["previous_scenes"]
    assert [scene["summary"] for scene in reported] == ["Summary 2.", "Summary 3.", "Summary 4."]
    await stage.complete(scene_id, "It ended.")
    context = await assemble_context(stage, scene_id)
    assert context["narrative"]["scene_summary"] == "It ended."
    reported = context["narrative"]["previous_scenes"]
    assert [scene["title"] for scene in reported] == ["Scene 2", "Scene 3", "Scene 4"]


async def test_the_game_masters_notes_appear_here_or_null() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    assert (await assemble_context(stage, scene_id))["narrative"]["gm_notes"] is None
    await stage.world.call(
        "mongodb_update_scene", "Orchestrator", scene_id=scene_id, gm_notes="the butler"
    )
    assert (await assemble_context(stage, scene_id))["narrative"]["gm_notes"] == "the butler"


async def test_open_threads_are_undecided_proposals_and_events_without_effects() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    effect = await stage.world.event("The flight", stage.frodo)
    await stage.world.event("The warning", stage.frodo, causes_event_ids=[effect])
    proposal_id = await stage.propose(scene_id)
    decided = await stage.propose(scene_id)
    await stage.world.call("mongodb_evaluate_proposal", proposal_id=decided, decision="rejected")
    threads = (await assemble_context(stage, scene_id))["narrative"]["open_threads"]
    assert [(thread["kind"], thread["id"]) for thread in threads] == [
        ("unresolved_proposal", proposal_id),
        ("event_without_effect", effect),
    ]
    assert threads[0]["text"] == "fact: Frodo has the Ring"


async def test_a_thread_of_a_state_change_names_the_change() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    content = {"entity_id": stage.frodo, "add": ["tired"], "remove": ["cheerful"]}
    await stage.propose(scene_id, type="state_change", content=content)

    (thread,) = (await assemble_context(stage, scene_id))["narrative"]["open_threads"]

    assert thread["text"] == "state_change: tired, no longer cheerful"


async def test_unwanted_sections_stay_as_empty_keys() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    await stage.turn(scene_id, "a party")
    await stage.remember(stage.sam, "a party")
    await stage.world.call(
        "mongodb_update_scene", "Orchestrator", scene_id=scene_id, gm_notes="the butler"
    )
    context = await assemble_context(
        stage,
        scene_id,
        include_canonical=False,
        include_narrative=False,
        include_semantic=False,
    )
    assert context["canonical"] == NOTHING
    assert context["narrative"] == {
        "prior_turns": [],
        "scene_summary": None,
        "gm_notes": None,
        "previous_scenes": [],
        "open_threads": [],
    }
    assert context["recalled"] == {
        "similar_scenes": [],
        "character_memories": [],
        "rule_excerpts": [],
    }
    assert context["metadata"]["degraded"] == []
    assert context["metadata"]["tokens"]["used"] == 0


async def test_a_merged_participant_appears_as_its_survivor() -> None:
    stage = await a_stage()
    double = await stage.world.entity("Underhill")
    scene_id = await stage.scene(participating_entities=[double])
    await stage.world.fact("He stays at the inn", double)
    await stage.world.relation(double, "KNOWS", stage.sam)
    await stage.remember(double, "The inn was loud")
    await stage.world.call(
        "neo4j_merge_entities", kept_entity_id=stage.frodo, merged_entity_id=double, reason="same"
    )
    context = await assemble_context(stage, scene_id)
    found = [entity["entity_id"] for entity in context["canonical"]["entities"]]
    assert found == [stage.frodo, stage.shire, stage.sam]
    assert statements_in(context) == ["He stays at the inn"]
    (relation,) = context["canonical"]["relations"]
    assert (relation["from_entity_id"], relation["to_name"]) == (stage.frodo, "Sam")
    (memory,) = context["recalled"]["character_memories"]
    assert (memory["entity_id"], memory["text"]) == (stage.frodo, "The inn was loud")


async def test_the_same_canon_gives_the_same_context_and_nothing_is_written() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    for n in range(3):
        await stage.turn(scene_id, f"turn {n}")
        await stage.world.fact(f"fact {n}", stage.frodo, stage.sam)
        await stage.remember(stage.sam, f"turn {n}")
    before = await stage.world.heads()
    assert await assemble_context(stage, scene_id) == await assemble_context(stage, scene_id)
    assert await stage.world.heads() == before


async def test_a_scene_without_participants_has_a_context_too() -> None:
    stage = await a_stage()
    scene = a_scene(
        space=SpaceId(stage.world.universe_id), story_id=StoryId(stage.story_id), title="Empty"
    )
    await stage.write(*creation_entries(scene))
    context = await assemble_context(stage, SceneId(scene.id))
    assert context["canonical"] == NOTHING


async def test_canon_of_one_scene_appears_in_the_next() -> None:
    stage = await a_stage()
    before = await stage.scene("Before")
    turn_id = await stage.turn(before, "Frodo takes the Ring.")
    proposal_id = await stage.propose(before, turn_id=turn_id)
    reply = await stage.world.call("composite_canonize_scene", scene_id=before)
    assert reply["accepted_proposals"] == [proposal_id]
    context = await assemble_context(stage, await stage.scene("After"))
    assert statements_in(context) == ["Frodo has the Ring"]
    (reported,) = context["narrative"]["previous_scenes"]
    assert reported["scene_id"] == before
    assert reported["summary"]
    assert context["narrative"]["open_threads"] == []


def entities_by_name(context: dict[str, Any]) -> dict[str, Any]:
    return {entity["name"]: entity for entity in context["canonical"]["entities"]}


LONG_SHEET = {f"chapter_{n}": "The deeds of the hero were many. " * 40 for n in range(12)}


async def test_a_long_entity_summary_is_trimmed_and_others_appear_too() -> None:
    stage = await a_stage()
    ana = await stage.world.entity(
        "Ana", properties={**LONG_SHEET, "hp": 7}, state_tags=["wounded"], description="A queen."
    )
    scene_id = await stage.scene(participating_entities=[ana, stage.frodo, stage.sam])
    for n in range(20):
        await stage.turn(scene_id, f"Turn {n} of the council, in which they speak of the road.")

    context = await assemble_context(stage, scene_id)

    assert names_in(context) == ["Ana", "Frodo", "Sam", "The Shire"]
    result = entities_by_name(context)
    assert result["Ana"]["state_tags"] == ["wounded"]
    assert result["Ana"]["properties"]["hp"] == 7
    trimmed = result["Ana"]["trimmed"]
    assert trimmed["read_with"] == "neo4j_get_entity"
    assert trimmed["total_properties"] == 13 - len(result["Ana"]["properties"]) > 0
    assert set(trimmed["properties"]) == LONG_SHEET.keys() - result["Ana"]["properties"].keys()
    assert result["Frodo"]["trimmed"] is None
    assert result["Frodo"]["description"] == "This is Frodo."
    assert len(context["narrative"]["prior_turns"]) == 20
    assert context["metadata"]["tokens"]["used"] <= 4_000


async def test_one_very_long_turn_is_cut_and_the_others_stay() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    for n in range(5):
        await stage.turn(scene_id, f"turn {n}")
    await stage.turn(scene_id, "o " * 4_900)

    turns = (await assemble_context(stage, scene_id))["narrative"]["prior_turns"]

    assert [turn["text"] for turn in turns[:-1]] == [f"turn {n}" for n in range(5)]
    assert turns[-1]["text"].endswith("\u2026")


async def test_a_small_budget_still_names_everybody_with_state_and_place() -> None:
    stage = await a_stage(Policy(context=ContextLimits(tokens=400)))
    await stage.world.relation(stage.frodo, "LOCATED_IN", stage.shire)
    scene_id = await stage.scene()
    for n in range(20):
        await stage.world.fact(f"The hobbit knows the name of star number {n}", stage.frodo)
        await stage.turn(scene_id, f"turn {n} " * 40)

    context = await assemble_context(stage, scene_id)

    assert names_in(context)[:3] == ["Frodo", "Sam", "The Shire"]
    place = {"entity_id": stage.shire, "name": "The Shire"}
    assert entities_by_name(context)["Frodo"]["located_in"] == place
    assert context["canonical"]["facts"]
    assert context["narrative"]["prior_turns"]
    assert context["metadata"]["tokens"]["used"] <= 400


async def test_tags_and_places_are_those_of_the_scenes_story_time() -> None:
    stage = await a_stage()
    town = await stage.world.entity("The Town", entity_type="location")
    early, late = await stage.scene("Early", order=10), await stage.scene("Late", order=40)
    for scene_id, tag, place in ((late, "dead", town), (early, "wounded", stage.shire)):
        change = {"entity_id": stage.frodo, "add": [tag], "remove": []}
        await stage.propose(scene_id, type="state_change", content=change)
        move = {"from_entity_id": stage.frodo, "rel_type": "LOCATED_IN", "to_entity_id": place}
        await stage.propose(scene_id, type="relationship", content=move)
        await stage.world.call("composite_canonize_scene", scene_id=scene_id)
    between = await stage.scene("Between", order=20)
    after = await stage.scene("After", order=50)

    then = entities_by_name(await assemble_context(stage, between))["Frodo"]
    now = entities_by_name(await assemble_context(stage, after))["Frodo"]

    assert (then["state_tags"], then["located_in"]["name"]) == (["wounded"], "The Shire")
    assert ("dead" in now["state_tags"], now["located_in"]["name"]) == (True, "The Town")


async def test_an_expired_fact_is_left_out_of_an_undated_scene() -> None:
    stage = await a_stage()
    year = "1400-01-01T00:00:00Z"
    await stage.world.fact("The gate stands open", stage.frodo, time_ref=year, duration=60)

    assert statements_in(await assemble_context(stage, await stage.scene())) == []


async def test_recent_events_are_latest_first_without_future_ones() -> None:
    stage = await a_stage()
    for year in (1400, 1402, 1401):
        await stage.world.event(f"Fall {year}", stage.frodo, time_ref=f"{year}-01-01T00:00:00Z")
    scene_id = await stage.scene()
    reported = (await assemble_context(stage, scene_id))["canonical"]["events"]
    assert [event["title"] for event in reported] == ["Fall 1402", "Fall 1401", "Fall 1400"]

    await stage.world.call(
        "mongodb_update_scene", "Orchestrator", scene_id=scene_id, time_ref="1401-06-01T00:00:00Z"
    )

    reported = (await assemble_context(stage, scene_id))["canonical"]["events"]
    assert [event["title"] for event in reported] == ["Fall 1401", "Fall 1400"]
