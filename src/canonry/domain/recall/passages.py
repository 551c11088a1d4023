"""Passages: the texts that recall searches, and what each is filtered by."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from canonry.domain.ids import SpaceId
from canonry.domain.log.entries import Thing, Tombstone
from canonry.domain.provenance import CanonLevel
from canonry.domain.recall.portraits import is_portrayed, portrait
from canonry.domain.things.entities import Entity
from canonry.domain.things.facts import Axiom, Event, Fact
from canonry.domain.things.memories import Memory
from canonry.domain.things.scenes import Scene, SceneStatus, Turn
from canonry.domain.things.sources import Snippet
from canonry.domain.time import Instant
from canonry.domain.vocabularies.portrait_fields import LORE_TYPES

PASSAGES_VERSION: Final = 2
"""Grows when other texts are passages than before; indexes of meaning then begin anew."""

STANDING: Final = frozenset({CanonLevel.CANON, CanonLevel.AUTHORITATIVE})
"""The levels at which recall finds what canon says: neither proposals nor what was retconned."""


class Collection(StrEnum):
    """The kinds of passages, each searched apart.

    Scenes, memories and snippets hold what was said, believed and written. The others hold canon:
    entities, facts, events, and the laws and lore of the world.
    """

    SCENES = "scene_chunks"
    MEMORIES = "memory_chunks"
    SNIPPETS = "snippet_chunks"
    ENTITIES = "entities"
    FACTS = "facts"
    LORE = "lore"


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A text with what it can be filtered by; `id` is the id of the thing that it comes from.

    `place` is the index of a turn in its scene; other passages have none.
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
    """The passage of a thing as it is now; none for a thing that is not searched.

    An entity that was merged into another keeps its own passage, so that its old names find it;
    callers follow `merged_into` to the entity that they show.
    """
    match thing:
        case Turn() | Scene() | Memory() | Snippet():
            yield from _told(thing)
        case Entity() | Fact() | Event() | Axiom() if thing.level in STANDING:
            yield from (each for each in _canonical(thing) if each.text.strip())
        case _:
            return


def is_searched(thing: Thing) -> bool:
    """Whether the thing has a passage; far cheaper than the passage of an entity."""
    if isinstance(thing, Entity):
        return thing.level in STANDING and is_portrayed(thing)
    return next(passages_of(thing), None) is not None


def is_silenced(thing: Thing) -> bool:
    """Whether the thing has no passage any more, though an index may still hold an old one."""
    if isinstance(thing, Tombstone):
        return True
    if isinstance(thing, Entity | Fact | Event | Axiom):
        return not is_searched(thing)
    return False


def _told(thing: Turn | Scene | Memory | Snippet) -> Iterator[Passage]:
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


def _canonical(thing: Entity | Fact | Event | Axiom) -> Iterator[Passage]:
    match thing:
        case Entity():
            is_lore = str(thing.entity_type) in LORE_TYPES
            yield Passage(
                id=thing.id,
                collection=Collection.LORE if is_lore else Collection.ENTITIES,
                kind="lore" if is_lore else "entity",
                space=thing.space,
                text=portrait(thing),
                entities=(thing.id,),
                at=thing.created_at,
            )
        case Fact():
            yield Passage(
                id=thing.id,
                collection=Collection.FACTS,
                kind="fact",
                space=thing.space,
                text=thing.statement,
                entities=thing.involved,
                scene_id=thing.scene_id,
                at=thing.created_at,
            )
        case Event():
            yield Passage(
                id=thing.id,
                collection=Collection.FACTS,
                kind="event",
                space=thing.space,
                text=f"{thing.title}\n{thing.description}".strip(),
                entities=thing.involved,
                scene_id=thing.scene_id,
                at=thing.created_at,
            )
        case Axiom():
            yield Passage(
                id=thing.id,
                collection=Collection.LORE,
                kind="axiom",
                space=thing.space,
                text=thing.statement,
                at=thing.created_at,
            )
