"""Read relationships: those of an entity, newest first, or one by its type and ends."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from canonry.canon.session.account import account_of, read_by, require_readable
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.every_item import every_match
from canonry.canon.session.traverse_related import DIRECTIONS
from canonry.log.items.accounts import relation_id_of
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.relations import Relation
from canonry.log.schemas.truth_relations import TruthRelation
from canonry.readmodels.parallel_edges import laid_together
from canonry.readmodels.ports.pages import PAGE_MAX
from canonry.readmodels.ports.state import RelationQuery
from canonry.values.errors import InvalidInput, NotFound, Unavailable
from canonry.values.ids import EntityId
from canonry.values.revising import revised

WHOLE_MAX: Final = 5_000
"""So many relations of one entity are looked at together for those that a merge made one."""

LOOKED_THROUGH_MAX: Final = 50_000
"""So many relations of merged entities are looked through."""


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
    first = await canon.state.relations(revised(wanted, limit=PAGE_MAX, offset=0))
    if len(family) == 1 and first.total > WHOLE_MAX:  # so many are counted as they are stored
        page = await canon.state.relations(wanted)
        return await _laid_together(canon, caller, page.items), page.total
    edges = first.items if first.total <= PAGE_MAX else await _all(canon, wanted)
    shown = await _laid_together(canon, caller, edges)
    return shown[query.offset : query.offset + query.limit], len(shown)


async def _all(canon: Canon, query: RelationQuery) -> Sequence[Relation]:
    """All relations of an entity and of those merged into it.

    Raises:
        Unavailable: `relationship.too-far`, they are too many to look through.
    """
    found: list[Relation] = []
    async for each in every_match(canon.state.relations, query):
        found.append(each)
        if len(found) > LOOKED_THROUGH_MAX:
            message = "too many relationships hang on the merged entities; ask for one type"
            raise Unavailable("relationship.too-far", message, limit=LOOKED_THROUGH_MAX)
    return found


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
    family: dict[str, EntityId] = {each: e.id for e in (from_, to) for each in e.members}
    return next(iter(laid_together(standing, family)))


async def _laid_together(
    canon: Canon, caller: Caller, edges: Sequence[Relation]
) -> Sequence[Relation]:
    """The relations between those who answer for whoever stands at their ends, each once."""
    ends = {end for edge in edges for end in (edge.from_id, edge.to_id)}
    found = await read_by(canon, caller).things(ends)
    moved = {i: e.merged_into for i, e in found.items() if isinstance(e, Entity) and e.merged_into}
    return tuple(laid_together(edges, moved))
