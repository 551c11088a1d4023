"""A search: candidates from both halves of the index, looked up, scored again, and put in order."""

from collections.abc import Sequence
from typing import Final

import apsw
import numpy as np

from canonry.adapters.vectors import rows
from canonry.adapters.vectors.codes import Numbers
from canonry.adapters.vectors.published import Nearest, Published
from canonry.adapters.vectors.rows import Row
from canonry.adapters.vectors.tail import Tail
from canonry.ports.views.vectors import VectorHit, VectorQuery

_CANDIDATES: Final = 4
_AT_LEAST: Final = 32
_FURTHER: Final = 4


class Search:
    """One query against one state of the rows."""

    def __init__(
        self,
        db: apsw.Connection,
        m: int,
        query: VectorQuery,
        published: Published | None,
        tail: Tail,
    ) -> None:
        """Prepare to search."""
        self._db = db
        self._query = query
        self._published = published
        self._tail = tail
        self._vector = np.frombuffer(query.vector, dtype="<f4").astype(np.float32)
        self._among = self._chosen(m)

    def hits(self) -> Sequence[VectorHit]:
        """The nearest passages: further candidates are taken until enough of them may be found."""
        wanted, effort = max(_AT_LEAST, _CANDIDATES * self._query.limit), 1
        while True:
            numbers, complete = self._candidates(wanted, effort)
            found = [row for row in rows.by_number(self._db, numbers).values() if self._fits(row)]
            if complete or len(found) >= self._query.limit:
                return self._ordered(found)
            wanted, effort = wanted * _FURTHER, effort * _FURTHER

    def _chosen(self, m: int) -> Numbers | None:
        query = self._query
        numbers: set[int] | None = None
        if query.entities:
            numbers = rows.numbers_about(self._db, m, query.entities)
        if query.source_id is not None:
            sourced = rows.numbers_from(self._db, m, query.source_id)
            numbers = sourced if numbers is None else numbers & sourced
        return None if numbers is None else np.array(sorted(numbers), dtype=np.int64)

    def _candidates(self, wanted: int, effort: int) -> tuple[list[int], bool]:
        query, among = self._query, self._among
        collection = str(query.collection)
        spaces = None if query.spaces is None else frozenset(str(s) for s in query.spaces)
        halves: list[Nearest] = [
            self._tail.nearest(self._vector, collection, spaces, limit=wanted, among=among)
        ]
        if self._published is not None:
            halves.append(
                self._published.nearest(
                    self._vector, collection, spaces, limit=wanted, effort=effort
                )
                if among is None
                else self._published.among(self._vector, collection, spaces, among, limit=wanted)
            )
        numbers = np.concatenate([half.numbers for half in halves])
        likeness = np.concatenate([half.similarities for half in halves])
        nearest = np.lexsort((numbers, -likeness))[:wanted]
        complete = all(half.complete for half in halves) and len(numbers) <= wanted
        return [int(n) for n in numbers[nearest]], complete

    def _fits(self, row: Row) -> bool:
        without = self._query.without_scene
        return without is None or row.scene != without

    def _ordered(self, found: Sequence[Row]) -> Sequence[VectorHit]:
        if not found:
            return []
        vectors = rows.floats([row.vector for row in found], len(self._vector))
        likeness = np.clip(vectors @ self._vector, -1.0, 1.0)
        hits = [
            VectorHit(id=row.id, part=row.part, similarity=float(likeness[i]))
            for i, row in enumerate(found)
        ]
        hits.sort(key=lambda hit: (-hit.similarity, hit.id, hit.part))
        return hits[: self._query.limit]
