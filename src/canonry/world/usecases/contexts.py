"""Contexts of a world: locations, people and realms, their changes, and events."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from canonry.canon.session.canon import Canon
from canonry.language.texts.stems import terms_of
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Relation
from canonry.log.schemas.world_types import (
    BELONGS_TO,
    EXIT,
    LAYER_OF,
    LOCATED_IN,
    MOVERS,
    WITHIN,
    LayerType,
    Tie,
    WorldType,
)
from canonry.readmodels.edges import (
    DIRECTION_RANK,
    Direction,
    Tick,
    blocked_at,
    instant_of,
    is_on_at,
    kind_of,
)
from canonry.readmodels.ports.state import EventQuery
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.values.errors import InvalidInput
from canonry.values.ids import EntityId
from canonry.values.provenance import CanonLevel
from canonry.world.domain.atlas import item_id_of
from canonry.world.domain.checks import Person, person_of
from canonry.world.usecases.building import NextStop, RealmTie, routes_on, ties_of
from canonry.world.usecases.worlds import NEARBY_MAX, BoundWorld, WorldAt, world_at

_FEW: Final = 12
"""Read the layers of a location together if there are fewer than this, else type by type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownLayer:
    """A layer, and the edge by which it lies upon a location or realm."""

    layer: Entity
    edge: Relation

    @property
    def value(self) -> str:
        """Text of the layer."""
        return str(self.layer.properties.get("value", ""))


async def visible_layers(
    then: WorldAt,
    location: EntityId,
    realms: Sequence[Entity],
    types: Iterable[LayerType] = tuple(LayerType),
) -> Mapping[LayerType, ShownLayer]:
    """Return the visible layers of a location: its own first, then its nearest realms'.

    Of several of one type upon the same location, only the one that was written last is visible.
    """
    scopes = (location, *(realm.id for realm in realms))
    wanted = tuple(types)
    edges = await then.edges_of(LAYER_OF, *scopes, outward=False, kinds=None, limit=_FEW)
    if max(Counter(edge.to_id for edge in edges).values(), default=0) < _FEW:
        edges = [edge for edge in edges if kind_of(edge) in wanted]
    else:  # where there are many, the newest ones of each type
        edges = await then.edges_of(
            LAYER_OF, *scopes, outward=False, kinds=wanted, newest_first=True
        )
    known = await then.find_items((edge.from_id for edge in edges), WorldType.LAYER)
    nearest = {scope: rank for rank, scope in enumerate(scopes)}
    shown: dict[LayerType, ShownLayer] = {}
    for edge in sorted(edges, key=lambda e: (nearest[e.to_id], -e.position, e.id)):
        layer_type = LayerType(kind_of(edge))
        if edge.from_id in known and is_on_at(edge, then.tick):
            shown.setdefault(layer_type, ShownLayer(layer=known[edge.from_id], edge=edge))
    return {each: shown[each] for each in wanted if each in shown}


TYPES: Final = (LayerType.WEATHER, LayerType.LIGHTING, LayerType.AMBIENT)


async def get_atmosphere(
    then: WorldAt, location: EntityId
) -> Mapping[LayerType, ShownLayer] | None:
    """Return the weather, light and mood at a location; None if it is unknown."""
    if await then.find_item(location, WorldType.LOCATION) is None:
        return None
    return await visible_layers(then, location, await then.realms_of(location), TYPES)


_DIRECTIONS: Final = frozenset(Direction)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocationContext:
    """A location with its exits, realms, layers, people, items and events.

    `exits` come in the order of their directions, `realms` the nearest first; `ties` are those of
    the location and of each of these realms, by id. `layers` has the layer that shows of each type
    that has one. `places` are the locations that exits lead to and events name, by id.
    """

    tick: Tick
    location: Entity
    exits: Sequence[Relation]
    routes: Sequence[NextStop]
    realms: Sequence[Entity]
    ties: Mapping[EntityId, Sequence[RealmTie]]
    layers: Mapping[LayerType, ShownLayer]
    players: Sequence[Relation]
    characters: Sequence[Entity]
    events: Sequence[Event]
    places: Mapping[str, Entity]


