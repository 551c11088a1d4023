"""The graph in SQLite: each query names a list, its facets and, where it must, a filter."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import apsw
from typing_extensions import override

from canonry.adapters.sqlite.bodies import thing_under
from canonry.adapters.sqlite.keeping import SqliteView
from canonry.adapters.sqlite.listing import PackedOwner
from canonry.adapters.sqlite.lookups import look_up, things_of, version_of
from canonry.adapters.sqlite.packing import pack
from canonry.adapters.sqlite.pages import Selection, counted, first_ids
from canonry.adapters.sqlite.state.entities import select_entities
from canonry.adapters.sqlite.state.identifiers import select_identified
from canonry.adapters.sqlite.state.sightings import Long, newest, seen_until
from canonry.adapters.sqlite.state.timeline import select_timeline
from canonry.domain.ids import EntityId, EventId, SourceId, SpaceId
from canonry.domain.log.commits import Position
from canonry.domain.log.entries import Thing
from canonry.domain.log.keys import frame_key, frames_keys, key_hash, name_key, statement_key
from canonry.domain.observations import Observation
from canonry.domain.provenance import CanonLevel
from canonry.domain.spaces import Space, SpaceKind
from canonry.domain.texts.statements import plain_statement
from canonry.domain.things.entities import Entity, normalised_name
from canonry.domain.things.facts import Axiom, Event, Fact
from canonry.domain.things.relations import Relation
from canonry.domain.things.scenes import Story
from canonry.domain.things.sources import Source
from canonry.domain.time import Instant
from canonry.domain.truth.identifiers import Bearer
from canonry.domain.truth.runs import InterpretationRun
from canonry.domain.truth.timeline import TimelineEvent
from canonry.domain.views.listing import NOBODY, List, storable
from canonry.domain.vocabularies.schemas import RegisteredSchema
from canonry.ports.views.pages import PAGE_MAX, Page
from canonry.ports.views.state import (
    EntityQuery,
    EventQuery,
    FactQuery,
    IdentifierQuery,
    RelationQuery,
    Spaces,
    State,
    TimelineQuery,
)

NAMESAKES_MAX: Final = 50
_FOLDED_INLINE: Final = 200
_READ_INLINE: Final = 256
"""More things than this take longer than a query may on the event loop."""

_SIDES: Final = {"out": frozenset(("out", "both")), "in": frozenset(("in", "both"))}


class SqliteState(SqliteView, State):
    """Reads what the ledger folded in its own transactions."""

    @override
    async def things(self, ids: Iterable[str]) -> Mapping[str, Thing]:
        wanted = list(ids)
        read = self._readers.short if len(wanted) <= _READ_INLINE else self._readers.long
        return await read(lambda db: _things(db, wanted))

    @override
    async def things_as_known_at(
        self, ids: Iterable[str], position: Position
    ) -> Mapping[str, Thing]:
        wanted = list(ids)
        return await self._read(lambda db: _past(db, wanted, position))

    @override
    async def spaces(
        self, *, kind: SpaceKind | None, parent: SpaceId | None, limit: int, offset: int
    ) -> Page[Space]:
        listed = List.SPACES if parent is None else List.SPACES_IN
        owner = NOBODY if parent is None else pack(parent)
        facet = None if kind is None else (lambda facet: facet == kind)
        selection = Selection(listed=listed, owners=(owner,), facet=facet)
        return await self._page(selection, limit, offset)

    @override
    async def entities(self, query: EntityQuery) -> Page[Entity]:
        return await self._read(lambda db: select_entities(db, query))

    @override
    async def entities_named(self, space: SpaceId, entity_type: str, name: str) -> Sequence[Entity]:
        wanted, owner = normalised_name(name), key_hash(name_key(entity_type, name))
        found = await self._first(List.ENTITIES_NAMED, owner, NAMESAKES_MAX, space)
        return [e for e in found if e.entity_type == entity_type and wanted in e.known_as]

    @override
    async def observations(
        self, entity_id: EntityId, *, after: Position, limit: int
    ) -> Sequence[Observation]:
        sql = (
            "SELECT id FROM listing WHERE list = ? AND owner = ? AND space = ''"
            " AND facet = '' AND rank > ? ORDER BY rank, later, id LIMIT ?"
        )
        values = (int(List.OBSERVATIONS), pack(entity_id), after, limit)
        return await self._things(sql, values)

    @override
    async def entities_identified(self, query: IdentifierQuery) -> Mapping[str, Page[Entity]]:
        return await self._read(lambda db: select_identified(db, query))

    @override
    async def bearers(self, query: IdentifierQuery) -> Mapping[str, Page[Bearer]]:
        return await self._readers.consistent(lambda db: select_identified(db, query, Bearer))

    @override
    async def entity_types(self, spaces: Spaces) -> Mapping[str, int]:
        runs = await self._readers.short(lambda db: counted(db, List.ENTITIES, NOBODY, spaces))
        found: dict[str, int] = {}
        for _, facet, n in runs:
            entity_type, _, level = facet.rsplit("/", 2)
            if level == CanonLevel.CANON:
                found[entity_type] = found.get(entity_type, 0) + n
        return dict(sorted(found.items()))

    @override
    async def entities_seen_until(
        self, entity_ids: Iterable[EntityId], instant: Instant
    ) -> Mapping[str, Entity]:
        wanted = list(entity_ids)

        def find(db: apsw.Connection, most: int) -> Mapping[str, Entity]:
            seen = ((one, seen_until(db, one, instant, most=most)) for one in wanted)
            return {one: entity for one, entity in seen if entity is not None}

        try:
            return await self._read(lambda db: find(db, _FOLDED_INLINE))
        except Long:
            return await self._readers.long(lambda db: find(db, PAGE_MAX**2), together=True)

    @override
    async def observations_newest(
        self, entity_ids: Iterable[EntityId], *, limit: int, offset: int
    ) -> Page[Observation]:
        wanted = list(entity_ids)
        return await self._read(lambda db: newest(db, wanted, limit, offset))

    @override
    async def observations_from(
        self, source_id: SourceId, *, limit: int, offset: int
    ) -> Page[Observation]:
        selection = Selection(listed=List.OBSERVATIONS_FROM, owners=(pack(source_id),))
        return await self._page(selection, limit, offset)

    @override
    async def timeline(self, query: TimelineQuery) -> Page[TimelineEvent]:
        return await self._read(lambda db: select_timeline(db, query))

    @override
    async def schemas(
        self, spaces: Spaces, entity_type: str | None, *, limit: int, offset: int
    ) -> Page[RegisteredSchema]:
        facet = None if entity_type is None else (lambda facet: facet == entity_type)
        selection = Selection(listed=List.SCHEMAS, spaces=spaces, facet=facet)
        return await self._page(selection, limit, offset)

    @override
    async def runs(
        self, source_id: SourceId, *, limit: int, offset: int
    ) -> Page[InterpretationRun]:
        selection = Selection(listed=List.RUNS, owners=(pack(source_id),))
        return await self._page(selection, limit, offset)

    @override
    async def runs_newest(
        self, spaces: Spaces, *, limit: int, offset: int
    ) -> Page[InterpretationRun]:
        selection = Selection(listed=List.RUNS, spaces=spaces, newest_first=True)
        return await self._page(selection, limit, offset)

    @override
    async def facts(self, query: FactQuery) -> Page[Fact]:
        where, values = "", []
        if query.end is not None:
            where += " AND (l.starts IS NULL OR l.starts <= ?)"
            values.append(storable(query.end))
        if query.start is not None:
            where += " AND (l.ends IS NULL OR l.ends > ?)"
            values.append(storable(query.start))

        def fits(facet: str) -> bool:
            asked = (query.level, query.authority, query.fact_type)
            pairs = zip(asked, facet.split("/"), strict=True)
            return all(want in {None, has} for want, has in pairs)

        selection = Selection(
            listed=List.FACTS_OF if query.entities else List.FACTS,
            owners=_owners(query.entities),
            spaces=query.spaces,
            facet=fits,
            where=where,
            values=tuple(values),
        )
        return await self._page(selection, query.limit, query.offset)

    @override
    async def facts_stating(self, space: SpaceId, statement: str) -> Sequence[Fact]:
        wanted, owner = plain_statement(statement), key_hash(statement_key(statement))
        found = await self._first(List.FACTS_STATING, owner, NAMESAKES_MAX, space)
        return [fact for fact in found if plain_statement(fact.statement) == wanted]

    @override
    async def facts_framed(self, space: SpaceId, keys: Collection[str]) -> Sequence[Fact]:
        wanted = frozenset(keys)
        owners = [key_hash(frame_key(key)) for key in sorted(wanted)]

        def read(db: apsw.Connection) -> Sequence[Any]:
            found = (
                one
                for owner in owners
                for one in first_ids(db, List.FACTS_FRAMED, owner, NAMESAKES_MAX, space)
            )
            return things_of(db, list(dict.fromkeys(found)))

        facts: Sequence[Fact] = await self._read(read)
        shared = [fact for fact in facts if not wanted.isdisjoint(frames_keys(fact))]
        return sorted(shared, key=lambda fact: (fact.created_at, fact.id))

    @override
    async def events(self, query: EventQuery) -> Page[Event]:
        level = query.level
        facet = None if level is None else (lambda facet: facet == level)
        listed, owners, where = List.EVENTS, _owners(query.entities), ""
        values: tuple[Any, ...] = ()
        if query.scene_id is not None:
            listed, owners = List.EVENTS_IN, (pack(query.scene_id),)
            if query.entities:
                marks = ", ".join("?" * len(query.entities))
                where = (
                    " AND EXISTS (SELECT 1 FROM listing o WHERE o.list = ?"  # noqa: S608 - marks
                    f" AND o.owner IN ({marks}) AND o.space = l.space AND o.facet = l.facet"
                    " AND o.rank = l.rank AND o.later = l.later AND o.id = l.id)"
                )
                values = (int(List.EVENTS_OF), *map(pack, query.entities))
        elif query.entities:
            listed = List.EVENTS_OF
        selection = Selection(
            listed=listed,
            owners=owners,
            spaces=query.spaces,
            facet=facet,
            where=where,
            values=values,
        )
        return await self._page(selection, query.limit, query.offset)

    @override
    async def causes_of(self, event_ids: Iterable[EventId]) -> Sequence[Event]:
        effects = [pack(event) for event in event_ids]

        def find(db: apsw.Connection) -> Sequence[Event]:
            ids = {i for e in effects for i in first_ids(db, List.EVENTS_CAUSING, e, PAGE_MAX)}
            events = sorted(things_of(db, list(ids)), key=lambda e: (e.created_at, e.id))
            return events[:PAGE_MAX]

        return await self._read(find)

    @override
    async def relations(self, query: RelationQuery) -> Page[Relation]:
        sides = _SIDES.get(query.direction) if query.entities else None

        def fits(facet: str) -> bool:
            side, state, rel_type = facet.split("/", 2)
            return (
                (sides is None or side in sides)
                and (state == "current" or not query.current)
                and query.rel_type in {None, rel_type}
            )

        selection = Selection(
            listed=List.RELATIONS_OF if query.entities else List.RELATIONS,
            owners=_owners(query.entities),
            spaces=query.spaces,
            facet=fits,
            newest_first=query.newest_first,
        )
        return await self._page(selection, query.limit, query.offset)

    @override
    async def axioms(self, space: SpaceId, *, limit: int, offset: int) -> Page[Axiom]:
        return await self._page(_all_of(List.AXIOMS, space), limit, offset)

    @override
    async def sources(self, space: SpaceId, *, limit: int, offset: int) -> Page[Source]:
        return await self._page(_all_of(List.SOURCES, space), limit, offset)

    @override
    async def stories(self, space: SpaceId, *, limit: int, offset: int) -> Page[Story]:
        return await self._page(_all_of(List.STORIES, space), limit, offset)

    async def _first(
        self, listed: List, owner: PackedOwner, limit: int, space: str
    ) -> Sequence[Any]:
        return await self._read(
            lambda db: things_of(db, first_ids(db, listed, owner, limit, space))
        )


def _all_of(listed: List, space: SpaceId) -> Selection:
    spaces: Spaces = frozenset((space,))
    return Selection(listed=listed, spaces=spaces)


def _owners(entities: frozenset[EntityId]) -> tuple[PackedOwner, ...]:
    return tuple(map(pack, sorted(entities))) or (NOBODY,)


def _things(db: apsw.Connection, ids: Sequence[str]) -> Mapping[str, Thing]:
    asked = {pack(thing_id): thing_id for thing_id in ids}
    found = look_up(db, asked)
    return {asked[packed]: thing_under(packed, kind, body) for packed, (_, kind, body) in found}


def _past(db: apsw.Connection, ids: Sequence[str], position: Position) -> Mapping[str, Thing]:
    found: dict[str, Thing] = {}
    for thing_id, thing in _things(db, ids).items():
        if thing.changed_at <= position:
            found[thing_id] = thing
        elif (past := version_of(db, pack(thing_id), position)) is not None:
            found[thing_id] = past
    return found
