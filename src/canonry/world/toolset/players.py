"""Player tools: who somebody is, and what happened lately to them or at a place."""

import math
from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import INTEGER, TEXT, Field, Shape, array, nullable, obj
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.log.schemas.world_types import WorldType
from canonry.values.errors import InvalidInput
from canonry.world.domain.standing import Person
from canonry.world.toolset.arguments import LIMIT_MAX, clamped, name_of, number_of, tick_of
from canonry.world.toolset.contract import contract_tool
from canonry.world.toolset.shapes import EVENT, ITEM, LOCATION, PLAYER, events_told
from canonry.world.toolset.telling import told
from canonry.world.usecases.bound_world import bound_world
from canonry.world.usecases.get_player_context import get_player_context, get_recent_events
from canonry.world.usecases.viewing.get_character_context import status_of
from canonry.world.usecases.world_at import world_at

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


TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool("get-player-context", _get_player_context, accepts=_ANY_PLAYER),
    contract_tool("get-recent-events", _get_recent_events, accepts=_ANYTHING),
)
