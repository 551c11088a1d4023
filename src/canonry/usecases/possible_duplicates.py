"""Possible duplicates: entities of one type that share a key and are two all the same."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from canonry.domain.entities import Entity
from canonry.domain.identity_keys import identities_of
from canonry.domain.schemas import EntitySchema
from canonry.domain.vocabularies.truth_types import type_named
from canonry.ports.views.pages import PAGE_MAX
from canonry.ports.views.queries import EntityQuery
from canonry.usecases.account import account_of, require_readable
from canonry.usecases.caller import Caller
from canonry.usecases.canon import Canon
from canonry.usecases.record_entities import Duplicate
from canonry.usecases.schemas_in_force import schemas_for

LOOKED_AT_MAX: Final = 5_000
"""So many entities of the account are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateQuery:
    """Among which entities to look, and which part of the pairs to give."""

    entity_id: str | None = None
    entity_type: str | None = None
    limit: int = 100
    offset: int = 0


async def possible_duplicates(
    canon: Canon, caller: Caller, query: DuplicateQuery
) -> tuple[Sequence[Duplicate], int]:
    """The pairs in the order of their ids, and how many there are.

    Raises:
        NotFound: `entity.unknown`.
    """
    account, about = account_of(caller), None
    entity_type = None if query.entity_type is None else type_named(query.entity_type)
    if query.entity_id is not None:
        (about,) = await require_readable(canon, caller, Entity, (query.entity_id,))
        entity_type = about.entity_type
    entities: list[Entity] = []
    while len(entities) < LOOKED_AT_MAX:
        page = await canon.state.entities(
            EntityQuery(
                spaces=frozenset((account.space,)),
                entity_type=entity_type,
                limit=PAGE_MAX,
                offset=len(entities),
            )
        )
        entities += page.items
        if len(page.items) < PAGE_MAX:
            break
    schemas = await schemas_for(canon, account, entities)
    pairs = _pairs(entities, schemas)
    if about is not None:
        pairs = [pair for pair in pairs if about.id in (pair.entity_id, pair.candidate_id)]
    return pairs[query.offset : query.offset + query.limit], len(pairs)


def _pairs(entities: Iterable[Entity], schemas: Mapping[str, EntitySchema]) -> list[Duplicate]:
    by_key: dict[tuple[str, str, str], list[Entity]] = {}
    for entity in entities:
        schema = schemas.get(entity.entity_type)
        for identity in () if schema is None else identities_of(schema, entity.properties):
            key = (entity.entity_type, identity.rule, identity.key)
            by_key.setdefault(key, []).append(entity)
    found: dict[tuple[str, str], Duplicate] = {}
    for (entity_type, rule, _), sharing in by_key.items():
        for one, other in combinations(sorted(sharing, key=lambda e: e.id), 2):
            pair = Duplicate(
                entity_id=one.id,
                candidate_id=other.id,
                entity_type=entity_type,
                reason=f"same_{rule.replace('+', '_')}",
            )
            found.setdefault((one.id, other.id), pair)
    return [found[key] for key in sorted(found)]
