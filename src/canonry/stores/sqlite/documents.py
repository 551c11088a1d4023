"""Documents and the places of worlds in SQLite."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import apsw
from typing_extensions import override

from canonry.log.items.entities import Entity, EntityClass
from canonry.log.items.facts import Event, Relation
from canonry.log.items.scenes import Turn
from canonry.log.schemas.world_types import EXIT
from canonry.readmodels.edges import ALWAYS, Direction, Way
from canonry.readmodels.listing import NOBODY, List
from canonry.readmodels.ports.listed import ListedDocuments
from canonry.readmodels.ports.places import EdgeQuery, Places
from canonry.stores.sqlite.bodies import Packed, pack, unpack
from canonry.stores.sqlite.keeping import SqliteView
from canonry.stores.sqlite.lookups import things_of
from canonry.values.ids import EntityId, SceneId, SpaceId
from canonry.values.moments import Instant
from canonry.values.provenance import CanonLevel


class SqliteDocuments(SqliteView, ListedDocuments):
    """Reads what the ledger folded in its own transactions."""

    @override
    async def turns(
        self, scene_id: SceneId, *, last: int | None = None, after: int = -1, limit: int = 500
    ) -> Sequence[Turn]:
        newest = last is not None
        sql = (
            "SELECT id FROM listing WHERE list = ? AND owner = ?"  # noqa: S608 - ours
            " AND space = '' AND facet = '' AND rank > ?"
            f" ORDER BY rank {'DESC' if newest else 'ASC'} LIMIT ?"
        )
        values = (int(List.TURNS), pack(scene_id), after, last if last is not None else limit)
        turns = await self._things(sql, values)
        return turns[::-1] if newest else turns


# The places of worlds in SQLite: the edges of an entity, indexed by when they end.
#
# So whoever is somewhere now is found without looking at all who ever were: their edges end last.

_EDGES: Final = (
    "SELECT id FROM listing WHERE list = ? AND owner = ? AND space = ? AND facet = ?"
    " AND rank > ? AND later <= ? ORDER BY later{down}, id{down} LIMIT ?"
)
_ALL_EDGES: Final = (
    "SELECT id FROM listing WHERE list = ? AND owner = ? AND space = ? AND facet >= ? AND facet < ?"
    " AND rank > ? AND later <= ? ORDER BY facet, later{down}, id{down} LIMIT ?"
)
_EDGES_BY_ORDER: Final = {
    newest: tuple(sql.format(down=" DESC" if newest else "") for sql in (_EDGES, _ALL_EDGES))
    for newest in (False, True)
}
_WAYS: Final = (
    "SELECT facet, name FROM listing WHERE list = ? AND owner = ? AND space = ?"
    " AND facet >= ? AND facet < ? AND rank > ? AND later <= ? AND name IS NOT NULL"
    " ORDER BY facet, later, id"
)
_EVENTS: Final = (
    "SELECT id FROM listing WHERE list = ? AND owner = ? AND space = ? AND facet = ?"
    " AND rank <= ? ORDER BY rank DESC, later DESC, id DESC LIMIT ?"
)
_FOLLOWING: Final = (
    "SELECT rank, later, id FROM listing WHERE list = ? AND owner = ? AND space = ? AND facet = ?"
    " AND (rank, later, id) > (?, ?, ?) ORDER BY rank, later, id LIMIT ?"
)


class SqlitePlaces(SqliteView, Places):
    """Reads what the ledger folded in its own transactions."""

    @override
    async def edges(self, query: EdgeQuery) -> Sequence[Relation]:
        return await self._read(lambda db: _edges(db, query))

    @override
    async def ways(self, space: SpaceId, places: Iterable[EntityId], at: Instant) -> Sequence[Way]:
        wanted = tuple(places)
        return await self._read(lambda db: _ways(db, space, wanted, at))

    @override
    async def events_until(
        self, space: SpaceId, entity: EntityId, at: Instant, *, limit: int
    ) -> Sequence[Event]:
        place = (int(List.EVENTS_OF), pack(entity), pack(space), str(CanonLevel.CANON))
        return await self._things(_EVENTS, (*place, at, limit))

    @override
    async def entities_after(
        self, space: SpaceId, entity_type: str, last: Entity | None, *, limit: int
    ) -> Sequence[Entity]:
        facets = [f"{entity_type}/{each}/{CanonLevel.CANON}" for each in EntityClass]
        start = None if last is None else (last.created_at, 0, last.id)
        return await self._read(
            lambda db: _following(db, List.ENTITIES, space, facets, start, limit)
        )

    @override
    async def events_after(
        self, space: SpaceId, last: Event | None, *, limit: int
    ) -> Sequence[Event]:
        start = None if last is None else (*last.rank, last.id)
        facets = [str(CanonLevel.CANON)]
        return await self._read(lambda db: _following(db, List.EVENTS, space, facets, start, limit))


def _following(  # noqa: PLR0917 - where to begin in which list
    db: apsw.Connection,
    listed: List,
    space: SpaceId,
    facets: Sequence[str],
    start: tuple[int, int, str] | None,
    limit: int,
) -> Sequence[Any]:
    """What follows in a list of everybody's."""
    rank, later, identity = (ALWAYS, 0, "") if start is None else (*start[:2], pack(start[2]))
    rows: list[Any] = []
    for facet in facets:
        place = (int(listed), NOBODY, pack(space), facet)
        rows += db.execute(_FOLLOWING, (*place, rank, later, identity, limit))
    rows.sort(key=lambda row: (*row[:2], unpack(row[2])))
    return things_of(db, [row[2] for row in rows[:limit]])


def _edges(db: apsw.Connection, query: EdgeQuery) -> Sequence[Relation]:
    head = f"{'out' if query.outward else 'in'}/{query.rel_type}"
    space, ids = pack(query.space), list[Packed]()
    of_a_kind, of_all = _EDGES_BY_ORDER[query.newest_first]
    rows: Any
    for entity in query.entities:
        place = (int(List.EDGES_OF), pack(entity), space)
        rest = (query.at, query.at, query.limit)
        if query.kinds is None:  # "0" is the sign that follows "/"
            rows = db.execute(of_all, (*place, f"{head}/", f"{head}0", *rest))
            ids += [row[0] for row in rows]
            continue
        for kind in query.kinds:
            rows = db.execute(of_a_kind, (*place, f"{head}/{kind}", *rest))
            ids += [row[0] for row in rows]
    return things_of(db, ids)


def _ways(
    db: apsw.Connection, space: SpaceId, places: Sequence[EntityId], at: Instant
) -> Sequence[Way]:
    head, owner_space, found = f"out/{EXIT}", pack(space), list[Way]()
    for place in places:
        spot = (int(List.EDGES_OF), pack(place), owner_space, f"{head}/", f"{head}0", at, at)
        rows: Any = db.execute(_WAYS, spot)
        for facet, end in rows:
            direction = Direction(facet.rpartition("/")[2])
            found.append(Way(start=place, direction=direction, end=EntityId(end)))
    return found