async def get_location_context(then: WorldAt, name: str | None) -> LocationContext | None:
    """The context of the location with this id or key, or of the starter; None: there is none."""
    location = await then.find_item(then.id_of(name), WorldType.LOCATION)
    if location is None:
        return None
    realms = await then.realms_of(location.id)
    exits = await exits_of(then, location)
    events = await then.events_of(location.id, NEARBY_MAX)
    here = [edge.from_id for edge in await _present_edges(then, location, WorldType.CHARACTER)]
    known = await then.find_items(here, WorldType.CHARACTER)
    return LocationContext(
        tick=then.tick,
        location=location,
        exits=exits,
        routes=await routes_on(then, location.id),
        realms=realms,
        ties=await ties_of(then, realms, location.id),
        layers=await visible_layers(then, location.id, realms),
        players=await _present_edges(then, location, WorldType.PLAYER),
        characters=[known[each] for each in here if each in known],
        events=events,
        places=await then.locations_in((*exits, *events)),
    )


async def exits_of(then: WorldAt, location: Entity) -> Sequence[Relation]:
    """The exits of a location in the order of their directions, shut ones as blocked.

    A relation of that name that leads in no direction, as other toolsets can make it, is none.
    """
    edges = await then.edges_of(EXIT, location.id, kinds=None)
    exits = [
        replace(edge, properties={**edge.properties, "blocked": blocked_at(edge, then.tick)})
        for edge in edges
        if kind_of(edge) in _DIRECTIONS
    ]
    return sorted(exits, key=lambda edge: DIRECTION_RANK[Direction(kind_of(edge))])


