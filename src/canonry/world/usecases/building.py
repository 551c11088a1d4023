"""Build worlds: their parts, ties and routes, one at a time; and what stays when one is erased."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from canonry.canon.judging.known_items import make_event
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import first_made
from canonry.log.entries import Entry, Tombstone
from canonry.log.folding import edge_key, item_key
from canonry.log.items.entities import Entity, EntityDraft
from canonry.log.items.facts import Event, EventDraft, RelationDraft
from canonry.log.schemas.narrative import PROPERTY_PREFIX
from canonry.log.schemas.world_types import (
    BELONGS_TO,
    EXIT,
    HELD_BY,
    HOLDERS,
    LAYER_OF,
    LOCATED_IN,
    MOVERS,
    ON_ROUTE,
    OPPOSED,
    TIED_TO,
    WITHIN,
    Tie,
    WorldType,
    relation_of,
)
from canonry.readmodels.edges import (
    OPPOSITE,
    Direction,
    Tick,
    check_tick,
    instant_of,
    kind_of,
    tie_of,
)
from canonry.values.errors import Conflict, InvalidInput, NotFound
from canonry.values.ids import EntityId, EventId, NewId, SpaceId
from canonry.values.json_values import decode_json, encode_json
from canonry.world.domain import atlas
from canonry.world.domain.checks import TIES_MAX
from canonry.world.usecases.worlds import (
    BoundWorld,
    WorldAt,
    WorldDraft,
    change_world,
    draft_command,
    find_world,
)

# Ties and routes. A border is one edge, from the smaller id to the larger, so that both sides
# always agree on it.


async def set_ties(draft: WorldDraft, start: EntityId, wanted: Mapping[Tie, Iterable[str]]) -> bool:
    """Tie a location or realm by each of these ties to these realms, and to no others.

    Raises:
        NotFound: `realm.unknown`.
        Conflict: `tie.to-itself` or `tie.opposed`.
        InvalidInput: `tie.too-many`.
    """
    asked = [(tie, atlas.item_id_of(draft.space, key)) for tie, k in wanted.items() for key in k]
    standing = {
        (tie, realm): edge
        for tie in wanted
        for realm, edge in (await _current_ties(draft, start, tie)).items()
    }
    join = partial(_add_tie, draft, start)
    return await draft.update_edges(asked, standing, join, reason="it stands so no longer")


@draft_command
async def create_tie(draft: WorldDraft, start: str, kind: Tie, realm: str) -> None:
    """Tie the location or realm `start` to one more realm; both are named by key or id.

    Raises:
        NotFound: `realm.unknown`, or `location.unknown` where a location may be tied.
        Conflict: `tie.stands`, `tie.to-itself` or `tie.opposed`.
        InvalidInput: `tie.too-many`.
    """
    one, other = await _tie_ends(draft, start, kind, realm)
    standing = await _current_ties(draft, one, kind)
    if other in standing:
        message = f"The tie {kind} already holds."
        raise Conflict("tie.stands", message, conflicts=[standing[other].id])
    await _add_tie(draft, one, (kind, other))


@draft_command
async def remove_tie(draft: WorldDraft, start: str, kind: Tie, realm: str) -> None:
    """End the tie of the location or realm `start` to a realm.

    Raises:
        NotFound: `realm.unknown`, or `location.unknown` where a location may be tied.
        Conflict: `tie.unknown`.
    """
    one, other = await _tie_ends(draft, start, kind, realm)
    edge = (await _current_ties(draft, one, kind)).get(other)
    if edge is None:
        message = "There is no such tie. Read the ties of the realm first."
        raise Conflict("tie.unknown", message, path="/toRealmId", conflicts=[one])
    draft.end_edge(edge, reason="the tie was removed")


async def _tie_ends(
    draft: WorldDraft, start: str, kind: Tie, realm: str
) -> tuple[EntityId, EntityId]:
    location_type = (WorldType.LOCATION,) if kind is Tie.MEMBER_OF else ()
    one = await draft.require_id(start, WorldType.REALM, *location_type)
    return one, await draft.require_id(realm, WorldType.REALM)


async def _current_ties(
    draft: WorldDraft, start: EntityId, kind: Tie
) -> Mapping[EntityId, RelationDraft]:
    """Return the realms of a current tie, each with its edge."""
    outward = await draft.edges_of(relation_of(kind), start, kinds=(kind,))
    found = {edge.to_id: edge for edge in outward}
    if kind is Tie.BORDERS:
        for edge in await draft.edges_of(TIED_TO, start, outward=False, kinds=(kind,)):
            draft.reads |= {item_key(edge.id), edge_key(edge.from_id, TIED_TO)}
            found[edge.from_id] = edge
    return found


async def _add_tie(draft: WorldDraft, start: EntityId, tie: tuple[Tie, EntityId]) -> None:
    kind, realm = tie
    await draft.require_type(realm, WorldType.REALM)
    if realm == start:
        message = "A realm cannot be tied to itself. Name another realm."
        raise Conflict("tie.to-itself", message, conflicts=[start])
    first, second = sorted((start, realm)) if kind is Tie.BORDERS else (start, realm)
    for end in (first, second) if kind is Tie.BORDERS else (first,):
        if len(await _current_ties(draft, end, kind)) >= TIES_MAX:
            message = f"The limit of {TIES_MAX} ties by {kind} is reached. Remove one first."
            raise InvalidInput("tie.too-many", message, path="/tie")
    if kind in OPPOSED and second in await _current_ties(draft, first, OPPOSED[kind]):
        message = f"The realms are tied by {OPPOSED[kind]}. Remove this tie first."
        raise Conflict("tie.opposed", message, conflicts=[first, second])
    draft.add_edge(relation_of(kind), first, second, kind=kind)


async def set_legs(
    draft: WorldDraft, start: EntityId, legs: Sequence[atlas.Leg], names: Iterable[str]
) -> bool:
    """Of the routes of these names let these legs, and no others, lead on from a location.

    Raises:
        NotFound: `location.unknown`.
        Conflict: `route.to-itself`.
        InvalidInput: `route.too-many`.
    """
    wanted = [(leg.route, atlas.item_id_of(draft.space, leg.end)) for leg in legs]
    standing = await _current_legs(draft, start, names)
    join = partial(_join_leg, draft, start)
    return await draft.update_edges(
        wanted, standing, join, reason="the route leads there no longer"
    )


@draft_command
async def create_route(draft: WorldDraft, route: atlas.Route) -> None:
    """Let a route lead from stop to stop; where it does already, it stays.

    Raises:
        NotFound: `location.unknown`.
        Conflict: `route.to-itself`, or `route.stands`: all of it is there.
        InvalidInput: `route.too-many`.
    """
    added = 0
    for leg in atlas.legs_of((route,)):
        start, end = (atlas.item_id_of(draft.space, key) for key in (leg.start, leg.end))
        await draft.require_type(start, WorldType.LOCATION)
        if (leg.route, end) not in await _current_legs(draft, start):
            await _join_leg(draft, start, (leg.route, end))
            added += 1
    if not added:
        message = "The route already has all these stops."
        raise Conflict("route.stands", message, path="/stopIds")


@draft_command
async def end_route(draft: WorldDraft, route: atlas.Route) -> None:
    """End a route from stop to stop.

    Raises:
        NotFound: `location.unknown`.
        Conflict: `route.unknown`, it does not lead from a stop to the next.
    """
    for leg in atlas.legs_of((route,)):
        start, end = (atlas.item_id_of(draft.space, key) for key in (leg.start, leg.end))
        await draft.require_type(start, WorldType.LOCATION)
        edge = (await _current_legs(draft, start)).get((leg.route, end))
        if edge is None:
            message = f"This route does not lead from {leg.start} to {leg.end}."
            raise Conflict("route.unknown", message, path="/stopIds", conflicts=[start])
        draft.end_edge(edge, reason="the route was removed")


async def _current_legs(
    draft: WorldDraft, start: EntityId, names: Iterable[str] | None = None
) -> Mapping[tuple[str, EntityId], RelationDraft]:
    edges = await draft.edges_of(ON_ROUTE, start, kinds=names)
    return {(kind_of(edge), edge.to_id): edge for edge in edges}


async def _join_leg(draft: WorldDraft, start: EntityId, leg: tuple[str, EntityId]) -> None:
    route, end = leg
    await draft.require_type(end, WorldType.LOCATION)
    if start == end:
        message = "Two stops in a row are the same. Name different locations."
        raise Conflict("route.to-itself", message, path="/stopIds", conflicts=[start])
    if len(await _current_legs(draft, start)) >= TIES_MAX:
        message = f"A stop starts at most {TIES_MAX} legs of routes. Remove one first."
        raise InvalidInput("route.too-many", message, path="/stopIds")
    draft.add_edge(ON_ROUTE, start, end, kind=route)


TIES_SHOWN_MAX: Final = 200
"""The most ties of a realm in each direction; memberships are counted separately."""

_ORDER: Final = {each: rank for rank, each in enumerate(Tie)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RealmTie:
    """The tie of a realm or location to the realm `other`.

    `outward`: the tie leads there, as a vassal's to its liege; a border has no direction.
    """

    tie: Tie
    other: Entity
    outward: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStop:
    """A route, and the location that is its next stop."""

    route: str
    stop: Entity


async def ties_of(
    then: WorldAt, realms: Sequence[Entity], *more: EntityId
) -> Mapping[EntityId, Sequence[RealmTie]]:
    """The ties of realms, and of what else is a member of some, by the id of whose they are.

    By tie, direction (from them first) and name.
    """
    ids = [realm.id for realm in realms]
    outward = [
        *await then.edges_of(TIED_TO, *ids, kinds=None, limit=TIES_SHOWN_MAX),
        *await then.edges_of(BELONGS_TO, *ids, *more, kinds=(Tie.MEMBER_OF,), limit=TIES_SHOWN_MAX),
    ]
    inward = await then.edges_of(TIED_TO, *ids, outward=False, kinds=None, limit=TIES_SHOWN_MAX)
    known: dict[str, Entity] = {realm.id: realm for realm in realms}
    others = dict.fromkeys((*(edge.to_id for edge in outward), *(edge.from_id for edge in inward)))
    known |= await then.find_items((each for each in others if each not in known), WorldType.REALM)
    found: dict[EntityId, list[RealmTie]] = defaultdict(list)
    for edges, leads_out in ((outward, True), (inward, False)):
        for edge in edges:
            mine, other = (edge.from_id, edge.to_id)[:: 1 if leads_out else -1]
            tie = tie_of(edge)
            if tie is not None and other in known:
                found[mine].append(RealmTie(tie=tie, other=known[other], outward=leads_out))
    for ties in found.values():
        ties.sort(key=_tie_rank)
    return found


def _tie_rank(tied: RealmTie) -> tuple[int, bool, str, str]:
    inward = not tied.outward and tied.tie is not Tie.BORDERS
    return (_ORDER[tied.tie], inward, tied.other.name, tied.other.id)


async def routes_on(then: WorldAt, location: EntityId) -> Sequence[NextStop]:
    """The routes that lead on from a location, by name, each with its next stop."""
    edges = await then.edges_of(ON_ROUTE, location, kinds=None)
    known = await then.find_items(dict.fromkeys(edge.to_id for edge in edges), WorldType.LOCATION)
    return [
        NextStop(route=kind_of(edge), stop=known[edge.to_id])
        for edge in edges
        if edge.to_id in known
    ]


# Leave behind. A person's items lie where the person was; people and items of an erased location
# move to the default location.

LEFT_MAX = 100_000
"""Limit of the movers and items that are relocated when an item is erased."""

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
    for left in (await canon.state.items_by_id(targets)).values():
        if isinstance(left, Entity) and left.entity_type in HOLDERS:
            await _move_contents(draft, world, left, gone)
    return draft.entries, frozenset(draft.reads)


async def _move_contents(
    draft: WorldDraft, world: BoundWorld, left: Entity, gone_ids: frozenset[str]
) -> None:
    """Relocate the items and movers of an erased holder to its location, else to the starter."""
    positions = await draft.latest_edges(LOCATED_IN, left.id, kinds=_KINDS)
    places = (*(edge.to_id for edge in positions), atlas.item_id_of(world.space, world.starter))
    location = next((each for each in places if each not in gone_ids), None)
    if location is None:
        return
    for rel_type in (HELD_BY, LOCATED_IN):
        ends = await draft.edges_of(rel_type, left.id, outward=False, kinds=_KINDS, limit=LEFT_MAX)
        for edge in [each for each in ends if each.from_id not in gone_ids]:
            await draft.require_type(edge.from_id, *MOVERS, WorldType.ITEM)
            successor = draft.add_edge(rel_type, edge.from_id, location, kind=kind_of(edge))
            draft.end_edge(edge, successor=successor, reason="left behind")


_ANCESTORS_MAX: Final = 1_000  # bounds the check for circles
_USUAL: Final = (*atlas.STATUS, "forbidden")
"""Fields of which only what is not as usual is written down."""
_TYPES: Final[Mapping[type, WorldType]] = {
    atlas.Location: WorldType.LOCATION,
    atlas.Realm: WorldType.REALM,
    atlas.Mover: WorldType.CHARACTER,
    atlas.Item: WorldType.ITEM,
}


def id_of(draft: WorldDraft, part: atlas.AtlasPart) -> EntityId:
    """The id that follows from the key of a part."""
    match part:
        case atlas.Layer():
            return atlas.layer_id_of(draft.space, part.key)
        case atlas.Happening():
            return EntityId(atlas.event_id_of(draft.space, part.key))
        case _:
            return atlas.item_id_of(draft.space, part.key)


async def declare_part(draft: WorldDraft, part: atlas.AtlasPart, *, player: bool = False) -> bool:
    """Write a part and return whether anything changed. Erased items stay erased.

    Locations and holders are written only for new movers and items; events never change.

    Raises:
        InvalidInput: `item.quantity`, `layer.ends-before-start`, `layer.rhythm` or
            `tick.out-of-range`.
        NotFound: something that it names is unknown.
        Conflict: `layer.fixed`, a known layer would lie elsewhere or at another time; or
            `world.id-taken`, `world.key-taken`.
    """
    match part:
        case atlas.Happening():
            return await _declare_happening(draft, part)
        case atlas.Layer():
            return await _declare_layer(draft, part)
        case atlas.Item(quantity=quantity) if quantity < 1:
            message = f"The quantity is {quantity}. Give 1 or more."
            raise InvalidInput("item.quantity", message, path="/quantity")
    part_id, kind = id_of(draft, part), WorldType.PLAYER if player else _TYPES[type(part)]
    if await draft.is_erased(part_id):
        return False
    old = await draft.find_item(part_id)
    changed = await draft.declare_item(
        part_id,
        kind,
        name=part.name,
        description=part.description,
        properties=_part_properties(part, old),
    )
    if old is None and isinstance(part, atlas.Mover):
        location = await draft.require_id(part.location, WorldType.LOCATION)
        draft.add_edge(LOCATED_IN, part_id, location, kind=kind)
    if old is None and isinstance(part, atlas.Item):
        holder = await draft.require_id(part.holder, *HOLDERS)
        draft.add_edge(HELD_BY, part_id, holder)
    return changed


def _part_properties(
    part: atlas.Location | atlas.Realm | atlas.Mover | atlas.Item, old: Entity | None
) -> dict[str, Any]:
    plain = decode_json(encode_json(part))
    known: Mapping[str, Any] = {} if old is None else old.properties
    found: dict[str, Any] = {
        name: plain[name]
        for name in ("key", *atlas.STORED_FIELDS[type(part)])
        if name in known or name not in _USUAL or plain[name] not in (True, {})
    }
    if old is not None:
        found |= dict.fromkeys(atlas.RUNNING_FIELDS.get(type(part), ()))
    if plain.get("terrain", "") is None and known.get("terrain"):
        found["terrain"] = ""  # it had one, and has none now
    return found


async def set_realms(draft: WorldDraft, start: EntityId, keys: Iterable[str]) -> bool:
    """Put a location or a realm into these realms, and into no others.

    Raises:
        NotFound: `realm.unknown`.
        Conflict: `realm.cycle`, a realm would lie in itself.
    """
    wanted = dict.fromkeys(atlas.item_id_of(draft.space, key) for key in keys)
    held = {edge.to_id: edge for edge in await draft.edges_of(WITHIN, start)}
    for realm in wanted:
        await draft.require_type(realm, WorldType.REALM)

    async def join_realm(realm: EntityId) -> None:
        seen: set[EntityId] = set()
        ring = {realm}
        while ring and len(seen) < _ANCESTORS_MAX:
            if start in ring:
                message = "A realm cannot lie in itself or in a realm that it contains."
                raise Conflict("realm.cycle", message, conflicts=[start])
            seen |= ring
            around = {edge.to_id for each in ring for edge in await draft.edges_of(WITHIN, each)}
            ring = around - seen
        draft.add_edge(WITHIN, start, realm)

    return await draft.update_edges(wanted, held, join_realm, reason="it lies there no longer")


async def set_exit(
    draft: WorldDraft, start: EntityId, new_exit: atlas.Exit, *, creating: bool
) -> bool:
    """Make an exit as it is described; return whether anything changed.

    One that leads elsewhere in this direction is replaced, with the exit back that belongs to it;
    where `creating`, it stands against the new one.

    Raises:
        NotFound: `location.unknown` or `item.unknown`.
        Conflict: `exit.to-itself` or `exit.direction-taken`.
    """
    target = await draft.require_id(new_exit.to, WorldType.LOCATION)
    if target == start:
        raise Conflict("exit.to-itself", "An exit must lead to another location.", path="/to")
    properties = await _exit_properties(draft, new_exit)
    standing = await draft.edges_of(EXIT, start, kinds=(new_exit.direction,))
    for old in standing:
        if (
            old.to_id == target
            and {name: value for name, value in old.properties.items() if name != "kind"}
            == properties
        ):
            return False
        if creating:
            message = (
                f"An exit already leads {kind_of(old)}. Remove it or choose another direction."
            )
            raise Conflict("exit.direction-taken", message, path="/direction", conflicts=[old.id])
    made = draft.add_edge(EXIT, start, target, kind=new_exit.direction, properties=properties)
    for old in standing:
        draft.end_edge(old, successor=made, reason="another exit takes its place")
        if old.to_id != target:
            await end_return_exit(draft, old)
    return True


async def _exit_properties(draft: WorldDraft, new_exit: atlas.Exit) -> dict[str, Any]:
    requires = None
    if new_exit.requires is not None:
        requires = await draft.require_id(new_exit.requires, WorldType.ITEM)
    if new_exit.travel_ms is not None and new_exit.travel_ms < 0:
        message = f"The duration is {new_exit.travel_ms}. Give 0 or more milliseconds."
        raise InvalidInput("exit.negative-duration", message, path="/travelDurationMs")
    rhythm = {"every": new_exit.every, "lasting": new_exit.lasting}
    if {*rhythm.values(), new_exit.opens} != {None} and not atlas.is_rhythm(
        new_exit.every, new_exit.lasting
    ):
        message = "Give both everyTicks and a smaller lastingTicks for an exit that recurs."
        raise InvalidInput("exit.rhythm", message, path="/everyTicks")
    if new_exit.opens is not None:
        check_tick(new_exit.opens, path="/opensAtTick")
    given = {
        **rhythm,
        "opens": (new_exit.opens or 0) if new_exit.every else None,
        "description": new_exit.description,
        "travel_ms": new_exit.travel_ms,
        "one_way": new_exit.one_way or None,
        "hidden": new_exit.hidden or None,
        "blocked": new_exit.blocked or None,
        "requires": requires,
    }
    return {name: value for name, value in given.items() if value is not None}


async def end_return_exit(draft: WorldDraft, edge: RelationDraft) -> None:
    """End the exit that belongs to one that ends, unless either is one-way."""
    if edge.properties.get("one_way"):
        return
    opposite = OPPOSITE[Direction(kind_of(edge))]
    for back in await draft.edges_of(EXIT, edge.to_id, kinds=(opposite,)):
        if back.to_id == edge.from_id and not back.properties.get("one_way"):
            draft.end_edge(back, reason="the exit that it belonged to has ended")


async def create_exit_pair(
    draft: WorldDraft, start: EntityId, key: str, new_exit: atlas.Exit
) -> None:
    """Create an exit, and the exit back unless it is one-way.

    Raises:
        Conflict: `exit.direction-taken` or `exit.way-back-taken`, with the exit that exists.
    """
    await set_exit(draft, start, new_exit, creating=True)
    if new_exit.one_way:
        return
    target = atlas.item_id_of(draft.space, new_exit.to)
    for back in await draft.edges_of(EXIT, target, kinds=(OPPOSITE[new_exit.direction],)):
        if back.to_id == start and not back.properties.get("one_way"):
            return
        message = "Another exit occupies the way back. Remove it, or set oneWay to true."
        raise Conflict("exit.way-back-taken", message, path="/oneWay", conflicts=[back.id])
    turned = replace(new_exit, direction=OPPOSITE[new_exit.direction], to=key, description=None)
    await set_exit(draft, target, turned, creating=True)


async def _declare_layer(draft: WorldDraft, layer: atlas.Layer) -> bool:
    """Write a layer of a location or realm; an existing one may change only its text."""
    since = check_tick(layer.from_tick, path="/fromTick")
    until = None if layer.to_tick is None else check_tick(layer.to_tick, path="/toTick")
    if until is not None and until < since:
        message = f"toTick {until} is before fromTick {since}. Give a later toTick."
        raise InvalidInput("layer.ends-before-start", message, path="/toTick")
    rhythm = {"every": layer.every, "lasting": layer.lasting}
    if set(rhythm.values()) != {None} and not atlas.is_rhythm(layer.every, layer.lasting):
        message = "Give both everyTicks and a smaller lastingTicks for a layer that recurs."
        raise InvalidInput("layer.rhythm", message, path="/everyTicks")
    layer_id = atlas.layer_id_of(draft.space, layer.key)
    if await draft.is_erased(layer_id):
        return False
    scope = await draft.require_id(layer.scope, WorldType.LOCATION, WorldType.REALM)
    fixed = {"scope": scope, "layer_type": str(layer.layer_type), "from": since, "to": until}
    fixed |= rhythm
    old = await draft.find_item(layer_id)
    if old is not None and any(old.properties.get(k) != v for k, v in fixed.items()):
        message = "A layer's location, type and time cannot change. Add another layer."
        raise Conflict("layer.fixed", message, conflicts=[layer_id])
    former = draft.at
    if old is None:  # a new layer is there from its first tick on, also where that has gone by
        draft.at = min(former, instant_of(since))
    changed = await draft.declare_item(
        layer_id,
        WorldType.LAYER,
        name=layer.key,
        description="",
        properties={"key": layer.key, "value": layer.value, **fixed},
    )
    draft.at = former
    if old is None:
        end = None if until is None else instant_of(Tick(until + 1))
        draft.add_edge(
            LAYER_OF,
            layer_id,
            scope,
            kind=layer.layer_type,
            properties=rhythm,
            since=instant_of(since),
            until=end,
        )
    return changed


async def _declare_happening(draft: WorldDraft, event: atlas.Happening) -> bool:
    event_id = atlas.event_id_of(draft.space, event.key)
    known = (await draft.canon.state.items_by_id((event_id,))).get(event_id)
    if isinstance(known, Event | Tombstone) and known.space == draft.space:
        return False
    if known is not None:
        message = "This id already belongs to another item. Use another key."
        raise Conflict("world.id-taken", message, conflicts=[event_id])
    involved: list[EntityId] = []
    if event.location is not None:
        involved.append(await draft.require_id(event.location, WorldType.LOCATION))
    holders = (*HOLDERS, WorldType.ITEM)
    involved += [await draft.require_id(name, *holders) for name in event.participants]
    draft.entries.append(
        make_event(
            lambda _: EventId(event_id),
            draft.backing,
            title=event.event_type,
            description=event.description,
            involved=tuple(dict.fromkeys(involved)),
            time_ref=instant_of(check_tick(event.tick, path="/tick")),
            properties={"actor_kind": str(event.actor_kind), "key": event.key},
        )
    )
    return True


async def create_part(
    canon: Canon, caller: Caller, world: BoundWorld, part: atlas.AtlasPart, *, player: bool = False
) -> str:
    """Create a part under an unused key, by default its id; return the id.

    Raises:
        InvalidInput: `key.malformed`, or what it says cannot be.
        NotFound: something that it names is unknown.
        Conflict: `world.key-taken`, what its exits and realms stand against, or `tick.future`.
    """
    if part.key:
        atlas.check_key(part.key, path="/key")
    if isinstance(part, atlas.Happening) and part.tick > world.now:
        message = f"The world's clock is at {world.now}. Advance it or give an earlier tick."
        raise Conflict("tick.future", message, path="/tick", now=world.now)

    async def write_part(draft: WorldDraft) -> None:
        named = part if part.key else replace(part, key=draft.new_id("part"))
        part_id = id_of(draft, named)
        await draft.require_new(part_id)
        await declare_part(draft, named, player=player)
        if isinstance(named, atlas.Location | atlas.Realm):
            around = named.realms if isinstance(named, atlas.Location) else named.within
            await set_realms(draft, part_id, around)
            await set_ties(draft, part_id, named.ties)
        if isinstance(named, atlas.Location):
            for new_exit in named.exits:
                await create_exit_pair(draft, part_id, named.key, new_exit)

    receipt = await change_world(canon, caller, world, write_part)
    return first_made(receipt, EventDraft if isinstance(part, atlas.Happening) else EntityDraft).id


@draft_command
async def create_exit(draft: WorldDraft, key: str, new_exit: atlas.Exit) -> None:
    """Make an exit of the location `key`, with the exit back unless it is one-way.

    Raises:
        NotFound: `location.unknown` or `item.unknown`.
        Conflict: `exit.direction-taken`, `exit.way-back-taken` or `exit.to-itself`.
    """
    start = await draft.require_id(key, WorldType.LOCATION)
    await create_exit_pair(draft, start, key, new_exit)


@draft_command
async def remove_exit(draft: WorldDraft, key: str, direction: Direction) -> None:
    """End an exit, and the exit back that belongs to it.

    Raises:
        NotFound: `location.unknown`.
        Conflict: `exit.unknown`.
    """
    start = await draft.require_id(key, WorldType.LOCATION)
    edges = await draft.edges_of(EXIT, start, kinds=(direction,))
    if not edges:
        message = f"No exit leads {direction} from there."
        raise Conflict("exit.unknown", message, path="/direction", conflicts=[start])
    for edge in edges:
        draft.end_edge(edge, reason="the exit was removed")
        await end_return_exit(draft, edge)


@draft_command
async def set_status(draft: WorldDraft, /, key: str, **status: Any) -> None:
    """Say how a mover is from now on; the past keeps how they were.

    Raises:
        NotFound: `player.unknown`.
    """
    mover = await draft.require_id(key, *MOVERS)
    draft.observe_item(mover, {PROPERTY_PREFIX + name: value for name, value in status.items()})
