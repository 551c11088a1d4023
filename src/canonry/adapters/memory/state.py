"""The graph in memory: every query is a scan that says what the query means."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from typing_extensions import override

from canonry.adapters.memory.store import MemoryStore
from canonry.domain.commits import ORIGIN, Position
from canonry.domain.entities import Entity, normalised_name
from canonry.domain.entries import Thing
from canonry.domain.facts import Axiom, Event, Fact
from canonry.domain.ids import EntityId, EventId, SpaceId
from canonry.domain.observations import Observation
from canonry.domain.provenance import CanonLevel
from canonry.domain.relations import Relation
from canonry.domain.scenes import Story
from canonry.domain.sources import Source
from canonry.domain.spaces import Space, SpaceKind
from canonry.domain.time import Instant
from canonry.ports.views.pages import PAGE_MAX, Page
from canonry.ports.views.state import EntityQuery, EventQuery, FactQuery, RelationQuery, State

T = TypeVar("T", bound=Thing)
NAMESAKES_MAX = 50


def page(
    items: Iterable[T], limit: int, offset: int, key: Callable[[T], object] | None = None
) -> Page[T]:
    """A page in the order of `key`, by default (created_at, id)."""
    ordered = sorted(items, key=key or (lambda t: (t.created_at, t.id)))  # type: ignore[union-attr, arg-type]
    return Page(items=ordered[offset : offset + limit], total=len(ordered))


def fits(pattern: str, name: str) -> bool:
    """Whether `name` contains `pattern`, where `*` and `%` stand for any characters."""
    parts = re.split(r"[*%]", normalised_name(pattern))
    return re.search(".*".join(map(re.escape, parts)), normalised_name(name), re.DOTALL) is not None


class MemoryState(State):
    """Reads what the ledger folded."""

    def __init__(self, store: MemoryStore) -> None:
        """Share `store` with the ledger."""
        self._store = store

    @override
    async def things(self, ids: Iterable[str]) -> Mapping[str, Thing]:
        return {i: self._store.things[i] for i in ids if i in self._store.things}

    @override
    async def things_as_known_at(
        self, ids: Iterable[str], position: Position
    ) -> Mapping[str, Thing]:
        found: dict[str, Thing] = {}
        for thing_id in ids:
            past = [t for t in self._store.versions.get(thing_id, ()) if t.changed_at <= position]
            if past:
                found[thing_id] = past[-1]
        return found

    @override
    async def position_at(self, space: SpaceId, instant: Instant) -> Position:
        log = self._store.log.get(space, ())
        return max((s.position for s in log if s.recorded_at <= instant), default=ORIGIN)

    @override
    async def spaces(
        self, *, kind: SpaceKind | None, parent: SpaceId | None, limit: int, offset: int
    ) -> Page[Space]:
        found = (
            s
            for s in self._store.of(Space, None)
            if kind in {None, s.kind} and parent in {None, s.parent}
        )
        return page(found, limit, offset)

    @override
    async def entities(self, query: EntityQuery) -> Page[Entity]:
        def matches(e: Entity) -> bool:
            tags = frozenset(e.state_tags)
            return (
                e.merged_into is None
                and query.entity_type in {None, e.entity_type}
                and query.entity_class in {None, e.entity_class}
                and query.level in {None, e.level}
                and query.all_of <= tags
                and (not query.any_of or not query.any_of.isdisjoint(tags))
                and query.none_of.isdisjoint(tags)
                and (query.name_pattern is None or fits(query.name_pattern, e.name))
            )

        found = filter(matches, self._store.of(Entity, query.spaces))
        return page(found, query.limit, query.offset)

    @override
    async def entities_named(self, space: SpaceId, entity_type: str, name: str) -> Sequence[Entity]:
        wanted = normalised_name(name)
        return page(
            (
                e
                for e in self._store.of(Entity, frozenset((space,)))
                if e.entity_type == entity_type
                and e.level is CanonLevel.CANON
                and e.merged_into is None
                and normalised_name(e.name) == wanted
            ),
            NAMESAKES_MAX,
            0,
        ).items

    @override
    async def observations(
        self, entity_id: EntityId, *, after: Position, limit: int
    ) -> Sequence[Observation]:
        mine = (o for o in self._store.of(Observation, None) if o.entity_id == entity_id)
        later = (o for o in mine if o.position > after)
        return page(later, limit, 0, key=lambda o: (o.position, o.id)).items

    @override
    async def facts(self, query: FactQuery) -> Page[Fact]:
        def matches(f: Fact) -> bool:
            begins_in_time = query.end is None or f.time_ref is None or f.time_ref <= query.end
            ends_in_time = query.start is None or f.ends_at is None or f.ends_at > query.start
            return (
                (not query.entities or not query.entities.isdisjoint(f.involved))
                and begins_in_time
                and ends_in_time
                and query.level in {None, f.level}
                and query.authority in {None, f.authority}
                and query.fact_type in {None, f.fact_type}
            )

        found = filter(matches, self._store.of(Fact, query.spaces))
        return page(found, query.limit, query.offset)

    @override
    async def facts_stating(self, space: SpaceId, statement: str) -> Sequence[Fact]:
        wanted = normalised_name(statement)
        facts = self._store.of(Fact, frozenset((space,)))
        same = (f for f in facts if normalised_name(f.statement) == wanted)
        return page(same, NAMESAKES_MAX, 0).items

    @override
    async def events(self, query: EventQuery) -> Page[Event]:
        found = (
            e
            for e in self._store.of(Event, query.spaces)
            if (not query.entities or not query.entities.isdisjoint(e.involved))
            and query.scene_id in {None, e.scene_id}
            and query.level in {None, e.level}
        )

        def when(event: Event) -> tuple[int, str]:
            return (event.created_at if event.time_ref is None else event.time_ref, event.id)

        return page(found, query.limit, query.offset, key=when)

    @override
    async def causes_of(self, event_ids: Iterable[EventId]) -> Sequence[Event]:
        effects = frozenset(event_ids)
        found = (e for e in self._store.of(Event, None) if not effects.isdisjoint(e.causes))
        return page(found, PAGE_MAX, 0).items

    @override
    async def relations(self, query: RelationQuery) -> Page[Relation]:
        def ends(r: Relation) -> set[EntityId]:
            match query.direction:
                case "out":
                    return {r.from_id}
                case "in":
                    return {r.to_id}
                case _:
                    return {r.from_id, r.to_id}

        found = (
            r
            for r in self._store.of(Relation, query.spaces)
            if (not query.entities or not query.entities.isdisjoint(ends(r)))
            and query.rel_type in {None, r.rel_type}
            and (r.current or not query.current)
        )
        return page(found, query.limit, query.offset)

    @override
    async def axioms(self, space: SpaceId, *, limit: int, offset: int) -> Page[Axiom]:
        return page(self._store.of(Axiom, frozenset((space,))), limit, offset)

    @override
    async def sources(self, space: SpaceId, *, limit: int, offset: int) -> Page[Source]:
        return page(self._store.of(Source, frozenset((space,))), limit, offset)

    @override
    async def stories(self, space: SpaceId, *, limit: int, offset: int) -> Page[Story]:
        return page(self._store.of(Story, frozenset((space,))), limit, offset)
