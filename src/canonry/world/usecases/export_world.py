"""Export a world: what stands at its current tick as an atlas, with all of its lore and layers."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from canonry.canon.session.canon import Canon
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event
from canonry.log.items.relations import Relation
from canonry.log.schemas.world_types import (
    BELONGS_TO,
    EXIT,
    HELD_BY,
    LOCATED_IN,
    MOVERS,
    ON_ROUTE,
    TIED_TO,
    WITHIN,
    ActorKind,
    LayerType,
    LoreType,
    Tie,
    WorldType,
)
from canonry.readmodels.directions import Direction
from canonry.readmodels.edges import kind_of, tie_of
from canonry.readmodels.ports.pages import PAGE_MAX
from canonry.readmodels.ticks import tick_of
from canonry.values.json_values import read_value
from canonry.world.domain.atlas import (
    KEPT,
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
    Route,
)
from canonry.world.domain.identity import layer_id_of, thing_id_of
from canonry.world.domain.realms import narrowest_first
from canonry.world.domain.routes import Leg, routes_of
from canonry.world.usecases.bound_world import BoundWorld
from canonry.world.usecases.get_canonical_fact import versions_of
from canonry.world.usecases.world_at import WorldAt, world_at

T = TypeVar("T", Place, Realm, Mover, Item)
_GROUP: Final = 100
_EDGES_MAX: Final = 1_000
"""More edges of one relation than a draft lets an entity have."""


async def export_world(canon: Canon, world: BoundWorld) -> Atlas:
    """The world as a file would hold it; importing it adds nothing."""
    now = world_at(canon, world)
    kinds = (WorldType.LOCATION, WorldType.REALM, *MOVERS, WorldType.ITEM)
    found = {kind: [each async for each in _all(now, kind)] for kind in kinds}
    things: dict[str, Entity] = {each.id: each for some in found.values() for each in some}
    names = _Names(things, {each: key_of(thing) for each, thing in things.items()})
    places, realms = found[WorldType.LOCATION], found[WorldType.REALM]
    return Atlas(
        id=world.space,
        name=world.name,
        description=world.heart.description,
        starter=world.starter,
        tick=world.tick,
        depth=world.depth,
        event_limit=world.event_limit,
        locations=await _places(now, places, names),
        realms=await _realms(now, realms, names),
        routes=await _routes(now, places, names),
        layers=tuple([_layer(each, names) async for each in _all(now, WorldType.LAYER)]),
        characters=await _movers(now, found[WorldType.CHARACTER], names),
        players=await _movers(now, found[WorldType.PLAYER], names),
        items=await _items(now, found[WorldType.ITEM], names),
        lore=tuple([await _lore(canon, e) async for e in _all(now, WorldType.LORE_FACT)]),
        events=tuple([_happening(each, names) async for each in _events(now)]),
    )


@dataclass(frozen=True, slots=True)
class _Names:
    """The keys behind ids."""

    things: Mapping[str, Entity]
    called: Mapping[str, str]

    def of(self, thing_id: str) -> str:
        return self.called.get(thing_id, thing_id)

    def is_place(self, thing_id: str) -> bool:
        thing = self.things.get(thing_id)
        return thing is not None and thing.entity_type == WorldType.LOCATION

    def keys(self, ids: Iterable[str]) -> tuple[str, ...]:
        """The keys of those that are known, in the order of their letters."""
        return tuple(sorted(self.called[each] for each in ids if each in self.called))

    def realms(self, edges: Sequence[Relation]) -> tuple[str, ...]:
        """The realms that edges lead to, the narrowest first."""
        around = (self.things[edge.to_id] for edge in edges if edge.to_id in self.things)
        return tuple(key_of(realm) for realm in narrowest_first(around))


def key_of(entity: Entity) -> str:
    """The key of a thing; one that was never given a key has its id."""
    key = entity.properties.get("key")
    made = (thing_id_of, layer_id_of)
    known = isinstance(key, str) and entity.id in {m(entity.space, key) for m in made}
    return str(key) if known or entity.entity_type == WorldType.LORE_FACT else entity.id


async def _all(now: WorldAt, kind: WorldType) -> AsyncIterator[Entity]:
    last: Entity | None = None
    while page := await now.canon.places.entities_after(
        now.world.space, kind, last, limit=PAGE_MAX
    ):
        for entity in page:
            yield entity
        last = page[-1]


async def _joined(
    now: WorldAt, rel_type: str, entities: Sequence[Entity], kinds: Sequence[str] | None = ("",)
) -> Mapping[str, Sequence[Relation]]:
    found: dict[str, list[Relation]] = {}
    for start in range(0, len(entities), _GROUP):
        ids = [each.id for each in entities[start : start + _GROUP]]
        for edge in await now.edges(rel_type, *ids, kinds=kinds, limit=_EDGES_MAX):
            found.setdefault(edge.from_id, []).append(edge)
    return found


async def _places(now: WorldAt, places: Sequence[Entity], names: _Names) -> tuple[Place, ...]:
    exits = await _joined(now, EXIT, places, tuple(Direction))
    within = await _joined(now, WITHIN, places)
    members = await _joined(now, BELONGS_TO, places, (Tie.MEMBER_OF,))
    return tuple(
        _part(
            Place,
            place,
            realms=names.realms(within.get(place.id, ())),
            exits=tuple(_exit(edge, names) for edge in exits.get(place.id, ())),
            member_of=names.realms(members.get(place.id, ())),
        )
        for place in places
    )


def _part(kind: type[T], thing: Entity, **joined: Any) -> T:
    """A part of an atlas as its entity and what joins it to others say it is."""
    own = {name: thing.properties.get(name) for name in KEPT[kind]}
    kept = {name: value for name, value in own.items() if value is not None and value != ""}
    called = {"key": key_of(thing), "name": thing.name, "description": thing.description}
    return read_value({**called, **kept, **joined}, kind)


def _exit(edge: Relation, names: _Names) -> Exit:
    own: Mapping[str, Any] = edge.properties
    requires = own.get("requires")
    return Exit(
        direction=Direction(own["kind"]),
        to=names.of(edge.to_id),
        description=own.get("description"),
        travel_ms=own.get("travel_ms"),
        one_way=bool(own.get("one_way")),
        hidden=bool(own.get("hidden")),
        blocked=own.get("blocked"),
        requires=None if requires is None else names.of(requires),
        opens=own.get("opens"),
        every=own.get("every"),
        lasting=own.get("lasting"),
    )


async def _realms(now: WorldAt, realms: Sequence[Entity], names: _Names) -> tuple[Realm, ...]:
    within = await _joined(now, WITHIN, realms)
    tied = await _tied(now, realms)

    def ties(realm: Entity) -> Mapping[str, Sequence[str]]:
        return {tie.value: names.keys(tied.get((realm.id, tie), ())) for tie in Tie}

    return tuple(
        _part(Realm, each, within=names.realms(within.get(each.id, ())), **ties(each))
        for each in realms
    )


async def _tied(now: WorldAt, realms: Sequence[Entity]) -> Mapping[tuple[str, Tie], Sequence[str]]:
    """The realms that each is tied to; a border leads to both."""
    found: dict[tuple[str, Tie], list[str]] = {}
    joined = [await _joined(now, relation, realms, None) for relation in (TIED_TO, BELONGS_TO)]
    for edge in (edge for each in joined for edges in each.values() for edge in edges):
        tie = tie_of(edge)
        if tie is None:
            continue
        found.setdefault((edge.from_id, tie), []).append(edge.to_id)
        if tie is Tie.BORDERS:
            found.setdefault((edge.to_id, tie), []).append(edge.from_id)
    return found


async def _routes(now: WorldAt, places: Sequence[Entity], names: _Names) -> tuple[Route, ...]:
    onward = await _joined(now, ON_ROUTE, places, None)
    return tuple(
        routes_of(
            Leg(route=kind_of(edge), start=names.of(edge.from_id), end=names.of(edge.to_id))
            for edges in onward.values()
            for edge in edges
            if names.is_place(edge.to_id)
        )
    )


def _layer(layer: Entity, names: _Names) -> Layer:
    own = layer.properties
    return Layer(
        key=key_of(layer),
        scope=names.of(own["scope"]),
        layer_type=LayerType(own["layer_type"]),
        value=own["value"],
        from_tick=own["from"],
        to_tick=own.get("to"),
        every=own.get("every"),
        lasting=own.get("lasting"),
    )


async def _movers(now: WorldAt, movers: Sequence[Entity], names: _Names) -> tuple[Mover, ...]:
    located = await _joined(now, LOCATED_IN, movers, (*MOVERS, ""))
    return tuple(
        _part(Mover, mover, location=names.of(located[mover.id][0].to_id))
        for mover in movers
        if mover.id in located
    )


async def _items(now: WorldAt, items: Sequence[Entity], names: _Names) -> tuple[Item, ...]:
    held = await _joined(now, HELD_BY, items)
    return tuple(
        _part(Item, item, holder=names.of(held[item.id][0].to_id))
        for item in items
        if item.id in held
    )


async def _lore(canon: Canon, entity: Entity) -> Lore:
    versions = await versions_of(canon, entity)
    return Lore(
        key=key_of(entity),
        lore_type=LoreType(entity.properties["lore_type"]),
        versions=tuple(
            LoreVersion(
                fields=each.fields["properties.fields"],
                tick=None if each.observed_at is None else tick_of(each.observed_at),
            )
            for each in versions
        ),
        archived=bool(entity.properties.get("archived")),
    )


async def _events(now: WorldAt) -> AsyncIterator[Event]:
    last: Event | None = None
    while page := await now.canon.places.events_after(now.world.space, last, limit=PAGE_MAX):
        for event in page:
            yield event
        last = page[-1]


def _happening(event: Event, names: _Names) -> Happening:
    places = [each for each in event.involved if names.is_place(each)]
    others = tuple(names.of(each) for each in event.involved if each not in places[:1])
    when = event.created_at if event.time_ref is None else event.time_ref
    return Happening(
        key=event.properties.get("key", event.id),
        event_type=event.title,
        description=event.description,
        tick=tick_of(when),
        location=names.of(places[0]) if places else None,
        participants=others,
        actor_kind=ActorKind(event.properties.get("actor_kind", "system")),
    )
