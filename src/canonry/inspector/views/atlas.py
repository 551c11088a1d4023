"""The map of a world at a tick: locations, exits, realms, characters, items and layers."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from starlette.responses import Response

from canonry.assistant.desk import desk_of
from canonry.canon.queries.listings import query_entities
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.tool import Arguments
from canonry.inspector.doors import Visit
from canonry.inspector.views.places import Seen, place_of
from canonry.inspector.views.things import link_of
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Relation
from canonry.log.schemas.world_types import EXIT, LAYER_OF, LOCATED_IN, MOVERS, WITHIN, WorldType
from canonry.readmodels.edges import Direction, Tick, kind_of
from canonry.readmodels.ports.state import EntityQuery
from canonry.values.ids import EntityId
from canonry.world.domain.atlas import Atlas, Exit, Place
from canonry.world.domain.drawing import Spot, points_of, spots_of
from canonry.world.usecases.worlds import WorldAt, require_world, world_at

PLACES_MAX: Final = 500
TOLD: Final = 100
"""The most locations in the list of a map; the picture has all."""

_UNIT: Final = 150
_MARGIN: Final = 100
_COLOURS: Final = 8
_DIRECTIONS: Final = frozenset(Direction)


async def atlas_page(visit: Visit) -> Response:
    """Show the map of a world at a tick."""
    tick = visit.asked("tick")
    given = {"tick": tick} if tick.isascii() and tick.isdecimal() and len(tick) < 16 else {}  # noqa: PLR2004
    seen = await visit.show("find", seen_map, space=visit.asked("space"), **given)
    return visit.draw("map.html", seen=seen, listed=TOLD)


async def seen_map(canon: Canon, caller: Caller, arguments: Arguments) -> Seen:
    """Return the map of a space at `tick`, by default now.

    Sizes are in units of the drawing. `lines` are the drawn exits by label: all exits with one
    style form one path.
    """
    desk = await desk_of(canon, caller, arguments)
    world = await require_world(canon, caller, desk.space.id)
    asked = arguments.get("tick")
    then = world_at(canon, world, None if asked is None else Tick(min(int(asked), world.now)))
    query = EntityQuery(entity_type=WorldType.LOCATION, limit=PLACES_MAX)
    page = await query_entities(canon, caller, query, universe_id=world.space)
    known = await then.those(page.items, WorldType.LOCATION)
    exits = await then.edges(EXIT, *map(EntityId, known), kinds=None) if known else ()
    ways = [each for each in exits if each.to_id in known and kind_of(each) in _DIRECTIONS]
    realms = await _joined(then, WITHIN, known, (WorldType.REALM,), outward=True)
    here = await _joined(then, LOCATED_IN, known, MOVERS, outward=False)
    layers = await _joined(then, LAYER_OF, known, (WorldType.LAYER,), outward=False)
    at, (width, height) = _drawn(known, ways, then.id_of(None))
    inside = dict.fromkeys(one.id for each in realms.values() for one in each)
    order = {realm: number % _COLOURS for number, realm in enumerate(inside)}
    out: dict[str, list[Seen]] = defaultdict(list)
    lines: dict[str, str] = defaultdict(str)
    called = {each.id: link_of(each) for each in known.values()}
    for each in ways:
        way = {
            "end": called[each.to_id],
            "direction": kind_of(each),
            "blocked": str(each.properties.get("blocked") or ""),
        }
        out[each.from_id].append(way)
        look = "way blocked" if way["blocked"] else "way"
        look += " hiddenway" if each.properties.get("hidden") else ""
        (x1, y1), (x2, y2) = at[each.from_id], at[each.to_id]
        lines[look] += f"M{x1} {y1}L{x2} {y2}"
    return {
        "space": await place_of(desk),
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


async def _joined(
    then: WorldAt,
    rel_type: str,
    places: Mapping[str, Entity],
    types: Sequence[WorldType],
    *,
    outward: bool,
) -> Mapping[str, Sequence[Entity]]:
    """Return location -> items of these types at the other end of a relation's edges."""
    found: dict[str, list[Entity]] = defaultdict(list)
    if not places:
        return found
    edges = await then.edges(rel_type, *map(EntityId, places), outward=outward, kinds=None)
    far = {each.to_id if outward else each.from_id for each in edges}
    known = await then.all(far, *types)
    for edge in edges:
        near, other = (edge.from_id, edge.to_id) if outward else (edge.to_id, edge.from_id)
        if other in known:
            found[near].append(known[other])
    return found


def _drawn(
    places: Mapping[str, Entity], ways: Sequence[Relation], starter: str
) -> tuple[Mapping[str, Spot], Spot]:
    """Return a point for each location, as worlds draw them, and the size of the drawing."""
    exits: dict[str, list[Exit]] = defaultdict(list)
    for way in ways:
        exits[way.from_id].append(Exit(direction=Direction(kind_of(way)), to=way.to_id))
    drafted = Atlas(
        name="",
        starter=starter if starter in places else next(iter(places), ""),
        locations=tuple(
            Place(key=each, name="", description="", exits=tuple(exits[each])) for each in places
        ),
    )
    spots = spots_of(drafted) if places else {}
    return points_of(spots, unit=_UNIT, margin=_MARGIN)
