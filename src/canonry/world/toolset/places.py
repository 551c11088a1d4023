"""Tools on places, movement and players."""

import math
from collections.abc import Mapping, Sequence
from itertools import starmap
from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import (
    BOOLEAN,
    COUNT,
    INTEGER,
    NUMBER,
    OBJECT,
    TEXT,
    WORD,
    Field,
    Shape,
    array,
    given,
    nullable,
    obj,
    optional,
)
from canonry.gateway.tool import Arguments, Noted, Reply, Tool
from canonry.log.items.facts import Relation
from canonry.log.schemas.world_types import REALM_GROUPS, LayerType, WorldType
from canonry.readmodels.edges import Direction
from canonry.values.errors import InvalidInput
from canonry.world.domain.atlas import group_of
from canonry.world.domain.standing import Person
from canonry.world.toolset.contract import contract_tool
from canonry.world.toolset.shapes import (
    CHECKED_TICK,
    DEPTH_MAX,
    EVENT,
    EXIT,
    ITEM,
    KEY,
    LIMIT_MAX,
    LOCATION,
    NAMED,
    PLAYER,
    PROSE,
    REALM,
    ROUTE,
    TIE,
    Request,
    builders_tool,
    clamped,
    events_told,
    exits_told,
    kept,
    name_of,
    number_of,
    present_atmosphere,
    present_summary,
    tick_of,
    word,
)
from canonry.world.toolset.speech import told
from canonry.world.usecases.advance_clock import advance_clock
from canonry.world.usecases.contexts import (
    TYPES,
    LocationContext,
    exits_of,
    get_atmosphere,
    get_location_context,
    get_player_context,
    get_recent_events,
    get_spatial_context,
)
from canonry.world.usecases.move_mover import Move, move_mover
from canonry.world.usecases.transfer_item import Transfer, transfer_item
from canonry.world.usecases.viewing import status_of
from canonry.world.usecases.worlds import bound_world, world_at


