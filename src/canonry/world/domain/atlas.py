"""The atlas of a world: its parts, their ids, and how two atlases differ and merge."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import groupby, pairwise
from typing import Any, Final, TypeAlias
from unicodedata import category

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
from canonry.values.errors import InvalidInput
from canonry.values.ids import EntityId, SpaceId, content_id, is_uuid
from canonry.values.json_values import decode_json, encode_json, read_value


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """An exit of a location.

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
class Location:
    """A location with its exits and the realms that it lies in, or only is a member of.

    `forbidden` says of a direction why no proposal may open an exit there.
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
        return {tie: getattr(self, tie) for tie in Tie}


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A road, river or railway with a name, from stop to stop.

    Routes of one name are branches of one. With `one_way` it only leads from the first stop on.
    """

    name: str
    stops: tuple[str, ...]
    one_way: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A description of a location or realm between two ticks, both inclusive.

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
    """Return whether a rhythm is possible: each occurrence ends before the next one begins."""
    return every is not None and lasting is not None and 0 < lasting < every


@dataclass(frozen=True, slots=True, kw_only=True)
class Mover:
    """A player or a character, and where they are; `clock` is a player's own time.

    A mover that is not `present` does not take part in events there. `conditions` last until
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
    """One version of a lore fact; the world knows it from `tick` on."""

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


AtlasPart: TypeAlias = Location | Realm | Layer | Mover | Item | Happening
"""A part of a world that a builder writes in one step; lore has versions instead."""

STATUS: Final = ("alive", "present", "conditions", "resources")
"""The fields of a mover that say how they are; what is as usual is not written down."""

STORED_FIELDS: Final[Mapping[type, tuple[str, ...]]] = {
    Location: ("terrain", "tags", "forbidden"),
    Realm: ("realm_type", "scope", "narrative_tags"),
    Mover: ("tags", "attributes", "clock", *STATUS),
    Item: ("item_type", "quantity"),
}
"""The fields of a part that its entity has as properties; relations hold how it joins others."""

RUNNING_FIELDS: Final[Mapping[type, tuple[str, ...]]] = {
    Mover: ("clock", *STATUS),
    Item: ("quantity",),
}
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
    locations: tuple[Location, ...] = ()
    realms: tuple[Realm, ...] = ()
    routes: tuple[Route, ...] = ()
    layers: tuple[Layer, ...] = ()
    characters: tuple[Mover, ...] = ()
    players: tuple[Mover, ...] = ()
    items: tuple[Item, ...] = ()
    lore: tuple[Lore, ...] = ()
    events: tuple[Happening, ...] = ()


def complete_atlas(atlas: Atlas) -> Atlas:
    """The atlas with every unstated exit back, and every border stated from both sides.

    A direction that the target of an exit uses otherwise stays as it is; `problems` tells of it.
    """
    return replace(
        atlas,
        locations=tuple(_with_return_exits(atlas.locations)),
        realms=tuple(_with_shared_borders(atlas.realms)),
    )


def _with_return_exits(locations: Sequence[Location]) -> Iterator[Location]:
    exits: dict[str, dict[Direction, Exit]] = {
        location.key: {atlas_exit.direction: atlas_exit for atlas_exit in location.exits}
        for location in locations
    }
    for location in locations:
        for atlas_exit in location.exits:
            back = OPPOSITE[atlas_exit.direction]
            if (
                not atlas_exit.one_way
                and atlas_exit.to in exits
                and back not in exits[atlas_exit.to]
            ):
                exits[atlas_exit.to][back] = replace(
                    atlas_exit, direction=back, to=location.key, description=None
                )
    for location in locations:
        yield replace(location, exits=tuple(exits[location.key].values()))


def _with_shared_borders(realms: Sequence[Realm]) -> Iterator[Realm]:
    around = {realm.key: dict.fromkeys(realm.borders) for realm in realms}
    for realm in realms:
        for other in realm.borders:
            around.get(other, {})[realm.key] = None
    yield from (replace(realm, borders=tuple(around[realm.key])) for realm in realms)


_BREADTHS: Final = {str(scope): breadth for scope, breadth in NARROWEST_FIRST.items()}


def narrowest_first(realms: Iterable[Entity]) -> Sequence[Entity]:
    """Realms that are equally near in the order of their scopes, then of their ids."""

    def sort_key(realm: Entity) -> tuple[int, str]:
        scope = str(realm.properties.get("scope", ""))
        return _BREADTHS.get(scope, len(_BREADTHS)), realm.id

    return sorted(realms, key=sort_key)


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
        for stops in _walk_legs(both, both_directions=True):
            yield Route(name=name, stops=tuple(stops))
        for stops in _walk_legs(named[name] - both, both_directions=False):
            yield Route(name=name, stops=tuple(stops), one_way=True)


def _walk_legs(legs: Iterable[Leg], *, both_directions: bool) -> Iterator[Sequence[str]]:
    """Walks that use each leg once, starting where most legs would be left over."""
    onward: dict[str, list[str]] = defaultdict(list)
    arriving: dict[str, int] = defaultdict(int)
    for leg in sorted(legs, reverse=True):
        onward[leg.start].append(leg.end)
        arriving[leg.end] += 1
    # A walk is to begin where a route ends, and not where it only passes through.
    begin = {
        stop
        for stop, ends in onward.items()
        if (len(ends) % 2 == 1 if both_directions else len(ends) > arriving[stop])
    }
    for start in sorted(onward, key=lambda stop: (stop not in begin, stop)):
        while onward[start]:
            stops = [start]
            while onward[stops[-1]]:
                here = stops[-1]
                stops.append(onward[here].pop())
                if both_directions:
                    onward[stops[-1]].remove(here)
            yield stops


# Merging. Parts are known by their keys, exits by their direction, and lists of words are sets, so
# that two hands that worked in different places, or on different fields, never stand in each
# other's way.

_ABSENT: Final = object()


class _Keyed(dict[str, Any]):
    """A list whose items have names, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One value that differs, by its path of keys; None where there is none."""

    path: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedAtlas:
    """One world made of two; where they differ, `ours` counts and `conflicts` lists it."""

    atlas: Atlas
    conflicts: tuple[Difference, ...]


def find_differences(before: Atlas, after: Atlas) -> list[Difference]:
    """The differences between two worlds, in the order of the paths."""
    found = _walk_differences(_atlas_tree(before), _atlas_tree(after), "")
    return sorted(found, key=lambda each: each.path)


def merge_atlases(base: Atlas, ours: Atlas, theirs: Atlas) -> MergedAtlas:
    """The world with the changes of both since the one that they grew from.

    A part that one side removed and the other changed is a conflict, too.
    """
    conflicts: list[Difference] = []
    tree = _merge_values(_atlas_tree(base), _atlas_tree(ours), _atlas_tree(theirs), "", conflicts)
    conflicts.sort(key=lambda each: each.path)
    return MergedAtlas(atlas=read_value(_plain_lists(tree), Atlas), conflicts=tuple(conflicts))


def _atlas_tree(atlas: Atlas) -> dict[str, Any]:
    tree: dict[str, Any] = _index_lists(decode_json(encode_json(atlas)))
    return tree


def _index_lists(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _index_lists(each) for name, each in value.items()}
    if not isinstance(value, list):
        return value
    if all(isinstance(each, str) for each in value):
        return _Keyed({each: each for each in value})
    names = [_name_of(each) for each in value]
    if None in names or len(set(names)) < len(names):
        return value  # a road's stops, a lore's versions: their order is what they say
    return _Keyed({str(name): _index_lists(each) for name, each in zip(names, value, strict=True)})


def _name_of(value: Any) -> str | None:
    if not isinstance(value, Mapping):
        return None
    return next((str(value[each]) for each in ("key", "direction") if each in value), None)


def _plain_lists(tree: Any) -> Any:
    if isinstance(tree, _Keyed):
        return [_plain_lists(each) for each in tree.values()]
    if isinstance(tree, dict):
        return {name: _plain_lists(each) for name, each in tree.items()}
    return tree


def _all_names(*trees: Mapping[str, Any]) -> Sequence[str]:
    return list(dict.fromkeys(name for tree in trees for name in tree))


def _walk_differences(before: Any, after: Any, path: str) -> Iterator[Difference]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in _all_names(before, after):
            one, other = before.get(name, _ABSENT), after.get(name, _ABSENT)
            yield from _walk_differences(one, other, f"{path}/{name}")
    elif before != after:
        yield Difference(path=path, before=_json_value(before), after=_json_value(after))


def _json_value(value: Any) -> Any:
    return None if value is _ABSENT else _plain_lists(value)


def _merge_values(base: Any, ours: Any, theirs: Any, path: str, conflicts: list[Difference]) -> Any:
    if theirs in (ours, base):
        return ours
    if base == ours:
        return theirs
    if isinstance(ours, dict) and isinstance(theirs, dict):
        before = base if isinstance(base, dict) else {}
        made = type(ours)()
        for name in _all_names(ours, theirs):
            one, other = ours.get(name, _ABSENT), theirs.get(name, _ABSENT)
            value = _merge_values(
                before.get(name, _ABSENT), one, other, f"{path}/{name}", conflicts
            )
            if value is not _ABSENT:
                made[name] = value
        return made
    conflicts.append(Difference(path=path, before=_json_value(ours), after=_json_value(theirs)))
    return ours


_GROUPS: Final = ("realms", "locations", "characters", "players", "items")
_KEYS: Final = frozenset(("realms", "within", "participants", *Tie))
"""The fields of parts that are keys of others."""


def omit_parts(atlas: Atlas, omitted_keys: frozenset[str]) -> Atlas:
    """The atlas without the locations, realms, movers and items of these keys.

    Movers and items there move to the starter location; events stay, and a route
    leads only between those of its stops that stay and follow on each other.
    """
    if not omitted_keys:
        return atlas

    def omit_keys(part: Any) -> Any:
        changed: dict[str, Any] = {}
        for name in (each.name for each in fields(part)):
            value = getattr(part, name)
            if name in _KEYS:
                changed[name] = tuple(key for key in value if key not in omitted_keys)
            elif name == "exits":
                changed[name] = tuple(
                    w for w in value if omitted_keys.isdisjoint({w.to, w.requires})
                )
            elif name in {"location", "holder"} and value in omitted_keys:
                changed[name] = None if isinstance(part, Happening) else atlas.starter
        return replace(part, **changed)

    kept: dict[str, Any] = {
        group: tuple(omit_keys(p) for p in getattr(atlas, group) if p.key not in omitted_keys)
        for group in _GROUPS
    }
    return replace(
        atlas,
        **kept,
        routes=tuple(part for route in atlas.routes for part in _route_parts(route, omitted_keys)),
        layers=tuple(layer for layer in atlas.layers if layer.scope not in omitted_keys),
        events=tuple(map(omit_keys, atlas.events)),
    )


def _route_parts(route: Route, omitted_keys: frozenset[str]) -> Iterator[Route]:
    for away, stops in groupby(route.stops, key=omitted_keys.__contains__):
        part = tuple(stops)
        if not away and len(part) > 1:
            yield replace(route, stops=part)


WORLD_KEY = "#world"
"""The key of the entity that holds a world's clock and its defaults; no file can use it."""


