"""Routes: as files write them, from stop to stop, and as a world keeps them, leg by leg."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from canonry.world.domain.atlas import Route


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Leg:
    """A route from one stop to the next, in one direction."""

    route: str
    start: str
    end: str


def legs_of(routes: Iterable[Route]) -> Iterator[Leg]:
    """All legs of routes, each once, in their order."""
    seen: dict[Leg, None] = {}
    for route in routes:
        for start, end in pairwise(route.stops):
            seen[Leg(route=route.name, start=start, end=end)] = None
            if not route.one_way:
                seen[Leg(route=route.name, start=end, end=start)] = None
    yield from seen


def routes_of(legs: Iterable[Leg]) -> Iterator[Route]:
    """Routes with exactly these legs, as few as go from stop to stop; the order is always one."""
    named: dict[str, set[Leg]] = defaultdict(set)
    for leg in legs:
        named[leg.route].add(leg)
    for name in sorted(named):
        both = {leg for leg in named[name] if _turned(leg) in named[name]}
        for stops in _trails(both, both_ways=True):
            yield Route(name=name, stops=tuple(stops))
        for stops in _trails(named[name] - both, both_ways=False):
            yield Route(name=name, stops=tuple(stops), one_way=True)


def _turned(leg: Leg) -> Leg:
    return Leg(route=leg.route, start=leg.end, end=leg.start)


def _trails(legs: Iterable[Leg], *, both_ways: bool) -> Iterator[Sequence[str]]:
    """Walks that use each leg once; they begin where most legs would else be left over."""
    onward: dict[str, list[str]] = defaultdict(list)
    arriving: dict[str, int] = defaultdict(int)
    for leg in sorted(legs, reverse=True):
        onward[leg.start].append(leg.end)
        arriving[leg.end] += 1
    begin = {stop for stop in onward if _begins(len(onward[stop]), arriving[stop], both=both_ways)}
    for start in sorted(onward, key=lambda stop: (stop not in begin, stop)):
        while onward[start]:
            stops = [start]
            while onward[stops[-1]]:
                here = stops[-1]
                stops.append(onward[here].pop())
                if both_ways:
                    onward[stops[-1]].remove(here)
            yield stops


def _begins(leaving: int, arriving: int, *, both: bool) -> bool:
    """Whether a route ends at a stop, so that a walk is to begin there, or only passes through."""
    return leaving % 2 == 1 if both else leaving > arriving
