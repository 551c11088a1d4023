"""Building tools: extensions by which world builders make places, ways, realms and people."""

from collections.abc import Mapping
from typing import Any, Final

from canonry.domain.vocabularies.world_types import (
    ActorKind,
    LayerType,
    RealmScope,
    RealmType,
    TerrainType,
    Tie,
)
from canonry.domain.world.atlas import AtlasPart, Exit, Happening, Item, Layer, Mover, Place, Realm
from canonry.domain.world.directions import Direction
from canonry.gateway.tool import Arguments, Reply, Schema, Tool
from canonry.toolsets.world.builders import DONE, builders_tool
from canonry.toolsets.world.schemas import (
    FLAG,
    KEY,
    NAME,
    PROSE,
    TAGS,
    TICK,
    WHOLE,
    enum,
    obj,
)
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.world.bound_world import bound_world
from canonry.usecases.world.build_world import create_exit, create_part, remove_exit

_EXIT: Final[Schema] = obj(
    {"direction": enum(*Direction), "toLocationId": KEY},
    {
        "description": PROSE,
        "travelDurationMs": WHOLE,
        "oneWay": FLAG,
        "hidden": FLAG,
        "blocked": PROSE,
        "requiresItem": KEY,
    },
)
_MOVER: Final[tuple[Mapping[str, Schema], Mapping[str, Schema]]] = (
    {"name": NAME, "locationId": KEY},
    {"key": KEY, "description": PROSE, "tags": TAGS, "attributes": {"type": "object"}},
)
_TIES: Final = {
    Tie.BORDERS: "bordersIds",
    Tie.VASSAL_OF: "vassalOfIds",
    Tie.ALLIED_WITH: "alliedWithIds",
    Tie.AT_WAR_WITH: "atWarWithIds",
}


def _way(told: Arguments) -> Exit:
    return Exit(
        direction=Direction(told["direction"]),
        to=told["toLocationId"],
        description=told.get("description"),
        travel_ms=told.get("travelDurationMs"),
        one_way=told.get("oneWay", False),
        hidden=told.get("hidden", False),
        blocked=told.get("blocked"),
        requires=told.get("requiresItem"),
    )


async def _create(
    canon: Canon, caller: Caller, part: AtlasPart, *, player: bool = False
) -> dict[str, Any]:
    world = await bound_world(canon, caller)
    return {"id": await create_part(canon, caller, world, part, player=player)}


