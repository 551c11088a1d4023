"""The atlas: a whole world as one value, as files hold it; things name each other by their keys."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from canonry.log.schemas.world_types import (
    ActorKind,
    LayerType,
    LoreType,
    RealmScope,
    RealmType,
    TerrainType,
    Tie,
)
from canonry.readmodels.directions import OPPOSITE, Direction


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
