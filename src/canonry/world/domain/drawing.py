"""Draw a world as text and as SVG, with exits, realms and unreachable locations."""

from collections import deque
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final, TypeAlias

from jinja2 import Environment, PackageLoader

from canonry.language.texts.visible import escape_hidden, escape_line
from canonry.readmodels.edges import STEPS, Direction
from canonry.world.domain.atlas import Atlas, Exit, Location
from canonry.world.domain.checks import unreachable_locations

Spot: TypeAlias = tuple[int, int]
"""Columns to the right and rows down."""

_ELSEWHERE: Final = {
    Direction.UP: (1, -1),
    Direction.DOWN: (-1, 1),
    Direction.IN: (1, 1),
    Direction.OUT: (-1, -1),
}
_DISTANCE_MAX: Final = 3  # a free cell farther away would suggest another direction
_RINGS: Final = 400  # bounds the search for a free cell
_WIDE: Final = 6
_HIGH: Final = 2
_STROKES: Final = {(1, 0): "-", (0, 1): "|", (1, 1): "\\", (1, -1): "/"}
_UNIT: Final = 110
_MARGIN: Final = 90
_COLOURS: Final = (
    "#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#edc948", "#76b7b2", "#e15759", "#9c755f",
)  # fmt: skip


def spots_of(atlas: Atlas) -> Mapping[str, Spot]:
    """A spot of its own for each location: the starter's neighbourhood first, the rest below."""
    locations = {location.key: location for location in atlas.locations}
    spots: dict[str, Spot] = {}
    taken: set[Spot] = set()
    for key in (atlas.starter, *locations):
        if key in locations and key not in spots:
            bottom = max((row for _, row in taken), default=-2) + 2
            _arrange_around(locations, key, (0, bottom if taken else 0), spots, taken)
    return spots


