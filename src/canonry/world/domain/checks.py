"""The status of characters, items and exits, and checks of a world."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from canonry.log.items.entities import Entity
from canonry.log.items.facts import RelationDraft
from canonry.log.schemas.world_types import OPPOSED, WorldType
from canonry.readmodels.edges import (
    OPPOSITE,
    TICK_MAX,
    TICK_MIN,
    Direction,
    Tick,
    blocked_at,
    kind_of,
    travel_ms,
)
from canonry.values.ids import EntityId
from canonry.world.domain.atlas import Atlas, Layer, Location, Realm, is_key, is_rhythm, legs_of

TIES_MAX: Final = 200
"""To so many realms a realm or location is tied by one tie."""

VERSIONS_MAX: Final = 500
"""The most versions of a fact of lore."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something at `where`; with `fatal` the world cannot be imported."""

    code: str
    where: str
    message: str
    fatal: bool = True


def find_problems(atlas: Atlas) -> Iterator[Problem]:
    """Yield the faults and warnings of an atlas, in its order."""
    parts = (
        _check_keys,
        _check_names,
        _check_references,
        _check_exits,
        _check_realms,
        _check_ties,
        _check_routes,
        _check_layers,
        _check_lore,
        _check_numbers,
    )
    for check in (*parts, _check_reach):
        yield from check(atlas)


def _check_names(atlas: Atlas) -> Iterator[Problem]:
    people = (*atlas.characters, *atlas.players)
    groups = (atlas.locations, atlas.realms, people, atlas.items)
    names = [(part.key, part.name) for group in groups for part in group]
    for where, name in (("name", atlas.name), *names):
        if not name.strip():
            yield _make_problem("name.empty", where, "the name is empty; give one")
    for mover in people:
        for resource, amount in mover.resources.items():
            if amount < 0:
                message = f"{resource} is {amount}; give 0 or more"
                yield _make_problem("resource.negative", mover.key, message)


def unreachable_locations(atlas: Atlas) -> frozenset[str]:
    """Return the locations that no open exits connect to the starter location."""
    return frozenset(e.key for e in atlas.locations) - reachable_locations(atlas, atlas.starter)


def reachable_locations(atlas: Atlas, start: str) -> frozenset[str]:
    """Return the locations that open exits connect to `start`, including itself."""
    locations = {location.key for location in atlas.locations}
    exits = {p.key: locations & {e.to for e in p.exits if not e.blocked} for p in atlas.locations}
    return reachable_from(exits, (start,))


def reachable_from(exits: Mapping[Any, Iterable[str]], starts: Iterable[str]) -> frozenset[str]:
    """Return what any number of exits lead to from the starts, and the starts themselves."""
    ring = set(starts)
    seen = set(ring)
    while ring:
        ring = {end for each in ring for end in exits.get(each, ())} - seen
        seen |= ring
    return frozenset(seen)


def _make_problem(code: str, where: str, message: str, *, fatal: bool = True) -> Problem:
    return Problem(code=code, where=where, message=message, fatal=fatal)


def _check_keys(atlas: Atlas) -> Iterator[Problem]:
    movers = (*atlas.characters, *atlas.players)
    items = (*atlas.realms, *atlas.locations, *movers, *atlas.items)
    groups: Sequence[Sequence[Any]] = (items, atlas.layers, atlas.lore, atlas.events)
    for keys in ([part.key for part in group] for group in groups):
        for key, times in Counter(keys).items():
            if times > 1:
                yield _make_problem(
                    "key.repeated", key, f"{times} items have this key; give each its own"
                )
            if not is_key(key):
                message = "a key is one line of text and starts with neither # nor a space"
                yield _make_problem("key.malformed", key, message)


