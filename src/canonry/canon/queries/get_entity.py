"""Get an entity: its snapshot, and if asked its relations and the history of its state."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import require
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Fact, FactType
from canonry.log.items.relations import Relation
from canonry.readmodels.ports.pages import PAGE_MAX
from canonry.readmodels.ports.state import FactQuery, RelationQuery

_FACT_PAGES: Final = 10
"""So many pages of facts of state make the history of an entity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityInFull:
    """An entity and what was asked beside it; None: not asked.

    `others` has, for each relation in `relations`, the entity at its other end, as its root where
    that was merged away. `history_truncated`: there are more facts of state.
    """

    entity: Entity
    relations: tuple[Relation, ...] | None = None
    relation_total: int = 0
    others: Mapping[str, Entity] | None = None
    history: tuple[Fact, ...] | None = None
    history_truncated: bool = False


async def get_entity(
    canon: Canon, caller: Caller, entity_id: str, *, relations: bool, history: bool
) -> EntityInFull:
    """The entity, or the one that it was merged into.

    Raises:
        NotFound: `entity.unknown`.
    """
    entity = await require(canon, caller, Entity, entity_id)
    if not relations and not history:
        return EntityInFull(entity=entity)
    edges, total = await _relations(canon, entity) if relations else (None, 0)
    facts, truncated = await _history(canon, entity) if history else (None, False)
    return EntityInFull(
        entity=entity,
        relations=edges,
        relation_total=total,
        others=await _others(canon, entity, edges or ()),
        history=facts,
        history_truncated=truncated,
    )


async def _relations(canon: Canon, entity: Entity) -> tuple[tuple[Relation, ...], int]:
    query = RelationQuery(
        spaces=frozenset((entity.space,)), entities=family_of(entity), limit=PAGE_MAX
    )
    page = await canon.state.relations(query)
    return tuple(page.items), page.total


async def _others(
    canon: Canon, entity: Entity, relations: tuple[Relation, ...]
) -> Mapping[str, Entity]:
    family = family_of(entity)
    ends = {r.id: r.to_id if r.from_id in family else r.from_id for r in relations}
    found = await canon.within(entity.space).roots(set(ends.values()))
    return {relation_id: found[end] for relation_id, end in ends.items() if end in found}


async def _history(canon: Canon, entity: Entity) -> tuple[tuple[Fact, ...], bool]:
    states: list[Fact] = []
    for number in range(_FACT_PAGES):
        query = FactQuery(
            spaces=frozenset((entity.space,)),
            entities=family_of(entity),
            fact_type=FactType.STATE,
            limit=PAGE_MAX,
            offset=number * PAGE_MAX,
        )
        page = await canon.state.facts(query)
        states += page.items
        if (number + 1) * PAGE_MAX >= page.total:
            return tuple(states), False
    return tuple(states), True
