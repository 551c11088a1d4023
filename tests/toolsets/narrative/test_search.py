"""Search: passages by their words, with the reason, within what the caller may read."""

from pathlib import Path
from typing import Any

import pytest

from canonry.gateway.call import Gateway
from canonry.narrative.toolset import NARRATIVE
from canonry.readmodels.ports.text import Purpose
from canonry.recall.embedders import HashingEmbedder, OnnxEmbedder
from canonry.recall.usecases.search_by_meaning import Engines, Recall, RecallServices
from canonry.recall.vectors import FolderVectors
from canonry.testing.example_items import a_snippet, creation_entries, uuid_of
from canonry.values.ids import SourceId, SpaceId
from canonry.values.policy import Policy
from tests.toolsets.narrative.kit import NOWHERE
from tests.toolsets.narrative.stage import Stage, a_stage

pytestmark = pytest.mark.anyio


async def search_texts(
    stage: Stage, text: str, collection: str = "scene_chunks", agent: str = "Narrator", **more: Any
) -> list[dict[str, Any]]:
    reply = await stage.world.call(
        "qdrant_semantic_search", agent, query_text=text, collection=collection, **more
    )
    assert reply["degraded"] == ["vectors"]
    return list(reply["results"])


async def a_rule(stage: Stage, text: str, name: str = "snippet") -> str:
    snippet = a_snippet(
        name,
        space=SpaceId(stage.world.universe_id),
        source_id=SourceId(stage.world.source_id),
        text=text,
        page=7,
        section="Combat",
    )
    await stage.write(*creation_entries(snippet))
    return str(uuid_of(name))


async def test_a_turn_is_found_by_its_words_with_its_origin() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    await stage.turn(scene_id, "Nothing to see")
    turn_id = await stage.turn(scene_id, "The dragon sleeps", speaker="entity", entity_id=stage.sam)
    (short,) = await search_texts(stage, "a DRAGON")
    (hit,) = await search_texts(stage, "a DRAGON", detail=True)
    assert short == {name: value for name, value in hit.items() if name != "why"}
    assert hit["id"] == turn_id
    assert hit["text"] == "The dragon sleeps"
    assert 0 < hit["score"] <= 1
    assert (hit["why"]["by"], hit["why"]["terms"]) == ("keywords", ["dragon"])
    parts = hit["why"]["parts"]
    assert parts["keywords"] == sum(parts.values()) > 0
    assert hit["evidence_ref"] == f"turn:{turn_id}"
    assert hit["payload"]["turn_index"] == 1
    assert hit["payload"]["type"] == "turn"
    assert hit["payload"]["scene_id"] == scene_id
    assert hit["payload"]["story_id"] == stage.story_id
    assert hit["payload"]["universe_id"] == stage.world.universe_id
    assert hit["payload"]["entity_ids"] == [stage.sam]


async def test_speakers_are_named_including_the_game_master() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    await stage.turn(scene_id, "The dragon wakes")
    await stage.turn(scene_id, "A dragon!", speaker="user")
    await stage.turn(scene_id, "The dragon sleeps", speaker="entity", entity_id=stage.sam)

    hits = await search_texts(stage, "dragon")

    by_index = {hit["payload"]["turn_index"]: hit["payload"]["speaker"] for hit in hits}
    assert by_index[0] == "game master"
    assert by_index[1] == "user"
    assert by_index[2].startswith("Sam")


async def test_the_summary_of_a_completed_scene_is_found() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    await stage.complete(scene_id, "They left for Rivendell.")
    (hit,) = await search_texts(stage, "rivendell")
    assert (hit["id"], hit["payload"]["type"]) == (scene_id, "scene_summary")


async def test_a_rule_is_found_with_its_page() -> None:
    stage = await a_stage()
    snippet_id = await a_rule(stage, "A grappled creature cannot move.")
    (hit,) = await search_texts(stage, "grappled", "snippet_chunks")
    assert hit["payload"] == {
        "type": "snippet",
        "universe_id": stage.world.universe_id,
        "timestamp": hit["payload"]["timestamp"],
        "snippet_id": snippet_id,
        "source_id": stage.world.source_id,
        "doc_id": "book-1",
        "source_title": "The First Book",
        "page": 7,
        "section": "Combat",
        "said_at": None,
        "in_world": None,
    }


