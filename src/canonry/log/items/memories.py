"""Memories: what a character believes; it may contradict canon, and is nobody else's."""

from dataclasses import dataclass

from canonry.values.ids import EntityId, FactId, MemoryId, SceneId, SpaceId
from canonry.values.time import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDraft:
    """A subjective recollection of one character; `said_at` is when it was told."""

    id: MemoryId
    space: SpaceId
    entity_id: EntityId
    text: str
    linked_fact_id: FactId | None
    scene_id: SceneId | None
    emotional_valence: float
    importance: float
    certainty: float
    said_at: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory(MemoryDraft):
    """A memory in the log."""

    created_at: Instant
    position: int
    changed_at: int
