"""The graph in SQLite: each query names a list, its facets and, where it must, a filter."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import apsw
from typing_extensions import override

from canonry.log.commits import Position
from canonry.log.entries import Thing
from canonry.log.folding import key_hash, name_key
from canonry.log.items.entities import Entity, normalised_name
from canonry.log.items.facts import Fact
from canonry.log.schemas.identity_keys import Bearer
from canonry.readmodels.listing import NOBODY, TAG, List
from canonry.readmodels.ports import selections
from canonry.readmodels.ports.listed import ListedState
from canonry.readmodels.ports.pages import PAGE_MAX, Page
from canonry.readmodels.ports.selections import entities_of
from canonry.readmodels.ports.state import EntityQuery, IdentifierQuery, Spaces, TimelineQuery
from canonry.readmodels.timeline import TimelineEvent
from canonry.stores.sqlite.bodies import pack, thing_under, unpack
from canonry.stores.sqlite.keeping import SqliteView
from canonry.stores.sqlite.lookups import PackedOwner, ids_beginning, look_up, things_of, version_of
from canonry.stores.sqlite.pages import counted, first_ids, ids_under, page_of
from canonry.stores.sqlite.state.identifiers import select_identified
from canonry.stores.sqlite.state.observations import Long, newest, seen_until, select_timeline
from canonry.values.audience import is_part
from canonry.values.ids import EntityId, SpaceId
from canonry.values.moments import Instant
from canonry.values.observations import Observation


def select_entities(db: apsw.Connection, query: EntityQuery) -> Page[Entity]:
    """The page that `query` asks for."""
    rarest = min(sorted(query.all_of), key=lambda tag: _count(db, query, tag), default=None)
    return page_of(db, entities_of(query, rarest), query.limit, query.offset)


def _count(db: apsw.Connection, query: EntityQuery, tag: str) -> int:
    return sum(n for _, _, n in counted(db, List.ENTITIES, TAG + tag, query.spaces))


NAMESAKES_MAX: Final = 50
_FOLDED_INLINE: Final = 200
_READ_INLINE: Final = 256
"""More things than this take longer than a query may on the event loop."""


class SqliteState(SqliteView, ListedState):
    """Reads what the ledger folded in its own transactions."""

    @override
    async def things(self, ids: Iterable[str]) -> Mapping[str, Thing]:
        wanted = list(ids)
        read = self._readers.short if len(wanted) <= _READ_INLINE else self._readers.long
        return await read(lambda db: _things(db, wanted))

    @override
    async def ids_beginning(self, text: str, *, limit: int) -> Sequence[str]:
        return await self._readers.short(lambda db: ids_beginning(db, text, limit))

    @override
    async def things_as_known_at(
        self, ids: Iterable[str], position: Position
    ) -> Mapping[str, Thing]:
        wanted = list(ids)
        return await self._read(lambda db: _past(db, wanted, position))

    @override
    async def compartments(self) -> frozenset[SpaceId]:
        runs = await self._readers.short(lambda db: counted(db, List.COMPARTMENTS, NOBODY, None))
        return frozenset(SpaceId(name) for space, _, _ in runs if is_part(name := unpack(space)))

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
        counts = ((facet, n) for _, facet, n in runs)
        return selections.counting(counts, selections.type_in_canon)

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
    async def timeline(self, query: TimelineQuery) -> Page[TimelineEvent]:
        return await self._read(lambda db: select_timeline(db, query))

    @override
    async def _under(
        self, listed: List, space: SpaceId, keys: Mapping[str, int], *, newest: bool = False
    ) -> Sequence[Fact]:
        owners = [(key_hash(key), limit) for key, limit in keys.items()]

        def read(db: apsw.Connection) -> Sequence[Any]:
            return things_of(db, ids_under(db, listed, owners, space, newest=newest))

        facts: Sequence[Fact] = await self._read(read)
        return sorted(facts, key=lambda fact: (fact.created_at, fact.id))

    async def _first(
        self, listed: List, owner: PackedOwner, limit: int, space: str
    ) -> Sequence[Any]:
        return await self._read(
            lambda db: things_of(db, first_ids(db, listed, owner, limit, space))
        )


def _things(db: apsw.Connection, ids: Sequence[str]) -> Mapping[str, Thing]:
    asked = {pack(thing_id): thing_id for thing_id in ids}
    found = look_up(db, asked)
    return {
        asked[packed]: thing_under(packed, kind, body) for packed, (_, kind, body) in found.items()
    }


def _past(db: apsw.Connection, ids: Sequence[str], position: Position) -> Mapping[str, Thing]:
    found: dict[str, Thing] = {}
    for thing_id, thing in _things(db, ids).items():
        if thing.changed_at <= position:
            found[thing_id] = thing
        elif (past := version_of(db, pack(thing_id), position)) is not None:
            found[thing_id] = past
    return found
