"""Directions: the twelve ways in which an exit can lead, their opposites and their order."""

from enum import StrEnum
from typing import Final


class Direction(StrEnum):
    """A way out of a location, in the order in which exits are told."""

    NORTH = "north"
    SOUTH = "south"
    EAST = "east"
    WEST = "west"
    NORTHEAST = "northeast"
    NORTHWEST = "northwest"
    SOUTHEAST = "southeast"
    SOUTHWEST = "southwest"
    UP = "up"
    DOWN = "down"
    IN = "in"
    OUT = "out"


_PAIRS: Final = (
    (Direction.NORTH, Direction.SOUTH),
    (Direction.EAST, Direction.WEST),
    (Direction.NORTHEAST, Direction.SOUTHWEST),
    (Direction.NORTHWEST, Direction.SOUTHEAST),
    (Direction.UP, Direction.DOWN),
    (Direction.IN, Direction.OUT),
)
OPPOSITE: Final = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}
"""The way back from where a direction leads."""

PLACE_IN_ORDER: Final = {direction: place for place, direction in enumerate(Direction)}

STEPS: Final = {
    Direction.NORTH: (0, -1),
    Direction.SOUTH: (0, 1),
    Direction.EAST: (1, 0),
    Direction.WEST: (-1, 0),
    Direction.NORTHEAST: (1, -1),
    Direction.NORTHWEST: (-1, -1),
    Direction.SOUTHEAST: (1, 1),
    Direction.SOUTHWEST: (-1, 1),
}
"""On a map: how far right and how far down; the other four have no place of their own."""

_DEFAULT_TRAVEL: Final = {
    Direction.IN: 10_000,
    Direction.OUT: 10_000,
    Direction.UP: 120_000,
    Direction.DOWN: 30_000,
}
_USUAL_TRAVEL: Final = 60_000


def travel_ms(direction: Direction, declared: int | None) -> int:
    """How long the way takes in milliseconds; where nobody said so, what is usual."""
    return _DEFAULT_TRAVEL.get(direction, _USUAL_TRAVEL) if declared is None else declared
