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
    check_tick,
    instant_of,
    kind_of,
    tick_of,
    tie_of,
)
from canonry.readmodels.ports.view import PAGE_MAX, MaintenanceProgress
from canonry.values.errors import Conflict, InvalidInput, NotAllowed
from canonry.values.ids import EntityId, NewId, SourceId, Space, SpaceDraft, SpaceId, SpaceKind
from canonry.values.json_values import read_value
from canonry.values.provenance import CanonLevel, Evidence, EvidenceKind
from canonry.world.domain.atlas import (
    STORED_FIELDS,
    WORLD_KEY,
    Atlas,
    Exit,
    Happening,
    Item,
    Layer,
    Leg,
    Location,
    Lore,
    LoreVersion,
    Mover,
    Realm,
    Route,
    complete_atlas,
    event_id_of,
    item_id_of,
    layer_id_of,
    legs_of,
    narrowest_first,
    omit_parts,
    routes_of,
    world_id_of,
)
from canonry.world.domain.checks import Problem, find_problems
from canonry.world.usecases.building import declare_part, set_exit, set_legs, set_realms, set_ties
from canonry.world.usecases.lore import declare_version, versions_of
from canonry.world.usecases.worlds import BoundWorld, WorldAt, WorldDraft, world_at

T = TypeVar("T", Location, Realm, Mover, Item)
P = TypeVar("P", Entity, Event)
_GROUP: Final = 100
_EDGES_MAX: Final = 1_000  # more edges of one relation than a draft lets an entity have


async def export_world(canon: Canon, world: BoundWorld) -> Atlas:
    """Return the world in the form of a file; importing it changes nothing."""
    now = world_at(canon, world)
    kinds = (WorldType.LOCATION, WorldType.REALM, *MOVERS, WorldType.ITEM)
    every = partial(_read_all, canon.places.entities_after, world.space)
    happened = _read_all(canon.places.events_after, world.space)
    found = {kind: [each async for each in every(kind)] for kind in kinds}
    items: dict[str, Entity] = {each.id: each for some in found.values() for each in some}
    names = _KeyNames(items, {each: key_of(item) for each, item in items.items()})
    locations, realms = found[WorldType.LOCATION], found[WorldType.REALM]
    movers = partial(_export_held, now, Mover, rel_type=LOCATED_IN, by="location")
    return Atlas(
        id=world.space,
        name=world.name,
        description=world.root_entity.description,
        starter=world.starter,
        tick=world.tick,
        depth=world.depth,
        event_limit=world.event_limit,
        locations=await _export_locations(now, locations, names),
        realms=await _export_realms(now, realms, names),
        routes=await _export_routes(now, locations, names),
        layers=tuple([_make_layer(each, names) async for each in every(WorldType.LAYER)]),
        characters=await movers(found[WorldType.CHARACTER], names),
        players=await movers(found[WorldType.PLAYER], names),
        items=await _export_held(
            now, Item, found[WorldType.ITEM], names, rel_type=HELD_BY, by="holder"
        ),
        lore=tuple([await _export_lore(canon, e) async for e in every(WorldType.LORE_FACT)]),
        events=tuple([_make_happening(each, names) async for each in happened]),
    )


@dataclass(frozen=True, slots=True)
class _KeyNames:
    """The keys behind ids."""

    items: Mapping[str, Entity]
    keys_by_id: Mapping[str, str]

    def key_for(self, item_id: str) -> str:
        return self.keys_by_id.get(item_id, item_id)

    def is_location(self, item_id: str) -> bool:
        item = self.items.get(item_id)
        return item is not None and item.entity_type == WorldType.LOCATION

    def keys_for(self, ids: Iterable[str]) -> tuple[str, ...]:
        """The keys of those that are known, in the order of their letters."""
        return tuple(sorted(self.keys_by_id[each] for each in ids if each in self.keys_by_id))

    def realm_keys(self, edges: Sequence[Relation]) -> tuple[str, ...]:
        """The realms that edges lead to, the narrowest first."""
        around = (self.items[edge.to_id] for edge in edges if edge.to_id in self.items)
        return tuple(key_of(realm) for realm in narrowest_first(around))


def key_of(entity: Entity) -> str:
    """Return the key of an item, or its id if it has none."""
    key = entity.properties.get("key")
    made = (item_id_of, layer_id_of)
    known = isinstance(key, str) and entity.id in {m(entity.space, key) for m in made}
    return str(key) if known or entity.entity_type == WorldType.LORE_FACT else entity.id


async def _read_all(read: Callable[..., Awaitable[Sequence[P]]], *of: object) -> AsyncIterator[P]:
    """Read items page by page, each page after the last item of the previous one."""
    last: P | None = None
    while page := await read(*of, last, limit=PAGE_MAX):
        for each in page:
            yield each
        last = page[-1]


