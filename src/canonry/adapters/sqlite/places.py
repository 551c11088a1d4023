"""The places of worlds in SQLite: the edges of an entity, indexed by when they end.

So whoever is somewhere now is found without looking at all who ever were: their edges end last.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import apsw
from typing_extensions import override

from canonry.adapters.sqlite.listing import List
from canonry.adapters.sqlite.packing import Packed, pack
from canonry.adapters.sqlite.pages import things_of
from canonry.adapters.sqlite.readers import Readers
from canonry.domain.facts import Event
from canonry.domain.ids import EntityId, SpaceId
from canonry.domain.provenance import CanonLevel
from canonry.domain.relations import Relation
from canonry.domain.time import Instant
from canonry.domain.vocabularies.world_types import EXIT
from canonry.domain.world.directions import Direction
from canonry.domain.world.paths import Way
from canonry.ports.views.places import EdgeQuery, Places

_EDGES: Final = (
    "SELECT id FROM listing WHERE list = ? AND owner = ? AND space = ? AND facet = ?"
    " AND rank > ? AND later <= ? ORDER BY later, id LIMIT ?"
)
_ALL_EDGES: Final = (
    "SELECT id FROM listing WHERE list = ? AND owner = ? AND space = ? AND facet >= ? AND facet < ?"
    " AND rank > ? AND later <= ? ORDER BY facet, later, id LIMIT ?"
)
_WAYS: Final = (
    "SELECT facet, name FROM listing WHERE list = ? AND owner = ? AND space = ?"
    " AND facet >= ? AND facet < ? AND rank > ? AND later <= ? AND name IS NOT NULL"
    " ORDER BY facet, later, id"
)
_EVENTS: Final = (
    "SELECT id FROM listing WHERE list = ? AND owner = ? AND space = ? AND facet = ?"
    " AND rank <= ? ORDER BY rank DESC, later DESC, id DESC LIMIT ?"
)


class SqlitePlaces(Places):
    """Reads what the ledger folded in its own transactions."""

    def __init__(self, readers: Readers) -> None:
        """Read through `readers`."""
        self._readers = readers

    @override
    async def edges(self, query: EdgeQuery) -> Sequence[Relation]:
        return await self._readers.consistent(lambda db: _edges(db, query))

    @override
    async def ways(self, space: SpaceId, places: Iterable[EntityId], at: Instant) -> Sequence[Way]:
        wanted = tuple(places)
        return await self._readers.consistent(lambda db: _ways(db, space, wanted, at))

    @override
    async def events_until(
        self, space: SpaceId, entity: EntityId, at: Instant, *, limit: int
    ) -> Sequence[Event]:
        place = (int(List.EVENTS_OF), pack(entity), pack(space), str(CanonLevel.CANON))

        def find(db: apsw.Connection) -> Sequence[Event]:
            rows: Any = db.execute(_EVENTS, (*place, at, limit))
            return things_of(db, [row[0] for row in rows])

        return await self._readers.consistent(find)


def _edges(db: apsw.Connection, query: EdgeQuery) -> Sequence[Relation]:
    head = f"{'out' if query.outward else 'in'}/{query.rel_type}"
    space, ids = pack(query.space), list[Packed]()
    rows: Any
    for entity in query.entities:
        place = (int(List.EDGES_OF), pack(entity), space)
        rest = (query.at, query.at, query.limit)
        if query.kinds is None:  # "0" is the sign that follows "/"
            rows = db.execute(_ALL_EDGES, (*place, f"{head}/", f"{head}0", *rest))
            ids += [row[0] for row in rows]
            continue
        for kind in query.kinds:
            rows = db.execute(_EDGES, (*place, f"{head}/{kind}", *rest))
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
