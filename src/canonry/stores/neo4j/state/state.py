"""The graph in Neo4j: each question names a list, its facets and, where it must, a filter."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from typing_extensions import override

from canonry.log.commits import Position
from canonry.log.entries import Thing
from canonry.log.folding import key_hash, name_key
from canonry.log.items.entities import Entity, normalised_name
from canonry.log.items.facts import Fact
from canonry.log.schemas.identity_keys import Bearer
from canonry.readmodels.listing import List
from canonry.readmodels.ports import selections
from canonry.readmodels.ports.listed import ListedState
from canonry.readmodels.ports.pages import Page
from canonry.readmodels.ports.state import IdentifierQuery, Spaces, TimelineQuery
from canonry.readmodels.timeline import TimelineEvent
from canonry.stores.neo4j.applying import run_of
from canonry.stores.neo4j.keeping import Neo4jView
from canonry.stores.neo4j.pages import STANDS
from canonry.stores.neo4j.state.identifiers import select_identified
from canonry.stores.neo4j.state.sightings import newest, seen_until
from canonry.stores.neo4j.state.timeline import select_timeline
from canonry.values.audience import is_part
from canonry.values.ids import EntityId, SpaceId
from canonry.values.moments import Instant
from canonry.values.observations import Observation

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


class Neo4jState(Neo4jView, ListedState):
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
    async def compartments(self) -> frozenset[SpaceId]:
        rows = await self._database.rows(_COMPARTMENTS, {"list": int(List.COMPARTMENTS)})
        return frozenset(SpaceId(space) for (space,) in rows if is_part(space))

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
    async def timeline(self, query: TimelineQuery) -> Page[TimelineEvent]:
        return await select_timeline(self._database, query)

    @override
    async def _under(
        self, listed: List, space: SpaceId, keys: Mapping[str, int], *, newest: bool = False
    ) -> Sequence[Fact]:
        statement = _YOUNGEST if newest else _OLDEST
        runs = {
            run_of(self._database.name, listed, key_hash(key), space): most
            for key, most in keys.items()
        }
        return await self._first(runs, sum(keys.values()), statement=statement)

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
