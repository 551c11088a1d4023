"""Tools that read and draw a world: its locations, exits and views."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import starmap
from typing import Any, Final

from canonry.canon.queries.listings import query_entities
from canonry.canon.session.caller import Caller, unknown_item
from canonry.canon.session.canon import Canon
from canonry.gateway.replies import Field, Shape, array, object_schema
from canonry.gateway.tool import (
    Arguments,
    Completion,
    CompletionPage,
    FindCompletions,
    Noted,
    Reply,
    Tool,
    Variables,
)
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Relation
from canonry.log.schemas.world_types import REALM_GROUPS, LayerType, Tie, WorldType
from canonry.readmodels.edges import Direction, tick_of, time_of_day, travel_ms
from canonry.values.errors import InvalidInput
from canonry.values.json_values import encode_json
from canonry.world.domain.atlas import group_of
from canonry.world.domain.checks import person_of
from canonry.world.toolset.contract import READERS, contract_tool
from canonry.world.toolset.shapes import (
    DEPTH_MAX,
    LIMIT_MAX,
    TABLE,
    asked_tick,
    clamp_value,
    name_of,
    number_of,
    with_hash,
    world_tool,
)
from canonry.world.usecases.building import RealmTie
from canonry.world.usecases.contexts import (
    TYPES,
    LocationContext,
    ShownLayer,
    exits_of,
    get_atmosphere,
    get_location_context,
    get_mover_context,
)
from canonry.world.usecases.movement import get_spatial_context
from canonry.world.usecases.worlds import (
    INVENTORY_MAX,
    WorldAt,
    bound_world,
    require_world,
    visible_worlds,
    world_at,
)

PREVIEW: Final = 240
VALUE_MAX: Final = 512  # longer values are cut and marked: bounds a page
_DEFAULTS: Final = {
    LayerType.WEATHER: "clear",
    LayerType.LIGHTING: "daylight",
    LayerType.AMBIENT: "calm",
}


def _tie_direction(tied: RealmTie) -> str:
    if tied.tie is Tie.BORDERS:
        return "both"
    return "out" if tied.outward else "in"


LOCATION: Final = TABLE.make_shape("location")
EXIT: Final = TABLE.make_shape(
    "exit",
    travelDurationMs=lambda e: travel_ms(
        Direction(e.properties["kind"]), e.properties.get("travel_ms")
    ),
)
TIE: Final = TABLE.make_shape("tie", direction=_tie_direction)
"""The relation of a realm to another: a tie leads out to it or comes in from it."""
REALM: Final = TABLE.make_shape("realm")
ROUTE: Final = TABLE.make_shape("route")
EVENT: Final = TABLE.make_shape(
    "event",
    status=lambda _: "processed",
    tick=lambda e: tick_of(e.created_at if e.time_ref is None else e.time_ref),
    description=lambda event: event.description[:PREVIEW] or None,
)
ITEM: Final = TABLE.make_shape("item")
STATUS: Final = TABLE.make_shape(
    "status", conditions=lambda status: sorted(status.conditions.items())
)
PLAYER: Final = TABLE.make_shape("player")
"""Fields of a player that others may read; no others are shown."""
_ORIGIN: Final = TABLE.make_shape("origin")


def show_exits(
    edges: Sequence[Relation], locations: Mapping[str, Entity], shape: Shape = EXIT
) -> list[dict[str, Any]]:
    """Exits with the names of the locations that they lead to."""
    named = {i: location.name for i, location in locations.items()}
    return [shape(edge, name=named.get(edge.to_id)) for edge in edges]


def show_events(events: Sequence[Event], locations: Mapping[str, Entity]) -> list[dict[str, Any]]:
    """Events with the locations that they are about."""
    found = [[locations[i] for i in each.involved if i in locations] for each in events]
    return [EVENT(each, places=at or None) for each, at in zip(events, found, strict=True)]


def present_summary(layer_type: LayerType, shown_layer: ShownLayer | None) -> dict[str, Any]:
    """A layer in a location's context: a preview of its text."""
    layer_fields = (
        {} if shown_layer is None else {**_ORIGIN(shown_layer), **_preview_text(shown_layer.value)}
    )
    return {"present": shown_layer is not None, "layerType": layer_type.value, **layer_fields}


def present_atmosphere(layer_type: LayerType, shown_layer: ShownLayer | None) -> dict[str, Any]:
    """A layer in an atmosphere: whole where it is short, and the default where there is none."""
    value = _DEFAULTS[layer_type] if shown_layer is None else shown_layer.value
    return {
        "present": shown_layer is not None,
        "layerType": layer_type.value,
        "defaulted": shown_layer is None,
        **_preview_text(value),
        "valueTruncated": len(value) > VALUE_MAX,
        **({"value": value} if len(value) <= VALUE_MAX else {}),
        **({} if shown_layer is None else _ORIGIN(shown_layer)),
    }


