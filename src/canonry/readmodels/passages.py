"""Passages and portraits: the texts that search finds items by."""

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from canonry.log.entries import StoredItem, Tombstone
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact
from canonry.log.items.scenes import Memory, Scene, SceneStatus, Turn
from canonry.log.items.secret_parts import in_compartment
from canonry.log.items.sources import Snippet
from canonry.log.schemas import narrative
from canonry.values.ids import SpaceId
from canonry.values.moments import Instant
from canonry.values.observations import Accumulator
from canonry.values.provenance import CanonLevel

# Portraits: an entity's snapshot as one text, for recall.
#
# A portrait has the entity's names, its descriptions, and all other fields with their names. A
# table of the vocabulary assigns the fields. State tags are left out: a query filters by them
# exactly, and because they change in every scene, indexing them would double the cost of each
# change.

PORTRAIT_MAX: Final = 20_000
"""The longest portrait in characters."""

_CALLED: Final = (*narrative.NAMES, *narrative.OTHER_NAMES)
_SHOWN_FIRST: Final = frozenset((*_CALLED, *narrative.PROSE))
_DEPTH_MAX: Final = 4  # bounds recursion; deeper values are rarely searched for
_FIGURES: Final = (int, float)
_SINGLE: Final = (str, *_FIGURES)
_CODE_MIN: Final = 32
_CODE: Final = re.compile(r"[0-9a-f-]{32,}", re.IGNORECASE)  # ids and digests carry no meaning


def portrait_of(entity: Entity) -> str:
    """Return the text; empty if the snapshot is empty."""
    return "\n".join(_portrait_lines(entity))[:PORTRAIT_MAX]


def is_portrayed(entity: Entity) -> bool:
    """Return whether the portrait has text, at a fraction of its cost."""
    return any(line.strip() for line in _portrait_lines(entity))


def names_of(entity: Entity) -> tuple[str, ...]:
    """Return all names of an entity, the current one first.

    After a merge the current name may come from the other entity; its own name is kept too.
    """
    return _portrait_names(entity, _shown_fields(entity.snapshot, _CALLED))


def _portrait_lines(entity: Entity) -> Iterator[str]:
    fields = _shown_fields(entity.snapshot)
    names = _portrait_names(entity, fields)
    if names:
        others = f" ({', '.join(names[1:])})" if names[1:] else ""
        yield f"{names[0]}{others}: {_spaced_name(entity.entity_type)}"
    prose = (fields[name] for name in narrative.PROSE if name in fields)
    yield from dict.fromkeys(text for each in prose for text in _texts_in(each))
    for name in sorted(fields.keys() - _SHOWN_FIRST):
        if line := _field_line(name, fields[name]):
            yield line


def _portrait_names(entity: Entity, fields: Mapping[str, Any]) -> tuple[str, ...]:
    snapshots = (fields, _shown_fields(entity.own)) if entity.members else (fields,)
    names = (each[name] for each in snapshots for name in _CALLED if name in each)
    return tuple(dict.fromkeys(text for name in names for text in _texts_in(name)))


def _shown_fields(snapshot: Accumulator, asked: Container[str] | None = None) -> Mapping[str, Any]:
    """Return the fields with values, or those `asked` for, without the prefix of properties.

    A fragment is included if no field has its value.
    """
    shown: dict[str, Any] = {}
    for key, elements in snapshot.items():
        unread = key.startswith(narrative.FRAGMENT_PREFIX)
        name = key.removeprefix(narrative.FRAGMENT_PREFIX if unread else narrative.PROPERTY_PREFIX)
        if asked is not None and (unread or name not in asked):
            continue
        if key != narrative.STATE_TAGS and elements and not _is_silent(name):
            value = narrative.policy_of(key).show(elements)
            if unread and isinstance(value, Mapping):
                shown.setdefault(name, value.get("value"))
            else:
                shown[name] = value
    return shown


def _field_line(name: str, value: Any, depth: int = 0) -> str:
    """Format a field with its name; true gives the name alone, false nothing."""
    if value is True:
        return _spaced_name(name)
    words = _value_text(value) if isinstance(value, _SINGLE) else ", ".join(_texts_in(value, depth))
    return f"{_spaced_name(name)}: {words}" if words else ""