def _check_references(atlas: Atlas) -> Iterator[Problem]:
    locations = {location.key for location in atlas.locations}
    realms = {realm.key for realm in atlas.realms}
    movers = {mover.key for mover in (*atlas.characters, *atlas.players)}
    items = {item.key for item in atlas.items}
    if atlas.starter not in locations:
        message = "the starter names no location of this world; use a location's key"
        yield _make_problem("starter.unknown", atlas.starter, message)
    if atlas.tick is not None and atlas.tick < 0:
        message = f"the world's clock is {atlas.tick}; give tick 0 or later"
        yield _make_problem("tick.negative", "tick", message)
    for location in atlas.locations:
        yield from _unknown_references(
            location.key, "realm", (*location.realms, *location.member_of), realms
        )
        yield from _unknown_references(
            location.key, "location", (e.to for e in location.exits), locations
        )
        needed = (a.requires for a in location.exits if a.requires is not None)
        yield from _unknown_references(location.key, "item", needed, items)
    for realm in atlas.realms:
        named = (realm.within, *realm.ties.values())
        yield from _unknown_references(
            realm.key, "realm", (key for keys in named for key in keys), realms
        )
    for mover in (*atlas.characters, *atlas.players):
        yield from _unknown_references(mover.key, "location", (mover.location,), locations)
    for item in atlas.items:
        yield from _unknown_references(item.key, "holder", (item.holder,), movers | locations)
    for layer in atlas.layers:
        yield from _unknown_references(
            layer.key, "location or realm", (layer.scope,), locations | realms
        )
    for event in atlas.events:
        where = () if event.location is None else (event.location,)
        yield from _unknown_references(event.key, "location", where, locations)
        yield from _unknown_references(
            event.key, "participant", event.participants, movers | items | locations
        )
        if event.tick > (atlas.tick or 0):
            message = f"tick {event.tick} is after the world's clock, {atlas.tick or 0}"
            yield _make_problem("event.future", event.key, message)


def _unknown_references(
    where: str, noun: str, names: Iterable[str], known: set[str]
) -> Iterator[Problem]:
    for name in names:
        if name not in known:
            yield _make_problem(
                "reference.unknown", where, f"there is no {noun} with the key {name}"
            )


def _check_exits(atlas: Atlas) -> Iterator[Problem]:
    locations = {location.key: location for location in atlas.locations}
    for location in atlas.locations:
        for direction, times in Counter(
            atlas_exit.direction for atlas_exit in location.exits
        ).items():
            if times > 1:
                message = f"{times} exits lead {direction}; keep one for each direction"
                yield _make_problem("exit.repeated", location.key, message)
        for atlas_exit in location.exits:
            if atlas_exit.to == location.key:
                message = f"the exit {atlas_exit.direction} leads to its own location"
                yield _make_problem("exit.to-itself", location.key, message)
            rhythm = {atlas_exit.opens, atlas_exit.every, atlas_exit.lasting}
            if rhythm != {None} and not is_rhythm(atlas_exit.every, atlas_exit.lasting):
                message = (
                    f"the exit {atlas_exit.direction} must be open for fewer ticks than its period"
                )
                yield _make_problem("exit.rhythm", location.key, message)
            if atlas_exit.to not in locations or atlas_exit.one_way:
                continue
            there = {each.direction: each for each in locations[atlas_exit.to].exits}
            back = there.get(OPPOSITE[atlas_exit.direction])
            if back is None or back.to != location.key or back.one_way:
                message = (
                    f"the exit {atlas_exit.direction} has no way back from {atlas_exit.to}; "
                    "add one, or set one_way"
                )
                yield _make_problem("exit.no-way-back", location.key, message)


def _check_realms(atlas: Atlas) -> Iterator[Problem]:
    for key in _find_cycles({realm.key: realm.within for realm in atlas.realms}):
        message = "the realm contains itself, directly or through other realms"
        yield _make_problem("realm.cycle", key, message)
    for key in _find_cycles({realm.key: realm.vassal_of for realm in atlas.realms}):
        message = "the realm is its own vassal, through other realms"
        yield _make_problem("realm.own-vassal", key, message, fatal=False)


def _find_cycles(above: Mapping[str, Iterable[str]]) -> Iterator[str]:
    return (start for start, first in above.items() if start in reachable_from(above, first))


