"""The atlas of a world: places, exits, realms and routes."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final, TypeAlias

from canonry.log.items.entities import Entity
from canonry.log.schemas.world_types import (
    NARROWEST_FIRST,
    REALM_GROUPS,
    ActorKind,
    LayerType,
    LoreType,
    RealmScope,
    RealmType,
    TerrainType,
    Tie,
)
from canonry.readmodels.edges import OPPOSITE, Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """A way out of a location.

    With `one_way` nothing leads back; without, the opposite exit of the target belongs to it.
    `blocked` says why nobody passes, `requires` names an item without which nobody does. With
    `every` it is open again and again, as a causeway or a shop is: from the tick `opens` on for
    `lasting` ticks of each so many, and shut between.
    """

    direction: Direction
    to: str
    description: str | None = None
    travel_ms: int | None = None
    one_way: bool = False
    hidden: bool = False
    blocked: str | None = None
    requires: str | None = None
    opens: int | None = None
    every: int | None = None
    lasting: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A location with its exits and the realms that it lies in, or only is a member of.

    `forbidden` says of a direction why no proposal may open a way there.
    """

    key: str
    name: str
    description: str
    terrain: TerrainType | None = None
    tags: tuple[str, ...] = ()
    realms: tuple[str, ...] = ()
    exits: tuple[Exit, ...] = ()
    member_of: tuple[str, ...] = ()
    forbidden: Mapping[Direction, str] = field(default_factory=dict)

    @property
    def ties(self) -> Mapping[Tie, tuple[str, ...]]:
        """The realms that it is tied to."""
        return {Tie.MEMBER_OF: self.member_of}