def _preview_text(value: str) -> dict[str, Any]:
    return {"valuePreview": value[:PREVIEW], "valueLength": len(value)}


async def _show_health(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    del canon, caller, arguments  # whoever gets an answer knows that there is one
    return {"ok": True, "service": "world-context"}


async def location_context(canon: Canon, caller: Caller, arguments: Arguments) -> Noted | None:
    """Return a location with all that a narrator needs; None if it is unknown."""
    tick = asked_tick(arguments)
    then = world_at(canon, await bound_world(canon, caller), tick)
    found = await get_location_context(then, name_of(arguments, "locationId"))
    return None if found is None else with_hash(then, CONTEXT(found))


def _group_realms(found: LocationContext) -> Mapping[str, Sequence[Reply]]:
    groups: dict[str, list[Reply]] = {group: [] for group in REALM_GROUPS}
    for realm in found.realms:
        groups[group_of(realm)].append(REALM(realm, ties=found.ties.get(realm.id) or None))
    return groups


CONTEXT: Final = TABLE.make_shape(
    "location_context",
    exits=array(EXIT).from_function(lambda found: show_exits(found.exits, found.places)),
    realms=_group_realms,
    memberships=lambda found: found.ties.get(found.location.id, ()),
    narrativeTags=lambda found: sorted(
        {tag for each in found.realms for tag in each.properties.get("narrative_tags", ())}
    ),
    ambient=lambda found: present_summary(LayerType.AMBIENT, found.layers.get(LayerType.AMBIENT)),
    layers=lambda found: starmap(present_summary, found.layers.items()),
    recentEvents=array(EVENT).from_function(lambda found: show_events(found.events, found.places)),
)


async def _get_atmosphere(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    tick = asked_tick(arguments)
    then = world_at(canon, await bound_world(canon, caller), tick)
    location_id = then.id_of(name_of(arguments, "locationId"))
    layers = await get_atmosphere(then, location_id)
    timeless = tick is None and then.world.tick is None  # nobody has set the world's clock
    reply = {
        "tick": then.tick,
        "locationId": location_id,
        "timeOfDay": "noon" if timeless else time_of_day(then.tick),
        **{kind.value: present_atmosphere(kind, (layers or {}).get(kind)) for kind in TYPES},
    }
    if layers is None:
        reply["warnings"] = ["no such location exists; these are the defaults"]
    return with_hash(then, reply)


async def _get_spatial_context(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    asked = number_of(arguments, "depth")
    now = world_at(canon, await bound_world(canon, caller))
    depth = clamp_value(now.world.depth if asked is None else asked, 1, DEPTH_MAX)
    found = await get_spatial_context(now, name_of(arguments, "locationId"), depth)
    if found is None:
        return None
    warnings = []
    if asked is not None and asked > DEPTH_MAX:
        warnings.append(f"depth clamped to maximum of {DEPTH_MAX}")
    if asked is not None and asked < 1:
        warnings.append("depth clamped to minimum of 1")
    if not found.complete:
        warnings.append("more locations are within reach than are listed here")
    nearby = NEARBY(
        found,
        depth=depth,
        warnings=warnings or None,
        requestedDepth=asked if asked != depth else None,
    )
    return with_hash(now, nearby)


TABLE.make_shape("neighbour", depth=lambda each: len(each.path))
NEARBY: Final = TABLE.make_shape("nearby")


def _lock_state(edge: Relation) -> str | None:
    own = edge.properties
    return None if own.get("blocked") is None and own.get("requires") is None else "locked"


async def _get_location(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    now = world_at(canon, await bound_world(canon, caller))
    location = await now.find_item(now.id_of(name_of(arguments, "locationId")), WorldType.LOCATION)
    if location is None:
        return None
    exits = await exits_of(now, location)
    return _LOCATION_SHAPE(
        location, exits=show_exits(exits, await now.locations_in(exits), _EXIT_SHAPE)
    )


_EXIT_SHAPE: Final = TABLE.make_shape("way", lockState=_lock_state)
TABLE.kinds["ways"] = Field(array(_EXIT_SHAPE).schema)
_LOCATION_SHAPE: Final = TABLE.make_shape("place")


async def _list_exits(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    now = world_at(canon, await bound_world(canon, caller))
    location = await now.find_item(now.id_of(name_of(arguments, "locationId")), WorldType.LOCATION)
    exits = () if location is None else await exits_of(now, location)
    return {"exits": show_exits(exits, await now.locations_in(exits))}


_SCOPES: Final = {"location": WorldType.LOCATION, "player": WorldType.PLAYER}
_ANYTHING: Final = {"type": "object", "additionalProperties": True}
_ANY_PLAYER: Final = object_schema({}, {"playerId": Field({}), "tick": Field({})})
"""A player without an id, or with one that is no text, is one that there is not: null."""


async def _get_player_context(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    name = name_of(arguments, "playerId")
    if name is None:
        return None
    world = await bound_world(canon, caller)
    try:
        then = world_at(canon, world, asked_tick(arguments))
    except InvalidInput:
        now = world_at(canon, world)
        if await now.find_item(now.id_of(name), WorldType.PLAYER) is None:
            return None  # a missing player comes before an invalid tick
        raise
    found = await get_mover_context(then, name, (WorldType.PLAYER,))
    if found is None:
        return None
    status = found.status
    usual = status.alive and status.present and not (status.conditions or status.resources)
    warnings = [] if found.location is not None else ["the player's location is not known"]
    if found.more:
        warnings.append(f"the first {INVENTORY_MAX} items of the inventory are shown")
    shown = _CONTEXT(
        found,
        player=PLAYER(
            found.mover, currentLocationId=found.location, status=None if usual else status
        ),
        recentEvents=show_events(found.events, await then.locations_in(found.events)),
        warnings=warnings,
    )
    return with_hash(then, shown)


TABLE.kinds["shown_events"] = Field(array(EVENT).schema)
_CONTEXT: Final = TABLE.make_shape("player_context")


async def _get_recent_events(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    asked = arguments.get("scope")
    scope = _SCOPES.get(asked) if isinstance(asked, str) else None
    name = name_of(arguments, "scopeId")
    try:
        limit = number_of(arguments, "limit")
    except InvalidInput:
        limit = math.nan
    now = world_at(canon, await bound_world(canon, caller))
    if scope is None or name is None or (limit is not None and math.isnan(limit)):
        return []
    most = clamp_value(now.world.event_limit if limit is None else limit, 1, LIMIT_MAX)
    item = await now.find_item(now.id_of(name), scope)
    events = () if item is None else await now.events_of(item.id, most)
    return show_events(events, await now.locations_in(events))


TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool("health", _show_health),
    contract_tool("get-location-context", location_context),
    contract_tool("get-atmosphere", _get_atmosphere),
    contract_tool("get-spatial-context", _get_spatial_context),
    contract_tool("get-location", _get_location),
    contract_tool("list-exits", _list_exits),
    contract_tool("get-player-context", _get_player_context, accepts=_ANY_PLAYER),
    contract_tool("get-recent-events", _get_recent_events, accepts=_ANYTHING),
)


# View tools. A narrator sees hidden items; a player does not.

TABLE.make_shape("changes", layersChanged=lambda found: found.layers.items())


async def _player_view(then: WorldAt, name: str) -> LocationContext | None:
    """Return a player's location without hidden exits and absent movers."""
    player = await then.find_item(then.id_of(name), WorldType.PLAYER)
    location = None if player is None else await then.location_of(player)
    found = None if location is None else await get_location_context(then, location.id)
    if found is None:
        return None
    return replace(
        found,
        exits=[edge for edge in found.exits if not edge.properties.get("hidden")],
        characters=[one for one in found.characters if person_of(one).present],
    )


async def _show_surroundings(
    then: WorldAt, name: str | None = None, depth: int | None = None
) -> Reply | None:
    far = then.world.depth if depth is None else depth
    found = await get_spatial_context(then, name, far)
    if found is None:
        return None
    warnings = None if found.complete else ["more locations are within reach"]
    return NEARBY(found, depth=far, warnings=warnings)


VIEWS_TOOLS: Final[tuple[Tool, ...]] = (
    world_tool("get-character-context"),
    world_tool("get-player-view", _player_view, CONTEXT),
    world_tool("get-surroundings", _show_surroundings, Field(NEARBY.schema)),
    *map(world_tool, ("find-route", "get-changes", "search-events")),
)


_WORLD: Final = TABLE.make_shape("world")


async def _world_json(canon: Canon, caller: Caller, variables: Variables) -> str:
    return encode_json(_WORLD(await require_world(canon, caller, variables["world_id"]))).decode()


async def _location_json(canon: Canon, caller: Caller, variables: Variables) -> str:
    found = await location_context(canon, caller, {"locationId": variables["location_id"]})
    if found is None:
        raise unknown_item("location", variables["location_id"])
    return encode_json(found.reply).decode()


async def _complete_worlds(canon: Canon, caller: Caller, asked: Completion) -> CompletionPage:
    worlds = await visible_worlds(canon, caller)
    bound = [each for each in worlds if caller.world in {None, each.id}]
    return asked.page_of([(each.id, each.name) for each in bound])


async def _complete_locations(canon: Canon, caller: Caller, asked: Completion) -> CompletionPage:
    world = await bound_world(canon, caller)
    query = asked.entity_query(WorldType.LOCATION)
    page = await query_entities(canon, caller, query, universe_id=world.space)
    return [(each.id, each.name) for each in page.items], page.total


COMPLETIONS: Final[Mapping[str, FindCompletions]] = {
    "world_id": _complete_worlds,
    "location_id": _complete_locations,
}
RESOURCES: Final = (
    TABLE.make_resource("world", _world_json, READERS),
    TABLE.make_resource("location", _location_json, READERS),
)
