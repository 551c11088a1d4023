"""Export and import worlds."""

from collections import Counter
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field, fields
from functools import partial
from itertools import count
from typing import Any, Final, TypeAlias, TypeVar

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change
from canonry.log.entries import Made, Tombstone
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Relation
from canonry.log.items.sources import SourceDraft, SourceType
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
from canonry.readmodels.edges import (
    Direction,
    Tick,
    checked_tick,
    instant_of,
    kind_of,
    tick_of,
    tie_of,
)
from canonry.readmodels.ports.view import PAGE_MAX, UpkeepProgress
from canonry.values.errors import Conflict, InvalidInput, NotAllowed
from canonry.values.ids import EntityId, NewId, SourceId, Space, SpaceDraft, SpaceId, SpaceKind
from canonry.values.json_values import read_value
from canonry.values.provenance import CanonLevel, Evidence, EvidenceKind
from canonry.world.domain.atlas import (
    KEPT,
    WORLD_KEY,
    Atlas,
    Exit,
    Happening,
    Item,
    Layer,
    Leg,
    Lore,
    LoreVersion,
    Mover,
    Place,
    Realm,
    Route,
    completed,
    event_id_of,
    layer_id_of,
    legs_of,
    narrowest_first,
    omitted,
    routes_of,
    thing_id_of,
    world_id_of,
)
from canonry.world.domain.checks import Problem, problems
from canonry.world.usecases.building import declare_part, join_legs, join_realms, join_way, tie_up
from canonry.world.usecases.lore import declare_version, versions_of
from canonry.world.usecases.worlds import BoundWorld, WorldAt, WorldDraft, world_at

T = TypeVar("T", Place, Realm, Mover, Item)
P = TypeVar("P", Entity, Event)
_GROUP: Final = 100
_EDGES_MAX: Final = 1_000
"""More edges of one relation than a draft lets an entity have."""


async def export_world(canon: Canon, world: BoundWorld) -> Atlas:
    """The world as a file would hold it; importing it adds nothing."""
    now = world_at(canon, world)
    kinds = (WorldType.LOCATION, WorldType.REALM, *MOVERS, WorldType.ITEM)
    every = partial(_all, canon.places.entities_after, world.space)
    happened = _all(canon.places.events_after, world.space)
    found = {kind: [each async for each in every(kind)] for kind in kinds}
    things: dict[str, Entity] = {each.id: each for some in found.values() for each in some}
    names = _Names(things, {each: key_of(thing) for each, thing in things.items()})
    places, realms = found[WorldType.LOCATION], found[WorldType.REALM]
    movers = partial(_held, now, Mover, rel_type=LOCATED_IN, by="location")
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
        layers=tuple([_layer(each, names) async for each in every(WorldType.LAYER)]),
        characters=await movers(found[WorldType.CHARACTER], names),
        players=await movers(found[WorldType.PLAYER], names),
        items=await _held(now, Item, found[WorldType.ITEM], names, rel_type=HELD_BY, by="holder"),
        lore=tuple([await _lore(canon, e) async for e in every(WorldType.LORE_FACT)]),
        events=tuple([_happening(each, names) async for each in happened]),
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
    """Return the key of an item, or its id if it has none."""
    key = entity.properties.get("key")
    made = (thing_id_of, layer_id_of)
    known = isinstance(key, str) and entity.id in {m(entity.space, key) for m in made}
    return str(key) if known or entity.entity_type == WorldType.LORE_FACT else entity.id


async def _all(read: Callable[..., Awaitable[Sequence[P]]], *of: object) -> AsyncIterator[P]:
    """Read items page by page, each page after the last item of the previous one."""
    last: P | None = None
    while page := await read(*of, last, limit=PAGE_MAX):
        for each in page:
            yield each
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
    """Build a part of an atlas from its entity and edges."""
    own = {name: thing.properties.get(name) for name in KEPT[kind]}
    kept = {name: value for name, value in own.items() if value is not None and value != ""}
    called = {"key": key_of(thing), "name": thing.name, "description": thing.description}
    return read_value({**called, **kept, **joined}, kind)


_EXIT_FIELDS: Final = tuple(each.name for each in fields(Exit))


def _exit(edge: Relation, names: _Names) -> Exit:
    own: Mapping[str, Any] = edge.properties
    kept = {name: own[name] for name in _EXIT_FIELDS if own.get(name) is not None}
    if "requires" in kept:
        kept["requires"] = names.of(kept["requires"])
    return Exit(direction=Direction(own["kind"]), to=names.of(edge.to_id), **kept)


async def _realms(now: WorldAt, realms: Sequence[Entity], names: _Names) -> tuple[Realm, ...]:
    within = await _joined(now, WITHIN, realms)
    tied = await _tied(now, realms)
    return tuple(
        _part(
            Realm,
            each,
            within=names.realms(within.get(each.id, ())),
            **{tie.value: names.keys(tied.get((each.id, tie), ())) for tie in Tie},
        )
        for each in realms
    )


async def _tied(now: WorldAt, realms: Sequence[Entity]) -> Mapping[tuple[str, Tie], Sequence[str]]:
    """Return the tied realms of each; borders count in both directions."""
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