def _check_ties(atlas: Atlas) -> Iterator[Problem]:
    tied: tuple[Location | Realm, ...] = (*atlas.locations, *atlas.realms)
    for item in tied:
        for tie, others in item.ties.items():
            if item.key in others:
                message = f"the tie {tie} names the item itself; name another realm"
                yield _make_problem("tie.to-itself", item.key, message)
            if len(others) > TIES_MAX:
                message = f"{len(others)} realms are tied by {tie}; the limit is {TIES_MAX}"
                yield _make_problem("tie.too-many", item.key, message)
            for other in sorted(set(others) & set(item.ties.get(OPPOSED.get(tie, tie), ()))):
                if tie in OPPOSED and tie < OPPOSED[tie]:
                    message = f"{other} is tied by both {tie} and {OPPOSED[tie]}; keep one"
                    yield _make_problem("tie.opposed", item.key, message)


def _check_routes(atlas: Atlas) -> Iterator[Problem]:
    locations = {location.key for location in atlas.locations}
    for route in atlas.routes:
        yield from _unknown_references(route.name, "location", route.stops, locations)
        if not route.name.strip():
            yield _make_problem("route.unnamed", route.name, "the route has no name; give one")
        if len(route.stops) < 2:  # noqa: PLR2004 - from somewhere to somewhere else
            message = f"the route has {len(route.stops)} stops; give at least two"
            yield _make_problem("route.too-short", route.name, message)
        if any(one == other for one, other in pairwise(route.stops)):
            yield _make_problem(
                "route.to-itself", route.name, "two stops in a row are the same location"
            )
    for stop, times in Counter(leg.start for leg in legs_of(atlas.routes)).items():
        if times > TIES_MAX:
            message = f"{times} legs of routes start here; the limit is {TIES_MAX}"
            yield _make_problem("route.too-many", stop, message)


def _check_layers(atlas: Atlas) -> Iterator[Problem]:
    lying: dict[tuple[str, str], list[Layer]] = defaultdict(list)
    for layer in atlas.layers:
        if layer.every is None and layer.lasting is None:
            lying[layer.scope, layer.layer_type].append(layer)
        elif not is_rhythm(layer.every, layer.lasting):
            message = "the layer must last for fewer ticks than its period"
            yield _make_problem("layer.rhythm", layer.key, message)
        if layer.to_tick is not None and layer.to_tick < layer.from_tick:
            message = f"it ends at tick {layer.to_tick}, before it starts"
            yield _make_problem("layer.ends-before-start", layer.key, message)
    for layers in lying.values():
        for one, other in pairwise(sorted(layers, key=lambda each: each.from_tick)):
            if one.to_tick is None or other.from_tick <= one.to_tick:
                message = f"it overlaps the layer {one.key} in place and time"
                yield _make_problem("layer.overlaps", other.key, message, fatal=False)


def _check_lore(atlas: Atlas) -> Iterator[Problem]:
    for fact in atlas.lore:
        if not all(version.fields for version in fact.versions) or not fact.versions:
            message = "a version has no fields; give each version at least one"
            yield _make_problem("lore.no-version", fact.key, message)
        if len(fact.versions) > VERSIONS_MAX:
            message = f"there are {len(fact.versions)} versions; the limit is {VERSIONS_MAX}"
            yield _make_problem("lore.too-many-versions", fact.key, message)
        ticks = [version.tick for version in fact.versions if version.tick is not None]
        if ticks != sorted(ticks):
            yield _make_problem(
                "lore.out-of-order", fact.key, "a version is older than the one before it"
            )
        if any(tick > (atlas.tick or 0) for tick in ticks):
            yield _make_problem(
                "lore.future", fact.key, "a version is dated after the world's clock"
            )


def _check_numbers(atlas: Atlas) -> Iterator[Problem]:
    """Check numbers before the first write; a later failure would leave a partial import."""
    for location in atlas.locations:
        for atlas_exit in location.exits:
            if atlas_exit.travel_ms is not None and atlas_exit.travel_ms < 0:
                taken = f"the exit {atlas_exit.direction} takes {atlas_exit.travel_ms} ms"
                message = f"{taken}; give 0 or more"
                yield _make_problem("exit.negative-duration", location.key, message)
    for item in atlas.items:
        if item.quantity < 1:
            message = f"the quantity is {item.quantity}; give 1 or more"
            yield _make_problem("item.quantity", item.key, message)
    for key, tick in _all_ticks(atlas):
        if tick is not None and not TICK_MIN <= tick <= TICK_MAX:
            message = f"the tick {tick} is not between {TICK_MIN} and {TICK_MAX}"
            yield _make_problem("tick.out-of-range", key, message)