async def test_filters_narrow_a_search() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    await stage.turn(scene_id, "dragon!", speaker="entity", entity_id=stage.sam)
    await stage.turn(scene_id, "dragon?", speaker="entity", entity_id=stage.frodo)
    await a_rule(stage, "A dragon flies.")
    other = await stage.world.another_universe()
    for filters, count in (
        ({}, 2),
        ({"universe_id": stage.world.universe_id}, 2),
        ({"universe_id": other.universe_id}, 0),
        ({"entity_id": stage.sam}, 1),
    ):
        assert len(await search_texts(stage, "dragon", filters=filters)) == count
    for source_id, count in ((stage.world.source_id, 1), (other.source_id, 0)):
        hits = await search_texts(
            stage, "dragon", "snippet_chunks", filters={"source_id": source_id}
        )
        assert len(hits) == count


async def test_an_unsupported_filter_is_refused_with_its_path() -> None:
    stage = await a_stage()
    for collection, name in (
        ("scene_chunks", "source_id"),
        ("memory_chunks", "source_id"),
        ("snippet_chunks", "entity_id"),
    ):
        data = await stage.world.refused(
            "qdrant_semantic_search",
            "MemoryManager",
            code=-32003,
            query_text="x",
            collection=collection,
            filters={name: NOWHERE},
        )
        assert data["path"] == f"/filters/{name}"


async def test_a_filter_by_a_missing_item_is_refused() -> None:
    stage = await a_stage()
    for collection, name in (
        ("scene_chunks", "universe_id"),
        ("scene_chunks", "entity_id"),
        ("snippet_chunks", "source_id"),
    ):
        await stage.world.refused(
            "qdrant_semantic_search",
            code=-32002,
            query_text="x",
            collection=collection,
            filters={name: NOWHERE},
        )


async def test_the_best_come_first_and_weak_ones_can_be_excluded() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    for text in ("dragon", "dragon fire gold", "a long tale of fire and of many other things"):
        await stage.turn(scene_id, text)
    hits = await search_texts(stage, "dragon fire gold")
    scores = [hit["score"] for hit in hits]
    assert hits[0]["text"] == "dragon fire gold"
    assert scores == sorted(scores, reverse=True)
    assert [h["score"] for h in await search_texts(stage, "dragon fire gold", limit=2)] == scores[
        :2
    ]
    strong = await search_texts(stage, "dragon fire gold", min_score=scores[0])
    assert [hit["score"] for hit in strong] == [s for s in scores if s >= scores[0]]


async def test_memories_are_searched_only_by_memory_roles() -> None:
    stage = await a_stage()
    await stage.remember(stage.sam, "I peeled potatoes")
    for agent in ("MemoryManager", "ContextAssembly"):
        (hit,) = await search_texts(stage, "potatoes", "memory_chunks", agent)
        assert hit["payload"]["entity_id"] == stage.sam
        assert hit["payload"]["memory_id"] == hit["id"]
    for agent in ("Orchestrator", "CanonKeeper", "Narrator", "Resolver", "Indexer"):
        data = await stage.world.refused(
            "qdrant_semantic_search",
            agent,
            code=-32001,
            query_text="potatoes",
            collection="memory_chunks",
        )
        assert data["agent_type"] == agent
        assert data["allowed_types"] == ["ContextAssembly", "MemoryManager"]


async def test_the_policy_may_open_memories_to_every_role() -> None:
    stage = await a_stage(Policy(memories_open=True))
    await stage.remember(stage.sam, "I peeled potatoes")
    assert len(await search_texts(stage, "potatoes", "memory_chunks", "Narrator")) == 1


async def test_nothing_is_found_in_invisible_spaces() -> None:
    stage = await a_stage()
    await stage.turn(await stage.scene(), "dragon")
    stage.world.spaces = frozenset()
    assert await search_texts(stage, "dragon") == []
    await stage.world.refused(
        "qdrant_semantic_search",
        code=-32002,
        query_text="dragon",
        collection="scene_chunks",
        filters={"universe_id": stage.world.universe_id},
    )


@pytest.mark.parametrize("text", ['"', "AND OR NOT", "a* -b", "(((", "\\", "%", "🐉", "''; --"])
async def test_query_text_is_always_plain_words(text: str) -> None:
    stage = await a_stage()
    await stage.turn(await stage.scene(), "dragon")
    assert await search_texts(stage, text) == []