async def _held(
    now: WorldAt, kind: type[T], things: Sequence[Entity], names: _Names, *, rel_type: str, by: str
) -> tuple[T, ...]:
    """Return the items with a location or holder, whose key is the field `by`."""
    held = await _joined(now, rel_type, things, (*MOVERS, ""))
    return tuple(
        _part(kind, each, **{by: names.of(held[each.id][0].to_id)})
        for each in things
        if each.id in held
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


# Import a world: an atlas, checked as a whole, then written part by part; again, it adds nothing.
# The items of a new world are dated at tick 0, because its atlas has always held.
# Later items are dated at the current tick of the world: its past does not change.

PARTS_A_COMMIT: Final = 100
_SHOWN: Final = 20

ImportStep: TypeAlias = tuple[str, Callable[[WorldDraft], Awaitable[bool]]]
"""Subject of a step and the step itself, which returns whether it changed anything."""


@dataclass(slots=True, kw_only=True)
class ImportedWorld:
    """Result of an import or preview: changed and total counts by noun."""

    world_id: SpaceId
    founded: bool
    strange: Sequence[Problem]
    changed: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Import:
    canon: Canon
    caller: Caller
    space: SpaceId
    atlas: Atlas
    origin: str
    done: ImportedWorld


async def import_world(
    canon: Canon,
    caller: Caller,
    atlas: Atlas,
    *,
    origin: str,
    told: UpkeepProgress,
    dry_run: bool = False,
) -> ImportedWorld:
    """Bring the world to what the atlas says; what it does not speak of stays.

    Movers and items that are known stay where they are, and what was erased stays away. `origin`
    names the file, as evidence.

    Raises:
        InvalidInput: `world.malformed`, with the first problems; nothing was written.
        NotAllowed: `space.bound`, the caller may not see the world.
        Conflict: `world.id-taken`, or what a part stands against.
    """
    space = SpaceId(atlas.id.lower()) if atlas.id else world_id_of(atlas.name)
    if not await canon.seen_by(caller).sees(space):
        raise NotAllowed("space.bound", "This caller is bound to other spaces.")
    known = (await canon.state.things((space,))).get(space)
    if known is not None and not (isinstance(known, Space) and known.kind is SpaceKind.WORLD):
        message = "This id already belongs to another item. Give the world another id."
        raise Conflict("world.id-taken", message, conflicts=[space])
    founded = known is None
    gone = frozenset[str]() if founded else await _erased(canon, space, atlas)
    whole = completed(omitted(atlas, gone))
    done = ImportedWorld(world_id=space, founded=founded, strange=_require_sound(whole))
    work = _Import(canon=canon, caller=caller, space=space, atlas=whole, origin=origin, done=done)
    rounds = list(_rounds(whole, space))
    if dry_run:
        await _try(work, rounds)
    else:
        await _write(work, rounds, told)
    return done


def _require_sound(atlas: Atlas) -> Sequence[Problem]:
    found = list(problems(atlas))
    fatal = [each for each in found if each.fatal]
    if fatal:
        first = fatal[0]
        message = f"The world has {len(fatal)} faults. First: {first.where}: {first.message}."
        listed = [f"{p.where}: {p.message} ({p.code})" for p in fatal[:_SHOWN]]
        raise InvalidInput("world.malformed", message, path=f"/{first.where}", problems=listed)
    return found


async def _erased(canon: Canon, space: SpaceId, atlas: Atlas) -> frozenset[str]:
    """Return the keys of erased items, which are not written again."""
    groups = (atlas.realms, atlas.locations, atlas.characters, atlas.players, atlas.items)
    keys = {thing_id_of(space, part.key): part.key for group in groups for part in group}
    ids, found = list(keys), set[str]()
    for start in range(0, len(ids), PAGE_MAX):
        things = await canon.within(space).things(ids[start : start + PAGE_MAX])
        found |= {keys[EntityId(name)] for name, t in things.items() if isinstance(t, Tombstone)}
    return frozenset(found)


def _rounds(atlas: Atlas, space: SpaceId) -> Iterator[Sequence[ImportStep]]:
    """Yield rounds of steps, dependencies first; steps of one round are independent."""
    yield list(_parts(atlas, "realms"))
    yield list(_parts(atlas, "locations"))
    movers = (*_parts(atlas, "characters"), *_parts(atlas, "players", player=True))
    yield [*_joins(atlas.realms, space), *movers]
    for noun in ("items", "layers", "events"):
        yield list(_parts(atlas, noun))
    for number in range(1, max((len(fact.versions) for fact in atlas.lore), default=0) + 1):
        known = (fact for fact in atlas.lore if number <= len(fact.versions))
        yield [("lore", partial(declare_version, lore=f, number=number)) for f in known]
    yield list(_joins(atlas.locations, space))
    yield list(_import_world_routes(atlas, space))


def _parts(atlas: Atlas, noun: str, *, player: bool = False) -> Iterator[ImportStep]:
    for part in getattr(atlas, noun):
        yield noun, partial(declare_part, part=part, player=player)


def _joins(parts: Sequence[Realm | Place], space: SpaceId) -> Iterator[ImportStep]:
    for part in parts:
        start = thing_id_of(space, part.key)
        around = part.realms if isinstance(part, Place) else part.within
        yield "nestings", partial(join_realms, start=start, keys=around)
        yield "ties", partial(tie_up, start=start, wanted=part.ties)
        for way in part.exits if isinstance(part, Place) else ():
            yield "exits", partial(join_way, start=start, way=way, creating=False)


def _import_world_routes(atlas: Atlas, space: SpaceId) -> Iterator[ImportStep]:
    """Write the routes of all locations and end legs from former stops."""
    names = tuple(dict.fromkeys(route.name for route in atlas.routes))
    onward: dict[str, list[Leg]] = {place.key: [] for place in atlas.locations if names}
    for leg in legs_of(atlas.routes):
        onward[leg.start].append(leg)
    for key, legs in onward.items():
        start = thing_id_of(space, key)
        yield "stops", partial(join_legs, start=start, legs=legs, names=names)


async def _try(work: _Import, rounds: Sequence[Sequence[ImportStep]]) -> None:
    """Draft all steps and discard the draft."""
    numbers = count()
    draft = WorldDraft(
        canon=work.canon,
        space=work.space,
        at=instant_of(Tick(0)),
        new_id=lambda _: event_id_of(work.space, f"trial/{next(numbers)}"),
    )
    await _found(work, draft)
    for steps in rounds:
        await _draft(work, draft, steps)


async def _write(
    work: _Import, rounds: Sequence[Sequence[ImportStep]], told: UpkeepProgress
) -> None:
    await _commit(work, [("world", partial(_found, work))])
    total, done = sum(map(len, rounds)), 0
    for steps in rounds:
        for start in range(0, len(steps), PARTS_A_COMMIT):
            some = steps[start : start + PARTS_A_COMMIT]
            await _commit(work, some)
            done += len(some)
            told(done, total)
    await _commit(work, [("world", partial(_finish, work))])
    del work.done.seen["world"], work.done.changed["world"]


async def _commit(work: _Import, steps: Sequence[ImportStep]) -> None:
    canon, space = work.canon, work.space
    done = work.done
    before = (done.changed.copy(), done.seen.copy())
    source = SourceId(event_id_of(space, f"source/{work.origin}"))
    evidence = (Evidence(kind=EvidenceKind.SOURCE, ref=source),)

    async def prepare(new_id: NewId) -> Change:
        done.changed, done.seen = before[0].copy(), before[1].copy()
        heart = await canon.within(space).thing(thing_id_of(space, WORLD_KEY))
        told = getattr(heart, "properties", {})
        at = Tick(0) if told.get("founding", True) else Tick(int(told.get("tick") or 0))
        draft = WorldDraft(
            canon=canon, space=space, at=instant_of(at), new_id=new_id, evidence=evidence
        )
        await _draft(work, draft, steps)
        return draft.change()

    await commit_change(canon, work.caller, space, prepare)


async def _draft(work: _Import, draft: WorldDraft, steps: Sequence[ImportStep]) -> None:
    for noun, step in steps:
        changed = await step(draft)
        work.done.seen[noun] += 1
        work.done.changed[noun] += changed


async def _found(work: _Import, draft: WorldDraft) -> bool:
    """Open the space, register the file, and make the world's clock."""
    atlas, space = work.atlas, work.space
    source = event_id_of(space, f"source/{work.origin}")
    known = await work.canon.within(space).things((space, source))
    if space not in known:
        opened = SpaceDraft(
            id=space,
            kind=SpaceKind.WORLD,
            name=atlas.name,
            description=atlas.description,
            parent=None,
        )
        draft.entries.append(Made(thing=opened))
    if source not in known:
        registered = SourceDraft(
            id=SourceId(source),
            space=space,
            doc_id=work.origin,
            title=atlas.name,
            edition=None,
            origin=work.origin,
            source_type=SourceType.LORE,
            level=CanonLevel.AUTHORITATIVE,
        )
        draft.entries.append(Made(thing=registered))
    heart_id = thing_id_of(space, WORLD_KEY)
    heart = await draft.find(heart_id)
    told = {} if heart is None else heart.properties
    ticks = [int(each) for each in (told.get("tick"), atlas.tick) if each is not None]
    return await draft.declare(
        heart_id,
        WorldType.WORLD,
        name=atlas.name,
        description=atlas.description,
        properties={
            "starter": atlas.starter,
            "tick": checked_tick(max(ticks), path="/tick") if ticks else None,
            "depth": atlas.depth,
            "event_limit": atlas.event_limit,
            "founding": told.get("founding", heart is None),
        },
    )


async def _finish(work: _Import, draft: WorldDraft) -> bool:
    heart_id = thing_id_of(work.space, WORLD_KEY)
    heart = await draft.find(heart_id)
    if heart is None or not heart.properties.get("founding"):
        return False
    draft.observe(heart_id, {"properties.founding": False})
    return True
