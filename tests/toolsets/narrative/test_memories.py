"""Memories: a character's own, recalled by importance or by a formula, without a trace."""

from typing import Any

import pytest

from canonry.values.moments import DAY
from tests.toolsets.narrative.kit import NOWHERE
from tests.toolsets.narrative.stage import Stage, a_stage

pytestmark = pytest.mark.anyio


async def recall_memories(stage: Stage, entity_id: str, **more: Any) -> dict[str, Any]:
    return await stage.world.call(
        "mongodb_retrieve_character_memories", "ContextAssembly", entity_id=entity_id, **more
    )


async def recalled_texts(stage: Stage, entity_id: str, **more: Any) -> list[str]:
    return [each["text"] for each in (await recall_memories(stage, entity_id, **more))["memories"]]


async def refuse_memory(stage: Stage, code: int, **wrong: Any) -> dict[str, Any]:
    arguments = {
        "entity_id": stage.frodo,
        "text": "x",
        "emotional_valence": 0.0,
        "importance": 0.5,
        "certainty": 1.0,
        **wrong,
    }
    return await stage.world.refused(
        "mongodb_create_character_memory", "MemoryManager", code=code, **arguments
    )


async def test_a_memory_is_returned_with_all_its_members() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    fact_id = await stage.world.fact("The Ring is evil", stage.frodo)
    memory_id = await stage.remember(
        stage.frodo,
        "The Ring is mine.",
        linked_fact_id=fact_id,
        scene_id=scene_id,
        emotional_valence=-0.5,
        importance=0.9,
        certainty=0.25,
    )
    (memory,) = (await recall_memories(stage, stage.frodo))["memories"]
    assert memory["memory_id"] == memory_id
    assert (memory["linked_fact_id"], memory["scene_id"]) == (fact_id, scene_id)
    assert (memory["emotional_valence"], memory["importance"]) == (-0.5, 0.9)
    assert (memory["certainty"], memory["score"]) == (0.25, None)


async def test_the_most_important_memory_comes_first_then_the_newest() -> None:
    stage = await a_stage()
    for text, importance in (("old", 0.5), ("great", 0.9), ("small", 0.1), ("new", 0.5)):
        await stage.remember(stage.frodo, text, importance=importance)
        stage.world.clock.move_by(DAY)
    assert await recalled_texts(stage, stage.frodo) == ["great", "new", "old", "small"]


async def test_a_limit_takes_a_prefix_and_the_total_counts_before_it() -> None:
    stage = await a_stage()
    for n in range(5):
        await stage.remember(stage.frodo, f"memory {n} of the party", importance=n / 5)
    for query in ({}, {"semantic_query": "party"}):
        every = await recalled_texts(stage, stage.frodo, **query)
        found = await recall_memories(stage, stage.frodo, limit=2, **query)
        assert [each["text"] for each in found["memories"]] == every[:2]
        assert found["total"] == 5
    found = await recall_memories(stage, stage.frodo, min_importance=0.5)
    assert found["total"] == 2


async def test_a_query_weighs_meaning_importance_and_recency() -> None:
    stage = await a_stage()
    await stage.remember(stage.frodo, "The sword was broken", importance=0.5)
    await stage.remember(stage.frodo, "Breakfast was late", importance=0.6)
    await stage.remember(stage.frodo, "Gandalf fell", importance=1.0)
    found = await recall_memories(stage, stage.frodo, semantic_query="a broken sword")
    texts = [each["text"] for each in found["memories"]]
    assert texts[0] == "The sword was broken"
    assert texts[1:] == ["Gandalf fell", "Breakfast was late"]
    scores = [each["score"] for each in found["memories"]]
    assert scores == sorted(scores, reverse=True)
    assert scores[1] == pytest.approx(0.3 * 1.0 + 0.3 * 1.0)
    assert found["metadata"]["meaning"] == "keywords"
    assert found["metadata"]["degraded"] == ["vectors"]


