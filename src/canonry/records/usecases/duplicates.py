"""Duplicates of records: find and merge them."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Final

from canonry.canon.session.account import (
    Account,
    account_of,
    require_account,
    require_readable,
    within_account,
)
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change
from canonry.canon.session.lookup import require, require_itself
from canonry.canon.session.paging import OF_RECORD, aside, every_match
from canonry.canon.session.traversal import separated
from canonry.log.entries import EntitiesMerged, EntitiesUnmerged
from canonry.log.folding import thing_key
from canonry.log.items.entities import Entity, family_of
from canonry.log.schemas.identity_keys import (
    found_under,
    identities_of,
    key_mark,
    keys_of,
    looks_of,
)
from canonry.log.schemas.schemas import ACYCLIC
from canonry.log.schemas.truth_types import type_named, types_alike
from canonry.readmodels.ports.state import EntityQuery, IdentifierQuery, RelationQuery
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.records.domain.assertions import LOOK_ALIKE, Warned
from canonry.records.domain.resolving import reason_of
from canonry.records.usecases.identity import kept_apart
from canonry.records.usecases.record_entities import Duplicate
from canonry.records.usecases.relationships import leads_to
from canonry.records.usecases.schemas_in_force import schemas_for
from canonry.values.errors import Conflict, InvalidInput
from canonry.values.ids import EntityId, NewId
from canonry.values.moments import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """Who answers for whom, how many observations that concerns, and since when."""

    from_id: EntityId
    to_id: EntityId
    observations: int
    at: Instant
    warnings: tuple[Warned, ...] = ()


async def merge_records(
    canon: Canon, caller: Caller, user_id: str | None, *, from_id: str, to_id: str, reason: str
) -> Merged:
    """Let the survivor of `to_id` answer for `from_id` and for all that was merged into it.

    Raises:
        InvalidInput: `user.mismatch`, `merge.itself` or `merge.types`.
        NotFound: `entity.unknown`.
        Conflict: `entity.already-merged`.
    """
    account, inner = require_account(caller, user_id), within_account(caller)

    async def prepare(new_id: NewId) -> Change[tuple[int, tuple[Warned, ...]]]:
        del new_id  # a merge makes nothing
        to = await require(canon, inner, Entity, to_id)
        from_ = await require_itself(canon, inner, from_id)
        _require_mergeable(from_, to)
        entry = EntitiesMerged(kept=to.id, merged=from_.id, members=from_.members, reason=reason)
        ids = (to_id, to.id, from_.id, *to.members, *from_.members)
        reads = frozenset(map(thing_key, ids))
        warnings = await _cycles(canon, from_, to)
        return Change(entries=(entry,), reads=reads, found=(from_.observed.count, warnings))

    receipt = await commit_change(canon, inner, account.space, prepare)
    entry = next(e for e in receipt.entries if isinstance(e, EntitiesMerged))
    count, warnings = receipt.found or (None, ())
    if count is None:  # an earlier call with this idempotency key did it
        count = (await require_itself(canon, inner, entry.merged)).sightings.count
    return Merged(
        from_id=entry.merged,
        to_id=entry.kept,
        observations=count,
        at=receipt.recorded_at,
        warnings=warnings,
    )


async def _cycles(canon: Canon, from_: Entity, to: Entity) -> tuple[Warned, ...]:
    """What should be told of edges that the merge turns into cycles.

    It is no reason to refuse: two records of one thing are one, whatever is said around them.
    """
    query = RelationQuery(
        spaces=frozenset((to.space,)),
        entities=family_of(from_) | family_of(to),
        direction="out",
        current=True,
    )
    types = {each.rel_type async for each in every_match(canon.state.relations, query)}
    return tuple(
        [
            Warned(
                code="relationship.cycle",
                message=f"over {rel_type} the two lead to each other, so that they lead to "
                "themselves now; if they are not one, take the merge back",
                path="/to_entity_id",
            )
            for rel_type in sorted(types & ACYCLIC)
            if (await leads_to(canon, rel_type, from_, to))[0]
            or (await leads_to(canon, rel_type, to, from_))[0]
        ]
    )


async def unmerge_records(
    canon: Canon, caller: Caller, user_id: str | None, separated_id: str, *, reason: str
) -> Merged:
    """Let the entity be its own again, and take along whoever had been merged into it before.

    Raises:
        InvalidInput: `user.mismatch`.
        NotFound: `entity.unknown`.
        Conflict: `entity.not-merged`.
    """
    account, inner = require_account(caller, user_id), within_account(caller)

    async def prepare(new_id: NewId) -> Change:
        del new_id  # nothing new comes into being
        gone = await require_itself(canon, inner, separated_id)
        if gone.merged_into is None:
            message = "this entity was not merged into another; name the one that was"
            raise Conflict("entity.not-merged", message, conflicts=[gone.id])
        kept = await require(canon, inner, Entity, gone.merged_into)
        return separated(gone, kept, reason)

    receipt = await commit_change(canon, inner, account.space, prepare)
    entry = next(e for e in receipt.entries if isinstance(e, EntitiesUnmerged))
    gone = await require_itself(canon, inner, entry.separated)
    return Merged(
        from_id=gone.id,
        to_id=entry.kept,
        observations=gone.observed.count,
        at=receipt.recorded_at,
    )


def _require_mergeable(from_: Entity, to: Entity) -> None:
    if from_.merged_into is not None:
        message = "the entity was merged into another before; take that back first"
        raise Conflict("entity.already-merged", message, conflicts=[from_.id])
    if from_.id == to.id:
        message = "an entity cannot be merged into itself"
        raise InvalidInput("merge.itself", message, path="/to_entity_id")
    if from_.entity_type not in types_alike(to.entity_type):
        message = "only entities of one type can be one, or a person and a contact"
        raise InvalidInput("merge.types", message, path="/to_entity_id")


_LOOK: Final = ""
"""In the place of a rule: what a name looks like."""

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
    return await duplicates_within(canon, caller, account_of(caller), query)


async def duplicates_within(
    canon: Canon, caller: Caller, account: Account, query: DuplicateQuery
) -> Duplicates:
    """The same among the entities of any space that the caller was found to see."""
    about = None
    wanted = None if query.entity_type is None else type_named(query.entity_type)
    if query.entity_id is not None:
        (about,) = await require_readable(canon, caller, Entity, (query.entity_id,))
        wanted = about.entity_type
    types: Iterable[str | None] = (None,) if wanted is None else sorted(types_alike(wanted))
    entities, more = await _compared(canon, account, types, query.looked_at)
    if about is not None:
        near = await _near(canon, account, about)
        entities = list({each.id: each for each in (*entities, about, *near)}.values())
    signs = await _signs_of(canon, account, entities)
    weight = len(entities) * OF_RECORD
    two = await kept_apart(canon, account.space, entities)
    pairs, cut = await aside(weight, lambda: _first_pairs(_pairs(signs, wanted, about), two))
    shown = pairs[query.offset : query.offset + query.limit]
    return Duplicates(pairs=shown, total=len(pairs), truncated=more or cut)


def _first_pairs(
    pairs: Iterator[Duplicate], two: Collection[tuple[str, str]]
) -> tuple[list[Duplicate], bool]:
    """The pairs in order, each once, as far as they are shown; and whether there are more.

    Those that are said to be `two` are none.
    """
    found: dict[tuple[str, str], Duplicate] = {}
    for pair in pairs:
        if len(found) == PAIRS_MAX:
            break
        if (pair.entity_id, pair.candidate_id) not in two:
            found.setdefault((pair.entity_id, pair.candidate_id), pair)
    else:
        return [found[key] for key in sorted(found)], False
    return [found[key] for key in sorted(found)], True


async def _compared(
    canon: Canon, account: Account, types: Iterable[str | None], most: int
) -> tuple[list[Entity], bool]:
    """The first entities of the account, and whether there are more."""
    found: list[Entity] = []
    for entity_type in types:
        offset = 0
        while len(found) <= most:
            page = await canon.state.entities(
                EntityQuery(
                    spaces=frozenset((account.space,)),
                    entity_type=entity_type,
                    limit=PAGE_MAX,
                    offset=offset,
                )
            )
            found += page.items
            offset += PAGE_MAX
            if len(page.items) < PAGE_MAX:
                break
    return found[:most], len(found) > most


async def _near(canon: Canon, account: Account, about: Entity) -> Sequence[Entity]:
    """Those who bear a key of the entity or look like it, wherever they stand in the account."""
    ((_, signs),) = await _signs_of(canon, account, (about,))
    texts = {found_under(sign) for _, sign in signs}
    found: dict[str, Entity] = {}
    for entity_type in types_alike(about.entity_type) if texts else ():
        query = IdentifierQuery(
            spaces=frozenset((account.space,)),
            keys=tuple(sorted(texts)),
            entity_type=entity_type,
            limit=PAGE_MAX,
        )
        pages = await canon.state.entities_identified(query)
        found |= {each.id: each for page in pages.values() for each in page.items}
    return list(found.values())


async def _signs_of(
    canon: Canon, account: Account, entities: Sequence[Entity]
) -> Sequence[tuple[Entity, Collection[tuple[str, str]]]]:
    """Each entity with the keys that it or anybody merged into it ever bore, and their looks."""
    schemas = await schemas_for(canon, account, entities)
    members = await canon.within(account.space).things(m for e in entities for m in e.members)
    found: list[tuple[Entity, Collection[tuple[str, str]]]] = []
    for entity in entities:
        schema = schemas.get(entity.entity_type)
        now = () if schema is None else identities_of(schema, entity.properties)
        signs = {(each.rule, key_mark(each.key)) for each in now}
        for one in (entity, *(members.get(member) for member in entity.members)):
            if isinstance(one, Entity):
                keys = keys_of(one.borne)
                signs |= {(rule, key) for rule in keys for key in keys[rule]}
                signs |= {(_LOOK, look) for look in looks_of(one.borne)}
        found.append((entity, sorted(signs)))
    return found


def _pairs(
    known: Iterable[tuple[Entity, Collection[tuple[str, str]]]],
    entity_type: str | None,
    about: Entity | None,
) -> Iterator[Duplicate]:
    """Every pair, once for each sign that it shares; all of them, or those of one entity.

    Of those that look alike the ones with one name are told before.
    """
    by_sign: dict[tuple[bool, frozenset[str], str, str], list[Entity]] = {}
    for entity, signs in known:
        kinds = types_alike(entity.entity_type)
        for rule, sign in signs:
            by_sign.setdefault((rule == _LOOK, kinds, rule, sign), []).append(entity)
    for (look, _, rule, sign), sharing in sorted(by_sign.items(), key=lambda each: each[0][0]):
        ordered = sorted(sharing, key=_id)
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
            if entity_type not in {None, one.entity_type, other.entity_type}:
                continue
            yield Duplicate(
                entity_id=one.id,
                candidate_id=other.id,
                entity_type=one.entity_type,
                reason=LOOK_ALIKE if look else reason_of(rule),
                sign=sign,
            )


def _id(entity: Entity) -> str:
    return entity.id