def is_key(text: str) -> bool:
    """Return whether a text can be a key: one line, no control characters, no leading #."""
    if not text or text != text.strip() or text[0] == "#":
        return False
    return text.splitlines() == [text] and all(category(sign) != "Cc" for sign in text)


def check_key(text: str, *, path: str) -> str:
    """Return `text` if it is a valid key.

    Raises:
        InvalidInput: `key.malformed`.
    """
    if not is_key(text):
        message = "A key is one line of text and starts with neither # nor a space."
        raise InvalidInput("key.malformed", message, path=path)
    return text


def world_id_of(name: str) -> SpaceId:
    """The id of the world that a file without an id describes."""
    return SpaceId(content_id(f"world/{name}"))


def item_id_of(space: SpaceId, key: str) -> EntityId:
    """Return the id of the item with this key; a key that is an id is returned unchanged."""
    return EntityId(key.lower() if is_uuid(key) else content_id(f"{space}/thing/{key}"))


def layer_id_of(space: SpaceId, key: str) -> EntityId:
    """The id of a layer; layers and lore have names of their own beside those of locations."""
    return EntityId(key.lower() if is_uuid(key) else content_id(f"{space}/layer/{key}"))


def lore_id_of(space: SpaceId, key: str) -> EntityId:
    """The id of the entity that holds all versions of a fact of lore."""
    return EntityId(content_id(f"{space}/lore/{key}"))


def event_id_of(space: SpaceId, key: str) -> str:
    """The id of an event that a file describes."""
    return key.lower() if is_uuid(key) else content_id(f"{space}/event/{key}")
