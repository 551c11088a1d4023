"""Standing relations: the current edges that a new one would repeat, take over from or oppose."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from canonry.domain.ids import EntityId
from canonry.domain.things.entities import Entity, family_of
from canonry.domain.things.relations import Relation
from canonry.domain.vocabularies.narrative_relations import RelationType
from canonry.ports.views.pages import PAGE_MAX
from canonry.ports.views.state import RelationQuery
from canonry.usecases.kernel.canon import Canon

_PAGES: Final = 20
"""So many pages of one entity's relations are searched for a pair."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingRelations:
    """`same` have its type and pair, `rivals` hold its one place, `opposed` exclude it."""

    same: tuple[Relation, ...]
    rivals: tuple[Relation, ...]
    opposed: tuple[Relation, ...]


async def standing_relations(
    canon: Canon, kind: RelationType, from_: Entity, to: Entity
) -> StandingRelations:
    """What currently holds around a new relation of this kind between these two."""
    same = await _between(canon, kind.name, from_, to, both_ways=kind.symmetric)
    opposed: list[Relation] = []
    for name in sorted(kind.excludes):
        opposed += await _between(canon, name, from_, to, both_ways=True)
    rivals: list[Relation] = []
    if kind.one_target:
        rivals += await _current(canon, kind.name, from_, "out")
    if kind.one_origin:
        rivals += await _current(canon, kind.name, to, "in")
    repeated = {relation.id for relation in same}
    return StandingRelations(
        same=tuple(same),
        rivals=tuple(relation for relation in rivals if relation.id not in repeated),
        opposed=tuple(opposed),
    )


async def _current(
    canon: Canon, rel_type: str, entity: Entity, direction: str
) -> Iterable[Relation]:
    return (await canon.state.relations(_query(rel_type, entity, direction))).items


async def _between(
    canon: Canon, rel_type: str, from_: Entity, to: Entity, *, both_ways: bool
) -> list[Relation]:
    """Search the edges of whichever end has fewer."""
    ways = ("any", "any") if both_ways else ("out", "in")
    left = await canon.state.relations(_query(rel_type, from_, ways[0]))
    right = await canon.state.relations(_query(rel_type, to, ways[1]))
    few_left = left.total <= right.total
    entity, way, page = (from_, ways[0], left) if few_left else (to, ways[1], right)
    found = list(page.items)
    for number in range(1, _PAGES):
        if number * PAGE_MAX >= page.total:
            break
        query = _query(rel_type, entity, way, offset=number * PAGE_MAX)
        found += (await canon.state.relations(query)).items
    forth = (family_of(from_), family_of(to))
    return [r for r in found if _joins(r, *forth) or (both_ways and _joins(r, *forth[::-1]))]


def _joins(relation: Relation, left: frozenset[EntityId], right: frozenset[EntityId]) -> bool:
    return relation.from_id in left and relation.to_id in right


def _query(rel_type: str, entity: Entity, direction: str, *, offset: int = 0) -> RelationQuery:
    return RelationQuery(
        spaces=frozenset((entity.space,)),
        entities=family_of(entity),
        rel_type=rel_type,
        direction=direction,
        current=True,
        limit=PAGE_MAX,
        offset=offset,
    )
