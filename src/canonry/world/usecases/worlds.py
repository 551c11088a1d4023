"""Worlds: find and read them at a tick, and draft their changes."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from canonry.canon.judging import known_items
from canonry.canon.session.caller import Caller, unknown_item
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, commit_change
from canonry.canon.session.paging import every_item
from canonry.canon.session.viewpoint import entities_then, unchanged_until
from canonry.canon.session.what_holds import moment_at
from canonry.log.entries import Entry, Made, RelationEnded, StoredItem, Tombstone
from canonry.log.folding import edge_key, item_key
from canonry.log.items.entities import Entity, EntityClass, normalised_name
from canonry.log.items.facts import Event, Relation, RelationDraft
from canonry.log.schemas.narrative import DESCRIPTION, NAME, PROPERTY_PREFIX
from canonry.log.schemas.world_types import HELD_BY, KIND, LOCATED_IN, WITHIN, WorldType
from canonry.readmodels.edges import FOREVER, Tick, instant_of, kind_of
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.documents import EdgeQuery
from canonry.readmodels.ports.text import TextQuery
from canonry.values.errors import Conflict, InvalidInput, NotFound
from canonry.values.ids import (
    EntityId,
    NewId,
    ProposalId,
    RelationId,
    Space,
    SpaceId,
    SpaceKind,
    is_uuid,
)
from canonry.values.moments import Instant
from canonry.values.observations import ObservationDraft
from canonry.values.provenance import Authority, CanonLevel, Evidence
from canonry.world.domain.atlas import WORLD_KEY, item_id_of, narrowest_first

_SETTING = "--world / CANONRY_WORLD"
_CANDIDATES: Final = 20  # a reply names some worlds, and more than one already asks for a choice


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundWorld:
    """The current state of a world; `tick` None: its clock is not set."""

    space: SpaceId
    name: str
    root_entity: Entity
    tick: Tick | None
    starter: str
    depth: int
    event_limit: int

    @property
    def now(self) -> Tick:
        """The current tick; 0 before the clock is set."""
        return Tick(0) if self.tick is None else self.tick

    @property
    def instant(self) -> Instant:
        """The current tick as an instant."""
        return instant_of(self.now)


async def bound_world(canon: Canon, caller: Caller) -> BoundWorld:
    """The one world that the caller is bound to, or the only one that the caller sees.

    Raises:
        InvalidInput: `world.unbound` or `world.ambiguous`, with the setting that helps.
        NotFound: `world.unknown`.
    """
    if caller.world is not None:
        return await require_world(canon, caller, caller.world)
    bound = await visible_worlds(canon, caller)
    if not bound:
        message = f"This caller may read no world. Set {_SETTING}."
        raise InvalidInput("world.unbound", message, path="", setting=_SETTING)
    if len(bound) > 1:
        message = f"This caller may read several worlds. Choose one by {_SETTING}."
        choices = [f"{each.name} ({each.id})" for each in bound]
        raise InvalidInput(
            "world.ambiguous", message, path="", setting=_SETTING, candidates=choices
        )
    return await require_world(canon, caller, bound[0].id)


async def visible_worlds(canon: Canon, caller: Caller) -> list[Space]:
    """The worlds that the caller may see, or the first few of them."""
    if caller.spaces is None:
        page = await canon.state.spaces(
            kind=SpaceKind.WORLD, parent=None, limit=_CANDIDATES, offset=0
        )
        return list(page.items)
    found = await canon.caller_scope(caller).items_by_id(caller.spaces)
    worlds = [s for s in found.values() if isinstance(s, Space) and s.kind is SpaceKind.WORLD]
    return sorted(worlds, key=lambda each: each.id)[:_CANDIDATES]


async def require_world(canon: Canon, caller: Caller, space: str) -> BoundWorld:
    """The world with this id.

    Raises:
        NotFound: `world.unknown`, also for one that the caller may not see.
    """
    wanted = SpaceId(space.lower())
    found = (
        await find_world(canon, wanted)
        if await canon.caller_scope(caller).may_see_space(wanted)
        else None
    )
    if found is None:
        raise unknown_item("world", space)
    return found


async def find_world(canon: Canon, space: SpaceId) -> BoundWorld | None:
    """Return the world in a space, or None."""
    root_id = item_id_of(space, WORLD_KEY)
    found = await canon.space_scope(space).items_by_id((space, root_id))
    opened, root = found.get(space), found.get(root_id)
    if not isinstance(opened, Space) or opened.kind is not SpaceKind.WORLD:
        return None
    if not isinstance(root, Entity):
        message = "The import of this world is incomplete. Run it again."
        raise NotFound("world.incomplete", message, kind="world", id=space)
    own = root.properties
    return BoundWorld(
        space=space,
        name=opened.name,
        root_entity=root,
        tick=None if own.get("tick") is None else Tick(int(own["tick"])),
        starter=str(own.get("starter", "")),
        depth=int(own.get("depth", 2)),
        event_limit=int(own.get("event_limit", 20)),
    )


async def query_worlds(canon: Canon) -> Sequence[Space]:
    """The worlds of the store, oldest first."""
    pages = partial(canon.state.spaces, kind=SpaceKind.WORLD, parent=None)
    return [space async for space in every_item(pages)]


async def world_named(canon: Canon, name: str) -> BoundWorld:
    """The world with this id, or the only one with this name.

    Raises:
        NotFound: `world.unknown`.
        Conflict: `world.namesakes`, several bear the name.
    """
    if is_uuid(name):
        ids = [name.lower()]
    else:
        wanted = normalised_name(name)
        worlds = await query_worlds(canon)
        ids = [space.id for space in worlds if normalised_name(space.name) == wanted]
    if len(ids) > 1:
        message = "Several worlds have this name. Give the id of one."
        raise Conflict("world.namesakes", message, conflicts=ids)
    for space in ids:
        if (found := await find_world(canon, SpaceId(space))) is not None:
            return found
    raise unknown_item("world", name)


NEARBY_MAX: Final = 20  # bounds a context, which becomes part of a prompt
INVENTORY_MAX: Final = 200  # bounds a reply, which says that there are more
_REALM_DEPTH: Final = 12  # limit of the nesting depth of realms in a lookup


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldAt:
    """`tick` is what was asked for, else the world's current one."""

    canon: Canon
    world: BoundWorld
    tick: Tick

    @property
    def tick_instant(self) -> Instant:
        """The tick as an instant."""
        return instant_of(self.tick)

    def id_of(self, name: str | None) -> EntityId:
        """The id behind an id or key; without one, that of the starter location."""
        return item_id_of(self.world.space, name or self.world.starter)

    async def find_item(self, item_id: str, *types: WorldType) -> Entity | None:
        """Return the item at that tick, if it existed and has one of these types."""
        return (await self.find_items((item_id,), *types)).get(item_id)

    async def require_item(self, name: str | None, *types: WorldType) -> Entity:
        """Return the item of one of these types with this id or key.

        Raises:
            NotFound: `<type>.unknown`.
        """
        item_id = self.id_of(name)
        found = await self.find_item(item_id, *types)
        if found is None:
            raise not_in_world(item_id, *types)
        return found

    async def location_of(self, mover: Entity) -> Entity | None:
        """Return a mover's location; None if it is unknown."""
        for edge in await self.edges_of(LOCATED_IN, mover.id, kinds=(mover.entity_type, "")):
            return await self.find_item(edge.to_id, WorldType.LOCATION)
        return None

    async def inventory_of(self, *holders: str) -> tuple[Sequence[Entity], bool]:
        """Return the items of these holders by name, and whether there are more."""
        ids = map(EntityId, holders)
        edges = await self.edges_of(HELD_BY, *ids, outward=False, limit=INVENTORY_MAX + 1)
        known = await self.find_items((e.from_id for e in edges[:INVENTORY_MAX]), WorldType.ITEM)
        items = sorted(known.values(), key=lambda item: (item.name, item.id))
        return items, len(edges) > INVENTORY_MAX

    async def search_items(
        self, collection: Collection, text: str, limit: int, *types: WorldType
    ) -> Mapping[str, Entity]:
        """Return items of these types that share words with a text, by id, best first."""
        asked = TextQuery(
            collection=collection,
            text=text[: self.canon.policy.limits.query],
            spaces=frozenset((self.world.space,)),
            limit=limit,
        )
        hits = (await self.canon.text.search(asked)).hits
        return await self.find_items([hit.id for hit in hits], *types)

    async def find_items(self, ids: Iterable[str], *types: WorldType) -> Mapping[str, Entity]:
        """Return the existing items among `ids`, by id."""
        found = await self.canon.space_scope(self.world.space).items_by_id(ids)
        return await self.keep_existing(found.values(), *types)

    async def keep_existing(
        self, found: Iterable[StoredItem], *types: WorldType
    ) -> Mapping[str, Entity]:
        """Return the found items that existed at the tick, by id."""
        items: dict[str, Entity] = {
            item.id: item
            for item in found
            if isinstance(item, Entity)
            and item.level is CanonLevel.CANON
            and item.entity_type in types
        }
        if self.tick >= self.world.now:  # nothing is dated later than the clock
            return items
        unchanged = await unchanged_until(
            self.canon, self.world.space, items.values(), self.tick_instant
        )
        older = [item for name, item in items.items() if name not in unchanged]
        past = await _entities_then(self.canon, older, self.tick_instant)
        there = {n: item if n in unchanged else past.get(n) for n, item in items.items()}
        return {name: item for name, item in there.items() if item is not None}

    async def edges_of(
        self,
        rel_type: str,
        *entities: EntityId,
        outward: bool = True,
        kinds: Iterable[str] | None = ("",),
        limit: int = 100,
        newest_first: bool = False,
    ) -> Sequence[Relation]:
        """The edges of these entities that held then."""
        query = EdgeQuery(
            space=self.world.space,
            entities=entities,
            rel_type=rel_type,
            at=self.tick_instant,
            outward=outward,
            kinds=None if kinds is None else tuple(kinds),
            limit=limit,
            newest_first=newest_first,
        )
        return await self.canon.places.edges(query)

    async def events_of(self, entity: EntityId, limit: int) -> Sequence[Event]:
        """Return the events of an entity until then, newest first."""
        return await self.canon.places.events_until(
            self.world.space, entity, self.tick_instant, limit=limit
        )

    async def locations_in(self, items: Iterable[Relation | Event]) -> Mapping[str, Entity]:
        """The locations that exits lead to and that events are about, by id."""
        ids = [e.involved if isinstance(e, Event) else (e.to_id,) for e in items]
        named = dict.fromkeys(i for each in ids for i in each)
        return await self.find_items(named, WorldType.LOCATION) if named else {}

    async def realms_of(self, location: EntityId) -> Sequence[Entity]:
        """The realms that contain a location, each once, the nearest first."""
        found: dict[str, Entity] = {}
        ring: tuple[EntityId, ...] = (location,)
        for _step in range(_REALM_DEPTH):
            around = dict.fromkeys(edge.to_id for edge in await self.edges_of(WITHIN, *ring))
            ring = tuple(realm for realm in around if realm not in found)
            if not ring:
                break
            items = await self.find_items(ring, WorldType.REALM)
            ring = tuple(realm for realm in ring if realm in items)
            found |= {realm.id: realm for realm in narrowest_first(items.values())}
        return tuple(found.values())


