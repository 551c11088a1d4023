"""Leave behind: what was with somebody or at a place stays in the world when that is erased.

A person's items lie where the person was; who and what was at a place is at the starter.
"""

from collections.abc import Sequence

from canonry.canon.session.canon import Canon
from canonry.log.entries import Entry
from canonry.log.items.entities import Entity
from canonry.log.schemas.world_types import HELD_BY, HOLDERS, LOCATED_IN, MOVERS, WorldType
from canonry.readmodels.edges import kind_of
from canonry.values.errors import NotFound
from canonry.values.ids import EntityId, NewId, SpaceId
from canonry.world.domain.merging import thing_id_of
from canonry.world.usecases.world_draft import WorldDraft
from canonry.world.usecases.worlds import BoundWorld, find_world

LEFT_MAX = 100_000
"""So much of what was with one thing is put elsewhere."""

_KINDS = (*MOVERS, "")


async def leave_behind(
    canon: Canon, space: SpaceId, targets: Sequence[str], new_id: NewId
) -> tuple[Sequence[Entry], frozenset[str]]:
    """The entries that move what was with `targets` of a world elsewhere, and what was read."""
    try:
        world = await find_world(canon, space)
    except NotFound:  # its import was cut off before anybody held anything
        return (), frozenset()
    if world is None:
        return (), frozenset()
    draft = WorldDraft(canon=canon, space=space, at=world.instant, new_id=new_id)
    gone = frozenset(targets)
    for left in (await canon.state.things(targets)).values():
        if isinstance(left, Entity) and left.entity_type in HOLDERS:
            await _leave(draft, world, left, gone)
    return draft.entries, frozenset(draft.reads)


async def _leave(draft: WorldDraft, world: BoundWorld, left: Entity, gone: frozenset[str]) -> None:
    """Put what was with somebody, or at a place, where it is found."""
    for rel_type in (HELD_BY, LOCATED_IN):
        ends = await draft.edges(rel_type, left.id, outward=False, kinds=_KINDS, limit=LEFT_MAX)
        with_it = [edge for edge in ends if edge.from_id not in gone]
        place = await _place_for(draft, world, left.id, gone)
        if place is None:
            continue
        for edge in with_it:
            await draft.require(edge.from_id, *MOVERS, WorldType.ITEM)
            heir = draft.join(rel_type, edge.from_id, place, kind=kind_of(edge))
            draft.end(edge, heir=heir, reason="left behind")


async def _place_for(
    draft: WorldDraft, world: BoundWorld, left: EntityId, gone: frozenset[str]
) -> EntityId | None:
    """Where a mover was, else the starter; None: that goes as well."""
    starter = thing_id_of(world.space, world.starter)
    edges = await draft.latest_edges(LOCATED_IN, left, kinds=_KINDS)
    for place in (*(edge.to_id for edge in edges), starter):
        if place not in gone:
            return place
    return None