def _arrange_around(
    locations: Mapping[str, Location],
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
        for atlas_exit in locations[here].exits:
            if atlas_exit.to in locations and atlas_exit.to not in spots:
                free = next(
                    s for s in _preferred_spots(spots[here], atlas_exit.direction) if s not in taken
                )
                spots[atlas_exit.to] = free
                taken.add(free)
                waiting.append(atlas_exit.to)


def _preferred_spots(start: Spot, direction: Direction) -> Iterator[Spot]:
    """Yield spots in this direction, nearest first; then any, ring by ring around the best."""
    right, down = STEPS.get(direction) or _ELSEWHERE[direction]
    for far in range(1, _DISTANCE_MAX + 1):
        yield start[0] + right * far, start[1] + down * far
    best = (start[0] + right, start[1] + down)
    for ring in range(1, _RINGS):
        for x in range(-ring, ring + 1):
            for y in (-ring, ring) if abs(x) < ring else range(-ring, ring + 1):
                yield best[0] + x, best[1] + y


def points_of(
    spots: Mapping[str, Spot], *, unit: int, margin: int
) -> tuple[Mapping[str, Spot], Spot]:
    """Return the point of each spot in a picture with a margin, and the picture's size."""
    left = min((x for x, _ in spots.values()), default=0)
    top = min((y for _, y in spots.values()), default=0)
    at = {
        key: (margin + (x - left) * unit, margin + (y - top) * unit)
        for key, (x, y) in spots.items()
    }
    width = max((x for x, _ in at.values()), default=0) + margin
    return at, (width, max((y for _, y in at.values()), default=0) + margin)


def draw_text(atlas: Atlas) -> str:
    """The world in text: a grid of numbered locations, what each number is, and the routes."""
    spots = spots_of(atlas)
    numbers = {key: number for number, key in enumerate(spots, 1)}
    lost = unreachable_locations(atlas)
    grid = _draw_grid(atlas, spots, numbers)
    locations = sorted(atlas.locations, key=lambda place: numbers[place.key])
    legend = [_legend_row(location, numbers, lost) for location in locations]
    counts = f"{atlas.name}: {len(spots)} locations, {len(lost)} of them unreachable"
    roads = []
    for route in atlas.routes:
        stops = [str(numbers[stop]) for stop in route.stops if stop in numbers]
        roads.append(f"{route.name}: {(' > ' if route.one_way else ' - ').join(stops)}")
    lines = (counts, "", *grid, "", *legend, *(("", *roads) if roads else ()))
    return "\n".join(map(escape_line, lines))  # no name may feign a line of the drawing


def _draw_grid(
    atlas: Atlas, spots: Mapping[str, Spot], numbers: Mapping[str, int]
) -> Iterator[str]:
    left = min((x for x, _ in spots.values()), default=0)
    top = min((y for _, y in spots.values()), default=0)
    signs: dict[Spot, str] = {}
    for location in atlas.locations:
        x, y = _cell_of(spots[location.key], left, top)
        for offset, sign in enumerate(f"[{numbers[location.key]:>2}]"):
            signs[x + offset, y] = sign
        for atlas_exit in location.exits:
            for spot, sign in _draw_exit(location, atlas_exit, spots, left, top):
                signs.setdefault(spot, sign)
    bottom = max((y for _, y in signs), default=-1)
    for y in range(bottom + 1):
        columns = [x for x, row in signs if row == y]
        yield "".join(signs.get((x, y), " ") for x in range(max(columns, default=-1) + 1))


def _cell_of(spot: Spot, left: int, top: int) -> Spot:
    return (spot[0] - left) * _WIDE, (spot[1] - top) * _HIGH


def _draw_exit(
    location: Location, atlas_exit: Exit, spots: Mapping[str, Spot], left: int, top: int
) -> Iterator[tuple[Spot, str]]:
    """Draw the exit between adjacent spots; other exits are in the legend."""
    step = STEPS.get(atlas_exit.direction)
    if step is None or atlas_exit.to not in spots or atlas_exit.blocked:
        return
    (x, y), (to_x, to_y) = spots[location.key], spots[atlas_exit.to]
    if (to_x - x, to_y - y) != step:
        return
    column, row = _cell_of((x, y), left, top)
    sign = _STROKES.get(step) or _STROKES[-step[0], -step[1]]
    if step[1] == 0:
        start = column + 4 if step[0] > 0 else column - 2
        yield from (((start + offset, row), sign) for offset in range(2))
    else:
        yield (column + 2 + step[0] * 3 - (step[0] > 0), row + step[1]), sign


def _legend_row(location: Location, numbers: Mapping[str, int], lost: frozenset[str]) -> str:
    exits = ", ".join(
        f"{atlas_exit.direction} {numbers.get(atlas_exit.to, '?')}{_exit_marks(atlas_exit)}"
        for atlas_exit in location.exits
    )
    realms = f" [{', '.join(location.realms)}]" if location.realms else ""
    gone = " (unreachable)" if location.key in lost else ""
    return f"{numbers[location.key]:>4}  {location.name}{realms}{gone}: {exits or 'no exit'}"


def _exit_marks(atlas_exit: Exit) -> str:
    marks = [
        word
        for word, holds in (
            ("one way", atlas_exit.one_way),
            ("hidden", atlas_exit.hidden),
            ("blocked", atlas_exit.blocked),
            ("needs an item", atlas_exit.requires),
        )
        if holds
    ]
    return f" ({', '.join(marks)})" if marks else ""


def draw_svg(atlas: Atlas) -> str:
    """Return the world as SVG: the colour of a location is that of its first realm.

    An arrow is a one-way exit, dashes are hidden exits, red ones are blocked, broad pale ones are
    routes; unreachable locations have a red rim.
    """
    at, (width, ground) = points_of(spots_of(atlas), unit=_UNIT, margin=_MARGIN)
    first = [location.realms[0] for location in atlas.locations if location.realms]
    colours = {realm: _COLOURS[i % len(_COLOURS)] for i, realm in enumerate(dict.fromkeys(first))}
    picture = (
        _make_environment()
        .get_template("world.svg")
        .render(
            atlas=atlas,
            at=at,
            width=width,
            ground=ground,
            margin=_MARGIN,
            colours=colours,
            names={realm.key: realm.name for realm in atlas.realms},
            lost=unreachable_locations(atlas),
        )
    )
    return escape_hidden(picture)  # XML has no place for controls


@cache  # templates are compiled once
def _make_environment() -> Environment:
    loader = PackageLoader(__package__, "")
    return Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
