"""Atlases that repeat: seeded worlds of any size, sound by construction.

A large one is made part by part as it is asked for: what is kept of it are a few bytes a location.
"""

import random
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

from canonry.log.schemas.world_types import ActorKind, LayerType, LoreType, RealmScope, RealmType
from canonry.readmodels.edges import Direction
from canonry.world.domain.atlas import (
    Atlas,
    Exit,
    Happening,
    Item,
    Layer,
    Location,
    Lore,
    LoreVersion,
    Mover,
    Realm,
)

TICK: Final = 10_000_000
"""The clock of every generated world."""

_SUBJECTS: Final = ("bell", "lamp", "ferry", "orchard", "bridge", "mill", "tower", "well")
_DEEDS: Final = ("was stolen", "sank", "burned", "sings at night", "was sold", "cannot be found")
_PEOPLE: Final = ("a widow", "the miller", "two brothers", "a bishop", "the tide", "nobody")


_EVERYTHING: Final = "realm-all"
_HOLDING: Final = 10
"""So many places have items lying about."""
_BIT: Final = {direction: 1 << place for place, direction in enumerate(Direction)}
_JOINED: Final = 0.875
"""So often a place is joined to its neighbour on the grid."""


def an_atlas(seed: int, **sizes: Any) -> Atlas:
    """The world of `GeneratedWorld` as one value; the words are those of its fields."""
    world = GeneratedWorld(seed=seed, **sizes)
    return Atlas(
        name=world.name,
        starter=world.starter,
        tick=TICK,
        locations=tuple(world.places()),
        realms=tuple(world.realms()),
        layers=tuple(world.layers()),
        players=tuple(world.movers()),
        items=tuple(world.held_items()),
        lore=tuple(world.facts()),
        events=tuple(world.happenings()),
    )


