"""Layout: where the locations of a world lie on a map, from the directions of their exits."""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from canonry.domain.world.atlas import Atlas, Place
from canonry.domain.world.directions import STEPS, Direction

Spot: TypeAlias = tuple[int, int]
"""Columns to the right and rows down."""

_ELSEWHERE: Final = {
    Direction.UP: (1, -1),
    Direction.DOWN: (-1, 1),
    Direction.IN: (1, 1),
    Direction.OUT: (-1, -1),
}
_STRETCH: Final = 3
_RINGS: Final = 400


def spots_of(atlas: Atlas) -> Mapping[str, Spot]:
    """A spot of its own for each location: the starter's neighbourhood first, the rest below."""
    places = {place.key: place for place in atlas.locations}
    spots: dict[str, Spot] = {}
    taken: set[Spot] = set()
    for key in (atlas.starter, *places):
        if key in places and key not in spots:
            bottom = max((row for _, row in taken), default=-2) + 2
            _spread(places, key, (0, bottom if taken else 0), spots, taken)
    return spots


def _spread(
    places: Mapping[str, Place],
    key: str,
    spot: Spot,
    spots: dict[str, Spot],
    taken: set[Spot],
) -> None:
    spots[key] = spot
    taken.add(spot)
    waiting = deque([key])
    while waiting:
        here = waiting.popleft()
        for way in places[here].exits:
            if way.to in places and way.to not in spots:
                free = next(s for s in _wishes(spots[here], way.direction) if s not in taken)
                spots[way.to] = free
                taken.add(free)
                waiting.append(way.to)


def _wishes(start: Spot, direction: Direction) -> Iterator[Spot]:
    """Spots in this direction, the nearest first; then any, ring by ring around the best one."""
    right, down = STEPS.get(direction) or _ELSEWHERE[direction]
    for far in range(1, _STRETCH + 1):
        yield start[0] + right * far, start[1] + down * far
    best = (start[0] + right, start[1] + down)
    for ring in range(1, _RINGS):
        for x in range(-ring, ring + 1):
            for y in (-ring, ring) if abs(x) < ring else range(-ring, ring + 1):
                yield best[0] + x, best[1] + y
