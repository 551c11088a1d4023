"""Recall within a context: what resembles the scene, whose memories, and how much of it fits."""

import json
from dataclasses import replace

import pytest
from typing_extensions import override

from canonry.domain.entries import Made
from canonry.domain.errors import Unavailable
from canonry.domain.ids import SourceId, SpaceId
from canonry.domain.policy import ContextLimits, Policy
from canonry.gateway.call import Gateway
from canonry.ports.views.text import Found, Text, TextQuery
from canonry.testing.things import a_snippet, ident
from canonry.toolsets.narrative import NARRATIVE
from tests.toolsets.narrative.stage import (
    CONTEXT_TOOL,
    a_stage,
    assemble,
    names,
    statements,
)

pytestmark = pytest.mark.anyio


class SilentText(Text):
    """A text view that does not answer."""

    @override
    async def search(self, query: TextQuery) -> Found:
        raise Unavailable("text.unavailable", "the text view does not answer")


async def test_similar_scenes_come_from_this_universe_but_not_from_this_scene() -> None:
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
    context = await assemble(stage, here, semantic_query="dragon")
    (hit,) = context["recalled"]["similar_scenes"]
    assert hit["payload"]["scene_id"] == there
    assert hit["why"]["terms"] == ["dragon"]
    assert context["metadata"]["recall_query"] == "dragon"


async def test_a_summary_already_told_is_not_recalled_again() -> None:
    stage = await a_stage()
    await stage.complete(await stage.scene("Before"), "The dragon slept.")
    scene_id = await stage.scene("Now")
    context = await assemble(stage, scene_id, semantic_query="dragon")
    assert len(context["narrative"]["previous_scenes"]) == 1
    assert context["recalled"]["similar_scenes"] == []
    alone = await assemble(stage, scene_id, semantic_query="dragon", include_narrative=False)
    assert len(alone["recalled"]["similar_scenes"]) == 1


async def test_memories_are_those_of_the_participants_labelled_by_owner() -> None:
    stage = await a_stage()
    absent = await stage.world.entity("Boromir")
    await stage.world.relation(absent, "KNOWS", stage.frodo)
    await stage.remember(absent, "I want the Ring", importance=1.0)
    await stage.remember(stage.sam, "I promised not to leave him", importance=0.9)
    await stage.remember(stage.frodo, "The Ring is heavy", importance=0.1)
    context = await assemble(stage, await stage.scene(), semantic_query="ring")
    memories = context["recalled"]["character_memories"]
    assert {(m["entity_name"], m["entity_id"], m["text"]) for m in memories} == {
        ("Frodo", stage.frodo, "The Ring is heavy"),
        ("Sam", stage.sam, "I promised not to leave him"),
    }
    assert "Boromir" in names(context)
    assert "I want the Ring" not in json.dumps(context)


async def test_rules_are_recalled_from_sources_of_the_universe() -> None:
    stage = await a_stage()
    snippet = a_snippet(
        space=SpaceId(stage.world.universe_id),
        source_id=SourceId(stage.world.source_id),
        text="A grappled creature cannot move.",
    )
    await stage.write(Made(thing=snippet))
    context = await assemble(stage, await stage.scene(), semantic_query="grappled")
    (hit,) = context["recalled"]["rule_excerpts"]
    assert (hit["id"], hit["payload"]["doc_id"]) == (ident("snippet"), "book-1")


async def test_the_last_turns_ask_where_no_query_is_given() -> None:
    stage = await a_stage()
    await stage.turn(await stage.scene("There"), "the dragon sleeps")
    here = await stage.scene("Here")
    await stage.turn(here, "Is that a dragon?")
    (hit,) = (await assemble(stage, here))["recalled"]["similar_scenes"]
    assert hit["text"] == "the dragon sleeps"


async def test_without_a_text_view_memories_come_by_importance_and_the_reply_says_so() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    await stage.remember(stage.sam, "small", importance=0.1)
    await stage.remember(stage.sam, "great", importance=0.9)
    canon = replace(stage.world.canon, text=SilentText())
    stage.world.gateway = Gateway(canon, (NARRATIVE,))
    context = await assemble(stage, scene_id, semantic_query="small")
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
    context = await assemble(stage, scene_id)
    metadata = context["metadata"]
    assert metadata["tokens"]["used"] <= 300
    turns = [turn["text"] for turn in context["narrative"]["prior_turns"]]
    assert turns == [f"turn {n}" for n in range(10)][-len(turns) :]
    assert statements(context) == [f"fact {9 - n}" for n in range(len(statements(context)))]
    assert metadata["omitted"]["prior_turns"] == 10 - len(turns)
    assert metadata["omitted"]["facts"] == 10 - len(statements(context))
    assert names(context)[0] == "Frodo"


async def test_a_semantic_query_says_something() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    for query in ("", "x" * 1_001):
        data = await stage.world.refused(
            CONTEXT_TOOL, "ContextAssembly", code=-32003, scene_id=scene_id, semantic_query=query
        )
        assert data["path"] == "/semantic_query"


async def test_the_tokens_told_are_about_those_of_the_reply() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    await stage.turn(await stage.scene("Before"), "The road was long")
    for n in range(10):
        await stage.turn(scene_id, f"turn {n} on the road", speaker="entity", entity_id=stage.sam)
        await stage.world.fact(f"the road has {n} bends", stage.frodo, stage.shire)
        await stage.remember(stage.sam, f"the road was long on day {n}")
        await stage.propose(scene_id)
    context = await assemble(stage, scene_id)
    used = context.pop("metadata")["tokens"]["used"]
    assert 0.9 < used / (len(json.dumps(context)) / 4) < 1.25
