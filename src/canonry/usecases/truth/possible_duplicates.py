"""Possible duplicates: entities of one type that share a key and are two all the same."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Final

from canonry.domain.things.entities import Entity
from canonry.domain.truth.assertions import identifiers_in
from canonry.domain.truth.identity_keys import identities_of
from canonry.domain.vocabularies.schemas import EntitySchema
from canonry.domain.vocabularies.truth_types import type_named
from canonry.ports.views.pages import PAGE_MAX
from canonry.ports.views.queries import EntityQuery, IdentifierQuery
from canonry.usecases.kernel.account import Account, account_of, require_readable
from canonry.usecases.kernel.aside import OF_RECORD, aside
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.truth.record_entities import Duplicate
from canonry.usecases.truth.schemas_in_force import schemas_for

LOOKED_AT_MAX: Final = 5_000
"""So many entities of the account are compared."""

PAIRS_MAX: Final = 10_000
"""So many pairs are told: a thousand entities of one name are half a million."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateQuery:
    """Among which entities to look, and which part of the pairs to give."""

    entity_id: str | None = None
    entity_type: str | None = None
    limit: int = 100
    offset: int = 0
    looked_at: int = LOOKED_AT_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicates:
    """Part of the pairs in the order of their ids, and how many were found.

    `truncated`: there were more entities, or pairs, than are looked at; name an entity or a type.
    """

    pairs: Sequence[Duplicate]
    total: int
    truncated: bool


async def possible_duplicates(canon: Canon, caller: Caller, query: DuplicateQuery) -> Duplicates:
    """The pairs among the caller's entities; of one entity, also those far from it in the list.

    Raises:
        NotFound: `entity.unknown`.
    """
    account, about = account_of(caller), None
    entity_type = None if query.entity_type is None else type_named(query.entity_type)
    if query.entity_id is not None:
        (about,) = await require_readable(canon, caller, Entity, (query.entity_id,))
        entity_type = about.entity_type
    entities, more = await _compared(canon, account, entity_type, query.looked_at)
    if about is not None:
        near = await _near(canon, account, about)
        entities = list({each.id: each for each in (*entities, about, *near)}.values())
    schemas = await schemas_for(canon, account, entities)
    weight = len(entities) * OF_RECORD
    pairs, cut = await aside(weight, lambda: _first_pairs(_pairs(entities, schemas, about)))
    shown = pairs[query.offset : query.offset + query.limit]
    return Duplicates(pairs=shown, total=len(pairs), truncated=more or cut)


def _first_pairs(pairs: Iterator[Duplicate]) -> tuple[list[Duplicate], bool]:
    """The pairs in order, each once, as far as they are shown; and whether there are more."""
    found: dict[tuple[str, str], Duplicate] = {}
    for pair in pairs:
        if len(found) == PAIRS_MAX:
            break
        found.setdefault((pair.entity_id, pair.candidate_id), pair)
    else:
        return [found[key] for key in sorted(found)], False
    return [found[key] for key in sorted(found)], True


async def _compared(
    canon: Canon, account: Account, entity_type: str | None, most: int
) -> tuple[list[Entity], bool]:
    """The first entities of the account, and whether there are more."""
    found: list[Entity] = []
    while len(found) <= most:
        page = await canon.state.entities(
            EntityQuery(
                spaces=frozenset((account.space,)),
                entity_type=entity_type,
                limit=PAGE_MAX,
                offset=len(found),
            )
        )
        found += page.items
        if len(page.items) < PAGE_MAX:
            break
    return found[:most], len(found) > most


async def _near(canon: Canon, account: Account, about: Entity) -> Sequence[Entity]:
    """Those who bear a key of the entity, wherever they stand in the account."""
    schema = (await schemas_for(canon, account, (about,))).get(about.entity_type)
    identities = () if schema is None else identities_of(schema, about.properties)
    keys = tuple(sorted({text for each in identities for text in identifiers_in(each)}))
    if not keys:
        return ()
    query = IdentifierQuery(
        spaces=frozenset((account.space,)),
        keys=keys,
        entity_type=about.entity_type,
        limit=PAGE_MAX,
    )
    pages = await canon.state.entities_identified(query)
    return [each for page in pages.values() for each in page.items]


def _pairs(
    entities: Iterable[Entity], schemas: Mapping[str, EntitySchema], about: Entity | None
) -> Iterator[Duplicate]:
    """Every pair, once for each key that it shares; all of them, or those of one entity."""
    by_key: dict[tuple[str, str, str], list[Entity]] = {}
    for entity in entities:
        schema = schemas.get(entity.entity_type)
        for identity in () if schema is None else identities_of(schema, entity.properties):
            key = (entity.entity_type, identity.rule, identity.key)
            by_key.setdefault(key, []).append(entity)
    for (entity_type, rule, _), sharing in by_key.items():
        ordered = sorted(sharing, key=lambda each: each.id)
        several: Iterable[tuple[Entity, Entity]] = combinations(ordered, 2)
        if about is not None:
            own = [each for each in ordered if each.id == about.id]
            several = (
                (min(one, other, key=_id), max(one, other, key=_id))
                for one in own
                for other in ordered
                if other.id != one.id
            )
        for one, other in islice(several, PAIRS_MAX + 1):
            yield Duplicate(
                entity_id=one.id,
                candidate_id=other.id,
                entity_type=entity_type,
                reason=f"same_{rule.replace('+', '_')}",
            )


def _id(entity: Entity) -> str:
    return entity.id