async def _edges_by_start(
    now: WorldAt, rel_type: str, entities: Sequence[Entity], kinds: Sequence[str] | None = ("",)
) -> Mapping[str, Sequence[Relation]]:
    found: dict[str, list[Relation]] = {}
    for start in range(0, len(entities), _GROUP):
        ids = [each.id for each in entities[start : start + _GROUP]]
        for edge in await now.edges_of(rel_type, *ids, kinds=kinds, limit=_EDGES_MAX):
            found.setdefault(edge.from_id, []).append(edge)
    return found


async def _export_locations(
    now: WorldAt, locations: Sequence[Entity], names: _KeyNames
) -> tuple[Location, ...]:
    exits = await _edges_by_start(now, EXIT, locations, tuple(Direction))
    within = await _edges_by_start(now, WITHIN, locations)
    members = await _edges_by_start(now, BELONGS_TO, locations, (Tie.MEMBER_OF,))
    return tuple(
        _make_part(
            Location,
            location,
            realms=names.realm_keys(within.get(location.id, ())),
            exits=tuple(_make_exit(edge, names) for edge in exits.get(location.id, ())),
            member_of=names.realm_keys(members.get(location.id, ())),
        )
        for location in locations
    )


def _make_part(kind: type[T], item: Entity, **joined: Any) -> T:
    """Build a part of an atlas from its entity and edges."""
    own = {name: item.properties.get(name) for name in STORED_FIELDS[kind]}
    kept = {name: value for name, value in own.items() if value is not None and value != ""}
    called = {"key": key_of(item), "name": item.name, "description": item.description}
    return read_value({**called, **kept, **joined}, kind)


_EXIT_FIELDS: Final = tuple(each.name for each in fields(Exit))


def _make_exit(edge: Relation, names: _KeyNames) -> Exit:
    own: Mapping[str, Any] = edge.properties
    kept = {name: own[name] for name in _EXIT_FIELDS if own.get(name) is not None}
    if "requires" in kept:
        kept["requires"] = names.key_for(kept["requires"])
    return Exit(direction=Direction(own["kind"]), to=names.key_for(edge.to_id), **kept)


async def _export_realms(
    now: WorldAt, realms: Sequence[Entity], names: _KeyNames
) -> tuple[Realm, ...]:
    within = await _edges_by_start(now, WITHIN, realms)
    tied = await _tied_realms(now, realms)
    return tuple(
        _make_part(
            Realm,
            each,
            within=names.realm_keys(within.get(each.id, ())),
            **{tie.value: names.keys_for(tied.get((each.id, tie), ())) for tie in Tie},
        )
        for each in realms
    )


async def _tied_realms(
    now: WorldAt, realms: Sequence[Entity]
) -> Mapping[tuple[str, Tie], Sequence[str]]:
    """Return the tied realms of each; borders count in both directions."""
    found: dict[tuple[str, Tie], list[str]] = {}
    joined = [await _edges_by_start(now, r, realms, None) for r in (TIED_TO, BELONGS_TO)]
    for edge in (edge for each in joined for edges in each.values() for edge in edges):
        tie = tie_of(edge)
        if tie is None:
            continue
        found.setdefault((edge.from_id, tie), []).append(edge.to_id)
        if tie is Tie.BORDERS:
            found.setdefault((edge.to_id, tie), []).append(edge.from_id)
    return found


async def _export_routes(
    now: WorldAt, locations: Sequence[Entity], names: _KeyNames
) -> tuple[Route, ...]:
    onward = await _edges_by_start(now, ON_ROUTE, locations, None)
    return tuple(
        routes_of(
            Leg(
                route=kind_of(edge),
                start=names.key_for(edge.from_id),
                end=names.key_for(edge.to_id),
            )
            for edges in onward.values()
            for edge in edges
            if names.is_location(edge.to_id)
        )
    )


def _make_layer(layer: Entity, names: _KeyNames) -> Layer:
    own = layer.properties
    return Layer(
        key=key_of(layer),
        scope=names.key_for(own["scope"]),
        layer_type=LayerType(own["layer_type"]),
        value=own["value"],
        from_tick=own["from"],
        to_tick=own.get("to"),
        every=own.get("every"),
        lasting=own.get("lasting"),
    )


async def _export_held(
    now: WorldAt,
    kind: type[T],
    items: Sequence[Entity],
    names: _KeyNames,
    *,
    rel_type: str,
    by: str,
) -> tuple[T, ...]:
    """Return the items with a location or holder, whose key is the field `by`."""
    held = await _edges_by_start(now, rel_type, items, (*MOVERS, ""))
    return tuple(
        _make_part(kind, each, **{by: names.key_for(held[each.id][0].to_id)})
        for each in items
        if each.id in held
    )


