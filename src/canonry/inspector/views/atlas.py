"""The map of a world at a tick: locations, exits, realms, characters, items and layers."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from starlette.responses import Response

from canonry.assistant.call_context import context_of
from canonry.canon.queries.listings import query_entities
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.tool import Arguments
from canonry.inspector.sign_in import PageRequest
from canonry.inspector.views.items import link_of
from canonry.inspector.views.spaces import Seen, space_of_call
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Relation
from canonry.log.schemas.world_types import EXIT, LAYER_OF, LOCATED_IN, MOVERS, WITHIN, WorldType
from canonry.readmodels.edges import Direction, Tick, kind_of
from canonry.readmodels.ports.state import EntityQuery
from canonry.values.ids import EntityId
from canonry.world.domain.atlas import Atlas, Exit, Location
from canonry.world.domain.drawing import Spot, points_of, spots_of
from canonry.world.usecases.worlds import WorldAt, require_world, world_at

LOCATIONS_MAX: Final = 500  # a larger map is unreadable: bench inspector
LISTED_MAX: Final = 100
"""The most locations in the list of a map; the picture has all."""

_UNIT: Final = 150
_MARGIN: Final = 100
_COLOURS: Final = 8
_DIRECTIONS: Final = frozenset(Direction)


async def atlas_page(visit: PageRequest) -> Response:
    """Show the map of a world at a tick."""
    tick = visit.query_parameter("tick")
    given = {"tick": tick} if tick.isascii() and tick.isdecimal() and len(tick) < 16 else {}  # noqa: PLR2004
    seen = await visit.show_view("find", seen_map, space=visit.query_parameter("space"), **given)
    return visit.draw_page("map.html", seen=seen, listed=LISTED_MAX)


async def seen_map(canon: Canon, caller: Caller, arguments: Arguments) -> Seen:
    """Return the map of a space at `tick`, by default now.

    Sizes are in units of the drawing. `lines` are the drawn exits by label: all exits with one
    style form one path.
    """
    context = await context_of(canon, caller, arguments)
    world = await require_world(canon, caller, context.space.id)
    asked = arguments.get("tick")
    then = world_at(canon, world, None if asked is None else Tick(min(int(asked), world.now)))
    query = EntityQuery(entity_type=WorldType.LOCATION, limit=LOCATIONS_MAX)
    page = await query_entities(canon, caller, query, universe_id=world.space)
    known = await then.keep_existing(page.items, WorldType.LOCATION)
    exits = await then.edges_of(EXIT, *map(EntityId, known), kinds=None) if known else ()
    drawn_exits = [each for each in exits if each.to_id in known and kind_of(each) in _DIRECTIONS]
    realms = await _related_items(then, WITHIN, known, (WorldType.REALM,), outward=True)
    here = await _related_items(then, LOCATED_IN, known, MOVERS, outward=False)
    layers = await _related_items(then, LAYER_OF, known, (WorldType.LAYER,), outward=False)
    at, (width, height) = _draw_points(known, drawn_exits, then.id_of(None))
    inside = dict.fromkeys(one.id for each in realms.values() for one in each)
    order = {realm: number % _COLOURS for number, realm in enumerate(inside)}
    out: dict[str, list[Seen]] = defaultdict(list)
    lines: dict[str, str] = defaultdict(str)
    called = {each.id: link_of(each) for each in known.values()}
    for each in drawn_exits:
        exit_row = {
            "end": called[each.to_id],
            "direction": kind_of(each),
            "blocked": str(each.properties.get("blocked") or ""),
        }
        out[each.from_id].append(exit_row)
        style = "way blocked" if exit_row["blocked"] else "way"
        style += " hiddenway" if each.properties.get("hidden") else ""
        (x1, y1), (x2, y2) = at[each.from_id], at[each.to_id]
        lines[style] += f"M{x1} {y1}L{x2} {y2}"
    return {
        "space": await space_of_call(context),
        "tick": then.tick,
        "now": world.now,
        "width": width,
        "height": height,
        "places": [
            {
                "id": each.id,
                "name": called[each.id].name,
                "says": each.description,
                "x": at[each.id][0],
                "y": at[each.id][1],
                "colour": next((order[realm.id] for realm in realms[each.id]), _COLOURS),
                "ways": out[each.id],
                "realms": [link_of(realm) for realm in realms[each.id]],
                "here": [link_of(one) for one in here[each.id]],
                "layers": [str(one.properties.get("value", one.name)) for one in layers[each.id]],
            }
            for each in known.values()
        ],
        "lines": lines,
        "more": page.total > len(page.items),
    }


async def _related_items(
    then: WorldAt,
    rel_type: str,
    locations: Mapping[str, Entity],
    types: Sequence[WorldType],
    *,
    outward: bool,
) -> Mapping[str, Sequence[Entity]]:
    """Return location -> items of these types at the other end of a relation's edges."""
    found: dict[str, list[Entity]] = defaultdict(list)
    if not locations:
        return found
    edges = await then.edges_of(rel_type, *map(EntityId, locations), outward=outward, kinds=None)
    far = {each.to_id if outward else each.from_id for each in edges}
    known = await then.find_items(far, *types)
    for edge in edges:
        near, other = (edge.from_id, edge.to_id) if outward else (edge.to_id, edge.from_id)
        if other in known:
            found[near].append(known[other])
    return found


def _draw_points(
    locations: Mapping[str, Entity], relations: Sequence[Relation], default_location: str
) -> tuple[Mapping[str, Spot], Spot]:
    """Return a point for each location, as worlds draw them, and the size of the drawing."""
    exits: dict[str, list[Exit]] = defaultdict(list)
    for relation in relations:
        exits[relation.from_id].append(
            Exit(direction=Direction(kind_of(relation)), to=relation.to_id)
        )
    drafted = Atlas(
        name="",
        starter=default_location if default_location in locations else next(iter(locations), ""),
        locations=tuple(
            Location(key=each, name="", description="", exits=tuple(exits[each]))
            for each in locations
        ),
    )
    spots = spots_of(drafted) if locations else {}
    return points_of(spots, unit=_UNIT, margin=_MARGIN)
