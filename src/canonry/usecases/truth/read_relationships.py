"""Read relationships: those of an entity, newest first, or one by its type and ends."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Final

from canonry.domain.errors import InvalidInput, NotFound, Unavailable
from canonry.domain.revising import revised
from canonry.domain.things.entities import Entity, family_of
from canonry.domain.things.relations import Relation
from canonry.domain.truth.accounts import relation_id_of
from canonry.domain.vocabularies.truth_relations import TruthRelation
from canonry.ports.views.pages import PAGE_MAX
from canonry.ports.views.state import RelationQuery
from canonry.usecases.kernel.account import account_of, read_by, require_readable
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.traverse_related import DIRECTIONS

_FAMILY_MAX: Final = 10
_PAGES_MAX: Final = 100
"""So many pages of the relations of merged entities are looked through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationshipQuery:
    """Which of an entity's relationships, and which part of the list."""

    entity_id: str
    direction: str = "both"
    rel_type: str | None = None
    limit: int = 100
    offset: int = 0


async def list_relationships(
    canon: Canon, caller: Caller, query: RelationshipQuery
) -> tuple[Sequence[Relation], int]:
    """The relationships with survivors at their ends, and how many there are.

    Raises:
        NotFound: `entity.unknown`.
    """
    (entity,) = await require_readable(canon, caller, Entity, (query.entity_id,))
    family = family_of(entity)
    wanted = RelationQuery(
        spaces=frozenset((entity.space,)),
        entities=family,
        rel_type=query.rel_type,
        direction=DIRECTIONS[query.direction],
        current=True,
        newest_first=True,
        limit=query.limit,
        offset=query.offset,
    )
    if not await _may_have_loops(canon, caller, entity):
        page = await canon.state.relations(wanted)
        return await with_survivors(canon, caller, page.items), page.total
    edges = await _without_loops(canon, wanted)
    shown = edges[query.offset : query.offset + query.limit]
    return await with_survivors(canon, caller, shown), len(edges)


async def _may_have_loops(canon: Canon, caller: Caller, entity: Entity) -> bool:
    """Whether a merge may have turned a relationship onto itself.

    In an account their ids say it; elsewhere, or where very many were merged, they are looked for.
    """
    family = sorted(family_of(entity))
    account = account_of(caller)
    if len(family) == 1 or entity.space != account.space or len(family) > _FAMILY_MAX:
        return len(family) > 1
    ids = [
        relation_id_of(account.user_id, rel_type, one, other)
        for rel_type in TruthRelation
        for one, other in permutations(family, 2)
    ]
    return bool(await canon.within(account.space).things(ids))


async def _without_loops(canon: Canon, query: RelationQuery) -> Sequence[Relation]:
    """All relations of merged entities but those that the merge has turned onto themselves.

    Raises:
        Unavailable: `relationship.too-far`, they are too many to look through.
    """
    found: list[Relation] = []
    for number in range(_PAGES_MAX):
        page = await canon.state.relations(revised(query, limit=PAGE_MAX, offset=number * PAGE_MAX))
        found += page.items
        if len(found) >= page.total or not page.items:
            return [e for e in found if not {e.from_id, e.to_id} <= query.entities]
    message = "too many relationships hang on the merged entities; ask for one type or direction"
    raise Unavailable("relationship.too-far", message, limit=_PAGES_MAX * PAGE_MAX)


async def read_relationship(
    canon: Canon, caller: Caller, rel_type: str, from_id: str, to_id: str
) -> Relation:
    """The relationship of a type between two entities, whichever of their names it was made under.

    Raises:
        InvalidInput: `relationship.type-unknown`.
        NotFound: `entity.unknown` or `relationship.unknown`.
    """
    if rel_type not in list(TruthRelation):
        message = f"relationship_type is one of {', '.join(TruthRelation)}"
        raise InvalidInput("relationship.type-unknown", message, path="/relationship_type")
    from_, to = await require_readable(canon, caller, Entity, (from_id, to_id))
    account = account_of(caller)
    ids = [
        relation_id_of(account.user_id, rel_type, one, other)
        for one in (from_.id, *from_.members)
        for other in (to.id, *to.members)
    ]
    found = await canon.within(account.space).things(ids)
    standing = [r for i in ids if isinstance(r := found.get(i), Relation) and r.current]
    if not standing:
        message = "no relationship of this type stands between the two"
        raise NotFound("relationship.unknown", message, kind="relationship")
    return revised(standing[0], from_id=from_.id, to_id=to.id)


async def with_survivors(
    canon: Canon, caller: Caller, relations: Iterable[Relation]
) -> Sequence[Relation]:
    """The relations with every merged entity at their ends replaced by the one that it became."""
    edges = tuple(relations)
    ends = {end for edge in edges for end in (edge.from_id, edge.to_id)}
    found = await read_by(canon, caller).things(ends)
    moved = {i: e.merged_into for i, e in found.items() if isinstance(e, Entity) and e.merged_into}
    return tuple(
        revised(
            edge,
            from_id=moved.get(edge.from_id, edge.from_id),
            to_id=moved.get(edge.to_id, edge.to_id),
        )
        for edge in edges
    )