def _all_ticks(atlas: Atlas) -> Iterator[tuple[str, int | None]]:
    yield "tick", atlas.tick
    for layer in atlas.layers:
        yield layer.key, layer.from_tick
        yield layer.key, layer.to_tick
    for fact in atlas.lore:
        yield from ((fact.key, version.tick) for version in fact.versions)
    yield from ((event.key, event.tick) for event in atlas.events)


def _check_reach(atlas: Atlas) -> Iterator[Problem]:
    for key in sorted(unreachable_locations(atlas)):
        message = "no open exits lead here from the starter"
        yield _make_problem("location.unreachable", key, message, fatal=False)
    for location in atlas.locations:
        if not any(not atlas_exit.blocked for atlas_exit in location.exits):
            message = "no open exit leads out of this location"
            yield _make_problem("location.dead-end", location.key, message, fatal=False)


# The present state of a person, an item and an exit, derived from their stored items.
# Gates, narration, dialogue, routes, plans and contexts all ask here, so that who is dead to one
# of them is dead to all.

_DEAD: Final = frozenset({"dead", "deceased", "slain", "killed"})
_DIRECTIONS: Final = frozenset(Direction)


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A player or a character: each condition holds until just before a tick, or for good."""

    id: EntityId
    kind: WorldType
    name: str
    location: EntityId | None
    alive: bool = True
    present: bool = True
    conditions: Mapping[str, int | None] = field(default_factory=dict)
    resources: Mapping[str, int] = field(default_factory=dict)

    def conditions_at(self, tick: Tick) -> Mapping[str, int | None]:
        """Those that hold at a tick."""
        known = self.conditions.items()
        return {name: until for name, until in known if until is None or tick < until}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """An item, its quantity and its holder."""

    id: EntityId
    name: str
    holder: EntityId | None
    quantity: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownExit:
    """An exit that exists; `proposed` if a proposal opened it."""

    direction: Direction
    to: EntityId
    start: EntityId
    id: str = ""
    travel_ms: int = 0
    one_way: bool = False
    hidden: bool = False
    blocked: str | None = None
    requires: str | None = None
    proposed: bool = False


def person_of(
    item: Entity, location: EntityId | None = None, own: Mapping[str, Any] | None = None
) -> Person:
    """Somebody as they are, or with other properties, wherever they are."""
    own = item.properties if own is None else own
    return Person(
        id=item.id,
        kind=WorldType(item.entity_type),
        name=item.name,
        location=location,
        alive=_is_alive(own),
        present=bool(own.get("present", True)),
        conditions=dict(own.get("conditions") or {}),
        resources={str(name): int(value) for name, value in (own.get("resources") or {}).items()},
    )


def _is_alive(own: Mapping[str, Any]) -> bool:
    attributes = own.get("attributes") or {}
    for flag in (own.get("alive"), attributes.get("alive")):
        if isinstance(flag, bool):
            return flag
    states = (own.get("status"), attributes.get("status"), *(own.get("tags") or ()))
    return not any(isinstance(each, str) and each.casefold() in _DEAD for each in states)


def stack_of(item: Entity, holder: EntityId | None, own: Mapping[str, Any] | None = None) -> Stack:
    """An item as it is, or with other properties, with whoever has it."""
    count = int((item.properties if own is None else own).get("quantity") or 1)
    return Stack(id=item.id, name=item.name, holder=holder, quantity=count)


def known_exit_of(edge: RelationDraft, tick: Tick) -> KnownExit | None:
    """The exit that an edge is at a tick; None where it leads in no direction."""
    kind, own = kind_of(edge), edge.properties
    if kind not in _DIRECTIONS:
        return None
    direction, needed = Direction(kind), own.get("requires")
    return KnownExit(
        id=edge.id,
        direction=direction,
        start=edge.from_id,
        to=edge.to_id,
        travel_ms=travel_ms(direction, own.get("travel_ms")),
        one_way=bool(own.get("one_way")),
        hidden=bool(own.get("hidden")),
        blocked=blocked_at(edge, tick),
        requires=None if needed is None else str(needed),
        proposed=edge.proposal_id is not None,
    )
