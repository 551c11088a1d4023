"""The graph in PostgreSQL: each question names a list, its facets and, where it must, a filter."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from typing_extensions import override

from canonry.log.commits import Position
from canonry.log.entries import Thing
from canonry.log.folding import key_hash, name_key
from canonry.log.items.entities import Entity, normalised_name
from canonry.log.items.facts import Fact
from canonry.log.ports.world import answers
from canonry.log.schemas.identity_keys import Bearer
from canonry.readmodels.listing import List
from canonry.readmodels.ports import selections
from canonry.readmodels.ports.listed import ListedState
from canonry.readmodels.ports.pages import Page
from canonry.readmodels.ports.state import IdentifierQuery, Spaces, TimelineQuery
from canonry.readmodels.timeline import TimelineEvent
from canonry.stores.postgres.database import PgConnection, fetched
from canonry.stores.postgres.keeping import PostgresView
from canonry.stores.postgres.pages import first_of
from canonry.stores.postgres.state.identifiers import FoundBearers, pages_of, select_identified
from canonry.stores.postgres.state.sightings import newest, seen_until
from canonry.stores.postgres.state.timeline import select_timeline
from canonry.stores.postgres.views import LOAD, loaded_in
from canonry.values.audience import is_part
from canonry.values.ids import EntityId, SpaceId
from canonry.values.moments import Instant
from canonry.values.observations import Observation

NAMESAKES_MAX: Final = 50
_BEGINNING: Final = (
    "SELECT id FROM things WHERE id >= %s AND starts_with(id, %s) ORDER BY id LIMIT %s"
)
_PAST: Final = (
    "SELECT i.id, v.kind, v.body FROM unnest(%s::text[]) AS i (id) CROSS JOIN LATERAL"
    " (SELECT kind, body FROM versions WHERE id = i.id AND since <= %s ORDER BY since DESC LIMIT 1)"
    " v"
)
_OBSERVATIONS: Final = (
    "SELECT t.kind, t.body FROM (SELECT rank, later, id FROM listing WHERE owner = %s"
    f" AND list = {int(List.OBSERVATIONS)} AND rank > %s ORDER BY rank, later, id LIMIT %s"
    ") l LEFT JOIN things t ON t.id = l.id ORDER BY l.rank, l.later, l.id"
)
_COUNTED: Final = (
    "SELECT facet, sum(n)::bigint FROM counts WHERE owner = '' AND list = %(list)s AND n > 0"
    " AND (%(spaces)s::text[] IS NULL OR space = ANY(%(spaces)s)) GROUP BY facet"
)
_COMPARTMENTS: Final = (
    "SELECT DISTINCT space FROM counts WHERE owner = ''"
    f" AND list = {int(List.COMPARTMENTS)} AND n > 0"
)
_UNDER: Final = (
    "SELECT DISTINCT t.id, t.kind, t.body FROM unnest(%(owners)s::text[], %(limits)s::int[])"
    " AS k (owner, most) CROSS JOIN LATERAL (SELECT id FROM listing WHERE space = %(space)s"
    " AND list = {0} AND owner = k.owner"
    " ORDER BY rank {1}, later, id LIMIT k.most) l JOIN things t ON t.id = l.id"
)


class PostgresState(PostgresView, ListedState):
    """Reads what the ledger folded in its own transactions."""

    @override
    async def things(self, ids: Iterable[str]) -> Mapping[str, Thing]:
        wanted, told = list(ids), answers()
        here = self._database  # one call may ask several
        unknown = [i for i in wanted if (here, i) not in told]
        if unknown:
            found = loaded_in(await self._database.rows(LOAD, (unknown,)))
            told |= {(here, i): found.get(i) for i in unknown}
        known = ((i, told[here, i]) for i in wanted)
        return {i: thing for i, thing in known if thing is not None}

    @override
    async def ids_beginning(self, text: str, *, limit: int) -> Sequence[str]:
        rows = await self._database.rows(_BEGINNING, (text, text, limit))
        return [str(row[0]) for row in rows]

    @override
    async def things_as_known_at(
        self, ids: Iterable[str], position: Position
    ) -> Mapping[str, Thing]:
        wanted = list(ids)

        async def read(db: PgConnection) -> Mapping[str, Thing]:
            found = loaded_in(await fetched(db, LOAD, (wanted,)))
            later = [i for i, thing in found.items() if thing.changed_at > position]
            past = loaded_in(await fetched(db, _PAST, (later, position))) if later else {}
            return {i: past.get(i, found[i]) for i in found if i in past or i not in set(later)}

        return await self._database.reading(read)

    @override
    async def compartments(self) -> frozenset[SpaceId]:
        told, asked = answers(), (self._database, _COMPARTMENTS)
        if asked not in told:
            rows = await self._database.rows(_COMPARTMENTS)
            told[asked] = frozenset(SpaceId(s) for (s,) in rows if is_part(s))
        found: frozenset[SpaceId] = told[asked]
        return found

    @override
    async def entities_named(self, space: SpaceId, entity_type: str, name: str) -> Sequence[Entity]:
        wanted, owner = normalised_name(name), key_hash(name_key(entity_type, name))
        found = await self._ask(
            lambda db: first_of(db, List.ENTITIES_NAMED, owner, NAMESAKES_MAX, space)
        )
        return [e for e in found if e.entity_type == entity_type and wanted in e.known_as]

    @override
    async def observations(
        self, entity_id: EntityId, *, after: Position, limit: int
    ) -> Sequence[Observation]:
        return await self._things(_OBSERVATIONS, (entity_id, after, limit))

    @override
    async def entities_identified(self, query: IdentifierQuery) -> Mapping[str, Page[Entity]]:
        return pages_of([await self.identified(query)], query)

    @override
    async def bearers(self, query: IdentifierQuery) -> Mapping[str, Page[Bearer]]:
        return pages_of([await self.identified(query, Bearer)], query)

    async def identified(
        self, query: IdentifierQuery, part: type | None = None
    ) -> Mapping[str, FoundBearers]:
        """The same as either, with the place of each among all who bear a text."""
        return await self._ask(lambda db: select_identified(db, query, part))

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
        return await self._database.reading(lambda db: seen_until(db, wanted, instant))

    @override
    async def observations_newest(
        self, entity_ids: Iterable[EntityId], *, limit: int, offset: int
    ) -> Page[Observation]:
        wanted = list(entity_ids)
        return await self._ask(lambda db: newest(db, wanted, limit, offset))

    @override
    async def timeline(self, query: TimelineQuery) -> Page[TimelineEvent]:
        return await self._ask(lambda db: select_timeline(db, query))

    @override
    async def _under(
        self, listed: List, space: SpaceId, keys: Mapping[str, int], *, newest: bool = False
    ) -> Sequence[Fact]:
        sql = _UNDER.format(int(listed), "DESC" if newest else "ASC")
        values = {
            "owners": [str(key_hash(key)) for key in keys],
            "limits": list(keys.values()),
            "space": space,
        }
        facts: list[Any] = list(loaded_in(await self._database.rows(sql, values)).values())
        return sorted(facts, key=lambda fact: (fact.created_at, fact.id))