async def _create_location(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    terrain = arguments.get("terrain")
    part = Place(
        key=arguments.get("key", ""),
        name=arguments["name"],
        description=arguments["description"],
        terrain=None if terrain is None else TerrainType(terrain),
        tags=tuple(arguments.get("tags", ())),
        realms=tuple(arguments.get("realmIds", ())),
        exits=tuple(map(_way, arguments.get("exits", ()))),
        member_of=tuple(arguments.get("memberOfIds", ())),
    )
    return await _create(canon, caller, part)


async def _create_exit(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    world = await bound_world(canon, caller)
    await create_exit(canon, caller, world, arguments["fromLocationId"], _way(arguments))
    return {"done": True}


async def _remove_exit(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    world = await bound_world(canon, caller)
    direction = Direction(arguments["direction"])
    await remove_exit(canon, caller, world, arguments["fromLocationId"], direction)
    return {"done": True}


async def _create_realm(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    part = Realm(
        key=arguments.get("key", ""),
        name=arguments["name"],
        realm_type=RealmType(arguments["realmType"]),
        scope=RealmScope(arguments["scope"]),
        description=arguments.get("description", ""),
        narrative_tags=tuple(arguments.get("narrativeTags", ())),
        within=tuple(arguments.get("withinIds", ())),
        member_of=tuple(arguments.get("memberOfIds", ())),
        **{tie.value: tuple(arguments.get(name, ())) for tie, name in _TIES.items()},
    )
    return await _create(canon, caller, part)


async def _create_layer(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    part = Layer(
        key=arguments.get("key", ""),
        scope=arguments["scopeId"],
        layer_type=LayerType(arguments["layerType"]),
        value=arguments["value"],
        from_tick=arguments["fromTick"],
        to_tick=arguments.get("toTick"),
    )
    return await _create(canon, caller, part)


def _mover(arguments: Arguments) -> Mover:
    return Mover(
        key=arguments.get("key", ""),
        name=arguments["name"],
        location=arguments["locationId"],
        description=arguments.get("description", ""),
        tags=tuple(arguments.get("tags", ())),
        attributes=arguments.get("attributes", {}),
    )


async def _create_character(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    return await _create(canon, caller, _mover(arguments))


async def _create_player(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    return await _create(canon, caller, _mover(arguments), player=True)


async def _create_item(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    part = Item(
        key=arguments.get("key", ""),
        name=arguments["name"],
        holder=arguments["holderId"],
        item_type=arguments["itemType"],
        quantity=arguments.get("quantity", 1),
        description=arguments.get("description", ""),
    )
    return await _create(canon, caller, part)


async def _record_event(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    world = await bound_world(canon, caller)
    part = Happening(
        key="",
        event_type=arguments["eventType"],
        description=arguments.get("description", ""),
        tick=arguments.get("tick", world.now),
        location=arguments.get("locationId"),
        participants=tuple(arguments.get("participantIds", ())),
        actor_kind=ActorKind(arguments.get("actorKind", "system")),
    )
    return {"id": await create_part(canon, caller, world, part)}


TOOLS: Final[tuple[Tool, ...]] = (
    builders_tool(
        "create-location",
        "Create a place, with the realms that it lies in and exits to places that exist.",
        _create_location,
        {"name": NAME, "description": PROSE},
        {
            "key": KEY,
            "terrain": enum(*TerrainType),
            "tags": TAGS,
            "realmIds": TAGS,
            "memberOfIds": TAGS,
            "exits": {"type": "array", "items": _EXIT, "maxItems": len(Direction)},
        },
    ),
    builders_tool(
        "create-exit",
        "Create an exit, and the way back unless it leads one way only.",
        _create_exit,
        {"fromLocationId": KEY, **{n: _EXIT["properties"][n] for n in _EXIT["required"]}},
        {n: s for n, s in _EXIT["properties"].items() if n not in _EXIT["required"]},
        reply=DONE,
    ),
    builders_tool(
        "remove-exit",
        "End an exit, and the way back that belongs to it; the past keeps them.",
        _remove_exit,
        {"fromLocationId": KEY, "direction": enum(*Direction)},
        {},
        reply=DONE,
    ),
    builders_tool(
        "create-realm",
        "Create a region, power, weather zone or network, and how it stands to other realms.",
        _create_realm,
        {"name": NAME, "realmType": enum(*RealmType), "scope": enum(*RealmScope)},
        {
            "key": KEY,
            "description": PROSE,
            "narrativeTags": TAGS,
            "withinIds": TAGS,
            "memberOfIds": TAGS,
            **dict.fromkeys(_TIES.values(), TAGS),
        },
    ),
    builders_tool(
        "create-layer",
        "Lay weather, light, mood or another text upon a place or realm for a time.",
        _create_layer,
        {"scopeId": KEY, "layerType": enum(*LayerType), "value": PROSE, "fromTick": TICK},
        {"key": KEY, "toTick": TICK},
    ),
    builders_tool(
        "create-character", "Put a new character into a place.", _create_character, *_MOVER
    ),
    builders_tool("create-player", "Put a new player into a place.", _create_player, *_MOVER),
    builders_tool(
        "create-item",
        "Create an item with a holder: a player, a character, or the place where it lies.",
        _create_item,
        {"name": NAME, "itemType": NAME, "holderId": KEY},
        {"key": KEY, "quantity": {**WHOLE, "minimum": 1}, "description": PROSE},
    ),
    builders_tool(
        "record-event",
        "Record that something happened at a place or to somebody.",
        _record_event,
        {"eventType": NAME},
        {
            "description": PROSE,
            "tick": TICK,
            "locationId": KEY,
            "participantIds": TAGS,
            "actorKind": enum(*ActorKind),
        },
    ),
)
