"""Place tools: where somebody is, what lies around, and what the air is like."""

from typing import Final

from canonry.domain.vocabularies.world_types import LayerType, WorldType
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.toolsets.world.arguments import DEPTH_MAX, clamped, name_of, number_of, tick_of
from canonry.toolsets.world.contract import contract_tool
from canonry.toolsets.world.present import (
    present_atmosphere,
    present_event,
    present_exit,
    present_location,
    present_realms,
    present_route,
    present_summary,
    present_tie,
    tags_of,
)
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.world.bound_world import bound_world
from canonry.usecases.world.get_atmosphere import get_atmosphere
from canonry.usecases.world.get_location_context import exits_of, get_location_context
from canonry.usecases.world.get_spatial_context import get_spatial_context
from canonry.usecases.world.world_at import world_at


async def _health(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    del canon, caller, arguments  # whoever gets an answer knows that there is one
    return {"ok": True, "service": "world-context"}


async def _get_location_context(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    tick = tick_of(arguments)
    world = await bound_world(canon, caller)
    found = await get_location_context(canon, world, name_of(arguments, "locationId"), tick)
    if found is None:
        return None
    ambient = found.layers.get(LayerType.AMBIENT)
    return {
        "tick": found.tick,
        "location": present_location(found.location),
        "exits": [present_exit(edge) for edge in found.exits],
        "routes": [present_route(each) for each in found.routes],
        "realms": present_realms(found.realms, found.ties),
        "memberships": [present_tie(each) for each in found.ties.get(found.location.id, ())],
        "narrativeTags": tags_of(found.realms),
        "ambient": present_summary(LayerType.AMBIENT, ambient),
        "layers": [present_summary(kind, upon) for kind, upon in found.layers.items()],
        "nearbyPlayers": [{"id": edge.from_id} for edge in found.players],
        "nearbyCharacters": [{"id": each.id, "name": each.name} for each in found.characters],
        "recentEvents": [present_event(event) for event in found.events],
    }


async def _get_atmosphere(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    tick = tick_of(arguments)
    world = await bound_world(canon, caller)
    found = await get_atmosphere(canon, world, name_of(arguments, "locationId"), tick)
    reply = {
        "tick": found.tick,
        "locationId": found.location,
        "timeOfDay": found.time_of_day,
        "weather": present_atmosphere(LayerType.WEATHER, found.layers.get(LayerType.WEATHER)),
        "lighting": present_atmosphere(LayerType.LIGHTING, found.layers.get(LayerType.LIGHTING)),
        "ambient": present_atmosphere(LayerType.AMBIENT, found.layers.get(LayerType.AMBIENT)),
    }
    if not found.known:
        reply["warnings"] = ["there is no such location; these are the defaults"]
    return reply


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
    extra: dict[str, object] = {}
    if warnings:
        extra["warnings"] = warnings
    if asked is not None and asked != depth:
        extra["requestedDepth"] = asked
    return {
        "locationId": found.location,
        "depth": depth,
        **extra,
        "neighbors": [
            {
                "id": each.location.id,
                "name": each.location.name,
                "depth": len(each.path),
                "direction": each.path[0].value,
                "path": [step.value for step in each.path],
            }
            for each in found.neighbours
        ],
    }


async def _get_location(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    now = world_at(canon, await bound_world(canon, caller))
    location = await now.find(now.id_of(name_of(arguments, "locationId")), WorldType.LOCATION)
    if location is None:
        return None
    exits = []
    for edge in await exits_of(now, location):
        shown = present_exit(edge)
        told: dict[str, str] = {
            key: shown[key] for key in ("description", "travelDurationMs") if key in shown
        }
        if "blocked" in shown or "requiresItem" in shown:
            told["lockState"] = "locked"
        exits.append({"direction": shown["direction"], "to": edge.to_id, **told})
    reply = {**present_location(location), "exits": exits}
    if location.properties.get("terrain"):
        reply["terrain"] = location.properties["terrain"]
    return reply


async def _list_exits(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    now = world_at(canon, await bound_world(canon, caller))
    location = await now.find(now.id_of(name_of(arguments, "locationId")), WorldType.LOCATION)
    exits = () if location is None else await exits_of(now, location)
    return {"exits": [present_exit(edge) for edge in exits]}


TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool("health", _health),
    contract_tool("get-location-context", _get_location_context),
    contract_tool("get-atmosphere", _get_atmosphere),
    contract_tool("get-spatial-context", _get_spatial_context),
    contract_tool("get-location", _get_location),
    contract_tool("list-exits", _list_exits),
)