async def _present_edges(then: WorldAt, location: Entity, kind: WorldType) -> Sequence[Relation]:
    return await then.edges_of(
        LOCATED_IN, location.id, outward=False, kinds=(kind,), limit=NEARBY_MAX
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MoverContext:
    """A player or a character at a tick, and what they took part in lately.

    `location` None: nobody knows where they were then. `more`: they had more than is stated.
    """

    tick: Tick
    mover: Entity
    location: Entity | None
    inventory: Sequence[Entity]
    more: bool
    status: Person
    events: Sequence[Event]


async def get_mover_context(
    then: WorldAt, name: str, types: Sequence[WorldType] = MOVERS
) -> MoverContext | None:
    """The context of who has this id or key and is of one of these types; None: nobody."""
    mover = await then.find_item(then.id_of(name), *types)
    if mover is None:
        return None
    location = await then.location_of(mover)
    held, more = await then.inventory_of(mover.id)
    person = person_of(mover)
    return MoverContext(
        tick=then.tick,
        mover=mover,
        location=location,
        inventory=held,
        more=more,
        status=replace(person, conditions=person.conditions_at(then.tick)),
        events=await then.events_of(mover.id, NEARBY_MAX),
    )


INSIDE_MAX: Final = 100  # bounds a reply, which says that there are more


@dataclass(frozen=True, slots=True, kw_only=True)
class RealmContext:
    """A realm at a tick; `around` has the nearest first.

    `inside` lies directly in it, and `members` are its own, both by name; `complete` False: there
    are more of either than are stated.
    """

    tick: Tick
    realm: Entity
    around: Sequence[Entity]
    ties: Sequence[RealmTie]
    inside: Sequence[Entity]
    members: Sequence[Entity]
    complete: bool


async def get_realm_context(then: WorldAt, name: str) -> RealmContext | None:
    """Return the context of the realm with this id or key; None if it is unknown."""
    realm = await then.find_item(then.id_of(name), WorldType.REALM)
    if realm is None:
        return None
    inside, all_inside = await _contained_items(then, WITHIN, realm.id, "")
    members, all_members = await _contained_items(then, BELONGS_TO, realm.id, Tie.MEMBER_OF)
    ties = await ties_of(then, (realm,))
    return RealmContext(
        tick=then.tick,
        realm=realm,
        around=await then.realms_of(realm.id),
        ties=ties.get(realm.id, ()),
        inside=inside,
        members=members,
        complete=all_inside and all_members,
    )


async def _contained_items(
    then: WorldAt, rel_type: str, realm: EntityId, kind: str
) -> tuple[Sequence[Entity], bool]:
    edges = await then.edges_of(rel_type, realm, outward=False, kinds=(kind,), limit=INSIDE_MAX + 1)
    ids = [edge.from_id for edge in edges[:INSIDE_MAX]]
    known = await then.find_items(ids, WorldType.REALM, WorldType.LOCATION)
    items = sorted(known.values(), key=lambda each: (each.name, each.id))
    return items, len(edges) <= INSIDE_MAX


EVENTS_MAX: Final = 200  # bounds a reply, which says that there are more


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesBetween:
    """Changes at a location between two ticks.

    Of the nearby as many are compared as a context tells. `layers` has the text before and after.
    """

    from_tick: Tick
    to_tick: Tick
    exits_opened: Sequence[Relation]
    exits_closed: Sequence[Relation]
    arrived: Sequence[str]
    left: Sequence[str]
    layers: Mapping[LayerType, tuple[str | None, str | None]]
    events: Sequence[Event]
    complete: bool


async def get_changes(
    canon: Canon,
    world: BoundWorld,
    start: Tick,
    end: Tick | None = None,
    location: str | None = None,
) -> ChangesBetween | None:
    """Return the changes after `start` until `end`; None if the location is missing at one.

    Raises:
        InvalidInput: `changes.backwards`.
    """
    then = world_at(canon, world, end)
    end = then.tick
    if end < start:
        message = "toTick must be after fromTick."
        raise InvalidInput("changes.backwards", message, path="/toTick")
    before = await get_location_context(world_at(canon, world, start), location)
    after = await get_location_context(then, location)
    if before is None or after is None:
        return None
    events = await then.events_of(after.location.id, EVENTS_MAX)
    since = instant_of(start)
    new = [each for each in events if (each.time_ref or each.created_at) > since]
    was, now = _exits_by_state(before), _exits_by_state(after)
    here, there = (
        [*(edge.from_id for edge in each.players), *(one.id for one in each.characters)]
        for each in (before, after)
    )
    texts, texts_after = (
        {kind: shown_layer.value for kind, shown_layer in each.layers.items()}
        for each in (before, after)
    )
    changed = (kind for kind in LayerType if texts.get(kind) != texts_after.get(kind))
    return ChangesBetween(
        from_tick=start,
        to_tick=end,
        exits_opened=[edge for key, edge in now.items() if key not in was],
        exits_closed=[edge for key, edge in was.items() if key not in now],
        arrived=[each for each in there if each not in here],
        left=[each for each in here if each not in there],
        layers={kind: (texts.get(kind), texts_after.get(kind)) for kind in changed},
        events=new,
        complete=len(new) < EVENTS_MAX,
    )


def _exits_by_state(context: LocationContext) -> Mapping[tuple[str, str, bool], Relation]:
    """Exits by the values that decide whether and where they lead."""
    return {
        (kind_of(edge), edge.to_id, bool(edge.properties.get("blocked"))): edge
        for edge in context.exits
    }


SEARCHED_MAX: Final = 5_000  # bounds the time of a search through the whole past
FOUND_MAX: Final = 20  # a page that a model reads


async def search_events(
    canon: Canon,
    world: BoundWorld,
    *,
    words: str = "",
    event_type: str | None = None,
    involved: str | None = None,
    start: Tick | None = None,
    end: Tick | None = None,
    limit: int = FOUND_MAX,
) -> tuple[Sequence[Event], bool]:
    """Return at most `limit` events, the newest first, and whether all were searched.

    They have all of what is given; `words` are in their kind or description, each of them.
    """
    terms = terms_of(words[: canon.policy.limits.query])
    entities = frozenset[EntityId]()
    if involved is not None:
        entities = frozenset((item_id_of(world.space, involved),))
    found: list[Event] = []
    query = EventQuery(
        spaces=frozenset((world.space,)), entities=entities, level=CanonLevel.CANON, limit=1
    )
    left = (await canon.state.events(query)).total
    searched = 0
    while left > 0 and searched < SEARCHED_MAX:
        size = min(PAGE_MAX, left)
        left -= size
        page = await canon.state.events(replace(query, offset=left, limit=size))
        searched += len(page.items)
        for event in reversed(page.items):
            when = event.created_at if event.time_ref is None else event.time_ref
            event_terms = terms_of(f"{event.title} {event.description}") if terms else ()
            if (
                event_type in {None, event.title}
                and (start is None or when >= instant_of(start))
                and (end is None or when <= instant_of(end))
                and set(event_terms).issuperset(terms)
            ):
                found.append(event)
                if len(found) == limit:
                    return found, True
    return found, left <= 0
