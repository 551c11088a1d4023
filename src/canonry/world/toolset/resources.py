"""What a person can browse of worlds: each world with its clock, and the locations of one."""

from collections.abc import Mapping
from typing import Final

from canonry.canon.queries.query_entities import EntityQuery, query_entities
from canonry.canon.session.caller import Caller, unknown
from canonry.canon.session.canon import Canon
from canonry.gateway.browsing import beginning
from canonry.gateway.shapes import INTEGER, TEXT, Shape
from canonry.gateway.tool import Resource, Shelf, Shelved, Variables
from canonry.log.schemas.world_types import WorldType
from canonry.values.json_values import encode_json
from canonry.world.toolset.contract import READERS
from canonry.world.toolset.places import location_context
from canonry.world.usecases.bound_world import bound_world, require_world, worlds_seen

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