@dataclass(frozen=True, slots=True, kw_only=True)
class Realm:
    """A region, a power, a zone of weather or a network; `within` are the realms around it.

    It shares its borders: what it borders, borders it. The other ties lead from it alone.
    """

    key: str
    name: str
    realm_type: RealmType
    scope: RealmScope
    description: str = ""
    narrative_tags: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    member_of: tuple[str, ...] = ()
    borders: tuple[str, ...] = ()
    vassal_of: tuple[str, ...] = ()
    allied_with: tuple[str, ...] = ()
    at_war_with: tuple[str, ...] = ()

    @property
    def ties(self) -> Mapping[Tie, tuple[str, ...]]:
        """The realms that it is tied to, by tie."""
        return {
            Tie.MEMBER_OF: self.member_of,
            Tie.BORDERS: self.borders,
            Tie.VASSAL_OF: self.vassal_of,
            Tie.ALLIED_WITH: self.allied_with,
            Tie.AT_WAR_WITH: self.at_war_with,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A road, river or line with a name, from stop to stop; nobody needs an exit to tell of it.

    Routes of one name are branches of one. With `one_way` it only leads from the first stop on.
    """

    name: str
    stops: tuple[str, ...]
    one_way: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """What is told of a location or realm from one tick to another, both inclusive.

    With `every` it recurs, as tides and hours of opening do: from its first tick on it shows for
    `lasting` ticks of each so many.
    """

    key: str
    scope: str
    layer_type: LayerType
    value: str
    from_tick: int
    to_tick: int | None = None
    every: int | None = None
    lasting: int | None = None


def is_rhythm(every: int | None, lasting: int | None) -> bool:
    """Whether something can recur so: it lasts for fewer ticks than it recurs after."""
    return every is not None and lasting is not None and 0 < lasting < every


@dataclass(frozen=True, slots=True, kw_only=True)
class Mover:
    """A player or a character, and where they are; `clock` is a player's own time.

    Who is not `present` is at the place but away from what happens there. `conditions` last until
    a tick, or None: until they are removed; `resources` are whole numbers of 0 or more.
    """

    key: str
    name: str
    location: str
    description: str = ""
    tags: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    clock: int | None = None
    alive: bool = True
    present: bool = True
    conditions: Mapping[str, int | None] = field(default_factory=dict)
    resources: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Something that is with a mover or lies at a location."""

    key: str
    name: str
    holder: str
    item_type: str
    quantity: int = 1
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoreVersion:
    """What a fact of lore says from one version on; `tick` is since when the world knows it."""

    fields: Mapping[str, Any]
    tick: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lore:
    """A fact of lore with all its versions, the first one first."""

    key: str
    lore_type: LoreType
    versions: tuple[LoreVersion, ...]
    archived: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """An event at a location, with who took part."""

    key: str
    event_type: str
    description: str
    tick: int
    location: str | None = None
    participants: tuple[str, ...] = ()
    actor_kind: ActorKind = ActorKind.SYSTEM


AtlasPart: TypeAlias = Place | Realm | Layer | Mover | Item | Happening
"""What a world is made of and a builder makes at once; lore grows version by version."""

STATUS: Final = ("alive", "present", "conditions", "resources")
"""The fields of a mover that say how they are; what is as usual is not written down."""

KEPT: Final[Mapping[type, tuple[str, ...]]] = {
    Place: ("terrain", "tags", "forbidden"),
    Realm: ("realm_type", "scope", "narrative_tags"),
    Mover: ("tags", "attributes", "clock", *STATUS),
    Item: ("item_type", "quantity"),
}
"""The fields of a part that its entity has as properties; relations hold how it joins others."""

RUNNING: Final[Mapping[type, tuple[str, ...]]] = {Mover: ("clock", *STATUS), Item: ("quantity",)}
"""Those that go on in the world: a file that is brought in again does not set them back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Atlas:
    """The world; `id` is that of its space, and follows from the name where it is not given.

    `tick` None: nobody has set its clock.
    """

    name: str
    starter: str
    id: str | None = None
    description: str = ""
    tick: int | None = None
    depth: int = 2
    event_limit: int = 20
    locations: tuple[Place, ...] = ()
    realms: tuple[Realm, ...] = ()
    routes: tuple[Route, ...] = ()
    layers: tuple[Layer, ...] = ()
    characters: tuple[Mover, ...] = ()
    players: tuple[Mover, ...] = ()
    items: tuple[Item, ...] = ()
    lore: tuple[Lore, ...] = ()
    events: tuple[Happening, ...] = ()


def completed(atlas: Atlas) -> Atlas:
    """The atlas with every way back of which nobody spoke, and every border told from both sides.

    A direction that the target of an exit uses otherwise stays as it is; `problems` tells of it.
    """
    return replace(
        atlas,
        locations=tuple(_with_ways_back(atlas.locations)),
        realms=tuple(_with_shared_borders(atlas.realms)),
    )


def _with_ways_back(places: Sequence[Place]) -> Iterator[Place]:
    ways: dict[str, dict[Direction, Exit]] = {
        place.key: {way.direction: way for way in place.exits} for place in places
    }
    for place in places:
        for way in place.exits:
            back = OPPOSITE[way.direction]
            if not way.one_way and way.to in ways and back not in ways[way.to]:
                ways[way.to][back] = replace(way, direction=back, to=place.key, description=None)
    for place in places:
        yield replace(place, exits=tuple(ways[place.key].values()))


def _with_shared_borders(realms: Sequence[Realm]) -> Iterator[Realm]:
    around = {realm.key: dict.fromkeys(realm.borders) for realm in realms}
    for realm in realms:
        for other in realm.borders:
            around.get(other, {})[realm.key] = None
    for realm in realms:
        yield replace(realm, borders=tuple(around[realm.key]))


_BREADTHS: Final = {str(scope): breadth for scope, breadth in NARROWEST_FIRST.items()}


def narrowest_first(realms: Iterable[Entity]) -> Sequence[Entity]:
    """Realms that are equally near in the order of their scopes, then of their ids."""

    def order(realm: Entity) -> tuple[int, str]:
        scope = str(realm.properties.get("scope", ""))
        return _BREADTHS.get(scope, len(_BREADTHS)), realm.id

    return sorted(realms, key=order)


def group_of(realm: Entity) -> str:
    """The heading under which a context names a realm; an unknown type is functional."""
    realm_type = realm.properties.get("realm_type")
    named = (group for group, types in REALM_GROUPS.items() if realm_type in types)
    return next(named, "functional")


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
        both = {
            leg
            for leg in named[name]
            if Leg(route=leg.route, start=leg.end, end=leg.start) in named[name]
        }
        for stops in _trails(both, both_ways=True):
            yield Route(name=name, stops=tuple(stops))
        for stops in _trails(named[name] - both, both_ways=False):
            yield Route(name=name, stops=tuple(stops), one_way=True)


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
