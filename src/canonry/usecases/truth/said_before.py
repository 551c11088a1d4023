"""Said before: what sources said last of each field, and whether a source says otherwise.

A snapshot keeps nothing beside a correction, so that what was said there has to be looked up.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from canonry.domain.things.entities import Entity, family_of
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


def is_news(
    entity: Entity, fields: Mapping[str, Any], last_said: LastSaid, at: Instant | None
) -> bool:
    """Whether `fields`, as the canon calls them, say otherwise than what was said last.

    `at` is when they were seen; None means now.
    """
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