async def test_a_query_is_not_empty_and_limits_are_bounded() -> None:
    stage = await a_stage()
    for wrong, path in (
        ({"query_text": " "}, "/query_text"),
        ({"limit": 0}, "/limit"),
        ({"limit": 101}, "/limit"),
        ({"min_score": 2}, "/min_score"),
    ):
        arguments: dict[str, Any] = {"query_text": "x", "collection": "scene_chunks"}
        arguments |= wrong
        data = await stage.world.refused("qdrant_semantic_search", code=-32003, **arguments)
        assert data["path"] == path


async def test_similar_meaning_is_found_and_marked(tmp_path: Path) -> None:
    stage = await a_stage()
    turn_id = await stage.turn(await stage.scene(), "The dragon sleeps")
    await stage.remember(stage.sam, "The dragon sleeps")
    canon = stage.world.canon
    embedder = HashingEmbedder()
    recall = Recall(
        Engines(embedder=lambda _: embedder, vectors=lambda: FolderVectors(tmp_path)),
        ledger=canon.ledger,
        state=canon.state,
        documents=canon.documents,
        clock=canon.clock,
    )
    stage.world.gateway = Gateway(canon.revise_service(RecallServices, recall=recall), (NARRATIVE,))
    found = await stage.world.call(
        "qdrant_semantic_search",
        "Narrator",
        query_text="the dragon sleeps",
        collection="scene_chunks",
        detail=True,
    )
    kept = await stage.world.call(
        "mongodb_retrieve_character_memories",
        "MemoryManager",
        entity_id=stage.sam,
        semantic_query="the dragon sleeps",
    )
    await recall.close()
    (hit,) = [hit for hit in found["results"] if hit["id"] == turn_id]
    assert found["degraded"] == []
    assert hit["why"]["by"] == "both"
    assert hit["why"]["similarity"] > 0
    assert hit["why"]["parts"]["meaning"] > 0
    assert (kept["metadata"]["meaning"], kept["metadata"]["degraded"]) == ("both", [])


async def test_a_passage_names_its_position_and_citation() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    await stage.turn(scene_id, "the dragon sleeps")
    turn_id = await stage.turn(scene_id, "the dragon wakes")
    await stage.remember(stage.sam, "the dragon wakes")
    rule_id = await a_rule(stage, "A dragon wakes at night.")
    (turn, _) = await search_texts(stage, "wakes dragon")
    (memory,) = await search_texts(stage, "wakes", "memory_chunks", "MemoryManager")
    (rule,) = await search_texts(stage, "wakes", "snippet_chunks")
    assert (turn["id"], turn["evidence_ref"]) == (turn_id, f"turn:{turn_id}")
    assert (turn["payload"]["scene_id"], turn["payload"]["turn_index"]) == (scene_id, 1)
    assert rule["evidence_ref"] == f"snippet:{rule_id}"
    assert memory["evidence_ref"] is None


SAID = (
    "The dragon sleeps beneath the mountain on a bed of stolen gold.",
    "We should buy three barrels of salted fish before winter.",
    "My grandmother taught me to mend nets when I was six.",
    "A caravan of silk merchants leaves for the coast at dawn.",
)


@pytest.mark.parametrize("meaning", [True, False])
async def test_a_verbatim_match_scores_high_and_unrelated_text_low(
    meaning: bool, tmp_path: Path
) -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    turns = [await stage.turn(scene_id, text) for text in SAID]
    canon, embedder = stage.world.canon, OnnxEmbedder()
    recall = Recall(
        Engines(embedder=lambda _: embedder, vectors=lambda: FolderVectors(tmp_path)),
        ledger=canon.ledger,
        state=canon.state,
        documents=canon.documents,
        clock=canon.clock,
    )
    if meaning:
        await embedder.embed(SAID, Purpose.PASSAGE)  # opens the model, which no search waits for
        stage.world.gateway = Gateway(
            canon.revise_service(RecallServices, recall=recall), (NARRATIVE,)
        )

    async def asked(text: str, **more: Any) -> dict[str, float]:
        found = await stage.world.call(
            "qdrant_semantic_search",
            "Narrator",
            query_text=text,
            collection="scene_chunks",
            **more,
        )
        assert found["degraded"] == ([] if meaning else ["vectors"])
        return {hit["id"]: hit["score"] for hit in found["results"]}

    for turn, text in zip(turns, SAID, strict=True):
        scores = await asked(text)
        assert scores.pop(turn) >= 0.95
        assert all(score < 0.3 for score in scores.values()), scores
        assert [*await asked(text, min_score=0.9)] == [turn]
    strange = await asked("quantum chromodynamics on a lattice of supercomputers")
    assert all(score < 0.3 for score in strange.values())
