"""Tie tools: extensions that tell how realms stand to each other, and let builders change it."""

from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import BOOLEAN, INTEGER, TEXT, Field, Shape, array, enum, obj
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.log.schemas.world_types import Tie, WorldType
from canonry.world.domain.atlas import Route
from canonry.world.toolset.arguments import tick_of
from canonry.world.toolset.contract import READERS, nullable, with_shapes, with_texts
from canonry.world.toolset.extensions import DONE, KEY, NAME, Request, builders_tool, word
from canonry.world.toolset.shapes import REALM, TIE
from canonry.world.toolset.telling import told
from canonry.world.usecases.bound_world import bound_world
from canonry.world.usecases.get_realm_context import get_realm_context
from canonry.world.usecases.world_ties import (
    TieBetween,
    create_route,
    create_tie,
    end_route,
    remove_tie,
)

_TICK: Final = Field(
    {"type": ["number", "string"], "description": "World time in milliseconds; without it now."}
)
_ASKED: Final = obj({"realmId": KEY}, {"tick": _TICK})
_TIE_BETWEEN: Final = Request(
    TieBetween,
    {"fromId": KEY.of("start"), "tie": word(Tie).of("kind"), "toRealmId": KEY.of("realm")},
)
_ROUTE: Final = Request(
    Route,
    {
        "routeName": NAME.of("name"),
        "stopIds": array(KEY).but(minItems=2, maxItems=100).by(tuple).of("stops"),
    },
    {"oneWay": BOOLEAN.of("one_way")},
)
_REALM: Final = Field({"$ref": "#/$defs/realm"}, REALM)
_PARTS: Final = array(
    Shape(id=TEXT, name=TEXT, kind=enum(WorldType.REALM, WorldType.LOCATION).of("entity_type"))
)
_CONTEXT: Final = Shape(
    tick=INTEGER,
    realm=_REALM,
    around=array(_REALM),
    ties=array(Field({"$ref": "#/$defs/tie"}, TIE)),
    inside=_PARTS,
    members=_PARTS,
    complete=BOOLEAN,
)


async def _get_realm_context(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    tick = tick_of(arguments)
    world = await bound_world(canon, caller)
    found = await get_realm_context(canon, world, arguments["realmId"], tick)
    return None if found is None else told(canon, world, _CONTEXT(found))


TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        name="get-realm-context",
        title="Get realm context",
        description=(
            "Tell about a realm: what lies around and in it, its members, and which realms it "
            "borders, serves, is allied with or at war with. Null: there is no such realm."
        ),
        input_schema=_ASKED,
        accepted_schema=with_texts(nullable(_ASKED)),
        output_schema=with_shapes({"anyOf": [_CONTEXT.schema, {"type": "null"}]}),
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
