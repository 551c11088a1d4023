"""Omitting: an atlas without things that were erased, and without what others say of them."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby

from canonry.domain.world.atlas import Atlas, Happening, Item, Layer, Mover, Place, Realm, Route


def omitted(atlas: Atlas, gone: frozenset[str]) -> Atlas:
    """The atlas without the locations, realms, movers and items of these keys.

    Who or what was to be with one of them is at the starter instead; an event stays, and a route
    leads only between those of its stops that stay and follow on each other.
    """
    if not gone:
        return atlas
    return replace(
        atlas,
        realms=tuple(_realm(each, gone) for each in atlas.realms if each.key not in gone),
        locations=tuple(_place(each, gone) for each in atlas.locations if each.key not in gone),
        routes=tuple(part for route in atlas.routes for part in _parts(route, gone)),
        characters=tuple(_movers(atlas.characters, gone, atlas.starter)),
        players=tuple(_movers(atlas.players, gone, atlas.starter)),
        items=tuple(_items(atlas.items, gone, atlas.starter)),
        layers=tuple(_layers(atlas.layers, gone)),
        events=tuple(_event(each, gone) for each in atlas.events),
    )


def _left(keys: Iterable[str], gone: frozenset[str]) -> tuple[str, ...]:
    return tuple(key for key in keys if key not in gone)


def _realm(realm: Realm, gone: frozenset[str]) -> Realm:
    return replace(
        realm,
        within=_left(realm.within, gone),
        member_of=_left(realm.member_of, gone),
        borders=_left(realm.borders, gone),
        vassal_of=_left(realm.vassal_of, gone),
        allied_with=_left(realm.allied_with, gone),
        at_war_with=_left(realm.at_war_with, gone),
    )


def _place(place: Place, gone: frozenset[str]) -> Place:
    return replace(
        place,
        realms=_left(place.realms, gone),
        member_of=_left(place.member_of, gone),
        exits=tuple(way for way in place.exits if gone.isdisjoint({way.to, way.requires})),
    )


def _parts(route: Route, gone: frozenset[str]) -> Iterator[Route]:
    for away, stops in groupby(route.stops, key=gone.__contains__):
        part = tuple(stops)
        if not away and len(part) > 1:
            yield replace(route, stops=part)


def _movers(movers: Iterable[Mover], gone: frozenset[str], starter: str) -> Iterator[Mover]:
    for mover in movers:
        if mover.key not in gone:
            yield replace(mover, location=starter) if mover.location in gone else mover


def _items(items: Iterable[Item], gone: frozenset[str], starter: str) -> Iterator[Item]:
    for item in items:
        if item.key not in gone:
            yield replace(item, holder=starter) if item.holder in gone else item


def _layers(layers: Iterable[Layer], gone: frozenset[str]) -> Iterator[Layer]:
    return (layer for layer in layers if layer.scope not in gone)


def _event(event: Happening, gone: frozenset[str]) -> Happening:
    return replace(
        event,
        location=None if event.location in gone else event.location,
        participants=_left(event.participants, gone),
    )