def world_at(canon: Canon, world: BoundWorld, tick: Tick | None = None) -> WorldAt:
    """The world at a tick, by default the current one."""
    return WorldAt(canon=canon, world=world, tick=world.now if tick is None else tick)


def _entities_then(
    canon: Canon, items: Sequence[Entity], at: Instant
) -> Awaitable[Mapping[str, Entity]]:
    """Return those of the items that existed at that instant, as they were."""
    return entities_then(canon, items, moment_at(at), by_id=False, by_story=False)


def not_in_world(item_id: str, *types: WorldType) -> NotFound:
    """Return the error for an unknown item; it repeats no text of the caller."""
    kind = types[0].value
    message = f"This world has no such {' or '.join(types)}. Check its id or key."
    return NotFound(f"{kind}.unknown", message, kind=kind, id=item_id)


# A draft of changes to a world. One draft becomes one commit. Later parts of a draft may refer to
# items that it has declared.

K = TypeVar("K")
_EDGES_MAX = 500  # bounds a read of a location with many items


@dataclass(slots=True, kw_only=True)
class WorldDraft:
    """Draft of changes to `space` at the tick `at`, with the keys that were read.

    If `past`, the tick is over, and only items that existed then can be required.
    """

    canon: Canon
    space: SpaceId
    at: Instant
    new_id: NewId
    past: bool = False
    evidence: tuple[Evidence, ...] = ()
    proposal: ProposalId | None = None
    entries: list[Entry] = field(default_factory=list)
    reads: set[str] = field(default_factory=set)
    _known: dict[str, StoredItem | None] = field(default_factory=dict)
    _declared: dict[str, WorldType] = field(default_factory=dict)
    _made: list[RelationDraft] = field(default_factory=list)
    _ended: set[str] = field(default_factory=set)
    _stored: dict[EdgeQuery, Sequence[Relation]] = field(default_factory=dict)
    _seen: dict[tuple[str, Instant], int] = field(default_factory=dict)
    _drafted: dict[str, dict[str, Any]] = field(default_factory=dict)

    def make_change(self) -> Change:
        """The change that the draft amounts to."""
        return Change(entries=tuple(self.entries), reads=frozenset(self.reads))

    @property
    def backing(self) -> known_items.Backing:
        """The backing of all that is written."""
        return known_items.Backing(
            space=self.space,
            authority=Authority.GM,
            confidence=1.0,
            evidence=self.evidence,
            proposal_id=self.proposal,
        )

    async def find_item(self, item_id: str) -> Entity | None:
        """Return the stored item of this world, or None."""
        if item_id not in self._known:
            self._known[item_id] = (await self.canon.state.items_by_id((item_id,))).get(item_id)
            self.reads.add(item_key(item_id))
        item = self._known[item_id]
        return item if isinstance(item, Entity) and item.space == self.space else None

    async def find_existing(self, item_id: str) -> Entity | None:
        """Return the stored item as it is at the tick of the draft; None if there is none then."""
        item = await self.find_item(item_id)
        if item is None or item.level is not CanonLevel.CANON:
            return None
        return (
            (await _entities_then(self.canon, (item,), self.at)).get(item.id) if self.past else item
        )

    def drafted_properties(self, item: Entity) -> Mapping[str, Any]:
        """Return the properties of a stored item with the draft's changes."""
        fields = self._drafted.get(item.id, {})
        return {
            **item.properties,
            **{n.removeprefix(PROPERTY_PREFIX): v for n, v in fields.items()},
        }

    async def read_property(self, item_id: str, name: str) -> Any:
        """Return a property of an item from the draft or else the store; None if unset."""
        return await self.read_field(item_id, PROPERTY_PREFIX + name)

    async def read_field(self, item_id: str, name: str) -> Any:
        """Return a field of an item from the draft or else the store; None if unset."""
        fields = self._drafted.get(item_id, {})
        if name in fields:
            return fields[name]
        found = await self.find_item(item_id)
        return None if found is None else _value_of(found, name)

    async def is_erased(self, item_id: str) -> bool:
        """Return whether an item was erased; an import does not write it again."""
        await self.find_item(item_id)
        item = self._known[item_id]
        return isinstance(item, Tombstone) and item.space == self.space

    async def require_type(self, item_id: str, *types: WorldType) -> WorldType:
        """Return the type of an item that the draft refers to.

        Raises:
            NotFound: `<type>.unknown`.
        """
        item = await self.find_existing(item_id)
        known = self._declared.get(item_id) or (None if item is None else item.entity_type)
        if known not in types:
            raise not_in_world(item_id, *types)
        return WorldType(known)

    async def require_id(self, key: str, *types: WorldType) -> EntityId:
        """Return the id of the item with this key or id; raises as `require_type` does."""
        item_id = item_id_of(self.space, key)
        await self.require_type(item_id, *types)
        return item_id

    async def require_new(self, item_id: str) -> None:
        """Refuse a key that is in use.

        Raises:
            Conflict: `world.key-taken`, or `world.id-taken` by something beyond this world.
        """
        known = item_id in self._declared or await self.is_erased(item_id)
        self._require_free(item_id)
        if known or await self.find_item(item_id) is not None:
            message = "An item of this world already has this key. Use another key."
            raise Conflict("world.key-taken", message, path="/key", conflicts=[item_id])

    def _require_free(self, item_id: str) -> None:
        item = self._known.get(item_id)
        mine = isinstance(item, Entity | Tombstone) and item.space == self.space
        if item is not None and not mine:
            message = "This id already belongs to another item. Use another key."
            raise Conflict("world.id-taken", message, conflicts=[item_id])

    async def declare_item(
        self,
        item_id: EntityId,
        entity_type: WorldType,
        *,
        name: str,
        description: str,
        properties: Mapping[str, Any],
    ) -> bool:
        """Write an item and return whether anything changed.

        Raises:
            Conflict: `world.key-taken`, an item of another type has this key; or `world.id-taken`.
        """
        old = await self.find_item(item_id)
        self._require_free(item_id)
        self._declared[item_id] = entity_type
        given = {key: value for key, value in properties.items() if value is not None}
        fields: dict[str, Any] = {NAME: name, DESCRIPTION: description}
        fields |= {PROPERTY_PREFIX + key: value for key, value in given.items()}
        if old is None:
            self._drafted[item_id] = fields
            first = {"version": 1} if entity_type is WorldType.LOCATION else {}
            _, made = known_items.make_entity(
                lambda label: item_id if label == "entity" else self.new_id(f"{item_id}/{label}"),
                self.backing,
                entity_class=EntityClass.INSTANCE,
                entity_type=entity_type,
                name=name,
                description=description,
                properties={**first, **given},
                observed_at=self.at,
            )
            self.entries.extend(made)
            return True
        if old.entity_type != entity_type:
            message = f"This key belongs to a {old.entity_type}. Use another key."
            raise Conflict("world.key-taken", message, path="/key", conflicts=[item_id])
        news = {key: value for key, value in fields.items() if _value_of(old, key) != value}
        if news and entity_type is WorldType.LOCATION:
            news[f"{PROPERTY_PREFIX}version"] = int(old.properties.get("version", 1)) + 1
        self.observe_item(item_id, news)
        return bool(news)

    def observe_item(
        self, item_id: EntityId, fields: Mapping[str, Any], *, label: str = ""
    ) -> None:
        """Observe fields of an item; does nothing if `fields` is empty.

        All fields of one tick become one observation, because nothing orders several.
        """
        if not fields:
            return
        self._drafted.setdefault(item_id, {}).update(fields)
        index = self._seen.get((item_id, self.at))
        if index is not None:
            made = self.entries[index]
            if isinstance(made, Made) and isinstance(made.thing, ObservationDraft):
                both = dict(sorted({**made.thing.fields, **fields}.items()))
                self.entries[index] = Made(thing=replace(made.thing, fields=both))
            return
        self._seen[item_id, self.at] = len(self.entries)
        self.entries.append(
            known_items.make_observation(
                self.new_id,
                self.backing,
                item_id,
                fields,
                label=f"{item_id}/seen{label}",
                observed_at=self.at,
            )
        )

    async def edges_of(
        self,
        rel_type: str,
        entity: EntityId,
        *,
        outward: bool = True,
        kinds: Iterable[str] | None = ("",),
        limit: int = _EDGES_MAX,
    ) -> Sequence[RelationDraft]:
        """Return the edges of the store and of this draft.

        Outward edges are recorded as read. `kinds` None: edges of any kind.
        """
        chosen = None if kinds is None else tuple(kinds)
        if outward:
            self.reads.add(edge_key(entity, rel_type))
        query = EdgeQuery(
            space=self.space,
            entities=(entity,),
            rel_type=rel_type,
            at=self.at,
            outward=outward,
            kinds=chosen,
            limit=limit,
        )
        if query not in self._stored:  # the actions of a proposal ask for the same edges again
            self._stored[query] = await self.canon.places.edges(query)
        return self.with_drafted(
            self._stored[query], rel_type, entity, outward=outward, kinds=chosen
        )

    def with_drafted(
        self,
        stored: Iterable[RelationDraft],
        rel_type: str,
        entity: EntityId,
        *,
        outward: bool,
        kinds: Sequence[str] | None = None,
    ) -> Sequence[RelationDraft]:
        """Return stored edges and those of this draft, without those that it ends."""
        mine = [
            edge
            for edge in self._made
            if edge.rel_type == rel_type
            and (kinds is None or kind_of(edge) in kinds)
            and (edge.from_id if outward else edge.to_id) == entity
        ]
        return [edge for edge in (*stored, *mine) if edge.id not in self._ended]

    async def latest_edges(
        self, rel_type: str, entity: EntityId, *, kinds: Iterable[str] = ("",)
    ) -> Sequence[RelationDraft]:
        """Return open outward edges, including those that begin after the draft."""
        then, self.at = self.at, Instant(FOREVER - 1)
        try:
            return await self.edges_of(rel_type, entity, kinds=kinds)
        finally:
            self.at = then

    def add_edge(
        self,
        rel_type: str,
        from_id: EntityId,
        to_id: EntityId,
        *,
        kind: str = "",
        properties: Mapping[str, Any] | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
    ) -> RelationId:
        """Add an edge that holds from `since` (default now) until `until`."""
        given = {key: value for key, value in (properties or {}).items() if value is not None}
        label = f"{rel_type}/{from_id}/{kind}/{to_id}"
        made = known_items.make_relation(
            lambda _: self.new_id(label),
            self.backing,
            rel_type=rel_type,
            from_id=from_id,
            to_id=to_id,
            properties={**given, KIND: kind} if kind else given,
            since=self.at if since is None else since,
            until=until,
        )
        edge = made.thing
        if isinstance(edge, RelationDraft):
            self._made.append(edge)
        self.entries.append(made)
        return RelationId(edge.id)

    async def update_edges(
        self,
        wanted: Iterable[K],
        standing: Mapping[K, RelationDraft],
        join: Callable[[K], Awaitable[object]],
        *,
        reason: str,
    ) -> bool:
        """End edges that are not wanted, and `join` the wanted ones that are missing.

        Return whether an edge changes.
        """
        asked = dict.fromkeys(wanted)
        for key, edge in standing.items():
            if key not in asked:
                self.end_edge(edge, reason=reason)
        for key in asked:
            if key not in standing:
                await join(key)
        return asked.keys() != standing.keys()

    def end_edge(
        self,
        edge: RelationDraft,
        *,
        successor: RelationId | None = None,
        until: Instant | None = None,
        reason: str,
    ) -> None:
        """End an edge, by default now."""
        self._ended.add(edge.id)
        ends = self.at if until is None else until
        self.entries.append(
            RelationEnded(relation_id=edge.id, until=ends, superseded_by=successor, reason=reason)
        )

    def add_event(
        self,
        label: str,
        title: str,
        involved: Iterable[EntityId],
        properties: Mapping[str, Any],
        description: str = "",
    ) -> None:
        """Record an event at the tick of the draft; `label` must be unique in the draft."""
        self.entries.append(
            known_items.make_event(
                lambda _: self.new_id(label),
                self.backing,
                title=title,
                description=description,
                involved=tuple(dict.fromkeys(involved)),
                time_ref=self.at,
                severity=1,
                properties=properties,
            )
        )


