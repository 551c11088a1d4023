"""The parts of a world as drafts write them: first what a thing is, then how it joins others."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from canonry.domain.errors import Conflict, InvalidInput
from canonry.domain.ids import EntityId, EventId
from canonry.domain.judging.making import make_event
from canonry.domain.log.entries import Tombstone
from canonry.domain.things.facts import Event
from canonry.domain.things.relations import RelationDraft
from canonry.domain.vocabularies.world_types import (
    EXIT,
    HELD_BY,
    HOLDERS,
    LAYER_OF,
    LOCATED_IN,
    WITHIN,
    WorldType,
)
from canonry.domain.world.atlas import AtlasPart, Exit, Happening, Item, Layer, Mover, Place, Realm
from canonry.domain.world.directions import OPPOSITE
from canonry.domain.world.identity import event_id_of, layer_id_of, thing_id_of
from canonry.domain.world.ticks import Tick, checked_tick, instant_of
from canonry.usecases.world.world_draft import WorldDraft

_ANCESTORS_MAX: Final = 1_000


def id_of(draft: WorldDraft, part: AtlasPart) -> EntityId:
    """The id that follows from the key of a part."""
    match part:
        case Layer():
            return layer_id_of(draft.space, part.key)
        case Happening():
            return EntityId(event_id_of(draft.space, part.key))
        case _:
            return thing_id_of(draft.space, part.key)


async def declare_realm(draft: WorldDraft, realm: Realm) -> bool:
    """Say what a realm is."""
    realm_id = thing_id_of(draft.space, realm.key)
    if await draft.is_erased(realm_id):
        return False
    return await draft.declare(
        realm_id,
        WorldType.REALM,
        name=realm.name,
        description=realm.description,
        properties={
            "key": realm.key,
            "realm_type": str(realm.realm_type),
            "scope": str(realm.scope),
            "narrative_tags": list(realm.narrative_tags),
        },
    )


async def declare_place(draft: WorldDraft, place: Place) -> bool:
    """Say what a location is."""
    place_id = thing_id_of(draft.space, place.key)
    if await draft.is_erased(place_id):
        return False
    known = await draft.find(place_id)
    terrain = None if place.terrain is None else str(place.terrain)
    if terrain is None and known is not None and known.properties.get("terrain"):
        terrain = ""  # it had one, and has none now
    return await draft.declare(
        place_id,
        WorldType.LOCATION,
        name=place.name,
        description=place.description,
        properties={
            "key": place.key,
            "terrain": terrain,
            "tags": list(place.tags),
        },
    )


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
        if realm not in held:
            await _require_no_cycle(draft, start, realm)
            draft.join(WITHIN, start, realm)
    for realm, edge in held.items():
        if realm not in wanted:
            draft.end(edge, reason="it lies there no longer")
    return wanted.keys() != held.keys()


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
    target = thing_id_of(draft.space, way.to)
    await draft.require(target, WorldType.LOCATION)
    if target == start:
        raise Conflict("exit.to-itself", "an exit leads to another location", path="/to")
    properties = await _exit_properties(draft, way)
    standing = await draft.edges(EXIT, start, kinds=(way.direction,))
    for old in standing:
        if old.to_id == target and _told(old) == properties:
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
        requires = thing_id_of(draft.space, way.requires)
        await draft.require(requires, WorldType.ITEM)
    if way.travel_ms is not None and way.travel_ms < 0:
        message = "a way takes no less than no time; give a duration of 0 or more"
        raise InvalidInput("exit.negative-duration", message, path="/travelDurationMs")
    told = {
        "description": way.description,
        "travel_ms": way.travel_ms,
        "one_way": way.one_way or None,
        "hidden": way.hidden or None,
        "blocked": way.blocked or None,
        "requires": requires,
    }
    return {name: value for name, value in told.items() if value is not None}


def _told(edge: RelationDraft) -> dict[str, Any]:
    return {name: value for name, value in edge.properties.items() if name != "kind"}


async def way_back(draft: WorldDraft, way: Exit) -> RelationDraft | None:
    """What leads in the opposite direction from where an exit leads."""
    target = thing_id_of(draft.space, way.to)
    for edge in await draft.edges(EXIT, target, kinds=(OPPOSITE[way.direction],)):
        return edge
    return None


async def end_way_back(draft: WorldDraft, edge: RelationDraft) -> None:
    """End the exit that belongs to one that ends, unless either leads one way only."""
    if edge.properties.get("one_way"):
        return
    kind = next(d for d in OPPOSITE if d == edge.properties["kind"])
    for back in await draft.edges(EXIT, edge.to_id, kinds=(OPPOSITE[kind],)):
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
    back = await way_back(draft, way)
    if back is not None:
        if back.to_id == start and not back.properties.get("one_way"):
            return
        message = "the way back is taken by another exit; remove it, or make this one one-way"
        raise Conflict("exit.way-back-taken", message, path="/oneWay", conflicts=[back.id])
    target = thing_id_of(draft.space, way.to)
    turned = replace(way, direction=OPPOSITE[way.direction], to=key, description=None)
    await join_way(draft, target, turned, creating=True)


async def declare_mover(draft: WorldDraft, mover: Mover, kind: WorldType) -> bool:
    """Say who somebody is; where they are is only said when they are new."""
    mover_id = thing_id_of(draft.space, mover.key)
    if await draft.is_erased(mover_id):
        return False
    known = await draft.find(mover_id) is not None
    changed = await draft.declare(
        mover_id,
        kind,
        name=mover.name,
        description=mover.description,
        properties={
            "key": mover.key,
            "tags": list(mover.tags),
            "attributes": dict(mover.attributes),
            "clock": mover.clock if not known else None,
        },
    )
    if not known:
        location = thing_id_of(draft.space, mover.location)
        await draft.require(location, WorldType.LOCATION)
        draft.join(LOCATED_IN, mover_id, location, kind=kind)
    return changed


async def declare_item(draft: WorldDraft, item: Item) -> bool:
    """Say what an item is; who has it is only said when it is new."""
    if item.quantity < 1:
        raise InvalidInput("item.quantity", "there is at least one of an item", path="/quantity")
    item_id = thing_id_of(draft.space, item.key)
    if await draft.is_erased(item_id):
        return False
    known = await draft.find(item_id) is not None
    changed = await draft.declare(
        item_id,
        WorldType.ITEM,
        name=item.name,
        description=item.description,
        properties={"key": item.key, "item_type": item.item_type, "quantity": item.quantity},
    )
    if not known:
        holder = thing_id_of(draft.space, item.holder)
        await draft.require(holder, *HOLDERS)
        draft.join(HELD_BY, item_id, holder)
    return changed


async def declare_layer(draft: WorldDraft, layer: Layer) -> bool:
    """Put a layer upon a location or realm for a time; one that is known may only change its text.

    Raises:
        InvalidInput: `layer.ends-before-start`.
        Conflict: `layer.fixed`, a known layer would lie elsewhere or at another time.
    """
    since = checked_tick(layer.from_tick, path="/fromTick")
    until = None if layer.to_tick is None else checked_tick(layer.to_tick, path="/toTick")
    if until is not None and until < since:
        message = "a layer cannot end before it begins; give a later toTick"
        raise InvalidInput("layer.ends-before-start", message, path="/toTick")
    layer_id = layer_id_of(draft.space, layer.key)
    if await draft.is_erased(layer_id):
        return False
    scope = thing_id_of(draft.space, layer.scope)
    await draft.require(scope, WorldType.LOCATION, WorldType.REALM)
    place = {"scope": scope, "layer_type": str(layer.layer_type), "from": since, "to": until}
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
            LAYER_OF, layer_id, scope, kind=layer.layer_type, since=instant_of(since), until=end
        )
    return changed


async def declare_happening(draft: WorldDraft, event: Happening) -> bool:
    """Say that something happened; an event that is known stays as it is.

    Raises:
        NotFound: `location.unknown`, or `player.unknown` for a participant.
    """
    event_id = event_id_of(draft.space, event.key)
    known = (await draft.canon.state.things((event_id,))).get(event_id)
    if isinstance(known, Event | Tombstone) and known.space == draft.space:
        return False
    if known is not None:
        message = "this id belongs to something else already; use another key"
        raise Conflict("world.id-taken", message, conflicts=[event_id])
    involved: list[EntityId] = []
    if event.location is not None:
        place = thing_id_of(draft.space, event.location)
        await draft.require(place, WorldType.LOCATION)
        involved.append(place)
    for name in event.participants:
        who = thing_id_of(draft.space, name)
        await draft.require(who, *HOLDERS, WorldType.ITEM)
        involved.append(who)
    draft.add(
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