@dataclass(frozen=True, kw_only=True)
class GeneratedWorld:
    """A world on a grid with gaps; `tangled` adds one-way, blocked and crooked exits.

    Every method gives its parts anew, the same ones each time, one after the other. All lots are
    drawn from one sequence: what is drawn before a kind of parts is drawn again to come to it.
    """

    seed: int
    locations: int = 30
    players: int = 3
    items: int = 5
    lore: int = 0
    events: int = 0
    tangled: bool = True
    _states: dict[int, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The name of the world."""
        return f"World {self.seed}"

    @property
    def starter(self) -> str:
        """The key of the starter."""
        return location_key(0)

    @property
    def regions(self) -> int:
        """Return how many realms lie in the outermost one."""
        return max(1, self.locations // 50)

    def realms(self) -> Iterator[Realm]:
        """One around all, and in it one for every 50 places."""
        yield Realm(
            key=_EVERYTHING, name="All", realm_type=RealmType.WORLD, scope=RealmScope.GLOBAL
        )
        for n in range(self.regions):
            yield Realm(
                key=realm_key(n),
                name=f"Realm {n}",
                realm_type=list(RealmType)[n % len(RealmType)],
                scope=RealmScope.REGIONAL,
                narrative_tags=(f"tag-{n % 7}",),
                within=(_EVERYTHING,),
            )

    def places(self) -> Iterator[Location]:
        """The places, row by row of the grid, each with its exits."""
        tangles = deque(self._ways[0])
        above: deque[int | None] = deque((None,) * self._side, maxlen=self._side)
        west: int | None = None
        for n, (east, south) in enumerate(self._grid_exits(random.Random(self.seed))):
            ways = (
                (Direction.NORTH, n - self._side, above[0]),
                (Direction.WEST, n - 1, west),
                (Direction.EAST, n + 1, east),
                (Direction.SOUTH, n + self._side, south),
            )
            exits = [
                Exit(direction=direction, to=location_key(end), travel_ms=travel)
                for direction, end, travel in ways
                if travel is not None
            ]
            while tangles and tangles[0].start == n:
                exits.append(tangles.popleft().way)
            above.append(south)
            west = east
            yield Location(
                key=location_key(n),
                name=f"Place {n}",
                description=f"The {n}th of {self.locations} places.",
                realms=(realm_key(n % self.regions),),
                exits=tuple(exits),
            )

    def layers(self) -> Iterator[Layer]:
        """Upon the starter and each realm, and of two types, intervals with gaps between them."""
        return self._draw_layers(self._lots_for(0))

    def movers(self) -> Iterator[Mover]:
        """The players."""
        return self._draw_movers(self._lots_for(1))

    def held_items(self) -> Iterator[Item]:
        """The items, with the players and at the first ten places."""
        return self._item_rows(self._lots_for(2))

    def facts(self) -> Iterator[Lore]:
        """The facts of lore, of one version each."""
        return self._draw_facts(self._lots_for(3))

    def happenings(self) -> Iterator[Happening]:
        """The events, the first one first."""
        return self._draw_happenings(self._lots_for(4))

    @property
    def _side(self) -> int:
        return max(1, int(self.locations**0.5))

    def _grid_exits(self, lots: random.Random) -> Iterator[tuple[int | None, int | None]]:
        """For each place how long the ways east and south take; None: there is none."""
        side = self._side

        def drawn(*, joined: bool) -> int | None:
            if joined and lots.random() < _JOINED:
                return lots.randrange(1, 600) * 1_000
            return None

        for n in range(self.locations):
            east = drawn(joined=n % side + 1 < side and n + 1 < self.locations)
            yield east, drawn(joined=n + side < self.locations)

    @cached_property
    def _ways(self) -> tuple[Sequence["_Tangle"], Any]:
        """The exits off the grid by their start, and the state of the lots when all are drawn."""
        lots, side = random.Random(self.seed), self._side
        taken = array("H", bytes(2 * self.locations))
        for n, (east, south) in enumerate(self._grid_exits(lots)):
            if east is not None:
                taken[n] |= _BIT[Direction.EAST]
                taken[n + 1] |= _BIT[Direction.WEST]
            if south is not None:
                taken[n] |= _BIT[Direction.SOUTH]
                taken[n + side] |= _BIT[Direction.NORTH]
        tangles = []
        for _ in range(self.locations // 4 if self.tangled else 0):
            start, end = (lots.choice(range(self.locations)) for _end in range(2))
            direction = lots.choice(list(Direction))
            if start != end and not taken[start] & _BIT[direction]:
                taken[start] |= _BIT[direction]
                blocked, hidden = (lots.random() < 0.25 for _sign in range(2))
                tangles.append(_Tangle(start, end, direction, blocked, hidden))
        tangles.sort(key=lambda tangle: tangle.start)
        return tangles, lots.getstate()

    def _lots_for(self, section: int) -> random.Random:
        """The lots as they are when all sections before this one are drawn."""
        lots = random.Random()
        lots.setstate(self._state_before(section))
        return lots

    def _state_before(self, section: int) -> Any:
        if section == 0:
            return self._ways[1]
        if section not in self._states:
            draws = (self._draw_layers, self._draw_movers, self._item_rows, self._draw_facts)
            draw: Callable[[random.Random], Iterator[object]] = draws[section - 1]
            lots = self._lots_for(section - 1)
            deque(draw(lots), maxlen=0)
            self._states[section] = lots.getstate()
        return self._states[section]

    def _draw_layers(self, lots: random.Random) -> Iterator[Layer]:
        for scope in (self.starter, *(realm.key for realm in self.realms())):
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

    def _draw_movers(self, lots: random.Random) -> Iterator[Mover]:
        for n in range(self.players):
            location = location_key(lots.choice(range(self.locations)))
            yield Mover(key=player_key(n), name=f"Player {n}", location=location)

    def _item_rows(self, lots: random.Random) -> Iterator[Item]:
        holders = range(self.players + min(self.locations, _HOLDING))
        for n in range(self.items):
            lot = lots.choice(holders)
            holder = player_key(lot) if lot < self.players else location_key(lot - self.players)
            yield Item(key=f"item-{n}", name=f"Item {n}", holder=holder, item_type="x")

    def _draw_facts(self, lots: random.Random) -> Iterator[Lore]:
        for n in range(self.lore):
            subject, deed = lots.choice(_SUBJECTS), lots.choice(_DEEDS)
            reported = f"The {subject} of valley {n} {deed}, and {lots.choice(_PEOPLE)} knows why."
            fields = {"name": f"The {subject} {n}", "description": reported}
            yield Lore(
                key=f"lore-{n}",
                lore_type=list(LoreType)[n % len(LoreType)],
                versions=(LoreVersion(fields=fields),),
            )

    def _draw_happenings(self, lots: random.Random) -> Iterator[Happening]:
        for n in range(self.events):
            event_type = lots.choice(("Player.Look", "NPC.Tick", "Town.Bell"))
            location = location_key(lots.choice(range(self.locations)))
            who = (player_key(lots.choice(range(self.players))),) if self.players else ()
            yield Happening(
                key=f"event-{n}",
                event_type=event_type,
                description="",
                tick=TICK * n // self.events,
                location=location,
                participants=who,
                actor_kind=ActorKind.SYSTEM,
            )


class _Tangle(NamedTuple):
    """An exit off the grid."""

    start: int
    end: int
    direction: Direction
    blocked: bool
    hidden: bool

    @property
    def way(self) -> Exit:
        return Exit(
            direction=self.direction,
            to=location_key(self.end),
            one_way=True,
            blocked="A wall." if self.blocked else None,
            hidden=self.hidden,
        )


def location_key(number: int) -> str:
    return f"place-{number}"


def player_key(number: int) -> str:
    return f"player-{number}"


def realm_key(number: int) -> str:
    return f"realm-{number}"
