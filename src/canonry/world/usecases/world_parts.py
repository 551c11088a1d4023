"""The parts of a world: what each is, how it joins others, and building one at a time."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any, Final

from canonry.canon.judging.known_things import make_event
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import the_made
from canonry.log.entries import Tombstone
from canonry.log.items.entities import Entity, EntityDraft
from canonry.log.items.facts import Event, EventDraft, RelationDraft
from canonry.log.schemas.narrative import PROPERTY_PREFIX
from canonry.log.schemas.world_types import (
    EXIT,
    HELD_BY,
    HOLDERS,
    LAYER_OF,
    LOCATED_IN,
    MOVERS,
    WITHIN,
    WorldType,
)
from canonry.readmodels.edges import OPPOSITE, Direction, Tick, checked_tick, instant_of, kind_of
from canonry.values.errors import Conflict, InvalidInput
from canonry.values.ids import EntityId, EventId
from canonry.world.domain.atlas import (
    KEPT,
    RUNNING,
    STATUS,
    AtlasPart,
    Exit,
    Happening,
    Item,
    Layer,
    Mover,
    Place,
    Realm,
    is_rhythm,
)
from canonry.world.domain.merging import checked_key, event_id_of, layer_id_of, thing_id_of
from canonry.world.usecases.world_draft import WorldDraft, change_world, changing
from canonry.world.usecases.world_ties import tie_up
from canonry.world.usecases.worlds import BoundWorld

_ANCESTORS_MAX: Final = 1_000
_USUAL: Final = (*STATUS, "forbidden")
"""Fields of which only what is not as usual is written down."""
_TYPES: Final[Mapping[type, WorldType]] = {
    Place: WorldType.LOCATION,
    Realm: WorldType.REALM,
    Mover: WorldType.CHARACTER,
    Item: WorldType.ITEM,
}


def id_of(draft: WorldDraft, part: AtlasPart) -> EntityId:
    """The id that follows from the key of a part."""
    match part:
        case Layer():
            return layer_id_of(draft.space, part.key)
        case Happening():
            return EntityId(event_id_of(draft.space, part.key))
        case _:
            return thing_id_of(draft.space, part.key)


async def declare_part(draft: WorldDraft, part: AtlasPart, *, player: bool = False) -> bool:
    """Say what a part is; whether that changes anything. What was erased is not said again.

    Where a mover is and who has an item is only said when they are new; an event stays as it is.

    Raises:
        InvalidInput: `item.quantity`, `layer.ends-before-start`, `layer.rhythm` or
            `tick.out-of-range`.
        NotFound: something that it names is unknown.
        Conflict: `layer.fixed`, a known layer would lie elsewhere or at another time; or
            `world.id-taken`, `world.key-taken`.
    """
    match part:
        case Happening():
            return await _declare_happening(draft, part)
        case Layer():
            return await _declare_layer(draft, part)
        case Item(quantity=quantity) if quantity < 1:
            message = "there is at least one of an item"
            raise InvalidInput("item.quantity", message, path="/quantity")
    part_id, kind = id_of(draft, part), WorldType.PLAYER if player else _TYPES[type(part)]
    if await draft.is_erased(part_id):
        return False
    old = await draft.find(part_id)
    changed = await draft.declare(
        part_id,
        kind,
        name=part.name,
        description=part.description,
        properties=_properties(part, old),
    )
    if old is None and isinstance(part, Mover):
        place = await draft.named(part.location, WorldType.LOCATION)
        draft.join(LOCATED_IN, part_id, place, kind=kind)
    if old is None and isinstance(part, Item):
        holder = await draft.named(part.holder, *HOLDERS)
        draft.join(HELD_BY, part_id, holder)
    return changed


def _properties(part: Place | Realm | Mover | Item, old: Entity | None) -> dict[str, Any]:
    found: dict[str, Any] = {"key": part.key}
    for name in KEPT[type(part)]:
        value = getattr(part, name)
        if (
            name in _USUAL
            and value in (True, {})
            and not (old is not None and name in old.properties)
        ):
            continue
        match value:
            case StrEnum():
                found[name] = str(value)
            case tuple():
                found[name] = list(value)
            case Mapping():
                found[name] = {str(key): each for key, each in value.items()}
            case _:
                found[name] = value
    if old is not None:
        found |= dict.fromkeys(RUNNING.get(type(part), ()))
    if isinstance(part, Place) and part.terrain is None and old and old.properties.get("terrain"):
        found["terrain"] = ""  # it had one, and has none now
    return found


async def join_realms(draft: WorldDraft, start: EntityId, keys: Iterable[str]) -> bool:
    """Put a location or a realm into these realms, and into no others.

    Raises:
        NotFound: `realm.unknown`.
        Conflict: `realm.cycle`, a realm would lie in itself.
    """
    wanted = dict.fromkeys(thing_id_of(draft.space, key) for key in keys)
    held = {edge.to_id: edge for edge in await draft.edges(WITHIN, start)}
    for realm in wanted:
        await draft.require(realm, WorldType.REALM)

    async def join(realm: EntityId) -> None:
        await _require_no_cycle(draft, start, realm)
        draft.join(WITHIN, start, realm)

    return await draft.settle(wanted, held, join, reason="it lies there no longer")


async def _require_no_cycle(draft: WorldDraft, start: EntityId, realm: EntityId) -> None:
    seen: set[EntityId] = set()
    ring = {realm}
    while ring and len(seen) < _ANCESTORS_MAX:
        if start in ring:
            message = "a realm cannot lie in itself, nor in one that lies in it"
            raise Conflict("realm.cycle", message, conflicts=[start])
        seen |= ring
        around = {edge.to_id for each in ring for edge in await draft.edges(WITHIN, each)}
        ring = around - seen


async def join_way(draft: WorldDraft, start: EntityId, way: Exit, *, creating: bool) -> bool:
    """Make an exit as it is said to be; whether that changes anything.

    One that leads elsewhere in this direction gives way, with the way back that belongs to it;
    where `creating`, it stands against the new one.

    Raises:
        NotFound: `location.unknown` or `item.unknown`.
        Conflict: `exit.to-itself` or `exit.direction-taken`.
    """
    target = await draft.named(way.to, WorldType.LOCATION)
    if target == start:
        raise Conflict("exit.to-itself", "an exit leads to another location", path="/to")
    properties = await _exit_properties(draft, way)
    standing = await draft.edges(EXIT, start, kinds=(way.direction,))
    for old in standing:
        if (
            old.to_id == target
            and {name: value for name, value in old.properties.items() if name != "kind"}
            == properties
        ):
            return False
        if creating:
            message = f"an exit leads {way.direction} already; remove it, or choose another way"
            raise Conflict("exit.direction-taken", message, path="/direction", conflicts=[old.id])
    made = draft.join(EXIT, start, target, kind=way.direction, properties=properties)
    for old in standing:
        draft.end(old, heir=made, reason="another exit takes its place")
        if old.to_id != target:
            await end_way_back(draft, old)
    return True


async def _exit_properties(draft: WorldDraft, way: Exit) -> dict[str, Any]:
    requires = None
    if way.requires is not None:
        requires = await draft.named(way.requires, WorldType.ITEM)
    if way.travel_ms is not None and way.travel_ms < 0:
        message = "a way takes no less than no time; give a duration of 0 or more"
        raise InvalidInput("exit.negative-duration", message, path="/travelDurationMs")
    rhythm = {"every": way.every, "lasting": way.lasting}
    if {*rhythm.values(), way.opens} != {None} and not is_rhythm(way.every, way.lasting):
        message = "an exit that recurs is open for fewer ticks than it recurs after; give both"
        raise InvalidInput("exit.rhythm", message, path="/everyTicks")
    if way.opens is not None:
        checked_tick(way.opens, path="/opensAtTick")
    given = {
        **rhythm,
        "opens": (way.opens or 0) if way.every else None,
        "description": way.description,
        "travel_ms": way.travel_ms,
        "one_way": way.one_way or None,
        "hidden": way.hidden or None,
        "blocked": way.blocked or None,
        "requires": requires,
    }
    return {name: value for name, value in given.items() if value is not None}


async def end_way_back(draft: WorldDraft, edge: RelationDraft) -> None:
    """End the exit that belongs to one that ends, unless either leads one way only."""
    if edge.properties.get("one_way"):
        return
    opposite = OPPOSITE[Direction(kind_of(edge))]
    for back in await draft.edges(EXIT, edge.to_id, kinds=(opposite,)):
        if back.to_id == edge.from_id and not back.properties.get("one_way"):
            draft.end(back, reason="the exit that it belonged to has ended")


async def join_both_ways(draft: WorldDraft, start: EntityId, key: str, way: Exit) -> None:
    """Create an exit, and the way back unless it leads one way only.

    Raises:
        Conflict: `exit.direction-taken` or `exit.way-back-taken`, with the exit in the way.
    """
    await join_way(draft, start, way, creating=True)
    if way.one_way:
        return
    target = thing_id_of(draft.space, way.to)
    for back in await draft.edges(EXIT, target, kinds=(OPPOSITE[way.direction],)):
        if back.to_id == start and not back.properties.get("one_way"):
            return
        message = "the way back is taken by another exit; remove it, or make this one one-way"
        raise Conflict("exit.way-back-taken", message, path="/oneWay", conflicts=[back.id])
    turned = replace(way, direction=OPPOSITE[way.direction], to=key, description=None)
    await join_way(draft, target, turned, creating=True)


async def _declare_layer(draft: WorldDraft, layer: Layer) -> bool:
    """Put a layer upon a location or realm; one that is known may only change its text."""
    since = checked_tick(layer.from_tick, path="/fromTick")
    until = None if layer.to_tick is None else checked_tick(layer.to_tick, path="/toTick")
    if until is not None and until < since:
        message = "a layer cannot end before it begins; give a later toTick"
        raise InvalidInput("layer.ends-before-start", message, path="/toTick")
    rhythm = {"every": layer.every, "lasting": layer.lasting}
    if set(rhythm.values()) != {None} and not is_rhythm(layer.every, layer.lasting):
        message = "a layer that recurs lasts for fewer ticks than it recurs after; give both"
        raise InvalidInput("layer.rhythm", message, path="/everyTicks")
    layer_id = layer_id_of(draft.space, layer.key)
    if await draft.is_erased(layer_id):
        return False
    scope = await draft.named(layer.scope, WorldType.LOCATION, WorldType.REALM)
    place = {"scope": scope, "layer_type": str(layer.layer_type), "from": since, "to": until}
    place |= rhythm
    old = await draft.find(layer_id)
    if old is not None and any(old.properties.get(k) != v for k, v in place.items()):
        message = "a layer stays where and when it is; add another one instead"
        raise Conflict("layer.fixed", message, conflicts=[layer_id])
    moment = draft.at
    if old is None:  # a new layer is there from its first tick on, also where that has gone by
        draft.at = min(moment, instant_of(since))
    changed = await draft.declare(
        layer_id,
        WorldType.LAYER,
        name=layer.key,
        description="",
        properties={"key": layer.key, "value": layer.value, **place},
    )
    draft.at = moment
    if old is None:
        end = None if until is None else instant_of(Tick(until + 1))
        draft.join(
            LAYER_OF,
            layer_id,
            scope,
            kind=layer.layer_type,
            properties=rhythm,
            since=instant_of(since),
            until=end,
        )
    return changed


async def _declare_happening(draft: WorldDraft, event: Happening) -> bool:
    event_id = event_id_of(draft.space, event.key)
    known = (await draft.canon.state.things((event_id,))).get(event_id)
    if isinstance(known, Event | Tombstone) and known.space == draft.space:
        return False
    if known is not None:
        message = "this id belongs to something else already; use another key"
        raise Conflict("world.id-taken", message, conflicts=[event_id])
    involved: list[EntityId] = []
    if event.location is not None:
        place = await draft.named(event.location, WorldType.LOCATION)
        involved.append(place)
    for name in event.participants:
        who = await draft.named(name, *HOLDERS, WorldType.ITEM)
        involved.append(who)
    draft.entries.append(
        make_event(
            lambda _: EventId(event_id),
            draft.backing,
            title=event.event_type,
            description=event.description,
            involved=tuple(dict.fromkeys(involved)),
            time_ref=instant_of(checked_tick(event.tick, path="/tick")),
            properties={"actor_kind": str(event.actor_kind), "key": event.key},
        )
    )
    return True


async def create_part(
    canon: Canon, caller: Caller, world: BoundWorld, part: AtlasPart, *, player: bool = False
) -> str:
    """Create a part under a key that nothing has; without a key its id is its key. The id.

    Raises:
        InvalidInput: `key.malformed`, or what it says cannot be.
        NotFound: something that it names is unknown.
        Conflict: `world.key-taken`, what its exits and realms stand against, or `tick.future`.
    """
    if part.key:
        checked_key(part.key, path="/key")
    if isinstance(part, Happening) and part.tick > world.now:
        message = f"the world's clock stands at {world.now}; advance it, or give an earlier tick"
        raise Conflict("tick.future", message, path="/tick", now=world.now)

    async def write(draft: WorldDraft) -> None:
        named = part if part.key else replace(part, key=draft.new_id("part"))
        await _create(draft, named, player=player)

    receipt = await change_world(canon, caller, world, write)
    return the_made(receipt, EventDraft if isinstance(part, Happening) else EntityDraft).id


async def _create(draft: WorldDraft, part: AtlasPart, *, player: bool) -> None:
    part_id = id_of(draft, part)
    await draft.require_new(part_id)
    await declare_part(draft, part, player=player)
    if isinstance(part, Place | Realm):
        around = part.realms if isinstance(part, Place) else part.within
        await join_realms(draft, part_id, around)
        await tie_up(draft, part_id, part.ties)
    if isinstance(part, Place):
        for way in part.exits:
            await join_both_ways(draft, part_id, part.key, way)


@changing
async def create_exit(draft: WorldDraft, key: str, way: Exit) -> None:
    """Make an exit of the location `key`, with the way back unless it leads one way only.

    Raises:
        NotFound: `location.unknown` or `item.unknown`.
        Conflict: `exit.direction-taken`, `exit.way-back-taken` or `exit.to-itself`.
    """
    start = await draft.named(key, WorldType.LOCATION)
    await join_both_ways(draft, start, key, way)


@changing
async def remove_exit(draft: WorldDraft, key: str, direction: Direction) -> None:
    """End an exit, and the way back that belongs to it.

    Raises:
        NotFound: `location.unknown`.
        Conflict: `exit.unknown`.
    """
    start = await draft.named(key, WorldType.LOCATION)
    edges = await draft.edges(EXIT, start, kinds=(direction,))
    if not edges:
        message = f"no exit leads {direction} from there"
        raise Conflict("exit.unknown", message, path="/direction", conflicts=[start])
    for edge in edges:
        draft.end(edge, reason="the exit was removed")
        await end_way_back(draft, edge)


@changing
async def set_status(draft: WorldDraft, key: str, status: Mapping[str, Any]) -> None:
    """Say how a mover is from now on; the past keeps how they were.

    Raises:
        NotFound: `player.unknown`.
    """
    mover = await draft.named(key, *MOVERS)
    draft.observe(mover, {PROPERTY_PREFIX + name: value for name, value in status.items()})
