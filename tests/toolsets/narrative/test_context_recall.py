"""Recall within a context: what resembles the scene, whose memories, and how much of it fits."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from typing_extensions import override

from canonry.gateway.call import Gateway
from canonry.log.entries import FactSuperseded
from canonry.narrative.toolset import NARRATIVE
from canonry.readmodels.ports.text import Hit, TextFound, TextQuery
from canonry.recall.embedders import HashingEmbedder
from canonry.recall.usecases.search_by_meaning import Engines, Recall, RecallServices
from canonry.recall.vectors import FolderVectors
from canonry.stores.memory import MemoryStore, MemoryText
from canonry.testing.example_items import a_snippet, creation_entries, uuid_of
from canonry.values.errors import Unavailable
from canonry.values.ids import FactId, SourceId, SpaceId
from canonry.values.policy import ContextLimits, Policy
from tests.toolsets.narrative.stage import (
    CONTEXT_TOOL,
    Stage,
    a_stage,
    assemble_context,
    names_in,
    stage_world,
    statements_in,
)

pytestmark = pytest.mark.anyio


class SilentText(MemoryText):
    """A text view that does not answer."""

    @override
    async def search(self, query: TextQuery) -> TextFound:
        raise Unavailable("text.unavailable", "the text view does not answer")

    @override
    async def hits_of_items(self, ids: Iterable[str], query: TextQuery) -> Sequence[Hit]:
        raise Unavailable("text.unavailable", "the text view does not answer")


async def test_similar_scenes_come_from_this_universe_and_not_this_scene() -> None:
    stage = await a_stage()
    there = await stage.scene("There")
    await stage.turn(there, "the dragon sleeps")
    here = await stage.scene("Here")
    await stage.turn(here, "the dragon wakes")
    other = await stage.world.another_universe()
    far = await other.story()
    foreign = await other.call(
        "mongodb_create_scene",
        "Orchestrator",
        story_id=far,
        universe_id=other.universe_id,
        title="Far",
        participating_entities=[],
    )
    await stage.turn(foreign["scene_id"], "a dragon elsewhere")
    context = await assemble_context(stage, here, semantic_query="dragon")
    (hit,) = context["recalled"]["similar_scenes"]
    assert hit["payload"]["scene_id"] == there
    assert hit["why"]["terms"] == ["dragon"]
    assert context["metadata"]["recall_query"] == "dragon"


async def test_a_summary_already_present_is_not_recalled_again() -> None:
    stage = await a_stage()
    await stage.complete(await stage.scene("Before"), "The dragon slept.")
    scene_id = await stage.scene("Now")
    context = await assemble_context(stage, scene_id, semantic_query="dragon")
    assert len(context["narrative"]["previous_scenes"]) == 1
    assert context["recalled"]["similar_scenes"] == []
    alone = await assemble_context(
        stage, scene_id, semantic_query="dragon", include_narrative=False
    )
    assert len(alone["recalled"]["similar_scenes"]) == 1


async def test_memories_belong_to_participants_labelled_by_owner() -> None:
    stage = await a_stage()
    absent = await stage.world.entity("Boromir")
    await stage.world.relation(absent, "KNOWS", stage.frodo)
    await stage.remember(absent, "I want the Ring", importance=1.0)
    await stage.remember(stage.sam, "I promised not to leave him", importance=0.9)
    await stage.remember(stage.frodo, "The Ring is heavy", importance=0.1)
    context = await assemble_context(stage, await stage.scene(), semantic_query="ring")
    memories = context["recalled"]["character_memories"]
    assert {(m["entity_name"], m["entity_id"], m["text"]) for m in memories} == {
        ("Frodo", stage.frodo, "The Ring is heavy"),
        ("Sam", stage.sam, "I promised not to leave him"),
    }
    assert "Boromir" in names_in(context)
    assert "I want the Ring" not in json.dumps(context)


async def test_rules_are_recalled_from_sources_of_the_universe() -> None:
    stage = await a_stage()
    snippet = a_snippet(
        space=SpaceId(stage.world.universe_id),
        source_id=SourceId(stage.world.source_id),
        text="A grappled creature cannot move.",
    )
    await stage.write(*creation_entries(snippet))
    context = await assemble_context(stage, await stage.scene(), semantic_query="grappled")
    (hit,) = context["recalled"]["rule_excerpts"]
    assert (hit["id"], hit["payload"]["doc_id"]) == (uuid_of("snippet"), "book-1")


async def a_play(stage: Stage) -> dict[str, str]:
    """Something for every section of a context, and the id of each by what it is."""
    world, frodo, sam = stage.world, stage.frodo, stage.sam
    there, here = await stage.scene("There"), await stage.scene("Here")
    snippet = a_snippet(
        f"rule of {world.universe_id}",
        space=SpaceId(world.universe_id),
        source_id=SourceId(world.source_id),
        text="Whoever opens a gate is seen.",
    )
    await stage.write(*creation_entries(snippet))
    await stage.complete(await stage.scene("Before"), "They rested.")
    return {
        "frodo": frodo,
        "sam": sam,
        "place": stage.shire,
        "fact": await world.fact("A dragon guards the gate", frodo),
        "event": await world.event("The gate fell", frodo),
        "relation": await world.relation(frodo, "KNOWS", sam),
        "similar turn": await stage.turn(there, "The dragon sleeps at the gate"),
        "prior turn": await stage.turn(here, "A gate!"),
        "memory": await stage.remember(sam, "I have seen a dragon"),
        "proposal": await stage.propose(here),
        "axiom": await stage.write_axiom("A gate opens to gold"),
        "snippet": snippet.id,
        "scene": here,
    }


async def test_every_section_contains_only_this_universe() -> None:
    stage = await a_stage()
    mine = await a_play(stage)
    foreign = await a_play(await stage_world(await stage.world.another_universe()))

    context = await assemble_context(stage, mine["scene"], semantic_query="the dragon and the gate")

    result = json.dumps(context)
    assert [what for what, item_id in mine.items() if item_id not in result] == []
    assert [what for what, item_id in foreign.items() if item_id in result] == []
    cited = [hit["evidence_ref"] for hit in context["recalled"]["rule_excerpts"]]
    assert set(cited) == {f"rule:{mine['axiom']}", f"snippet:{mine['snippet']}"}


async def test_with_meaning_the_same_canon_gives_the_same_context_too(tmp_path: Path) -> None:
    stage = await a_stage()
    mine = await a_play(stage)
    await a_play(await stage_world(await stage.world.another_universe()))
    canon, embedder = stage.world.canon, HashingEmbedder()
    recall = Recall(
        Engines(embedder=lambda _: embedder, vectors=lambda: FolderVectors(tmp_path)),
        ledger=canon.ledger,
        state=canon.state,
        documents=canon.documents,
        clock=canon.clock,
    )
    stage.world.gateway = Gateway(canon.revise_service(RecallServices, recall=recall), (NARRATIVE,))

    contexts = [await assemble_context(stage, mine["scene"]) for _ in range(3)]
    await recall.close()

    assert contexts[0] == contexts[1] == contexts[2]
    assert contexts[0]["metadata"]["degraded"] == []
    recalled = contexts[0]["recalled"]
    hits = [*recalled["similar_scenes"], *recalled["rule_excerpts"]]
    assert {hit["payload"]["universe_id"] for hit in hits} == {stage.world.universe_id}


async def test_equal_passages_are_recalled_once() -> None:
    stage = await a_stage()
    for title in ("One", "Two"):
        await stage.turn(await stage.scene(title), f"The  DRAGON {'sleeps' * (title == 'Two')}")
        await stage.turn(await stage.scene(title), "the dragon wakes")
        await stage.remember(stage.sam, "The dragon wakes")
        await stage.remember(stage.frodo, "The dragon wakes")
        await stage.write_axiom("A dragon  wakes" if title == "One" else "a DRAGON wakes")
    recalled = (await assemble_context(stage, await stage.scene(), semantic_query="dragon"))[
        "recalled"
    ]
    found = [hit["text"] for hit in recalled["similar_scenes"]]
    assert sorted(found) == ["The  DRAGON ", "The  DRAGON sleeps", "the dragon wakes"]
    assert {m["entity_name"] for m in recalled["character_memories"]} == {"Frodo", "Sam"}
    assert len(recalled["character_memories"]) == 2
    assert len(recalled["rule_excerpts"]) == 1


async def test_laws_of_the_world_are_rules_and_cited_as_such() -> None:
    stage = await a_stage()
    other = await stage.world.another_universe()
    laws = [
        await stage.write_axiom("The grappled cannot cast"),
        await stage.write_axiom("Grappled giants fall", space=other.universe_id),
    ]
    context = await assemble_context(stage, await stage.scene(), semantic_query="grappled")
    (hit,) = context["recalled"]["rule_excerpts"]
    assert (hit["id"], hit["evidence_ref"]) == (laws[0], f"rule:{laws[0]}")
    assert hit["payload"]["type"] == "axiom"


async def test_a_fact_similar_to_the_scene_ranks_one_participant_higher() -> None:
    stage = await a_stage()
    far = await stage.world.entity("Mordor")
    await stage.world.fact("The gate of Mordor is shut", far)
    await stage.world.fact("Mordor is dry", far)
    await stage.world.fact("They hold a silver key", stage.frodo)
    await stage.world.fact("They are friends", stage.frodo, stage.sam)
    await stage.world.fact("Frodo is hungry", stage.frodo)
    other = await stage.world.another_universe()
    await other.fact("A silver key to a gate elsewhere", await other.entity("Zed"))
    scene_id = await stage.scene()

    context = await assemble_context(stage, scene_id, semantic_query="the gate and the silver key")

    assert statements_in(context) == [
        "They are friends",
        "They hold a silver key",
        "Frodo is hungry",
        "The gate of Mordor is shut",
    ]
    alone = await assemble_context(stage, scene_id, include_semantic=False)
    assert "The gate of Mordor is shut" not in statements_in(alone)


async def test_a_fact_similar_to_the_scene_appears_only_if_it_holds_there() -> None:
    stage = await a_stage()
    far = await stage.world.entity("Mordor")
    wrong = await stage.world.fact("The gate is open", far)
    old = await stage.world.fact("The gate is guarded", far)
    new = await stage.world.fact("The gate is shut", far)
    await stage.world.call("neo4j_retcon_fact", fact_id=wrong, reason="a slip")
    await stage.write(
        FactSuperseded(fact_id=FactId(old), until=None, superseded_by=FactId(new)),
    )
    context = await assemble_context(stage, await stage.scene(), semantic_query="gate")
    assert statements_in(context) == ["The gate is shut"]


async def test_the_last_turns_are_the_query_if_none_is_given() -> None:
    stage = await a_stage()
    await stage.turn(await stage.scene("There"), "the dragon sleeps")
    here = await stage.scene("Here")
    await stage.turn(here, "Is that a dragon?")
    (hit,) = (await assemble_context(stage, here))["recalled"]["similar_scenes"]
    assert hit["text"] == "the dragon sleeps"


async def test_without_a_text_view_memories_rank_by_importance_with_a_note() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    await stage.remember(stage.sam, "small", importance=0.1)
    await stage.remember(stage.sam, "great", importance=0.9)
    canon = replace(stage.world.canon, text=SilentText(MemoryStore()))
    stage.world.gateway = Gateway(canon, (NARRATIVE,))
    context = await assemble_context(stage, scene_id, semantic_query="small")
    assert context["metadata"]["degraded"] == ["vectors", "text"]
    assert context["recalled"]["similar_scenes"] == []
    texts = [memory["text"] for memory in context["recalled"]["character_memories"]]
    assert texts == ["great", "small"]


async def test_a_small_budget_keeps_the_best_of_each_section_and_counts_the_rest() -> None:
    stage = await a_stage(Policy(context=ContextLimits(tokens=300)))
    scene_id = await stage.scene()
    for n in range(10):
        await stage.turn(scene_id, f"turn {n}")
        await stage.world.fact(f"fact {n}", stage.frodo)
    context = await assemble_context(stage, scene_id)
    metadata = context["metadata"]
    assert metadata["tokens"]["used"] <= 300
    turns = [turn["text"] for turn in context["narrative"]["prior_turns"]]
    assert turns == [f"turn {n}" for n in range(10)][-len(turns) :]
    assert statements_in(context) == [f"fact {9 - n}" for n in range(len(statements_in(context)))]
    assert metadata["omitted"]["prior_turns"] == 10 - len(turns)
    assert metadata["omitted"]["facts"] == 10 - len(statements_in(context))
    assert names_in(context)[0] == "Frodo"


async def test_a_semantic_query_is_not_empty() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    asked = {"scene_id": scene_id, "semantic_query": ""}
    data = await stage.world.refused(CONTEXT_TOOL, "ContextAssembly", code=-32003, **asked)
    assert data["path"] == "/semantic_query"


async def test_the_reported_tokens_match_the_reply() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    await stage.turn(await stage.scene("Before"), "The road was long")
    for n in range(10):
        await stage.turn(scene_id, f"turn {n} on the road", speaker="entity", entity_id=stage.sam)
        await stage.world.fact(f"the road has {n} bends", stage.frodo, stage.shire)
        await stage.remember(stage.sam, f"the road was long on day {n}")
        await stage.propose(scene_id)
    context = await assemble_context(stage, scene_id)
    used = context.pop("metadata")["tokens"]["used"]
    assert 0.9 < used / (len(json.dumps(context)) / 4) < 1.25
