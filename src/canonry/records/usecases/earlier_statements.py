"""Earlier statements: what sources said last of each field, and whether one says otherwise now.

A snapshot keeps nothing beside a correction, so that what stands there has to be looked up.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from canonry.canon.session.canon import Canon
from canonry.log.items.entities import Entity, alone, family_of
from canonry.log.schemas.narrative_fields import PROPERTY_PREFIX
from canonry.readmodels.ports.pages import PAGE_MAX
from canonry.values.ids import EntityId, SourceId, SpaceId
from canonry.values.json_values import encode_json
from canonry.values.time import Instant
from canonry.values.winners import LAST

LastWord: TypeAlias = dict[tuple[str, str], tuple[Any, Instant]]
"""(entity, field) -> the value that a source said last, and when that was seen."""


async def _beside_corrections(canon: Canon, entities: Iterable[Entity]) -> LastWord:
    """What sources said last of each corrected field of these entities."""
    found: LastWord = {}
    for entity in {each.id: each for each in entities}.values():
        corrected = {
            name
            for name, elements in entity.snapshot.items()
            if name.startswith(PROPERTY_PREFIX) and elements[LAST].corrected
        }
        offset, total = 0, 1 if corrected else 0
        while corrected and offset < total:
            page = await canon.state.observations_newest(
                sorted(family_of(entity)), limit=PAGE_MAX, offset=offset
            )
            for seen in page.items:
                for name in corrected & seen.fields.keys() if not seen.correction else ():
                    word = seen.fields[name], seen.seen_at
                    found[entity.id, name.removeprefix(PROPERTY_PREFIX)] = word
                    corrected = corrected - {name}
            offset, total = offset + PAGE_MAX, page.total
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class LastWords:
    """What sources said last of entities: of each alone, and of whoever answers for it."""

    alone: LastWord
    together: LastWord


async def last_words_of(
    canon: Canon, entities: Iterable[Entity], roots: Iterable[Entity]
) -> LastWords:
    """What sources said last of each corrected field, of each of the entities and of the roots."""
    several = [each for each in roots if each.members]
    return LastWords(
        alone=await _beside_corrections(canon, map(alone, entities)),
        together=await _beside_corrections(canon, several),
    )


def is_news(
    entity: Entity, root: Entity, fields: Mapping[str, Any], last: LastWords, at: Instant | None
) -> bool:
    """Whether `fields`, as the canon calls them, say otherwise than what was said last.

    It is news if it is to the entity alone, so that taking a merge back leaves what it would be
    without it, or to the `root` that answers for it. `at` is when they were seen; None means now.
    """
    return _is_news(alone(entity), fields, last.alone, at) or (
        bool(root.members) and _is_news(root, fields, last.together, at)
    )


def _is_news(
    entity: Entity, fields: Mapping[str, Any], last_words: LastWord, at: Instant | None
) -> bool:
    for name, value in fields.items():
        if not name.startswith(PROPERTY_PREFIX):
            continue
        elements = entity.snapshot.get(name)
        last = last_words.get((entity.id, name.removeprefix(PROPERTY_PREFIX)))
        if last is None and elements is not None and not elements[LAST].corrected:
            last = elements[LAST].value, Instant(elements[LAST].rank[3])
        if last is None or (last[0] != value and (at is None or at > last[1])):
            return True
    return False


def content_of(entity_type: str, fields: Mapping[str, Any]) -> bytes:
    """What a record says of somebody of a type, as something to compare."""
    return encode_json([entity_type, dict(fields)])


async def earlier_addressees(
    canon: Canon, space: SpaceId, source_id: SourceId
) -> Mapping[bytes, EntityId]:
    """Whom a source spoke of when it was recorded before, by what it said of them."""
    observed: list[tuple[EntityId, dict[str, Any]]] = []
    start, offset, total = len(PROPERTY_PREFIX), 0, 1
    while offset < total:
        page = await canon.state.observations_from(source_id, limit=PAGE_MAX, offset=offset)
        for each in page.items:
            names = [name for name in each.fields if name.startswith(PROPERTY_PREFIX)]
            fields = {name[start:]: each.fields[name] for name in names}
            observed += [(each.entity_id, fields)] if each.space == space else []
        offset, total = offset + PAGE_MAX, page.total
    known = await canon.within(space).things({entity_id for entity_id, _ in observed})
    found: dict[bytes, EntityId] = {}
    for entity_id, fields in observed:
        entity = known.get(entity_id)
        if isinstance(entity, Entity):
            found.setdefault(content_of(entity.entity_type, fields), entity_id)
    return found