async def _export_lore(canon: Canon, entity: Entity) -> Lore:
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


def _make_happening(event: Event, names: _KeyNames) -> Happening:
    locations = [each for each in event.involved if names.is_location(each)]
    others = tuple(names.key_for(each) for each in event.involved if each not in locations[:1])
    when = event.created_at if event.time_ref is None else event.time_ref
    return Happening(
        key=event.properties.get("key", event.id),
        event_type=event.title,
        description=event.description,
        tick=tick_of(when),
        location=names.key_for(locations[0]) if locations else None,
        participants=others,
        actor_kind=ActorKind(event.properties.get("actor_kind", "system")),
    )


# Import a world: an atlas, checked as a whole, then written part by part; again, it adds nothing.
# The items of a new world are dated at tick 0, because its atlas has always held.
# Later items are dated at the current tick of the world: its past does not change.

PARTS_A_COMMIT: Final = 100
_SHOWN: Final = 20  # one cause often breaks every part; the first problems name it

ImportStep: TypeAlias = tuple[str, Callable[[WorldDraft], Awaitable[bool]]]
"""Subject of a step and the step itself, which returns whether it changed anything."""


@dataclass(slots=True, kw_only=True)
class ImportedWorld:
    """Result of an import or preview: changed and total counts by noun."""

    world_id: SpaceId
    founded: bool
    warnings: Sequence[Problem]
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
    progress: MaintenanceProgress,
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
    if not await canon.caller_scope(caller).may_see_space(space):
        raise NotAllowed("space.bound", "This caller is bound to other spaces.")
    known = (await canon.state.items_by_id((space,))).get(space)
    if known is not None and not (isinstance(known, Space) and known.kind is SpaceKind.WORLD):
        message = "This id already belongs to another item. Give the world another id."
        raise Conflict("world.id-taken", message, conflicts=[space])
    founded = known is None
    gone = frozenset[str]() if founded else await _erased_keys(canon, space, atlas)
    whole = complete_atlas(omit_parts(atlas, gone))
    done = ImportedWorld(world_id=space, founded=founded, warnings=_require_sound(whole))
    work = _Import(canon=canon, caller=caller, space=space, atlas=whole, origin=origin, done=done)
    rounds = list(_import_rounds(whole, space))
    if dry_run:
        await _try_import(work, rounds)
    else:
        await _write_import(work, rounds, progress)
    return done


def _require_sound(atlas: Atlas) -> Sequence[Problem]:
    found = list(find_problems(atlas))
    fatal = [each for each in found if each.fatal]
    if fatal:
        first = fatal[0]
        message = f"The world has {len(fatal)} faults. First: {first.where}: {first.message}."
        listed = [f"{p.where}: {p.message} ({p.code})" for p in fatal[:_SHOWN]]
        raise InvalidInput("world.malformed", message, path=f"/{first.where}", problems=listed)
    return found


async def _erased_keys(canon: Canon, space: SpaceId, atlas: Atlas) -> frozenset[str]:
    """Return the keys of erased items, which are not written again."""
    groups = (atlas.realms, atlas.locations, atlas.characters, atlas.players, atlas.items)
    keys = {item_id_of(space, part.key): part.key for group in groups for part in group}
    ids, found = list(keys), set[str]()
    for start in range(0, len(ids), PAGE_MAX):
        items = await canon.space_scope(space).items_by_id(ids[start : start + PAGE_MAX])
        found |= {keys[EntityId(name)] for name, t in items.items() if isinstance(t, Tombstone)}
    return frozenset(found)


def _import_rounds(atlas: Atlas, space: SpaceId) -> Iterator[Sequence[ImportStep]]:
    """Yield rounds of steps, dependencies first; steps of one round are independent."""
    yield list(_part_steps(atlas, "realms"))
    yield list(_part_steps(atlas, "locations"))
    movers = (*_part_steps(atlas, "characters"), *_part_steps(atlas, "players", player=True))
    yield [*_join_steps(atlas.realms, space), *movers]
    yield from (list(_part_steps(atlas, noun)) for noun in ("items", "layers", "events"))
    for number in range(1, max((len(fact.versions) for fact in atlas.lore), default=0) + 1):
        known = (fact for fact in atlas.lore if number <= len(fact.versions))
        yield [("lore", partial(declare_version, lore=f, number=number)) for f in known]
    yield list(_join_steps(atlas.locations, space))
    yield list(_import_world_routes(atlas, space))


def _part_steps(atlas: Atlas, noun: str, *, player: bool = False) -> Iterator[ImportStep]:
    for part in getattr(atlas, noun):
        yield noun, partial(declare_part, part=part, player=player)


