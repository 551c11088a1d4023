"""Passages and portraits: the texts that a search finds items by."""

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from canonry.log.entries import Thing, Tombstone
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact
from canonry.log.items.scenes import Memory, Scene, SceneStatus, Turn
from canonry.log.items.sources import Snippet
from canonry.log.items.veils import homed
from canonry.log.schemas.narrative import (
    FRAGMENT_PREFIX,
    LORE_TYPES,
    NAMES,
    OTHER_NAMES,
    PROPERTY_PREFIX,
    PROSE,
    SILENT,
    STATE_TAGS,
    policy_of,
)
from canonry.values.ids import SpaceId
from canonry.values.moments import Instant
from canonry.values.observations import Accumulator
from canonry.values.provenance import CanonLevel

# Portraits: the snapshot of an entity as one text, by which recall finds the entity.
#
# One rule makes them for every kind of entity: its names, its descriptions, then every other field
# after its name. A table of the vocabulary says which field is which. State tags are left out: a
# query finds them exactly, they change in every scene, and indexing an entity at each change would
# double the cost of that change.

PORTRAIT_MAX: Final = 20_000
"""The longest portrait in characters."""

_CALLED: Final = (*NAMES, *OTHER_NAMES)
_TOLD_FIRST: Final = frozenset((*_CALLED, *PROSE))
_DEPTH_MAX: Final = 4
_FIGURES: Final = (int, float)
_SINGLE: Final = (str, *_FIGURES)
_CODE_MIN: Final = 32
_CODE: Final = re.compile(r"[0-9a-f-]{32,}", re.IGNORECASE)  # ids and digests say nothing


def portrait(entity: Entity) -> str:
    """The text; empty where the snapshot says nothing."""
    return "\n".join(_lines(entity))[:PORTRAIT_MAX]


def is_portrayed(entity: Entity) -> bool:
    """Whether the portrait would hold any text; far cheaper than making it."""
    return any(line.strip() for line in _lines(entity))


def names_of(entity: Entity) -> tuple[str, ...]:
    """All names of an entity, the one that it has now first.

    After a merger that may be a name of the other entity; its own is kept beside it.
    """
    return _names(entity, _fields(entity.snapshot, _CALLED))


def _lines(entity: Entity) -> Iterator[str]:
    fields = _fields(entity.snapshot)
    names = _names(entity, fields)
    if names:
        others = f" ({', '.join(names[1:])})" if names[1:] else ""
        yield f"{names[0]}{others}: {_spoken(entity.entity_type)}"
    prose = (fields[name] for name in PROSE if name in fields)
    yield from dict.fromkeys(text for each in prose for text in _words(each))
    for name in sorted(fields.keys() - _TOLD_FIRST):
        if line := _line_of(name, fields[name]):
            yield line


def _names(entity: Entity, fields: Mapping[str, Any]) -> tuple[str, ...]:
    snapshots = (fields, _fields(entity.own)) if entity.members else (fields,)
    names = (each[name] for each in snapshots for name in _CALLED if name in each)
    return tuple(dict.fromkeys(text for name in names for text in _words(name)))


def _fields(snapshot: Accumulator, asked: Container[str] | None = None) -> Mapping[str, Any]:
    """The fields that say something, or those `asked` for, without the prefix of properties.

    What was kept unread is told as it stands, where nothing was read in its place.
    """
    shown: dict[str, Any] = {}
    for place, elements in snapshot.items():
        unread = place.startswith(FRAGMENT_PREFIX)
        name = place.removeprefix(FRAGMENT_PREFIX if unread else PROPERTY_PREFIX)
        if asked is not None and (unread or name not in asked):
            continue
        if place != STATE_TAGS and elements and not _is_silent(name):
            value = policy_of(place).show(elements)
            if unread and isinstance(value, Mapping):
                shown.setdefault(name, value.get("value"))
            else:
                shown[name] = value
    return shown


def _line_of(name: str, value: Any, depth: int = 0) -> str:
    """A field after its name; of a yes the name alone, of a no nothing."""
    if value is True:
        return _spoken(name)
    words = _word(value) if isinstance(value, _SINGLE) else ", ".join(_words(value, depth))
    return f"{_spoken(name)}: {words}" if words else ""


def _words(value: Any, depth: int = 0) -> Iterator[str]:
    """The texts and figures in a value, however deep."""
    match value:
        case Mapping() if depth < _DEPTH_MAX:
            for name, part in sorted(value.items()):
                if not _is_silent(name) and (line := _line_of(name, part, depth + 1)):
                    yield line
        case list() | tuple() if depth < _DEPTH_MAX:
            for part in value:
                yield from _words(part, depth + 1)
        case _ if text := _word(value):
            yield text
        case _:
            return


def _word(value: Any) -> str:
    """The text of a text or figure that says something; empty for everything else."""
    if isinstance(value, str):
        text = value.strip()
        return "" if len(text) >= _CODE_MIN and _CODE.fullmatch(text) else text
    return str(value) if isinstance(value, _FIGURES) and not isinstance(value, bool) else ""


def _is_silent(name: str) -> bool:
    return name in SILENT or name.startswith("_")


def _spoken(name: str) -> str:
    return str(name).replace("_", " ")


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
