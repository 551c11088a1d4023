"""Memories in the order in which a character recalls them, as a formula; ties are broken by id."""

from collections.abc import Iterable, Mapping, Sequence

from canonry.log.items.memories import Memory
from canonry.values.ids import MemoryId
from canonry.values.policy import RecallWeights
from canonry.values.time import Instant


def recency(created_at: Instant, now: Instant, half_life: int) -> float:
    """1 for a memory of now, halved every `half_life` microseconds; one of the future counts 1."""
    age = max(0, now - created_at)
    return float(2.0 ** -(age / half_life))


def recall_score(memory: Memory, *, meaning: float, now: Instant, weights: RecallWeights) -> float:
    """How well a memory answers a question; grows with meaning, importance and recency."""
    return (
        weights.meaning * meaning
        + weights.importance * memory.importance
        + weights.recency * recency(memory.created_at, now, weights.half_life)
    )


def rank_memories(
    memories: Iterable[Memory],
    meaning: Mapping[str, float],
    *,
    now: Instant,
    weights: RecallWeights,
) -> Sequence[tuple[Memory, float]]:
    """Each memory once with its score, strongest first; `meaning` is 0 for ids that it lacks.

    Taking the first n of the result is what a limit of n means.
    """
    known: dict[MemoryId, Memory] = {memory.id: memory for memory in memories}

    def score(memory: Memory) -> float:
        strength = meaning.get(memory.id, 0.0)
        return recall_score(memory, meaning=strength, now=now, weights=weights)

    scored = [(memory, score(memory)) for memory in known.values()]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0].id))


def rank_by_importance(memories: Iterable[Memory]) -> Sequence[Memory]:
    """Each memory once: the most important first, then the newest."""
    known: dict[MemoryId, Memory] = {memory.id: memory for memory in memories}
    return sorted(known.values(), key=lambda m: (-m.importance, -m.created_at, m.id))
