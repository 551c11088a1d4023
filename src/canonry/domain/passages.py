"""Passages: the texts that recall searches, and what each of them tells about."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from canonry.domain.entries import Thing
from canonry.domain.ids import SpaceId
from canonry.domain.memories import Memory
from canonry.domain.scenes import Scene, SceneStatus, Turn
from canonry.domain.sources import Snippet
from canonry.domain.time import Instant


class Collection(StrEnum):
    """Where a passage is found."""

    SCENES = "scene_chunks"
    MEMORIES = "memory_chunks"
    SNIPPETS = "snippet_chunks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A text with what it can be filtered by; `id` is the id of the thing that it comes from.

    `place` is the index of a turn in its scene; other passages stand in no row.
    """

    id: str
    collection: Collection
    kind: str
    space: SpaceId
    text: str
    entities: tuple[str, ...] = ()
    scene_id: str | None = None
    place: int | None = None
    source_id: str | None = None
    importance: float | None = None
    at: Instant


def passages_of(thing: Thing) -> Iterator[Passage]:
    """The passages of a thing as it is now; none for what is not searched."""
    match thing:
        case Turn():
            yield Passage(
                id=thing.id,
                collection=Collection.SCENES,
                kind="turn",
                space=thing.space,
                text=thing.text,
                entities=(thing.entity_id,) if thing.entity_id else (),
                scene_id=thing.scene_id,
                place=thing.index,
                at=thing.timestamp,
            )
        case Scene(status=SceneStatus.COMPLETED, summary=summary) if summary:
            yield Passage(
                id=thing.id,
                collection=Collection.SCENES,
                kind="scene_summary",
                space=thing.space,
                text=summary,
                entities=thing.participants,
                scene_id=thing.id,
                at=thing.completed_at or thing.created_at,
            )
        case Memory():
            yield Passage(
                id=thing.id,
                collection=Collection.MEMORIES,
                kind="memory",
                space=thing.space,
                text=thing.text,
                entities=(thing.entity_id,),
                scene_id=thing.scene_id,
                importance=thing.importance,
                at=thing.created_at,
            )
        case Snippet():
            yield Passage(
                id=thing.id,
                collection=Collection.SNIPPETS,
                kind="snippet",
                space=thing.space,
                text=thing.text,
                source_id=thing.source_id,
                at=thing.created_at,
            )
        case _:
            return
