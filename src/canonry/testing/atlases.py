"""Atlases that repeat: seeded worlds of any size, sound by construction."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from canonry.domain.vocabularies.world_types import (
    ActorKind,
    LayerType,
    LoreType,
    RealmScope,
    RealmType,
)
from canonry.domain.world.atlas import (
    Atlas,
    Exit,
    Happening,
    Item,
    Layer,
    Lore,
    LoreVersion,
    Mover,
    Place,
    Realm,
    completed,
)
from canonry.domain.world.directions import OPPOSITE, STEPS, Direction

TICK: Final = 10_000_000
"""The clock of every generated world."""

_SUBJECTS: Final = ("bell", "lamp", "ferry", "orchard", "bridge", "mill", "tower", "well")
_DEEDS: Final = ("was stolen", "sank", "burned", "sings at night", "was sold", "cannot be found")
_PEOPLE: Final = ("a widow", "the miller", "two brothers", "a bishop", "the tide", "nobody")


def an_atlas(
    seed: int,
    *,
    locations: int = 30,
    players: int = 3,
    items: int = 5,
    lore: int = 0,
    events: int = 0,
    tangled: bool = True,
) -> Atlas:
    """A world on a grid with gaps; `tangled` adds one-way, blocked and crooked exits."""
    lots = random.Random(seed)
    keys = [f"place-{n}" for n in range(locations)]
    ways = _grid(lots, keys)
    if tangled:
        _tangle(lots, keys, ways)
    realms = _realms(max(1, locations // 50))
    places = tuple(
        Place(
            key=key,
            name=f"Place {n}",
            description=f"The {n}th of {locations} places.",
            realms=(realms[n % (len(realms) - 1) + 1].key,) if len(realms) > 1 else (),
            exits=tuple(ways[key].values()),
        )
        for n, key in enumerate(keys)
    )
    everybody = [f"player-{n}" for n in range(players)]
    holders = [*everybody, *keys[:10]]
    return completed(
        Atlas(
            name=f"World {seed}",
            starter=keys[0],
            tick=TICK,
            locations=places,
            realms=realms,
            layers=tuple(_layers(lots, keys[0], realms)),
            players=tuple(
                Mover(key=key, name=f"Player {n}", location=lots.choice(keys))
                for n, key in enumerate(everybody)
            ),
            items=tuple(
                Item(key=f"item-{n}", name=f"Item {n}", holder=lots.choice(holders), item_type="x")
                for n in range(items)
            ),
            lore=tuple(_lore(lots, n) for n in range(lore)),
            events=tuple(_event(lots, n, events, keys, everybody) for n in range(events)),
        )
    )


def _grid(lots: random.Random, keys: list[str]) -> dict[str, dict[Direction, Exit]]:
    """Each place joined to its neighbours on a grid, seven times out of eight."""
    side = max(1, int(len(keys) ** 0.5))
    spots = {(n % side, n // side): key for n, key in enumerate(keys)}
    ways: dict[str, dict[Direction, Exit]] = {key: {} for key in keys}
    for (x, y), key in spots.items():
        for direction in (Direction.EAST, Direction.SOUTH):
            right, down = STEPS[direction]
            other = spots.get((x + right, y + down))
            if other is not None and lots.random() < 0.875:
                travel = lots.randrange(1, 600) * 1_000
                ways[key][direction] = Exit(direction=direction, to=other, travel_ms=travel)
                back = OPPOSITE[direction]
                ways[other][back] = Exit(direction=back, to=key, travel_ms=travel)
    return ways


def _tangle(
    lots: random.Random, keys: list[str], ways: Mapping[str, dict[Direction, Exit]]
) -> None:
    for _ in range(len(keys) // 4):
        start, end = lots.choice(keys), lots.choice(keys)
        direction = lots.choice(list(Direction))
        if start != end and direction not in ways[start]:
            blocked = "A wall." if lots.random() < 0.25 else None
            way = Exit(direction=direction, to=end, one_way=True, blocked=blocked)
            ways[start][direction] = replace(way, hidden=lots.random() < 0.25)


def _realms(regions: int) -> tuple[Realm, ...]:
    whole = Realm(key="realm-all", name="All", realm_type=RealmType.WORLD, scope=RealmScope.GLOBAL)
    parts = (
        Realm(
            key=f"realm-{n}",
            name=f"Realm {n}",
            realm_type=list(RealmType)[n % len(RealmType)],
            scope=RealmScope.REGIONAL,
            narrative_tags=(f"tag-{n % 7}",),
            within=("realm-all",),
        )
        for n in range(regions)
    )
    return (whole, *parts)


def _layers(lots: random.Random, place: str, realms: tuple[Realm, ...]) -> Iterator[Layer]:
    """On each scope and of each type, intervals one after the other, with gaps."""
    for scope in (place, *(realm.key for realm in realms)):
        for kind in (LayerType.WEATHER, LayerType.AMBIENT):
            start = 0
            for n in range(3):
                start += lots.randrange(1, TICK // 8)
                end = start + lots.randrange(1, TICK // 8)
                yield Layer(
                    key=f"{scope}/{kind}/{n}",
                    scope=scope,
                    layer_type=kind,
                    value=f"{kind} {n} of {scope}",
                    from_tick=start,
                    to_tick=end,
                )
                start = end + 1


def _lore(lots: random.Random, number: int) -> Lore:
    subject, deed = lots.choice(_SUBJECTS), lots.choice(_DEEDS)
    told = f"The {subject} of valley {number} {deed}, and {lots.choice(_PEOPLE)} knows why."
    return Lore(
        key=f"lore-{number}",
        lore_type=list(LoreType)[number % len(LoreType)],
        versions=(LoreVersion(fields={"name": f"The {subject} {number}", "description": told}),),
    )


def _event(
    lots: random.Random, number: int, total: int, keys: list[str], players: list[str]
) -> Happening:
    return Happening(
        key=f"event-{number}",
        event_type=lots.choice(("Player.Look", "NPC.Tick", "Town.Bell")),
        description="",
        tick=TICK * number // max(1, total),
        location=lots.choice(keys),
        participants=(lots.choice(players),) if players else (),
        actor_kind=ActorKind.SYSTEM,
    )
