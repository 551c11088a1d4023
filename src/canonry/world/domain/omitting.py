"""Omitting: an atlas without things that were erased, and without what others say of them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import Any, TypeVar

from canonry.world.domain.atlas import Atlas, Exit, Item, Mover, Place, Realm, Route

P = TypeVar("P", Place, Realm, Mover, Item)


def omitted(atlas: Atlas, gone: frozenset[str]) -> Atlas:
    """The atlas without the locations, realms, movers and items of these keys.

    Who or what was to be with one of them is at the starter instead; an event stays, and a route
    leads only between those of its stops that stay and follow on each other.
    """
    if not gone:
        return atlas

    def left(keys: Iterable[str]) -> tuple[str, ...]:
        return tuple(key for key in keys if key not in gone)

    def kept(parts: Iterable[P]) -> Iterator[P]:
        return (part for part in parts if part.key not in gone)

    def moved(movers: Iterable[Mover]) -> tuple[Mover, ...]:
        return tuple(replace(each, location=there(each.location)) for each in kept(movers))

    def there(key: str) -> str:
        return atlas.starter if key in gone else key

    return replace(
        atlas,
        realms=tuple(
            replace(each, within=left(each.within), **_ties(each, left))
            for each in kept(atlas.realms)
        ),
        locations=tuple(
            replace(each, realms=left(each.realms), exits=_exits(each, gone), **_ties(each, left))
            for each in kept(atlas.locations)
        ),
        routes=tuple(part for route in atlas.routes for part in _parts(route, gone)),
        characters=moved(atlas.characters),
        players=moved(atlas.players),
        items=tuple(replace(each, holder=there(each.holder)) for each in kept(atlas.items)),
        layers=tuple(layer for layer in atlas.layers if layer.scope not in gone),
        events=tuple(
            replace(
                each,
                location=None if each.location in gone else each.location,
                participants=left(each.participants),
            )
            for each in atlas.events
        ),
    )


def _ties(part: Realm | Place, left: Callable[[Iterable[str]], tuple[str, ...]]) -> dict[str, Any]:
    return {tie.value: left(keys) for tie, keys in part.ties.items()}


def _exits(place: Place, gone: frozenset[str]) -> tuple[Exit, ...]:
    return tuple(way for way in place.exits if gone.isdisjoint({way.to, way.requires}))


def _parts(route: Route, gone: frozenset[str]) -> Iterator[Route]:
    for away, stops in groupby(route.stops, key=gone.__contains__):
        part = tuple(stops)
        if not away and len(part) > 1:
            yield replace(route, stops=part)
