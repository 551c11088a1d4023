"""Ties of realms as they are read: how each stands to others, told from both of its ends."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from canonry.log.items.entities import Entity
from canonry.log.schemas.world_types import BELONGS_TO, ON_ROUTE, TIED_TO, Tie, WorldType
from canonry.readmodels.edges import kind_of, tie_of
from canonry.values.ids import EntityId
from canonry.world.usecases.world_at import WorldAt

TOLD_MAX: Final = 200
"""So many ties are told of a realm in each direction; memberships are counted by themselves."""

_ORDER: Final = {each: place for place, each in enumerate(Tie)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tied:
    """How a realm or location stands to the realm `other`.

    `outward`: the tie leads there, as a vassal's to its liege; a border has no direction.
    """

    tie: Tie
    other: Entity
    outward: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteOn:
    """A route, and the location that is its next stop."""

    route: str
    stop: Entity


async def ties_of(
    then: WorldAt, realms: Sequence[Entity], *more: EntityId
) -> Mapping[EntityId, Sequence[Tied]]:
    """The ties of realms, and of what else is a member of some, by the id of whose they are.

    By tie, direction (from them first) and name.
    """
    ids = [realm.id for realm in realms]
    outward = [
        *await then.edges(TIED_TO, *ids, kinds=None, limit=TOLD_MAX),
        *await then.edges(BELONGS_TO, *ids, *more, kinds=(Tie.MEMBER_OF,), limit=TOLD_MAX),
    ]
    inward = await then.edges(TIED_TO, *ids, outward=False, kinds=None, limit=TOLD_MAX)
    known: dict[str, Entity] = {realm.id: realm for realm in realms}
    others = dict.fromkeys((*(edge.to_id for edge in outward), *(edge.from_id for edge in inward)))
    known |= await then.all((each for each in others if each not in known), WorldType.REALM)
    found: dict[EntityId, list[Tied]] = defaultdict(list)
    for edges, leads_out in ((outward, True), (inward, False)):
        for edge in edges:
            mine, other = (edge.from_id, edge.to_id)[:: 1 if leads_out else -1]
            tie = tie_of(edge)
            if tie is not None and other in known:
                found[mine].append(Tied(tie=tie, other=known[other], outward=leads_out))
    for ties in found.values():
        ties.sort(key=_place_of)
    return found


def _place_of(tied: Tied) -> tuple[int, bool, str, str]:
    inward = not tied.outward and tied.tie is not Tie.BORDERS
    return (_ORDER[tied.tie], inward, tied.other.name, tied.other.id)


async def routes_on(then: WorldAt, location: EntityId) -> Sequence[RouteOn]:
    """The routes that lead on from a location, by name, each with its next stop."""
    edges = await then.edges(ON_ROUTE, location, kinds=None)
    known = await then.all(dict.fromkeys(edge.to_id for edge in edges), WorldType.LOCATION)
    return [
        RouteOn(route=kind_of(edge), stop=known[edge.to_id])
        for edge in edges
        if edge.to_id in known
    ]
