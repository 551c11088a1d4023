"""Tie tools: extensions that tell how realms stand to each other, and let builders change it."""

from typing import Any, Final

from canonry.domain.vocabularies.world_types import Tie, WorldType
from canonry.domain.world.atlas import Route
from canonry.gateway.tool import Arguments, Reply, Schema, Tool
from canonry.toolsets.world.arguments import tick_of
from canonry.toolsets.world.builders import DONE, builders_tool
from canonry.toolsets.world.contract import READERS, lenient, with_shapes
from canonry.toolsets.world.present import present_realm, present_tie
from canonry.toolsets.world.schemas import FLAG, KEY, NAME, TEXT, TICK, enum, obj
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.world.bound_world import bound_world
from canonry.usecases.world.get_realm_context import get_realm_context
from canonry.usecases.world.world_ties import (
    TieBetween,
    create_route,
    create_tie,
    end_route,
    remove_tie,
)

_TICK: Final[Schema] = {
    "type": ["number", "string"],
    "description": "World time in milliseconds; without it now.",
}
_ASKED: Final[Schema] = obj({"realmId": KEY}, {"tick": _TICK})
_STOPS_MAX: Final = 100
_TIED: Final = {"fromId": KEY, "tie": enum(*Tie), "toRealmId": KEY}
_ROUTE: Final = {
    "routeName": NAME,
    "stopIds": {"type": "array", "items": KEY, "minItems": 2, "maxItems": _STOPS_MAX},
}
_PART: Final[Schema] = obj(
    {"id": TEXT, "name": TEXT, "kind": enum(WorldType.REALM, WorldType.LOCATION)}
)
_REALM: Final[Schema] = {"$ref": "#/$defs/realm"}
_TIE: Final[Schema] = {"$ref": "#/$defs/tie"}


def _all(items: Schema) -> Schema:
    return {"type": "array", "items": items}


_CONTEXT: Final[Schema] = obj(
    {
        "tick": TICK,
        "realm": _REALM,
        "around": _all(_REALM),
        "ties": _all(_TIE),
        "inside": _all(_PART),
        "members": _all(_PART),
        "complete": FLAG,
    }
)


async def _get_realm_context(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    tick = tick_of(arguments)
    world = await bound_world(canon, caller)
    found = await get_realm_context(canon, world, arguments["realmId"], tick)
    if found is None:
        return None

    def parts(things: Any) -> list[dict[str, str]]:
        return [{"id": each.id, "name": each.name, "kind": each.entity_type} for each in things]

    return {
        "tick": found.tick,
        "realm": present_realm(found.realm),
        "around": [present_realm(each) for each in found.around],
        "ties": [present_tie(each) for each in found.ties],
        "inside": parts(found.inside),
        "members": parts(found.members),
        "complete": found.complete,
    }


async def _create_tie(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    await create_tie(canon, caller, await bound_world(canon, caller), _tie(arguments))
    return {"done": True}


async def _remove_tie(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    await remove_tie(canon, caller, await bound_world(canon, caller), _tie(arguments))
    return {"done": True}


def _tie(told: Arguments) -> TieBetween:
    return TieBetween(start=told["fromId"], kind=Tie(told["tie"]), realm=told["toRealmId"])


async def _create_route(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    await create_route(canon, caller, await bound_world(canon, caller), _route(arguments))
    return {"done": True}


async def _remove_route(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    await end_route(canon, caller, await bound_world(canon, caller), _route(arguments))
    return {"done": True}


def _route(told: Arguments) -> Route:
    return Route(
        name=told["routeName"], stops=tuple(told["stopIds"]), one_way=told.get("oneWay", False)
    )


TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        name="get-realm-context",
        title="Get realm context",
        description=(
            "Tell about a realm: what lies around and in it, its members, and which realms it "
            "borders, serves, is allied with or at war with. Null: there is no such realm."
        ),
        input_schema=_ASKED,
        accepted_schema=lenient(_ASKED),
        output_schema=with_shapes({"anyOf": [_CONTEXT, {"type": "null"}]}),
        roles=READERS,
        run=_get_realm_context,
        read_only=True,
        idempotent=True,
        extension=True,
    ),
    builders_tool(
        "create-tie",
        "Tie a realm to another by what it is to it, or make a place a member of a realm.",
        _create_tie,
        _TIED,
        {},
        reply=DONE,
    ),
    builders_tool(
        "remove-tie",
        "End a tie of a realm or place; the past keeps it.",
        _remove_tie,
        _TIED,
        {},
        reply=DONE,
    ),
    builders_tool(
        "create-route",
        "Let a named route lead from stop to stop, in both directions unless it is one-way.",
        _create_route,
        _ROUTE,
        {"oneWay": FLAG},
        reply=DONE,
    ),
    builders_tool(
        "remove-route",
        "End a named route from stop to stop; the past keeps it.",
        _remove_route,
        _ROUTE,
        {"oneWay": FLAG},
        reply=DONE,
    ),
)
