"""The graph in memory: every query is a scan that says what the query means."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, TypeVar

from typing_extensions import override

from canonry.language.texts.sentences import plain_statement
from canonry.log.commits import Position
from canonry.log.entries import Thing
from canonry.log.folding import frames_keys
from canonry.log.items.entities import NEVER_SEEN, Entity, normalised_name
from canonry.log.items.facts import Axiom, Event, Fact, Relation
from canonry.log.items.scenes import Story
from canonry.log.items.sources import InterpretationRun, Source
from canonry.log.items.veils import tells_of
from canonry.log.observing import seen_also
from canonry.log.schemas.identity_keys import Bearer, IdentifierRow, rows_of
from canonry.log.schemas.schemas import RegisteredSchema
from canonry.readmodels.ports.state import (
    STATING_MAX,
    EntityQuery,
    EventQuery,
    FactQuery,
    IdentifierQuery,
    RelationQuery,
    Spaces,
    State,
    TimelineQuery,
)
from canonry.readmodels.ports.view import PAGE_MAX, Page
from canonry.readmodels.timeline import (
    TimelineEntry,
    TimelineEvent,
    entries_current,
    entries_said,
    event_of,
)
from canonry.stores.memory.ledger import MemoryView
from canonry.values.audience import is_part
from canonry.values.ids import EntityId, SourceId, Space, SpaceId, SpaceKind
from canonry.values.moments import Instant
from canonry.values.observations import Observation
from canonry.values.provenance import CanonLevel
from canonry.values.state_tags import normal_tags

T = TypeVar("T", bound=Thing)
NAMESAKES_MAX = 50


def page(
    items: Iterable[T], limit: int, offset: int, key: Callable[[T], object] | None = None
) -> Page[T]:
    """A page in the order of `key`, by default (created_at, id)."""
    ordered = sorted(items, key=key or (lambda t: (t.created_at, t.id)))  # type: ignore[union-attr, arg-type]
    return Page(items=ordered[offset : offset + limit], total=len(ordered))


def _newest(fact: Fact) -> object:
    return -fact.created_at, fact.id


def fits(pattern: str, entity: Entity) -> bool:
    """Whether its names contain `pattern`, where `*` and `%` stand for any characters."""
    rest = entity.searched
    for part in normalised_name(pattern).replace("%", "*").split("*"):
        _, found, rest = rest.partition(part) if part else ("", "any", rest)
        if not found:
            return False
    return True


class MemoryState(MemoryView, State):
    """Reads what was folded."""

    def _page(
        self,
        items: Iterable[T],
        limit: int,
        offset: int,
        key: Callable[[T], object] | None = None,
    ) -> Page[T]:
        """A page of what was found by what it is to some, as it is stored for all."""
        found = page(items, limit, offset, key)
        stored: Any = [self._store.things[each.id] for each in found.items]
        return Page(items=stored, total=found.total)

    @override
    async def things(self, ids: Iterable[str]) -> Mapping[str, Thing]:
        return {i: self._store.things[i] for i in ids if i in self._store.things}

    @override
    async def ids_beginning(self, text: str, *, limit: int) -> Sequence[str]:
        return sorted(i for i in self._store.things if i.startswith(text))[:limit]

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
    async def spaces(
        self, *, kind: SpaceKind | None, parent: SpaceId | None, limit: int, offset: int
    ) -> Page[Space]:
        found = (
            s
            for s in self._store.of(Space, None)
            if kind in {None, s.kind} and parent in {None, s.parent}
        )
        return self._page(found, limit, offset)

    @override
    async def compartments(self) -> frozenset[SpaceId]:
        spaces = frozenset[SpaceId]().union(*self._store.veiled.values())
        return frozenset(filter(is_part, spaces))

    @override
    async def entities(self, query: EntityQuery) -> Page[Entity]:
        tagged = bool(query.all_of or query.any_of or query.none_of)

        def matches(e: Entity) -> bool:
            tags = frozenset(normal_tags(e.state_tags))
            return (
                (e.merged_into is None or (query.include_merged and not tagged))
                and query.entity_type in {None, e.entity_type}
                and query.entity_class in {None, e.entity_class}
                and query.level in {None, e.level}
                and query.all_of <= tags
                and (not query.any_of or not query.any_of.isdisjoint(tags))
                and query.none_of.isdisjoint(tags)
                and (query.name_pattern is None or fits(query.name_pattern, e))
            )

        found = filter(matches, self._store.of(Entity, query.spaces))
        return self._page(found, query.limit, query.offset)

    @override
    async def entities_named(self, space: SpaceId, entity_type: str, name: str) -> Sequence[Entity]:
        wanted = normalised_name(name)
        return self._page(
            (
                e
                for e in self._store.of(Entity, frozenset((space,)))
                if e.entity_type == entity_type
                and e.level is CanonLevel.CANON
                and e.merged_into is None
                and wanted in e.known_as
            ),
            NAMESAKES_MAX,
            0,
            key=lambda e: (normalised_name(e.name) != wanted, e.created_at, e.id),
        ).items

    @override
    async def observations(
        self, entity_id: EntityId, *, after: Position, limit: int
    ) -> Sequence[Observation]:
        mine = (o for o in self._store.of(Observation, None) if o.entity_id == entity_id)
        later = (o for o in mine if o.position > after)
        return self._page(later, limit, 0, key=lambda o: (o.position, o.id)).items

    @override
    async def entities_identified(self, query: IdentifierQuery) -> Mapping[str, Page[Entity]]:
        found: dict[str, Page[Entity]] = {}
        rows: dict[str, list[IdentifierRow]] = defaultdict(list)
        for entity in self._store.of(Entity, query.spaces):
            if query.entity_type in {None, entity.entity_type}:
                for row in rows_of(entity):
                    rows[row.key].append(row)
        for key in query.keys:
            exact: dict[str, int] = {}
            longer: dict[str, str] = {}
            for row in rows.get(key, ()):
                exact[row.root] = min(exact.get(row.root, row.born), row.born)
            for text in sorted(rows) if query.begins else ():
                if text.startswith(key) and text != key:
                    longer |= {row.root: text for row in rows[text] if row.root not in longer}
            roots = sorted(exact, key=lambda i: (exact[i], i))
            roots += sorted(longer.keys() - exact.keys(), key=lambda i: (longer[i], i))
            if roots:
                shown: list[Any] = [self._store.things[i] for i in roots[: query.limit]]
                found[key] = Page(items=shown, total=len(roots))
        return found

    @override
    async def bearers(self, query: IdentifierQuery) -> Mapping[str, Page[Bearer]]:
        return {
            key: Page(
                items=[
                    Bearer(id=e.id, entity_type=e.entity_type, members=e.members, borne=e.borne)
                    for e in found.items
                ],
                total=found.total,
            )
            for key, found in (await self.entities_identified(query)).items()
        }

    @override
    async def entity_types(self, spaces: Spaces) -> Mapping[str, int]:
        standing = (
            e.entity_type
            for e in self._store.of(Entity, spaces)
            if e.merged_into is None and e.level is CanonLevel.CANON
        )
        return dict(sorted(Counter(standing).items()))

    @override
    async def entities_seen_until(
        self, entity_ids: Iterable[EntityId], instant: Instant
    ) -> Mapping[str, Entity]:
        found: dict[str, Entity] = {}
        for entity_id in entity_ids:
            entity = self._store.things.get(entity_id)
            if isinstance(entity, Entity):
                told = self._observations_of((entity_id,))
                seen = (o for o in told if o.seen_at <= instant and tells_of(o, entity))
                blank = replace(entity, own={}, sightings=NEVER_SEEN, veils=())
                found[entity_id] = seen_also(blank, seen)
        return found

    def _observations_of(self, entity_ids: Iterable[str]) -> Iterator[Observation]:
        wanted = frozenset(entity_ids)
        return (o for o in self._store.of(Observation, None) if o.entity_id in wanted)

    @override
    async def observations_newest(
        self, entity_ids: Iterable[EntityId], *, limit: int, offset: int
    ) -> Page[Observation]:
        mine = self._observations_of(entity_ids)
        return self._page(mine, limit, offset, key=lambda o: (-o.seen_at, -o.position, o.id))

    @override
    async def observations_from(
        self, source_id: SourceId, *, limit: int, offset: int
    ) -> Page[Observation]:
        mine = (o for o in self._store.of(Observation, None) if o.source_id == source_id)
        return self._page(mine, limit, offset, key=lambda o: (o.position, o.id))

    @override
    async def timeline(self, query: TimelineQuery) -> Page[TimelineEvent]:
        start = -math.inf if query.start is None else query.start
        end = math.inf if query.end is None else query.end
        if query.superseded:
            said = map(entries_said, self._store.of(Observation, query.spaces))
        else:
            said = map(entries_current, self._store.of(Entity, query.spaces))
        events: dict[tuple[str, str], list[TimelineEntry]] = defaultdict(list)
        for entry in (each for one in said for each in one):
            if (
                query.event_type in {None, entry.event_type}
                and query.source_id in {None, entry.source_id}
                and start <= entry.instant <= end
            ):
                events[entry.space, entry.event_id].append(entry)
        found = sorted(
            (event_of(tuple(es)) for es in events.values()), key=lambda e: (-e.instant, e.id)
        )
        shown = found[query.offset : query.offset + query.limit]
        return Page(
            items=[replace(e, entries=e.entries[:PAGE_MAX]) for e in shown], total=len(found)
        )

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
        return self._page(found, query.limit, query.offset)

    @override
    async def facts_stating(self, space: SpaceId, statements: AbstractSet[str]) -> Sequence[Fact]:
        wanted = frozenset(map(plain_statement, statements))
        facts = self._store.of(Fact, frozenset((space,)))
        same = [f for f in facts if plain_statement(f.statement) in wanted]
        return self._page(same, STATING_MAX * len(wanted), 0).items

    @override
    async def facts_framed(self, space: SpaceId, keys: Mapping[str, int]) -> Sequence[Fact]:
        facts = [
            f for f in self._store.of(Fact, frozenset((space,))) if f.level is CanonLevel.CANON
        ]
        found = {
            fact.id: fact
            for key, limit in keys.items()
            for fact in page((f for f in facts if key in frames_keys(f)), limit, 0, _newest).items
        }
        return self._page(found.values(), len(found), 0).items

    @override
    async def events(self, query: EventQuery) -> Page[Event]:
        found = (
            e
            for e in self._store.of(Event, query.spaces)
            if (not query.entities or not query.entities.isdisjoint(e.involved))
            and query.scene_id in {None, e.scene_id}
            and query.level in {None, e.level}
        )

        def when(event: Event) -> tuple[int, int, str]:
            return (*event.rank, event.id)

        return self._page(found, query.limit, query.offset, key=when)

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
        if not query.newest_first:
            return self._page(found, query.limit, query.offset)
        return self._page(found, query.limit, query.offset, key=lambda r: (-r.created_at, r.id))

    @override
    async def axioms(self, space: SpaceId, *, limit: int, offset: int) -> Page[Axiom]:
        return self._page(self._store.of(Axiom, frozenset((space,))), limit, offset)

    @override
    async def sources(self, space: SpaceId, *, limit: int, offset: int) -> Page[Source]:
        return self._page(self._store.of(Source, frozenset((space,))), limit, offset)

    @override
    async def stories(self, space: SpaceId, *, limit: int, offset: int) -> Page[Story]:
        return self._page(self._store.of(Story, frozenset((space,))), limit, offset)

    @override
    async def schemas(
        self, spaces: Spaces, entity_type: str | None, *, limit: int, offset: int
    ) -> Page[RegisteredSchema]:
        known = self._store.of(RegisteredSchema, spaces)
        return self._page((s for s in known if entity_type in {None, s.entity_type}), limit, offset)

    @override
    async def runs(
        self, source_id: SourceId, *, limit: int, offset: int
    ) -> Page[InterpretationRun]:
        mine = (r for r in self._store.of(InterpretationRun, None) if r.source_id == source_id)
        return self._page(mine, limit, offset)

    @override
    async def runs_newest(
        self, spaces: Spaces, *, limit: int, offset: int
    ) -> Page[InterpretationRun]:
        known = self._store.of(InterpretationRun, spaces)
        return self._page(known, limit, offset, key=lambda r: (-r.created_at, r.id))
