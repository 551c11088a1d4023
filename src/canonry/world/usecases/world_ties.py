"""Ties between the items of a world, and what stays behind when one is erased."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from canonry.canon.session.canon import Canon
from canonry.log.entries import Entry
from canonry.log.folding import edge_key, thing_key
from canonry.log.items.entities import Entity
from canonry.log.items.facts import RelationDraft
from canonry.log.schemas.world_types import (
    BELONGS_TO,
    HELD_BY,
    HOLDERS,
    LOCATED_IN,
    MOVERS,
    ON_ROUTE,
    OPPOSED,
    TIED_TO,
    Tie,
    WorldType,
    relation_of,
)
from canonry.readmodels.edges import kind_of, tie_of
from canonry.values.errors import Conflict, InvalidInput, NotFound
from canonry.values.ids import EntityId, NewId, SpaceId
from canonry.world.domain.atlas import Leg, Route, legs_of
from canonry.world.domain.checks import TIES_MAX
from canonry.world.domain.merging import thing_id_of
from canonry.world.usecases.world_draft import WorldDraft, changing
from canonry.world.usecases.worlds import BoundWorld, WorldAt, find_world

# Ties and routes: how realms stand to each other, and what joins places, as it is changed.
#
# A border is one edge, from the smaller id to the larger, so that both sides always agree on it.


@dataclass(frozen=True, slots=True, kw_only=True)
class TieBetween:
    """What ties the realm or location `start` to a realm; both are named by key or id."""

    start: str
    kind: Tie
    realm: str


async def tie_up(draft: WorldDraft, start: EntityId, wanted: Mapping[Tie, Iterable[str]]) -> bool:
    """Tie a location or realm by each of these ties to these realms, and to no others.

    Raises:
        NotFound: `realm.unknown`.
        Conflict: `tie.to-itself` or `tie.opposed`.
        InvalidInput: `tie.too-many`.
    """
    asked = [(tie, thing_id_of(draft.space, key)) for tie, keys in wanted.items() for key in keys]
    standing = {
        (tie, realm): edge
        for tie in wanted
        for realm, edge in (await _standing(draft, start, tie)).items()
    }
    join = partial(_tie, draft, start)
    return await draft.settle(asked, standing, join, reason="it stands so no longer")


@changing
async def create_tie(draft: WorldDraft, new: TieBetween) -> None:
    """Tie a location or realm to one more realm.

    Raises:
        NotFound: `realm.unknown`, or `location.unknown` where a location may be tied.
        Conflict: `tie.stands`, `tie.to-itself` or `tie.opposed`.
        InvalidInput: `tie.too-many`.
    """
    start, realm = await _ends(draft, new)
    standing = await _standing(draft, start, new.kind)
    if realm in standing:
        raise Conflict("tie.stands", "this tie holds already", conflicts=[standing[realm].id])
    await _tie(draft, start, (new.kind, realm))


@changing
async def remove_tie(draft: WorldDraft, old: TieBetween) -> None:
    """End the tie of a location or realm to a realm.

    Raises:
        NotFound: `realm.unknown`, or `location.unknown` where a location may be tied.
        Conflict: `tie.unknown`.
    """
    start, realm = await _ends(draft, old)
    edge = (await _standing(draft, start, old.kind)).get(realm)
    if edge is None:
        message = "there is no such tie; look at the realm's context"
        raise Conflict("tie.unknown", message, path="/toRealmId", conflicts=[start])
    draft.end(edge, reason="the tie was removed")


async def _ends(draft: WorldDraft, between: TieBetween) -> tuple[EntityId, EntityId]:
    start, realm = (thing_id_of(draft.space, key) for key in (between.start, between.realm))
    places = (WorldType.LOCATION,) if between.kind is Tie.MEMBER_OF else ()
    await draft.require(start, WorldType.REALM, *places)
    await draft.require(realm, WorldType.REALM)
    return start, realm


async def _standing(
    draft: WorldDraft, start: EntityId, kind: Tie
) -> Mapping[EntityId, RelationDraft]:
    """The realms to which a tie leads now, each with its edge."""
    outward = await draft.edges(relation_of(kind), start, kinds=(kind,))
    found = {edge.to_id: edge for edge in outward}
    if kind is Tie.BORDERS:
        for edge in await draft.edges(TIED_TO, start, outward=False, kinds=(kind,)):
            draft.reads |= {thing_key(edge.id), edge_key(edge.from_id, TIED_TO)}
            found[edge.from_id] = edge
    return found


async def _tie(draft: WorldDraft, start: EntityId, tie: tuple[Tie, EntityId]) -> None:
    kind, realm = tie
    await draft.require(realm, WorldType.REALM)
    if realm == start:
        raise Conflict("tie.to-itself", "a realm is not tied to itself", conflicts=[start])
    first, second = sorted((start, realm)) if kind is Tie.BORDERS else (start, realm)
    for end in (first, second) if kind is Tie.BORDERS else (first,):
        if len(await _standing(draft, end, kind)) >= TIES_MAX:
            message = f"it has {TIES_MAX} ties of this kind already; remove one first"
            raise InvalidInput("tie.too-many", message, path="/tie")
    if kind in OPPOSED and second in await _standing(draft, first, OPPOSED[kind]):
        message = f"it is {OPPOSED[kind]} that realm; remove this tie first"
        raise Conflict("tie.opposed", message, conflicts=[first, second])
    draft.join(relation_of(kind), first, second, kind=kind)


async def join_legs(
    draft: WorldDraft, start: EntityId, legs: Sequence[Leg], names: Iterable[str]
) -> bool:
    """Of the routes of these names let these legs, and no others, lead on from a location.

    Raises:
        NotFound: `location.unknown`.
        Conflict: `route.to-itself`.
        InvalidInput: `route.too-many`.
    """
    wanted = [(leg.route, thing_id_of(draft.space, leg.end)) for leg in legs]
    standing = await _legs(draft, start, names)
    join = partial(_join_leg, draft, start)
    return await draft.settle(wanted, standing, join, reason="the route leads there no longer")


@changing
async def create_route(draft: WorldDraft, route: Route) -> None:
    """Let a route lead from stop to stop; where it does already, it stays.

    Raises:
        NotFound: `location.unknown`.
        Conflict: `route.to-itself`, or `route.stands`: all of it is there.
        InvalidInput: `route.too-many`.
    """
    added = 0
    for leg in legs_of((route,)):
        start, end = (thing_id_of(draft.space, key) for key in (leg.start, leg.end))
        await draft.require(start, WorldType.LOCATION)
        if (leg.route, end) not in await _legs(draft, start):
            await _join_leg(draft, start, (leg.route, end))
            added += 1
    if not added:
        message = "this route leads there already"
        raise Conflict("route.stands", message, path="/stopIds")


@changing
async def end_route(draft: WorldDraft, route: Route) -> None:
    """End a route from stop to stop.

    Raises:
        NotFound: `location.unknown`.
        Conflict: `route.unknown`, it does not lead from a stop to the next.
    """
    for leg in legs_of((route,)):
        start, end = (thing_id_of(draft.space, key) for key in (leg.start, leg.end))
        await draft.require(start, WorldType.LOCATION)
        edge = (await _legs(draft, start)).get((leg.route, end))
        if edge is None:
            message = f"this route does not lead from {leg.start} to {leg.end}"
            raise Conflict("route.unknown", message, path="/stopIds", conflicts=[start])
        draft.end(edge, reason="the route was removed")


async def _legs(
    draft: WorldDraft, start: EntityId, names: Iterable[str] | None = None
) -> Mapping[tuple[str, EntityId], RelationDraft]:
    edges = await draft.edges(ON_ROUTE, start, kinds=names)
    return {(kind_of(edge), edge.to_id): edge for edge in edges}


async def _join_leg(draft: WorldDraft, start: EntityId, leg: tuple[str, EntityId]) -> None:
    route, end = leg
    await draft.require(end, WorldType.LOCATION)
    if start == end:
        message = "a route leads from a stop to another one"
        raise Conflict("route.to-itself", message, path="/stopIds", conflicts=[start])
    if len(await _legs(draft, start)) >= TIES_MAX:
        message = f"{TIES_MAX} legs of routes lead on from there already; remove one first"
        raise InvalidInput("route.too-many", message, path="/stopIds")
    draft.join(ON_ROUTE, start, end, kind=route)


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


# Leave behind: what was with somebody or at a place stays in the world when that is erased.
#
# A person's items lie where the person was; who and what was at a place is at the starter.

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
