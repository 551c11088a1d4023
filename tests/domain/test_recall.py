"""Recall: the order of memories obeys laws that any reader may rely on."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from canonry.log.items.scenes import Memory
from canonry.recall.domain.context import (
    rank_by_importance,
    rank_memories,
    recall_score,
    recency_score,
)
from canonry.testing.example_items import a_memory
from canonry.values.moments import DAY, Instant
from canonry.values.policy import RecallWeights

NOW = Instant(1_000 * DAY)
WEIGHTS = RecallWeights()

shares = st.floats(0, 1)
ages = st.integers(-10 * DAY, 1_000 * DAY)


@st.composite
def some_memories(draw: st.DrawFn) -> list[Memory]:
    names = draw(st.lists(st.sampled_from("abcdefghij"), max_size=8))
    return [
        a_memory(
            name,
            importance=draw(st.sampled_from((0.0, 0.5, 1.0))),
            created_at=Instant(NOW - draw(ages)),
        )
        for name in names
    ]


meanings = st.dictionaries(st.sampled_from([a_memory(n).id for n in "abcdefghij"]), shares)


def test_recency_halves_every_thirty_days() -> None:
    assert recency_score(NOW, NOW, WEIGHTS.half_life) == 1.0
    assert recency_score(Instant(NOW - 30 * DAY), NOW, WEIGHTS.half_life) == 0.5
    assert recency_score(Instant(NOW - 60 * DAY), NOW, WEIGHTS.half_life) == 0.25


def test_future_memories_are_as_recent_as_present_ones() -> None:
    assert recency_score(Instant(NOW + DAY), NOW, WEIGHTS.half_life) == 1.0


def test_the_score_weighs_meaning_importance_and_recency() -> None:
    memory = a_memory(importance=0.5, created_at=Instant(NOW - 30 * DAY))
    score = recall_score(memory, meaning=1.0, now=NOW, weights=WEIGHTS)
    assert abs(score - (0.4 * 1.0 + 0.3 * 0.5 + 0.3 * 0.5)) < 1e-12


@given(st.tuples(shares, shares), st.tuples(shares, shares), st.tuples(ages, ages))
def test_more_meaning_importance_or_recency_never_weakens_a_memory(
    meanings_: tuple[float, float], importances: tuple[float, float], ages_: tuple[int, int]
) -> None:
    weak = a_memory(importance=min(importances), created_at=Instant(NOW - max(ages_)))
    strong = replace(weak, importance=max(importances), created_at=Instant(NOW - min(ages_)))
    low = recall_score(weak, meaning=min(meanings_), now=NOW, weights=WEIGHTS)
    high = recall_score(strong, meaning=max(meanings_), now=NOW, weights=WEIGHTS)
    assert low <= high


@given(some_memories(), meanings)
def test_the_order_does_not_depend_on_the_order_of_arrival(
    memories: list[Memory], meaning: dict[str, float]
) -> None:
    unique = list({m.id: m for m in memories}.values())
    ranked = rank_memories(unique, meaning, now=NOW, weights=WEIGHTS)
    assert rank_memories(unique[::-1], meaning, now=NOW, weights=WEIGHTS) == ranked
    assert rank_by_importance(unique[::-1]) == rank_by_importance(unique)


@given(some_memories(), meanings, st.integers(0, 8))
def test_a_limit_takes_a_prefix(
    memories: list[Memory], meaning: dict[str, float], limit: int
) -> None:
    ranked = rank_memories(memories, meaning, now=NOW, weights=WEIGHTS)
    first = [memory for memory, _ in ranked[:limit]]
    again = rank_memories(first, meaning, now=NOW, weights=WEIGHTS)
    assert [memory for memory, _ in again] == first


@given(some_memories(), meanings)
def test_each_memory_appears_once_and_ties_are_broken_by_id(
    memories: list[Memory], meaning: dict[str, float]
) -> None:
    ranked = rank_memories(memories, meaning, now=NOW, weights=WEIGHTS)
    assert {memory.id for memory, _ in ranked} == {memory.id for memory in memories}
    order = [(-score, memory.id) for memory, score in ranked]
    assert order == sorted(set(order))


def test_without_a_query_importance_comes_before_recency() -> None:
    old = a_memory("old", importance=0.9, created_at=Instant(NOW - 400 * DAY))
    new = a_memory("new", importance=0.8, created_at=NOW)
    newer = a_memory("newer", importance=0.9, created_at=NOW)
    assert list(rank_by_importance((new, old, newer))) == [newer, old, new]
