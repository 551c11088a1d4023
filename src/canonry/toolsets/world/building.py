"""Building tools: extensions by which world builders make places, ways, realms and people."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from canonry.domain.vocabularies.world_types import (
    ActorKind,
    LayerType,
    RealmScope,
    RealmType,
    TerrainType,
)
from canonry.domain.world.atlas import AtlasPart, Exit, Happening, Item, Layer, Mover, Place, Realm
from canonry.domain.world.directions import Direction
from canonry.gateway.tool import Arguments, Tool
from canonry.toolsets.world.extensions import (
    ANYTHING,
    DONE,
    FLAG,
    ID,
    KEY,
    KEYS,
    NAME,
    POSITIVE,
    PROSE,
    TICK,
    WHOLE,
    Argument,
    Change,
    Request,
    array,
    builders_tool,
    word,
)
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.world.bound_world import BoundWorld
from canonry.usecases.world.build_world import create_exit, create_part, remove_exit

_EXIT: Final = Request(
    Exit,
    {"direction": word(Direction), "toLocationId": KEY.into("to")},
    {
        "description": PROSE,
        "travelDurationMs": WHOLE.into("travel_ms"),
        "oneWay": FLAG.into("one_way"),
        "hidden": FLAG,
        "blocked": PROSE,
        "requiresItem": KEY.into("requires"),
    },
)
_EXITS: Final = Argument(
    array(_EXIT.schema, maxItems=len(Direction)), lambda ways: tuple(map(_EXIT.read, ways))
)
_FROM: Final = {"fromLocationId": KEY.into("key")}
_MOVER: Final = (
    {"name": NAME, "locationId": KEY.into("location")},
    {"description": PROSE, "tags": KEYS, "attributes": ANYTHING},
)


def _part_tool(
    name: str,
    description: str,
    kind: Callable[..., AtlasPart],
    required: Mapping[str, Argument],
    optional: Mapping[str, Argument],
    *,
    create: Change[AtlasPart, str] = create_part,
) -> Tool:
    """A tool that creates a part of the world under a key that the builder may choose."""
    request = Request(partial(kind, key=""), required, {"key": KEY, **optional})
    return builders_tool(name, description, request, create, ID)


async def _record(canon: Canon, caller: Caller, world: BoundWorld, fields: Arguments) -> str:
    now = {"key": "", "description": "", "tick": world.now}
    return await create_part(canon, caller, world, Happening(**{**now, **fields}))


TOOLS: Final[tuple[Tool, ...]] = (
    _part_tool(
        "create-location",
        "Create a place, with the realms that it lies in and exits to places that exist.",
        Place,
        {"name": NAME, "description": PROSE},
        {
            "terrain": word(TerrainType),
            "tags": KEYS,
            "realmIds": KEYS.into("realms"),
            "memberOfIds": KEYS.into("member_of"),
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
            "realmType": word(RealmType).into("realm_type"),
            "scope": word(RealmScope),
        },
        {
            "description": PROSE,
            "narrativeTags": KEYS.into("narrative_tags"),
            "withinIds": KEYS.into("within"),
            "memberOfIds": KEYS.into("member_of"),
            "bordersIds": KEYS.into("borders"),
            "vassalOfIds": KEYS.into("vassal_of"),
            "alliedWithIds": KEYS.into("allied_with"),
            "atWarWithIds": KEYS.into("at_war_with"),
        },
    ),
    _part_tool(
        "create-layer",
        "Lay weather, light, mood or another text upon a place or realm for a time.",
        Layer,
        {
            "scopeId": KEY.into("scope"),
            "layerType": word(LayerType).into("layer_type"),
            "value": PROSE,
            "fromTick": TICK.into("from_tick"),
        },
        {"toTick": TICK.into("to_tick")},
    ),
    _part_tool("create-character", "Put a new character into a place.", Mover, *_MOVER),
    _part_tool(
        "create-player",
        "Put a new player into a place.",
        Mover,
        *_MOVER,
        create=partial(create_part, player=True),
    ),
    _part_tool(
        "create-item",
        "Create an item with a holder: a player, a character, or the place where it lies.",
        Item,
        {"name": NAME, "itemType": NAME.into("item_type"), "holderId": KEY.into("holder")},
        {"quantity": POSITIVE, "description": PROSE},
    ),
    builders_tool(
        "record-event",
        "Record that something happened at a place or to somebody.",
        Request(
            dict,
            {"eventType": NAME.into("event_type")},
            {
                "description": PROSE,
                "tick": TICK,
                "locationId": KEY.into("location"),
                "participantIds": KEYS.into("participants"),
                "actorKind": word(ActorKind).into("actor_kind"),
            },
        ),
        _record,
        ID,
    ),
)
