"""Said before: what sources said last of each field, and whether a source says otherwise.

A snapshot keeps nothing beside a correction, so that what was said there has to be looked up.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from canonry.domain.ids import EntityId, SourceId, SpaceId
from canonry.domain.json_values import encode_json
from canonry.domain.things.entities import Entity, alone, family_of
from canonry.domain.time import Instant
from canonry.domain.vocabularies.narrative_fields import PROPERTY_PREFIX
from canonry.domain.winners import LAST
from canonry.ports.views.pages import PAGE_MAX
from canonry.usecases.kernel.canon import Canon

LastSaid: TypeAlias = dict[tuple[str, str], tuple[Any, Instant]]
"""(entity, field) -> the value that a source said last, and when that was seen."""


async def said_beside_corrections(canon: Canon, entities: Iterable[Entity]) -> LastSaid:
    """What sources said last of each corrected field of these entities."""
    found: LastSaid = {}
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
                    said = seen.fields[name], seen.seen_at
                    found[entity.id, name.removeprefix(PROPERTY_PREFIX)] = said
                    corrected = corrected - {name}
            offset, total = offset + PAGE_MAX, page.total
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What sources said last of entities: of each alone, and of whoever answers for it."""

    alone: LastSaid
    together: LastSaid


async def last_said_of(canon: Canon, entities: Iterable[Entity], roots: Iterable[Entity]) -> Said:
    """What sources said last of each corrected field, of each of the entities and of the roots."""
    several = [each for each in roots if each.members]
    return Said(
        alone=await said_beside_corrections(canon, map(alone, entities)),
        together=await said_beside_corrections(canon, several),
    )


def is_news(
    entity: Entity, root: Entity, fields: Mapping[str, Any], said: Said, at: Instant | None
) -> bool:
    """Whether `fields`, as the canon calls them, say otherwise than what was said last.

    It is news if it is to the entity alone, so that taking a merge back leaves what it would be
    without it, or to the `root` that answers for it. `at` is when they were seen; None means now.
    """
    return _is_news(alone(entity), fields, said.alone, at) or (
        bool(root.members) and _is_news(root, fields, said.together, at)
    )


def _is_news(
    entity: Entity, fields: Mapping[str, Any], last_said: LastSaid, at: Instant | None
) -> bool:
    for name, value in fields.items():
        if not name.startswith(PROPERTY_PREFIX):
            continue
        elements = entity.snapshot.get(name)
        last = last_said.get((entity.id, name.removeprefix(PROPERTY_PREFIX)))
        if last is None and elements is not None and not elements[LAST].corrected:
            last = elements[LAST].value, Instant(elements[LAST].rank[3])
        if last is None or (last[0] != value and (at is None or at > last[1])):
            return True
    return False


def statement_of(entity_type: str, fields: Mapping[str, Any]) -> bytes:
    """What a record says of somebody of a type, as something to compare."""
    return encode_json([entity_type, dict(fields)])


async def spoken_of(canon: Canon, space: SpaceId, source_id: SourceId) -> Mapping[bytes, EntityId]:
    """Whom a source spoke of when it was told before, by what it said of them."""
    told: list[tuple[EntityId, dict[str, Any]]] = []
    start, offset, total = len(PROPERTY_PREFIX), 0, 1
    while offset < total:
        page = await canon.state.observations_from(source_id, limit=PAGE_MAX, offset=offset)
        for each in page.items:
            said = {n[start:]: v for n, v in each.fields.items() if n.startswith(PROPERTY_PREFIX)}
            told += [(each.entity_id, said)] if each.space == space else []
        offset, total = offset + PAGE_MAX, page.total
    known = await canon.state.things({entity_id for entity_id, _ in told})
    found: dict[bytes, EntityId] = {}
    for entity_id, said in told:
        entity = known.get(entity_id)
        if isinstance(entity, Entity):
            found.setdefault(statement_of(entity.entity_type, said), entity_id)
    return found
