"""The graph in Neo4j: each question names a list, its facets and, where it must, a filter."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

from typing_extensions import override

from canonry.adapters.neo4j.applying import run_of
from canonry.adapters.neo4j.keeping import Neo4jView
from canonry.adapters.neo4j.pages import STANDS
from canonry.adapters.neo4j.state.identifiers import select_identified
from canonry.adapters.neo4j.state.sightings import newest, seen_until
from canonry.adapters.neo4j.state.timeline import select_timeline
from canonry.domain.audience import is_part
from canonry.domain.ids import EntityId, EventId, SourceId, SpaceId
from canonry.domain.log.commits import Position
from canonry.domain.log.entries import Thing
from canonry.domain.log.keys import key_hash, name_key, statement_key
from canonry.domain.observations import Observation
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
from canonry.domain.views.listing import List
from canonry.domain.vocabularies.schemas import RegisteredSchema
from canonry.ports.views import selections
from canonry.ports.views.pages import PAGE_MAX, Page
from canonry.ports.views.state import (
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

NAMESAKES_MAX: Final = 50
_FAR: Final = 2**63 - 1
_THINGS: Final = """
MATCH (t:Thing) WHERE t.store = $store AND t.id IN $ids AND t.body IS NOT NULL
RETURN t.kind, t.body
"""
_BEGINNING: Final = """
MATCH (t:Thing) WHERE t.store = $store AND t.id STARTS WITH $text AND t.body IS NOT NULL
RETURN t.id ORDER BY t.store, t.id LIMIT $limit
"""
_PAST: Final = """
UNWIND $ids AS id
CALL (id) {
  MATCH (v:_Version) WHERE v.store = $store AND v.id = id AND v.since <= $position
  RETURN v.kind AS kind, v.body AS body ORDER BY v.since DESC LIMIT 1
}
RETURN kind, body
"""
_COUNTED: Final = """
MATCH (u:_Run) WHERE u.store = $store AND u.list = $list AND u.owner = ''
AND ($spaces IS NULL OR u.space IN $spaces)
RETURN u.facet, sum(u.n)
"""
_COMPARTMENTS: Final = """
MATCH (u:_Run) WHERE u.store = $store AND u.list = $list AND u.owner = ''
RETURN DISTINCT u.space
"""
_UNDER: Final = f"""
UNWIND $runs AS run
CALL (run) {{{{
  MATCH (l:_Row) WHERE l.run = run.key AND l.rank > $after AND {STANDS}
  WITH l ORDER BY l.run {{turn}}, l.rank {{turn}}, l.later, l.id LIMIT $most
  RETURN collect([l.rank, l.later, l.id]) AS places
}}}}
UNWIND places[0..run.most] AS place
WITH DISTINCT place[0] AS rank, place[1] AS later, place[2] AS id
ORDER BY rank, later, id LIMIT $limit
OPTIONAL MATCH (t:Thing {{{{store: $store, id: id}}}})
WITH t, rank, later, id ORDER BY rank, later, id
RETURN t.kind, t.body
"""
_OLDEST: Final = _UNDER.format(turn="")
_YOUNGEST: Final = _UNDER.format(turn="DESC")


class Neo4jState(Neo4jView, State):
    """The state as a property graph, beside the ledger of another engine.

    `database = Neo4jDatabase(url, name)`, `await database.open()`, `Neo4jState(database)`, and in
    the end `await database.close()`. Whoever joins it to a ledger feeds it through `apply`.
    """

    @override
    async def things(self, ids: Iterable[str]) -> Mapping[str, Thing]:
        found = await self._things(_THINGS, {"ids": list(ids)})
        return {thing.id: thing for thing in found}

    @override
    async def ids_beginning(self, text: str, *, limit: int) -> Sequence[str]:
        rows = await self._database.rows(_BEGINNING, {"text": text, "limit": limit})
        return [str(row[0]) for row in rows]

    @override
    async def things_as_known_at(
        self, ids: Iterable[str], position: Position
    ) -> Mapping[str, Thing]:
        found = dict(await self.things(ids))
        later = [i for i, thing in found.items() if thing.changed_at > position]
        if later:
            past = await self._things(_PAST, {"ids": later, "position": position})
            found = {i: thing for i, thing in found.items() if thing.changed_at <= position}
            found |= {thing.id: thing for thing in past}
        return found

    @override
    async def spaces(
        self, *, kind: SpaceKind | None, parent: SpaceId | None, limit: int, offset: int
    ) -> Page[Space]:
        return await self._page(selections.spaces_in(kind, parent), limit, offset)

    @override
    async def compartments(self) -> frozenset[SpaceId]:
        rows = await self._database.rows(_COMPARTMENTS, {"list": int(List.COMPARTMENTS)})
        return frozenset(SpaceId(space) for (space,) in rows if is_part(space))

    @override
    async def entities(self, query: EntityQuery) -> Page[Entity]:
        return await self._page(selections.entities_of(query), query.limit, query.offset)

    @override
    async def entities_named(self, space: SpaceId, entity_type: str, name: str) -> Sequence[Entity]:
        wanted, owner = normalised_name(name), key_hash(name_key(entity_type, name))
        run = run_of(self._database.name, List.ENTITIES_NAMED, owner, space)
        found = await self._first({run: NAMESAKES_MAX}, NAMESAKES_MAX)
        return [e for e in found if e.entity_type == entity_type and wanted in e.known_as]

    @override
    async def observations(
        self, entity_id: EntityId, *, after: Position, limit: int
    ) -> Sequence[Observation]:
        run = run_of(self._database.name, List.OBSERVATIONS, entity_id)
        return await self._first({run: limit}, limit, after=after)

    @override
    async def entities_identified(self, query: IdentifierQuery) -> Mapping[str, Page[Entity]]:
        return await select_identified(self._database, query)

    @override
    async def bearers(self, query: IdentifierQuery) -> Mapping[str, Page[Bearer]]:
        return await select_identified(self._database, query, Bearer)

    @override
    async def entity_types(self, spaces: Spaces) -> Mapping[str, int]:
        asked = None if spaces is None else list(spaces)
        rows = await self._database.rows(_COUNTED, {"list": int(List.ENTITIES), "spaces": asked})
        counts = ((facet, n) for facet, n in rows)
        return selections.counting(counts, selections.type_in_canon)

    @override
    async def entities_seen_until(
        self, entity_ids: Iterable[EntityId], instant: Instant
    ) -> Mapping[str, Entity]:
        wanted = list(entity_ids)
        return await seen_until(self._database, wanted, instant)

    @override
    async def observations_newest(
        self, entity_ids: Iterable[EntityId], *, limit: int, offset: int
    ) -> Page[Observation]:
        wanted = list(entity_ids)
        return await newest(self._database, wanted, limit, offset)

    @override
    async def observations_from(
        self, source_id: SourceId, *, limit: int, offset: int
    ) -> Page[Observation]:
        return await self._page(selections.owned(List.OBSERVATIONS_FROM, source_id), limit, offset)

    @override
    async def timeline(self, query: TimelineQuery) -> Page[TimelineEvent]:
        return await select_timeline(self._database, query)

    @override
    async def schemas(
        self, spaces: Spaces, entity_type: str | None, *, limit: int, offset: int
    ) -> Page[RegisteredSchema]:
        return await self._page(selections.schemas_of(spaces, entity_type), limit, offset)

    @override
    async def runs(
        self, source_id: SourceId, *, limit: int, offset: int
    ) -> Page[InterpretationRun]:
        return await self._page(selections.owned(List.RUNS, source_id), limit, offset)

    @override
    async def runs_newest(
        self, spaces: Spaces, *, limit: int, offset: int
    ) -> Page[InterpretationRun]:
        selection = selections.all_of(List.RUNS, spaces, newest_first=True)
        return await self._page(selection, limit, offset)

    @override
    async def facts(self, query: FactQuery) -> Page[Fact]:
        return await self._page(selections.facts_of(query), query.limit, query.offset)

    @override
    async def facts_stating(self, space: SpaceId, statements: AbstractSet[str]) -> Sequence[Fact]:
        wanted = frozenset(map(plain_statement, statements))
        keys = dict.fromkeys(map(statement_key, wanted), STATING_MAX)
        found = await self._under(_OLDEST, List.FACTS_STATING, space, keys)
        return [fact for fact in found if plain_statement(fact.statement) in wanted]

    @override
    async def facts_framed(self, space: SpaceId, keys: Mapping[str, int]) -> Sequence[Fact]:
        return await self._under(_YOUNGEST, List.FACTS_FRAMED, space, keys)

    async def _under(
        self, statement: str, listed: List, space: SpaceId, keys: Mapping[str, int]
    ) -> Sequence[Fact]:
        """The facts under keys, of each so many as it says."""
        runs = {
            run_of(self._database.name, listed, key_hash(key), space): most
            for key, most in keys.items()
        }
        return await self._first(runs, sum(keys.values()), statement=statement)

    @override
    async def events(self, query: EventQuery) -> Page[Event]:
        return await self._page(selections.events_of(query), query.limit, query.offset)

    @override
    async def causes_of(self, event_ids: Iterable[EventId]) -> Sequence[Event]:
        store = self._database.name
        runs = {run_of(store, List.EVENTS_CAUSING, each): PAGE_MAX for each in event_ids}
        return await self._first(runs, PAGE_MAX)

    @override
    async def relations(self, query: RelationQuery) -> Page[Relation]:
        return await self._page(selections.relations_of(query), query.limit, query.offset)

    @override
    async def axioms(self, space: SpaceId, *, limit: int, offset: int) -> Page[Axiom]:
        return await self._of(List.AXIOMS, space, limit, offset)

    @override
    async def sources(self, space: SpaceId, *, limit: int, offset: int) -> Page[Source]:
        return await self._of(List.SOURCES, space, limit, offset)

    @override
    async def stories(self, space: SpaceId, *, limit: int, offset: int) -> Page[Story]:
        return await self._of(List.STORIES, space, limit, offset)

    async def _of(self, listed: List, space: SpaceId, limit: int, offset: int) -> Page[Any]:
        return await self._page(selections.all_of(listed, frozenset((space,))), limit, offset)

    async def _first(
        self,
        runs: Mapping[str, int],
        limit: int,
        *,
        after: int = -_FAR,
        statement: str = _OLDEST,
    ) -> list[Any]:
        """The first things of some runs, of each at most so many, in the order of their ranks."""
        asked = [{"key": run, "most": most} for run, most in runs.items()]
        values = {"runs": asked, "after": after, "most": max(runs.values(), default=0)}
        return await self._things(statement, {**values, "limit": limit})