async def _health(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    del canon, caller, arguments  # whoever gets an answer knows that there is one
    return {"ok": True, "service": "world-context"}


async def location_context(canon: Canon, caller: Caller, arguments: Arguments) -> Noted | None:
    """A location with all that a narrator needs of it; None: there is no such location."""
    tick = tick_of(arguments)
    world = await bound_world(canon, caller)
    found = await get_location_context(canon, world, name_of(arguments, "locationId"), tick)
    return None if found is None else told(canon, world, CONTEXT(found))


def _grouped(found: LocationContext) -> Mapping[str, Sequence[Reply]]:
    """The realms under their headings, the nearest first."""
    groups: dict[str, list[Reply]] = {group: [] for group in REALM_GROUPS}
    for realm in found.realms:
        groups[group_of(realm)].append(REALM(realm, ties=found.ties.get(realm.id) or None))
    return groups


def _tags(found: LocationContext) -> Sequence[str]:
    """The narrative tags of all realms together, sorted."""
    return sorted({tag for realm in found.realms for tag in kept("narrative_tags", ())(realm)})


CONTEXT: Final = Shape(
    tick=INTEGER,
    location=LOCATION,
    exits=array(EXIT).made(lambda found: exits_told(found.exits, found.places)),
    routes=array(ROUTE),
    realms=OBJECT.of(_grouped),
    memberships=array(TIE).of(lambda found: found.ties.get(found.location.id, ())),
    narrativeTags=array(TEXT).of(_tags),
    ambient=OBJECT.of(
        lambda found: present_summary(LayerType.AMBIENT, found.layers.get(LayerType.AMBIENT))
    ),
    layers=array(OBJECT).of(lambda found: starmap(present_summary, found.layers.items())),
    nearbyPlayers=array(Shape(id=TEXT.of("from_id"))).of("players"),
    nearbyCharacters=array(NAMED).of("characters"),
    recentEvents=array(EVENT).made(lambda found: events_told(found.events, found.places)),
)


async def _get_atmosphere(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    tick = tick_of(arguments)
    world = await bound_world(canon, caller)
    found = await get_atmosphere(canon, world, name_of(arguments, "locationId"), tick)
    reply = {
        "tick": found.tick,
        "locationId": found.location,
        "timeOfDay": found.time_of_day,
        **{kind.value: present_atmosphere(kind, found.layers.get(kind)) for kind in TYPES},
    }
    if not found.known:
        reply["warnings"] = ["there is no such location; these are the defaults"]
    return told(canon, world, reply)


async def _get_spatial_context(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    asked = number_of(arguments, "depth")
    world = await bound_world(canon, caller)
    depth = clamped(world.depth if asked is None else asked, 1, DEPTH_MAX)
    found = await get_spatial_context(canon, world, name_of(arguments, "locationId"), depth)
    if found is None:
        return None
    warnings = []
    if asked is not None and asked > DEPTH_MAX:
        warnings.append(f"depth clamped to maximum of {DEPTH_MAX}")
    if asked is not None and asked < 1:
        warnings.append("depth clamped to minimum of 1")
    if not found.complete:
        warnings.append("there are more locations within reach than are told here")
    nearby = NEARBY(
        found,
        depth=depth,
        warnings=warnings or None,
        requestedDepth=asked if asked != depth else None,
    )
    return told(canon, world, nearby)


NEARBY: Final = Shape(
    locationId=TEXT.of("location"),
    depth=given(INTEGER),
    warnings=optional(given(array(TEXT))),
    requestedDepth=optional(given(NUMBER)),
    neighbors=array(
        Shape(
            id=TEXT.of("location.id"),
            name=TEXT.of("location.name"),
            depth=INTEGER.of(lambda each: len(each.path)),
            direction=WORD.of(lambda each: each.path[0]),
            path=array(WORD),
        )
    ).of("neighbours"),
)


def _lock(edge: Relation) -> str | None:
    kinds = (kept("blocked")(edge), kept("requires")(edge))
    return None if kinds == (None, None) else "locked"


async def _get_location(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    now = world_at(canon, await bound_world(canon, caller))
    location = await now.find(now.id_of(name_of(arguments, "locationId")), WorldType.LOCATION)
    if location is None:
        return None
    exits = await exits_of(now, location)
    return _PLACE(location, exits=exits_told(exits, await now.places_in(exits), _WAY))


_WAY: Final = Shape(
    direction=EXIT.fields["direction"],
    to=EXIT.fields["toLocationId"],
    name=EXIT.fields["name"],
    description=EXIT.fields["description"],
    travelDurationMs=EXIT.fields["travelDurationMs"],
    lockState=optional(TEXT.of(_lock)),
)
_PLACE: Final = Shape(
    **LOCATION.fields,
    exits=given(Field(array(_WAY).schema)),
    terrain=optional(TEXT.of(lambda location: kept("terrain")(location) or None)),
)


async def _list_exits(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    now = world_at(canon, await bound_world(canon, caller))
    location = await now.find(now.id_of(name_of(arguments, "locationId")), WorldType.LOCATION)
    exits = () if location is None else await exits_of(now, location)
    return {"exits": exits_told(exits, await now.places_in(exits))}


TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool("health", _health),
    contract_tool("get-location-context", location_context),
    contract_tool("get-atmosphere", _get_atmosphere),
    contract_tool("get-spatial-context", _get_spatial_context),
    contract_tool("get-location", _get_location),
    contract_tool("list-exits", _list_exits),
)


MOVEMENT_TOOLS: Final[tuple[Tool, ...]] = (
    builders_tool(
        "move",
        "Let a player or character go through an exit; with teleportTo past all exits, for "
        "what no exit explains.",
        Request(
            Move,
            {"moverId": KEY.of("mover")},
            {
                "direction": word(Direction),
                "teleportTo": KEY.of("teleport_to"),
                "reason": PROSE,
                "tick": CHECKED_TICK,
            },
        ),
        move_mover,
        Shape(
            moverId=TEXT.of("mover"),
            fromLocationId=TEXT.of("from_id"),
            toLocationId=TEXT.of("to_id"),
            tick=INTEGER,
            travelDurationMs=COUNT.of("duration"),
            clockTick=optional(INTEGER.of("clock")),
        ),
    ),
    builders_tool(
        "transfer-item",
        "Hand an item on to somebody at the same place, or leave it there.",
        Request(
            Transfer,
            {"itemId": KEY.of("item"), "toHolderId": KEY.of("holder")},
            {"fromHolderId": KEY.of("expected"), "anywhere": BOOLEAN, "tick": CHECKED_TICK},
        ),
        transfer_item,
        Shape(
            itemId=TEXT.of("item"),
            fromHolderId=TEXT.of("from_id"),
            toHolderId=TEXT.of("to_id"),
        ),
    ),
    builders_tool(
        "advance-clock",
        "Let time pass for the world, or with playerId for one player alone.",
        Request(
            dict,
            {"durationMs": INTEGER.of("duration")},
            {"playerId": KEY.of("player"), "reason": PROSE},
        ),
        lambda canon, caller, world, given: advance_clock(canon, caller, world, **given),
        Shape(tick=INTEGER.of(int)),
    ),
)


_SCOPES: Final = {"location": WorldType.LOCATION, "player": WorldType.PLAYER}
_ANYTHING: Final = {"type": "object", "additionalProperties": True}
_ANY_PLAYER: Final = obj({}, {"playerId": Field({}), "tick": Field({})})
"""A player without an id, or with one that is no text, is one that there is not: null."""


async def _get_player_context(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    name = name_of(arguments, "playerId")
    if name is None:
        return None
    world = await bound_world(canon, caller)
    try:
        tick = tick_of(arguments)
    except InvalidInput:
        now = world_at(canon, world)
        if await now.find(now.id_of(name), WorldType.PLAYER) is None:
            return None  # that there is no such player is the first thing to be said
        raise
    found = await get_player_context(canon, world, name, tick)
    return None if found is None else told(canon, world, _CONTEXT(found))


def _unusual(status: Person) -> Person | None:
    """How somebody is, where anything was said of it."""
    usual = status.alive and status.present and not (status.conditions or status.resources)
    return None if usual else status


_CONTEXT: Final = Shape(
    tick=INTEGER,
    player=Field({}).of(
        lambda found: PLAYER(
            found.player,
            currentLocationId=found.location,
            status=_unusual(status_of(found.player, found.tick)),
        )
    ),
    location=nullable(LOCATION),
    inventory=array(ITEM),
    recentEvents=array(EVENT).made(lambda found: events_told(found.events, found.places)),
    warnings=array(TEXT),
)


async def _get_recent_events(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    asked = arguments.get("scope")
    scope = _SCOPES.get(asked) if isinstance(asked, str) else None
    name = name_of(arguments, "scopeId")
    try:
        limit = number_of(arguments, "limit")
    except InvalidInput:
        limit = math.nan
    world = await bound_world(canon, caller)
    if scope is None or name is None or (limit is not None and math.isnan(limit)):
        return []
    most = clamped(world.event_limit if limit is None else limit, 1, LIMIT_MAX)
    return events_told(*await get_recent_events(canon, world, scope, name, most))


PLAYERS_TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool("get-player-context", _get_player_context, accepts=_ANY_PLAYER),
    contract_tool("get-recent-events", _get_recent_events, accepts=_ANYTHING),
)
