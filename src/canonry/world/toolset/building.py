"""Tools that build worlds and tie things together."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.replies import BOOLEAN, COUNT, INTEGER, TEXT, Field, Shape, array, enum, obj
from canonry.gateway.tool import Arguments, Reply, Schema, Tool
from canonry.log.schemas.world_types import (
    ActorKind,
    LayerType,
    RealmScope,
    RealmType,
    TerrainType,
    Tie,
    WorldType,
)
from canonry.readmodels.edges import Direction
from canonry.world.domain.atlas import (
    AtlasPart,
    Exit,
    Happening,
    Item,
    Layer,
    Mover,
    Place,
    Realm,
    Route,
)
from canonry.world.toolset.contract import READERS, extension_tool, nullable, with_texts
from canonry.world.toolset.shapes import (
    ANYTHING,
    DONE,
    ID,
    KEY,
    KEYS,
    NAME,
    POSITIVE,
    PROSE,
    TICK,
    Request,
    asked_tick,
    builders_tool,
    told,
    word,
)
from canonry.world.toolset.views import REALM, TIE
from canonry.world.usecases.contexts import get_realm_context
from canonry.world.usecases.world_parts import create_exit, create_part, remove_exit, set_status
from canonry.world.usecases.world_ties import (
    TieBetween,
    create_route,
    create_tie,
    end_route,
    remove_tie,
)
from canonry.world.usecases.worlds import BoundWorld, bound_world, world_at


def _listed(name: str, value: str, schema: Schema) -> Field:
    """Values by name: such names are values, so that no error repeats them."""
    each = obj({name: NAME, value: Field(schema)})
    return Field(
        {"type": "array", "items": each, "maxItems": 100},
        lambda told: {one[name]: one[value] for one in told},
    )


_EXIT: Final = Request(
    Exit,
    {"direction": word(Direction), "toLocationId": KEY.of("to")},
    {
        "description": PROSE,
        "travelDurationMs": COUNT.of("travel_ms"),
        "oneWay": BOOLEAN.of("one_way"),
        "hidden": BOOLEAN,
        "blocked": PROSE,
        "requiresItem": KEY.of("requires"),
        "opensAtTick": COUNT.of("opens"),
        "everyTicks": POSITIVE.of("every"),
        "lastingTicks": POSITIVE.of("lasting"),
    },
)
_EXITS: Final = array(Field(_EXIT.schema, _EXIT.read)).but(maxItems=len(Direction))
_FROM: Final = {"fromLocationId": KEY.of("key")}
_STATUS: Final = {
    "alive": BOOLEAN,
    "present": BOOLEAN,
    "conditions": _listed("condition", "untilTick", {"type": ["integer", "null"], "minimum": 0}),
    "resources": _listed("resource", "amount", {"type": "integer", "minimum": 0}),
}
_MOVER: Final = (
    {"name": NAME, "locationId": KEY.of("location")},
    {"description": PROSE, "tags": KEYS, "attributes": ANYTHING, **_STATUS},
)


def _part_tool(
    name: str,
    description: str,
    kind: Callable[..., AtlasPart],
    required: Mapping[str, Field],
    optional: Mapping[str, Field],
    *,
    create: Callable[[Canon, Caller, BoundWorld, AtlasPart], Awaitable[str]] = create_part,
) -> Tool:
    """A tool that creates a part of the world under a key that the builder may choose."""
    request = Request(partial(kind, key=""), required, {"key": KEY, **optional})
    return builders_tool(name, description, request, create, ID)


async def _record(canon: Canon, caller: Caller, world: BoundWorld, fields: Arguments) -> str:
    now = {"key": "", "description": "", "tick": world.now}
    return await create_part(canon, caller, world, Happening(**{**now, **fields}))


_ASKED: Final = obj({"realmId": KEY}, {"tick": TICK})
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
    tick = asked_tick(arguments)
    then = world_at(canon, await bound_world(canon, caller), tick)
    found = await get_realm_context(then, arguments["realmId"])
    return None if found is None else told(then, _CONTEXT(found))


TOOLS: Final[tuple[Tool, ...]] = (
    extension_tool(
        "get-realm-context",
        "Tell about a realm: what lies around and in it, its members, and which realms it "
        "borders, serves, is allied with or at war with. Null: there is no such realm.",
        _get_realm_context,
        roles=READERS,
        takes=_ASKED,
        accepts=with_texts(nullable(_ASKED)),
        gives=_CONTEXT.schema,
        null=True,
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
    _part_tool(
        "create-location",
        "Create a place, with the realms that it lies in and exits to places that exist.",
        Place,
        {"name": NAME, "description": PROSE},
        {
            "terrain": word(TerrainType),
            "tags": KEYS,
            "realmIds": KEYS.of("realms"),
            "memberOfIds": KEYS.of("member_of"),
            "exits": _EXITS,
        },
    ),
    builders_tool(
        "create-exit",
        "Create an exit, and the way back unless it leads one way only.",
        Request(
            lambda key, **way: {"key": key, "way": Exit(**way)},
            {**_FROM, **_EXIT.required},
            _EXIT.optional,
        ),
        lambda canon, caller, world, new: create_exit(canon, caller, world, **new),
        DONE,
    ),
    builders_tool(
        "remove-exit",
        "End an exit, and the way back that belongs to it; the past keeps them.",
        Request(dict, {**_FROM, "direction": word(Direction)}),
        lambda canon, caller, world, old: remove_exit(canon, caller, world, **old),
        DONE,
    ),
    _part_tool(
        "create-realm",
        "Create a region, power, weather zone or network, and how it stands to other realms.",
        Realm,
        {
            "name": NAME,
            "realmType": word(RealmType).of("realm_type"),
            "scope": word(RealmScope),
        },
        {
            "description": PROSE,
            "narrativeTags": KEYS.of("narrative_tags"),
            "withinIds": KEYS.of("within"),
            "memberOfIds": KEYS.of("member_of"),
            "bordersIds": KEYS.of("borders"),
            "vassalOfIds": KEYS.of("vassal_of"),
            "alliedWithIds": KEYS.of("allied_with"),
            "atWarWithIds": KEYS.of("at_war_with"),
        },
    ),
    _part_tool(
        "create-layer",
        "Lay weather, light, mood or another text upon a place or realm for a time.",
        Layer,
        {
            "scopeId": KEY.of("scope"),
            "layerType": word(LayerType).of("layer_type"),
            "value": PROSE,
            "fromTick": INTEGER.of("from_tick"),
        },
        {
            "toTick": INTEGER.of("to_tick"),
            "everyTicks": POSITIVE.of("every"),
            "lastingTicks": POSITIVE.of("lasting"),
        },
    ),
    _part_tool("create-character", "Put a new character into a place.", Mover, *_MOVER),
    _part_tool(
        "create-player",
        "Put a new player into a place.",
        Mover,
        *_MOVER,
        create=partial(create_part, player=True),
    ),
    builders_tool(
        "set-status",
        "Say how a player or character is from now on: alive, present, in which conditions until "
        "which tick, and with which resources; what is not given stays.",
        Request(
            lambda key, **status: {"key": key, "status": status},
            {"moverId": KEY.of("key")},
            _STATUS,
        ),
        lambda canon, caller, world, new: set_status(canon, caller, world, **new),
        DONE,
    ),
    _part_tool(
        "create-item",
        "Create an item with a holder: a player, a character, or the place where it lies.",
        Item,
        {"name": NAME, "itemType": NAME.of("item_type"), "holderId": KEY.of("holder")},
        {"quantity": POSITIVE, "description": PROSE},
    ),
    builders_tool(
        "record-event",
        "Record that something happened at a place or to somebody.",
        Request(
            dict,
            {"eventType": NAME.of("event_type")},
            {
                "description": PROSE,
                "tick": INTEGER,
                "locationId": KEY.of("location"),
                "participantIds": KEYS.of("participants"),
                "actorKind": word(ActorKind).of("actor_kind"),
            },
        ),
        _record,
        ID,
    ),
)
