"""Tie tools: extensions that tell how realms stand to each other, and let builders change it."""

from typing import Any, Final

from canonry.domain.vocabularies.world_types import Tie, WorldType
from canonry.domain.world.atlas import Route
from canonry.gateway.tool import Arguments, Reply, Schema, Tool
from canonry.toolsets.world.arguments import tick_of
from canonry.toolsets.world.contract import READERS, lenient, with_shapes
from canonry.toolsets.world.extensions import (
    DONE,
    FLAG,
    INTEGER,
    KEY,
    NAME,
    TEXT,
    Argument,
    Request,
    array,
    builders_tool,
    enum,
    obj,
    word,
)
from canonry.toolsets.world.present import present_realm, present_tie
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.world.bound_world import bound_world
from canonry.usecases.world.build_world import create_route, create_tie, end_route, remove_tie
from canonry.usecases.world.get_realm_context import get_realm_context
from canonry.usecases.world.world_ties import TieBetween

_TICK: Final[Schema] = {
    "type": ["number", "string"],
    "description": "World time in milliseconds; without it now.",
}
_ASKED: Final[Schema] = obj({"realmId": KEY.schema}, {"tick": _TICK})
_TIE_BETWEEN: Final = Request(
    TieBetween,
    {"fromId": KEY.into("start"), "tie": word(Tie).into("kind"), "toRealmId": KEY.into("realm")},
)
_ROUTE: Final = Request(
    Route,
    {
        "routeName": NAME.into("name"),
        "stopIds": Argument(array(KEY.schema, minItems=2, maxItems=100), tuple, "stops"),
    },
    {"oneWay": FLAG.into("one_way")},
)
_PART: Final[Schema] = obj(
    {"id": TEXT, "name": TEXT, "kind": enum((WorldType.REALM, WorldType.LOCATION))}
)
_REALM: Final[Schema] = {"$ref": "#/$defs/realm"}
_TIE: Final[Schema] = {"$ref": "#/$defs/tie"}


_CONTEXT: Final[Schema] = obj(
    {
        "tick": INTEGER,
        "realm": _REALM,
        "around": array(_REALM),
        "ties": array(_TIE),
        "inside": array(_PART),
        "members": array(_PART),
        "complete": FLAG.schema,
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
        _TIE_BETWEEN,
        create_tie,
        DONE,
    ),
    builders_tool(
        "remove-tie",
        "End a tie of a realm or place; the past keeps it.",
        _TIE_BETWEEN,
        remove_tie,
        DONE,
    ),
    builders_tool(
        "create-route",
        "Let a named route lead from stop to stop, in both directions unless it is one-way.",
        _ROUTE,
        create_route,
        DONE,
    ),
    builders_tool(
        "remove-route",
        "End a named route from stop to stop; the past keeps it.",
        _ROUTE,
        end_route,
        DONE,
    ),
)