def _join_steps(parts: Sequence[Realm | Location], space: SpaceId) -> Iterator[ImportStep]:
    for part in parts:
        start = item_id_of(space, part.key)
        around = part.realms if isinstance(part, Location) else part.within
        yield "nestings", partial(set_realms, start=start, keys=around)
        yield "ties", partial(set_ties, start=start, wanted=part.ties)
        for atlas_exit in part.exits if isinstance(part, Location) else ():
            yield "exits", partial(set_exit, start=start, new_exit=atlas_exit, creating=False)


def _import_world_routes(atlas: Atlas, space: SpaceId) -> Iterator[ImportStep]:
    """Write the routes of all locations and end legs from former stops."""
    names = tuple(dict.fromkeys(route.name for route in atlas.routes))
    onward: dict[str, list[Leg]] = {location.key: [] for location in atlas.locations if names}
    for leg in legs_of(atlas.routes):
        onward[leg.start].append(leg)
    for key, legs in onward.items():
        start = item_id_of(space, key)
        yield "stops", partial(set_legs, start=start, legs=legs, names=names)


async def _try_import(work: _Import, rounds: Sequence[Sequence[ImportStep]]) -> None:
    """Draft all steps and discard the draft."""
    numbers = count()
    draft = WorldDraft(
        canon=work.canon,
        space=work.space,
        at=instant_of(Tick(0)),
        new_id=lambda _: event_id_of(work.space, f"trial/{next(numbers)}"),
    )
    await _found_world(work, draft)
    for steps in rounds:
        await _draft_steps(work, draft, steps)


async def _write_import(
    work: _Import, rounds: Sequence[Sequence[ImportStep]], progress: MaintenanceProgress
) -> None:
    await _commit_steps(work, [("world", partial(_found_world, work))])
    total, done = sum(map(len, rounds)), 0
    for steps in rounds:
        for start in range(0, len(steps), PARTS_A_COMMIT):
            some = steps[start : start + PARTS_A_COMMIT]
            await _commit_steps(work, some)
            done += len(some)
            progress(done, total)
    await _commit_steps(work, [("world", partial(_finish_founding, work))])
    del work.done.seen["world"], work.done.changed["world"]


async def _commit_steps(work: _Import, steps: Sequence[ImportStep]) -> None:
    canon, space = work.canon, work.space
    done = work.done
    before = (done.changed.copy(), done.seen.copy())
    source = SourceId(event_id_of(space, f"source/{work.origin}"))
    evidence = (Evidence(kind=EvidenceKind.SOURCE, ref=source),)

    async def prepare_change(new_id: NewId) -> Change:
        done.changed, done.seen = before[0].copy(), before[1].copy()
        heart = await canon.space_scope(space).find_item(item_id_of(space, WORLD_KEY))
        told = getattr(heart, "properties", {})
        at = Tick(0) if told.get("founding", True) else Tick(int(told.get("tick") or 0))
        draft = WorldDraft(
            canon=canon, space=space, at=instant_of(at), new_id=new_id, evidence=evidence
        )
        await _draft_steps(work, draft, steps)
        return draft.make_change()

    await commit_change(canon, work.caller, space, prepare_change)


async def _draft_steps(work: _Import, draft: WorldDraft, steps: Sequence[ImportStep]) -> None:
    for noun, step in steps:
        changed = await step(draft)
        work.done.seen[noun] += 1
        work.done.changed[noun] += changed


async def _found_world(work: _Import, draft: WorldDraft) -> bool:
    """Open the space, register the file, and make the world's clock."""
    atlas, space = work.atlas, work.space
    source = event_id_of(space, f"source/{work.origin}")
    known = await work.canon.space_scope(space).items_by_id((space, source))
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
    root_id = item_id_of(space, WORLD_KEY)
    root = await draft.find_item(root_id)
    own = {} if root is None else root.properties
    ticks = [int(each) for each in (own.get("tick"), atlas.tick) if each is not None]
    return await draft.declare_item(
        root_id,
        WorldType.WORLD,
        name=atlas.name,
        description=atlas.description,
        properties={
            "starter": atlas.starter,
            "tick": check_tick(max(ticks), path="/tick") if ticks else None,
            "depth": atlas.depth,
            "event_limit": atlas.event_limit,
            "founding": own.get("founding", root is None),
        },
    )


async def _finish_founding(work: _Import, draft: WorldDraft) -> bool:
    root_id = item_id_of(work.space, WORLD_KEY)
    root = await draft.find_item(root_id)
    if root is None or not root.properties.get("founding"):
        return False
    draft.observe_item(root_id, {"properties.founding": False})
    return True