def _value_of(entity: Entity, name: str) -> Any:
    if name == NAME:
        return entity.name
    if name == DESCRIPTION:
        return entity.description
    value = entity.properties.get(name.removeprefix(PROPERTY_PREFIX))
    return list(value) if isinstance(value, tuple) else value


P = ParamSpec("P")
WorldWrite = Callable[[WorldDraft], Awaitable[None]]
"""Writes into a draft; called again for another one when the first went stale."""


async def change_world(
    canon: Canon, caller: Caller, world: BoundWorld, write: WorldWrite, *, tick: Tick | None = None
) -> Receipt:
    """Commit what `write` drafts, dated at `tick`, or else at the world's tick of each attempt.

    A past `tick` needs no read key, because a clock never goes back. Writes at the current tick
    read the clock, which prevents additions to a tick that is over.

    Raises:
        Conflict: `tick.future`, the world's clock has not come so far.
        CanonryError: raised by `write`; nothing was written.
    """

    async def prepare_change(new_id: NewId) -> Change:
        current = await require_world(canon, caller, world.space)
        now = current.now
        if tick is not None and tick > now:
            message = f"The world's clock is at {now}. Advance it or give an earlier tick."
            raise Conflict("tick.future", message, path="/tick", now=now)
        at = instant_of(now if tick is None else tick)
        past = tick is not None and tick < now
        draft = WorldDraft(canon=canon, space=world.space, at=at, past=past, new_id=new_id)
        if tick is None:
            draft.reads.add(item_key(current.root_entity.id))
        await write(draft)
        return draft.make_change()

    return await commit_change(canon, caller, world.space, prepare_change)


def draft_command(
    write: Callable[Concatenate[WorldDraft, P], Awaitable[None]],
) -> Callable[Concatenate[Canon, Caller, BoundWorld, P], Awaitable[None]]:
    """Make a use case that commits a draft at the world's current tick."""

    @wraps(write)
    async def run_command(
        canon: Canon, caller: Caller, world: BoundWorld, /, *given: P.args, **more: P.kwargs
    ) -> None:
        async def draw_up(draft: WorldDraft) -> None:
            await write(draft, *given, **more)

        await change_world(canon, caller, world, draw_up)

    return run_command