def _texts_in(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the texts and numbers in a value at any depth."""
    match value:
        case Mapping() if depth < _DEPTH_MAX:
            for name, part in sorted(value.items()):
                if not _is_silent(name) and (line := _field_line(name, part, depth + 1)):
                    yield line
        case list() | tuple() if depth < _DEPTH_MAX:
            for part in value:
                yield from _texts_in(part, depth + 1)
        case _ if text := _value_text(value):
            yield text
        case _:
            return


def _value_text(value: Any) -> str:
    """Return the text of a value; empty if it carries no meaning."""
    if isinstance(value, str):
        text = value.strip()
        return "" if len(text) >= _CODE_MIN and _CODE.fullmatch(text) else text
    return str(value) if isinstance(value, _FIGURES) and not isinstance(value, bool) else ""


def _is_silent(name: str) -> bool:
    return name in narrative.SILENT or name.startswith("_")


def _spaced_name(name: str) -> str:
    return str(name).replace("_", " ")


PASSAGES_VERSION: Final = 2
"""The version of the rules for passages; a change rebuilds the vector indexes."""

STANDING: Final = frozenset({CanonLevel.CANON, CanonLevel.AUTHORITATIVE})
"""The levels that recall finds; proposals and retconned items are excluded."""


class Collection(StrEnum):
    """The kinds of passages, each searched separately.

    Scenes, memories and snippets hold utterances, beliefs and excerpts. The others hold canon:
    entities, facts, events, axioms and lore.
    """

    SCENES = "scene_chunks"
    MEMORIES = "memory_chunks"
    SNIPPETS = "snippet_chunks"
    ENTITIES = "entities"
    FACTS = "facts"
    LORE = "lore"


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A text with its filters; `id` is the id of its item.

    Only a turn has a `turn_index`, its index in its scene.
    """

    id: str
    collection: Collection
    kind: str
    space: SpaceId
    text: str
    entities: tuple[str, ...] = ()
    scene_id: str | None = None
    turn_index: int | None = None
    source_id: str | None = None
    importance: float | None = None
    at: Instant


def passages_of(item: StoredItem) -> Iterator[Passage]:
    """Yield the current passage of an item; none if it is not searched.

    A merged entity keeps its own passage, so that its old names find it. Follow `merged_into` to
    the entity to show.
    """
    if isinstance(item, Entity | Fact | Event | Axiom):
        found = _canon_passage(item) if item.level in STANDING else None
        if found is not None and found.text.strip():
            yield found
    elif (found := _recorded_passage(item)) is not None:
        yield found


def is_searched(item: StoredItem) -> bool:
    """Return whether the item has a passage, at a fraction of its cost."""
    if isinstance(item, Entity):
        return item.level in STANDING and is_portrayed(item)
    return next(passages_of(item), None) is not None


def is_silenced(item: StoredItem) -> bool:
    """Return whether the item lost its passage, though an index may still hold it."""
    if isinstance(item, Tombstone):
        return True
    return not is_searched(item) if isinstance(item, Entity | Fact | Event | Axiom) else False


def _recorded_passage(item: StoredItem) -> Passage | None:
    """Return the passage of a turn, memory or snippet."""
    match item:
        case Turn():
            # Turns are the most frequent; passing filters through a call would cost a quarter more.
            return Passage(
                id=item.id,
                space=in_compartment(item).space,
                collection=Collection.SCENES,
                kind="turn",
                text=item.text,
                entities=(item.entity_id,) if item.entity_id else (),
                scene_id=item.scene_id,
                turn_index=item.index,
                at=item.timestamp,
            )
        case Scene(status=SceneStatus.COMPLETED, summary=summary) if summary:
            where = {"scene_id": item.id, "at": item.completed_at or item.created_at}
            present = (*item.participants, *item.departed)
            return _make_passage(
                item, Collection.SCENES, "scene_summary", summary, present, **where
            )
        case Memory(text=text, created_at=at):
            more = {"scene_id": item.scene_id, "importance": item.importance, "at": at}
            return _make_passage(
                item, Collection.MEMORIES, "memory", text, (item.entity_id,), **more
            )
        case Snippet(text=text, created_at=at):
            source = item.source_id
            return _make_passage(
                item, Collection.SNIPPETS, "snippet", text, source_id=source, at=at
            )
        case _:
            return None


def _canon_passage(item: Entity | Fact | Event | Axiom) -> Passage:
    """Return the passage of a canon item."""
    at = item.created_at
    match item:
        case Entity():
            is_lore = str(item.entity_type) in narrative.LORE_TYPES
            collection = Collection.LORE if is_lore else Collection.ENTITIES
            kind = "lore" if is_lore else "entity"
            return _make_passage(item, collection, kind, portrait_of(item), (item.id,), at=at)
        case Fact(statement=text, involved=about, scene_id=scene):
            return _make_passage(item, Collection.FACTS, "fact", text, about, scene_id=scene, at=at)
        case Event(involved=about, scene_id=scene):
            text = f"{item.title}\n{item.description}".strip()
            return _make_passage(
                item, Collection.FACTS, "event", text, about, scene_id=scene, at=at
            )
        case Axiom():
            return _make_passage(item, Collection.LORE, "axiom", item.statement, at=at)


def _make_passage(
    item: Turn | Scene | Memory | Snippet | Entity | Fact | Event | Axiom,
    collection: Collection,
    kind: str,
    text: str,
    entities: tuple[str, ...] = (),
    **filters: Any,
) -> Passage:
    return Passage(
        id=item.id,
        space=in_compartment(item).space,
        collection=collection,
        kind=kind,
        text=text,
        entities=entities,
        **filters,
    )