async def test_recency_halves_a_memory_after_thirty_days() -> None:
    stage = await a_stage()
    await stage.remember(stage.frodo, "Gandalf fell", importance=0.0)
    stage.world.clock.move_by(30 * DAY)
    await stage.remember(stage.frodo, "The road is long", importance=0.0)
    new, old = (await recall_memories(stage, stage.frodo, semantic_query="nothing"))["memories"]
    assert new["score"] == pytest.approx(0.3)
    assert old["score"] == pytest.approx(0.3 * 0.5)


async def test_recalling_writes_nothing_and_does_not_change_the_order() -> None:
    stage = await a_stage()
    await stage.remember(stage.frodo, "one")
    await stage.remember(stage.frodo, "two")
    before = await stage.world.heads()
    first = await recall_memories(stage, stage.frodo, semantic_query="two")
    assert await recall_memories(stage, stage.frodo, semantic_query="two") == first
    assert await stage.world.heads() == before


async def test_a_character_recalls_only_own_memories() -> None:
    stage = await a_stage()
    await stage.remember(stage.frodo, "My secret party")
    await stage.remember(stage.sam, "My own secret party")
    for query in ({}, {"semantic_query": "secret party"}):
        assert await recalled_texts(stage, stage.sam, **query) == ["My own secret party"]


async def test_a_merged_character_recalls_memories_of_both() -> None:
    stage = await a_stage()
    double = await stage.world.entity("Underhill")
    await stage.remember(double, "I was at the inn", importance=0.4)
    await stage.remember(stage.frodo, "I was at home", importance=0.8)
    await stage.world.call(
        "neo4j_merge_entities", kept_entity_id=stage.frodo, merged_entity_id=double, reason="same"
    )
    for query in ({}, {"semantic_query": "inn home"}):
        for entity_id in (double, stage.frodo):
            found = await recalled_texts(stage, entity_id, **query)
            assert sorted(found) == ["I was at home", "I was at the inn"]


async def test_the_same_text_twice_is_two_memories() -> None:
    stage = await a_stage()
    assert await stage.remember(stage.frodo, "again") != await stage.remember(stage.frodo, "again")
    assert await recalled_texts(stage, stage.frodo) == ["again", "again"]


async def test_a_memory_belongs_to_an_instance_and_links_in_its_universe() -> None:
    stage = await a_stage()
    archetype = await stage.world.entity("Hobbit", entity_class="EntityArchetype")
    other = await stage.world.another_universe()
    stranger = await other.entity("Stranger")
    far = await other.fact("It rains", stranger)
    for wrong, code in (
        ({"entity_id": NOWHERE}, -32002),
        ({"entity_id": archetype}, -32004),
        ({"linked_fact_id": NOWHERE}, -32002),
        ({"linked_fact_id": far}, -32004),
        ({"scene_id": NOWHERE}, -32002),
        ({"text": ""}, -32003),
        ({"text": "x" * 2_001}, -32003),
        ({"importance": 1.1}, -32003),
        ({"emotional_valence": -1.1}, -32003),
    ):
        await refuse_memory(stage, code, **wrong)


async def test_limits_of_a_recall_are_checked() -> None:
    stage = await a_stage()
    for limit in (0, -1, 501):
        data = await stage.world.refused(
            "mongodb_retrieve_character_memories",
            "MemoryManager",
            code=-32003,
            entity_id=stage.frodo,
            limit=limit,
        )
        assert data["path"] == "/limit"
    await stage.world.refused(
        "mongodb_retrieve_character_memories", "MemoryManager", code=-32002, entity_id=NOWHERE
    )


async def test_the_score_of_a_memory_does_not_drift_between_calls() -> None:
    stage = await a_stage()
    await stage.remember(stage.sam, "The party was loud")
    await stage.remember(stage.sam, "The road was long")
    asked = {"entity_id": stage.sam, "semantic_query": "a loud party"}
    tool, agent = "mongodb_retrieve_character_memories", "MemoryManager"
    first = await stage.world.call(tool, agent, **asked)

    stage.world.clock.move_by(DAY)

    assert await stage.world.call(tool, agent, **asked) == first
