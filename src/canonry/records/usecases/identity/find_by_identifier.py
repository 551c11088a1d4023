"""Find by identifier: entities that bear a name, number or address, and then those that begin so.

What is looked for is taken literally: no character stands for others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from canonry.canon.session.account import account_of, readable_spaces
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.log.items.entities import Entity
from canonry.log.schemas.identifiers import meant_by
from canonry.log.schemas.truth_types import type_named
from canonry.readmodels.ports.state import IdentifierQuery
from canonry.records.domain.borne_keys import KeyStatus
from canonry.records.usecases.identity.tell_keys import families_of
from canonry.values.ids import EntityId
from canonry.values.normal_forms import folded

FOUND_MAX: Final = 100
_BEGINNING_MIN: Final = 2
"""Shorter texts are the beginning of too much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identified:
    """Whom an identifier leads to; `truncated`: there are more, so that a longer text is needed.

    `statuses` tell what it is to those whom it names, and not only begins to name.
    """

    entities: Sequence[Entity]
    statuses: Mapping[EntityId, KeyStatus]
    truncated: bool


async def find_by_identifier(
    canon: Canon, caller: Caller, identifier: str, entity_type: str | None
) -> Identified:
    """At most 100 entities, the best first: as it is written, in other forms, by the beginning."""
    spaces = await readable_spaces(canon, caller)
    wanted = None if entity_type is None else type_named(entity_type)
    keys = meant_by(identifier)
    found: dict[str, Entity] = {}
    named: dict[EntityId, str] = {}
    more = False
    if keys:
        exact = IdentifierQuery(spaces=spaces, keys=keys, entity_type=wanted, limit=FOUND_MAX)
        pages = await canon.state.entities_identified(exact)
        for key in keys:
            if key in pages:
                new = [each for each in pages[key].items if each.id not in found]
                found |= {each.id: each for each in new}
                named |= {each.id: key for each in new}
                more = more or pages[key].total > FOUND_MAX
    beginning = folded(identifier)
    if len(found) < FOUND_MAX and len(beginning) >= _BEGINNING_MIN:
        begun = IdentifierQuery(
            spaces=spaces, keys=(beginning,), entity_type=wanted, begins=True, limit=FOUND_MAX
        )
        pages = await canon.state.entities_identified(begun)
        for page in pages.values():
            found |= {e.id: e for e in page.items if e.id not in found}
            more = more or page.total > FOUND_MAX
    more = more or len(found) > FOUND_MAX
    entities = tuple(found.values())[:FOUND_MAX]
    families = await families_of(canon, account_of(caller), [e for e in entities if e.id in named])
    return Identified(
        entities=entities,
        statuses={i: families[i].status(named[i]) for i in families},
        truncated=more,
    )
