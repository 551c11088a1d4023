"""Tools and resources that show a world."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from canonry.canon.queries.listings import EntityQuery, query_entities
from canonry.canon.session.caller import Caller, unknown
from canonry.canon.session.canon import Canon
from canonry.gateway.browsing import beginning
from canonry.gateway.shapes import (
    BOOLEAN,
    COUNT,
    INTEGER,
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
from canonry.gateway.tool import (
    Arguments,
    Reply,
    Resource,
    Run,
    Schema,
    Shelf,
    Shelved,
    Tool,
    Variables,
)
from canonry.log.schemas.world_types import WorldType
from canonry.values.json_values import encode_json
from canonry.world.domain.standing import person_of
from canonry.world.toolset.contract import READERS, title_of, with_shapes
from canonry.world.toolset.places import CONTEXT, NEARBY, location_context
from canonry.world.toolset.shapes import (
    ANYTHING,
    DEPTH_MAX,
    EVENT,
    EXIT,
    FOUND_MAX,
    ITEM,
    KEY,
    LIMIT_MAX,
    LOCATION,
    NAMED,
    STATUS,
    kept,
)
from canonry.world.toolset.speech import told
from canonry.world.usecases.contexts import (
    get_location_context,
    get_player_context,
    get_spatial_context,
)
from canonry.world.usecases.viewing import (
    EventsWanted,
    Journey,
    find_route,
    get_changes,
    get_character_context,
    search_events,
)
from canonry.world.usecases.worlds import bound_world, require_world, worlds_seen

# View tools: extensions that tell of one who is in the world, of a way through it, and of a while.
#
# What is hidden a narrator is told, and a player is not.

_CHARACTER: Final = Shape(
    tick=INTEGER,
    character=Shape(
        **NAMED.fields,
        kind=WORD.of("entity_type"),
        description=TEXT,
        tags=array(TEXT).of(kept("tags", ())),
        attributes=optional(ANYTHING.of(lambda one: one.properties.get("attributes") or None)),
    ),
    location=nullable(LOCATION),
    status=STATUS,
    inventory=array(ITEM),
    recentEvents=array(EVENT).of("events"),
)
_STEP: Final = Shape(
    direction=WORD, toLocationId=TEXT.of("to"), travelDurationMs=COUNT.of("duration")
)
_ROUTE: Final = Shape(
    tick=INTEGER,
    fromLocationId=TEXT.of("start"),
    toLocationId=TEXT.of("target"),
    steps=nullable(array(_STEP)),
    totalDurationMs=nullable(COUNT.of("duration")),
    complete=BOOLEAN,
)
_LAYER: Final = Shape(
    layerType=WORD.of(lambda each: each[0]),
    before=nullable(TEXT.of(lambda each: each[1][0])),
    after=nullable(TEXT.of(lambda each: each[1][1])),
)
_CHANGES: Final = Shape(
    fromTick=INTEGER.of("from_tick"),
    toTick=INTEGER.of("to_tick"),
    exitsOpened=array(EXIT).of("exits_opened"),
    exitsClosed=array(EXIT).of("exits_closed"),
    arrived=array(TEXT),
    left=array(TEXT),
    layersChanged=array(_LAYER).of(lambda found: found.layers.items()),
    events=array(EVENT),
    complete=BOOLEAN,
)
_FOUND: Final = Shape(events=given(array(EVENT)), complete=given(BOOLEAN))
_HIDDEN: Final = kept("hidden")


async def _character(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    world = await bound_world(canon, caller)
    found = await get_character_context(
        canon, world, arguments["characterId"], arguments.get("tick")
    )
    return None if found is None else told(canon, world, _CHARACTER(found))


async def _view(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    """The place of a player, without what is hidden and without those who are away."""
    world, tick = await bound_world(canon, caller), arguments.get("tick")
    player = await get_player_context(canon, world, arguments["playerId"], tick)
    if player is None or player.location is None:
        return None
    found = await get_location_context(canon, world, player.location.id, tick)
    if found is None:
        return None
    seen = replace(
        found,
        exits=[edge for edge in found.exits if not _HIDDEN(edge)],
        characters=[one for one in found.characters if person_of(one).present],
    )
    return told(canon, world, CONTEXT(seen))


async def _surroundings(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    world = await bound_world(canon, caller)
    depth = arguments.get("depth", world.depth)
    found = await get_spatial_context(
        canon, world, arguments.get("locationId"), depth, arguments.get("tick")
    )
    if found is None:
        return None
    warnings = None if found.complete else ["there are more locations within reach"]
    return told(canon, world, NEARBY(found, depth=depth, warnings=warnings))


async def _route(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    world = await bound_world(canon, caller)
    journey = Journey(
        start=arguments["fromLocationId"],
        target=arguments["toLocationId"],
        mover=arguments.get("moverId"),
        seen=arguments.get("onlySeen", False),
        tick=arguments.get("tick"),
    )
    found = await find_route(canon, world, journey)
    return None if found is None else _ROUTE(found)


async def _changes(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    world = await bound_world(canon, caller)
    found = await get_changes(
        canon,
        world,
        arguments.get("locationId"),
        arguments["fromTick"],
        arguments.get("toTick", world.now),
    )
    return None if found is None else _CHANGES(found)


async def _events(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    world = await bound_world(canon, caller)
    wanted = EventsWanted(
        words=arguments.get("query", "")[: canon.policy.limits.query],
        event_type=arguments.get("eventType"),
        involved=arguments.get("involvedId"),
        start=arguments.get("fromTick"),
        end=arguments.get("toTick"),
    )
    found, complete = await search_events(canon, world, wanted, arguments.get("limit", FOUND_MAX))
    return _FOUND(events=found, complete=complete)


def _tool(
    name: str,
    description: str,
    required: Mapping[str, Field],
    more: Mapping[str, Field],
    reply: Schema,
    *,
    run: Run,
    null: bool = True,
) -> Tool:
    shown: Any = {"anyOf": [reply, {"type": "null"}]} if null else reply
    return Tool(
        name=name,
        title=title_of(name),
        description=description,
        input_schema=obj(required, more),
        output_schema=with_shapes(shown),
        roles=READERS,
        run=run,
        read_only=True,
        idempotent=True,
        extension=True,
    )


_AT: Final = {"tick": INTEGER.but(description="World time in milliseconds; without it now.")}
TOOLS: Final[tuple[Tool, ...]] = (
    _tool(
        "get-character-context",
        "Tell about a character or player: where they are, what they have, how they are, and what "
        "they took part in.",
        {"characterId": KEY},
        _AT,
        _CHARACTER.schema,
        run=_character,
    ),
    _tool(
        "get-player-view",
        "Tell what a player is told of the place where they are: nothing hidden, nobody absent.",
        {"playerId": KEY},
        _AT,
        CONTEXT.schema,
        run=_view,
    ),
    _tool(
        "get-surroundings",
        "Tell which places lay around one at a tick, and by which way.",
        {},
        {"locationId": KEY, "depth": INTEGER.but(minimum=1, maximum=DEPTH_MAX), **_AT},
        NEARBY.schema,
        run=_surroundings,
    ),
    _tool(
        "find-route",
        "Find the quickest way between two places, for a mover only where they can pass.",
        {"fromLocationId": KEY, "toLocationId": KEY},
        {"moverId": KEY, "onlySeen": BOOLEAN, **_AT},
        _ROUTE.schema,
        run=_route,
    ),
    _tool(
        "get-changes",
        "Tell what is otherwise at a place than at an earlier tick, and what happened since.",
        {"fromTick": INTEGER},
        {"locationId": KEY, "toTick": INTEGER},
        _CHANGES.schema,
        run=_changes,
    ),
    _tool(
        "search-events",
        "Find events by words, kind, whom or what they involve, and time; the newest first.",
        {},
        {
            "query": TEXT,
            "eventType": KEY,
            "involvedId": KEY,
            "fromTick": INTEGER,
            "toTick": INTEGER,
            "limit": INTEGER.but(minimum=1, maximum=LIMIT_MAX),
        },
        _FOUND.schema,
        run=_events,
        null=False,
    ),
)


_WORLD: Final = Shape(id=TEXT.of("space"), name=TEXT, tick=INTEGER.of("now"), starter=TEXT)


async def _world(canon: Canon, caller: Caller, variables: Variables) -> str:
    return encode_json(_WORLD(await require_world(canon, caller, variables["world_id"]))).decode()


async def _location(canon: Canon, caller: Caller, variables: Variables) -> str:
    found = await location_context(canon, caller, {"locationId": variables["location_id"]})
    if found is None:
        raise unknown("location", variables["location_id"])
    return encode_json(found.reply).decode()


async def _worlds(canon: Canon, caller: Caller, word: str, offset: int, limit: int) -> Shelved:
    worlds = await worlds_seen(canon, caller)
    bound = [each for each in worlds if caller.world in {None, each.id}]
    return beginning([(each.id, each.name) for each in bound], word, offset, limit)


async def _locations(canon: Canon, caller: Caller, word: str, offset: int, limit: int) -> Shelved:
    world = await bound_world(canon, caller)
    query = EntityQuery(
        entity_type=WorldType.LOCATION,
        name_pattern=f"{word}*" if word else None,
        limit=limit,
        offset=offset,
    )
    page = await query_entities(canon, caller, query, universe_id=world.space)
    return [(each.id, each.name) for each in page.items], page.total


SHELVES: Final[Mapping[str, Shelf]] = {
    "world_id": Shelf(find=_worlds),
    "location_id": Shelf(find=_locations),
}
RESOURCES: Final = (
    Resource(
        uri_template="world://world/{world_id}",
        name="world",
        title="World",
        description="A world, and what its clock says.",
        mime_type="application/json",
        roles=READERS,
        read=_world,
    ),
    Resource(
        uri_template="world://location/{location_id}",
        name="location",
        title="Location",
        description="A location with all that a narrator needs of it, as it is now.",
        mime_type="application/json",
        roles=READERS,
        read=_location,
    ),
)
