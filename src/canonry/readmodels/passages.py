"""Passages: the texts that recall searches, and what each is filtered by."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from canonry.log.entries import Thing, Tombstone
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact
from canonry.log.items.memories import Memory
from canonry.log.items.scenes import Scene, SceneStatus, Turn
from canonry.log.items.sources import Snippet
from canonry.log.items.veils import homed
from canonry.log.schemas.portrait_fields import LORE_TYPES
from canonry.readmodels.portraits import is_portrayed, portrait
from canonry.values.ids import SpaceId
from canonry.values.provenance import CanonLevel
from canonry.values.time import Instant

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
    if isinstance(thing, Entity | Fact | Event | Axiom):
        found = _canonical(thing) if thing.level in STANDING else None
        if found is not None and found.text.strip():
            yield found
    elif (found := _recorded(thing)) is not None:
        yield found


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


def _recorded(thing: Thing) -> Passage | None:
    """The passage of what was said, remembered or written."""
    match thing:
        case Turn():
            # The commonest by far: written out, because handing filters on costs a quarter more.
            return Passage(
                id=thing.id,
                space=homed(thing).space,
                collection=Collection.SCENES,
                kind="turn",
                text=thing.text,
                entities=(thing.entity_id,) if thing.entity_id else (),
                scene_id=thing.scene_id,
                place=thing.index,
                at=thing.timestamp,
            )
        case Scene(status=SceneStatus.COMPLETED, summary=summary) if summary:
            where = {"scene_id": thing.id, "at": thing.completed_at or thing.created_at}
            present = (*thing.participants, *thing.departed)
            return _passage(thing, Collection.SCENES, "scene_summary", summary, present, **where)
        case Memory(text=text, created_at=at):
            more = {"scene_id": thing.scene_id, "importance": thing.importance, "at": at}
            return _passage(thing, Collection.MEMORIES, "memory", text, (thing.entity_id,), **more)
        case Snippet(text=text, created_at=at):
            source = thing.source_id
            return _passage(thing, Collection.SNIPPETS, "snippet", text, source_id=source, at=at)
        case _:
            return None


def _canonical(thing: Entity | Fact | Event | Axiom) -> Passage:
    """The passage of what canon says."""
    at = thing.created_at
    match thing:
        case Entity():
            is_lore = str(thing.entity_type) in LORE_TYPES
            collection = Collection.LORE if is_lore else Collection.ENTITIES
            kind = "lore" if is_lore else "entity"
            return _passage(thing, collection, kind, portrait(thing), (thing.id,), at=at)
        case Fact(statement=text, involved=about, scene_id=scene):
            return _passage(thing, Collection.FACTS, "fact", text, about, scene_id=scene, at=at)
        case Event(involved=about, scene_id=scene):
            text = f"{thing.title}\n{thing.description}".strip()
            return _passage(thing, Collection.FACTS, "event", text, about, scene_id=scene, at=at)
        case Axiom():
            return _passage(thing, Collection.LORE, "axiom", thing.statement, at=at)


def _passage(
    thing: Turn | Scene | Memory | Snippet | Entity | Fact | Event | Axiom,
    collection: Collection,
    kind: str,
    text: str,
    entities: tuple[str, ...] = (),
    **filters: Any,
) -> Passage:
    return Passage(
        id=thing.id,
        space=homed(thing).space,
        collection=collection,
        kind=kind,
        text=text,
        entities=entities,
        **filters,
    )
