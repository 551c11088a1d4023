"""Paths: which places lie around another, each by the shortest way, told as directions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from canonry.log.items.relations import Relation
from canonry.log.schemas.world_types import EXIT
from canonry.readmodels.directions import PLACE_IN_ORDER, Direction
from canonry.readmodels.edges import kind_of
from canonry.values.ids import EntityId


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """An exit that can be taken."""

    start: EntityId
    direction: Direction
    end: EntityId


def way_of(relation: Relation) -> Way | None:
    """The way that an exit is; None where it is blocked, or leads in no direction."""
    if relation.rel_type != EXIT or relation.properties.get("blocked"):
        return None
    try:
        direction = Direction(kind_of(relation))
    except ValueError:
        return None
    return Way(start=relation.from_id, direction=direction, end=relation.to_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """A place, and the directions by which it is reached."""

    place: EntityId
    path: tuple[Direction, ...]


def reached_from(ring: Sequence[Reached], ways: Iterable[Way]) -> Sequence[Reached]:
    """The places one exit farther than `ring`, each once, by the first of equally short paths.

    Of two paths of one length that comes first whose first differing direction does, in the order
    in which exits are told. `ring` is in this order, and so is what comes of it.
    """
    out: dict[EntityId, list[Way]] = {}
    for way in ways:
        out.setdefault(way.start, []).append(way)
    found: dict[EntityId, Reached] = {}
    for each in ring:
        for way in sorted(out.get(each.place, ()), key=lambda w: PLACE_IN_ORDER[w.direction]):
            if way.end not in found:
                found[way.end] = Reached(place=way.end, path=(*each.path, way.direction))
    return list(found.values())
