"""A search: candidates from the published index and the tail, looked up, scored again, ordered."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import apsw
import numpy as np

from canonry.readmodels.ports.vectors import VectorHit, VectorQuery
from canonry.recall.vectors import rows
from canonry.recall.vectors.codes import Numbers
from canonry.recall.vectors.published import Nearest, Published
from canonry.recall.vectors.tail import Tail
from canonry.values.json_values import decode_json

_SPARE: Final = 32
_SPARE_SHARE: Final = 8
"""So many candidates more than hits are asked for, or that share of them: codes are a little off,
and some candidates are gone."""

_FURTHER: Final = 4
_BLOCKS: Final = (64, 384)
_EXACT: Final = 64
"""A query for more hits than these has them scored by their codes, whose likeness is off by a few
thousandths: whoever asks for hundreds ranks them further, and reading their vectors costs most."""

# One row for many: each row that is handed over is a chance to wait for another thread.
_LOOK_UP: Final = {
    size: "SELECT json_group_array(json_array(n, id, part)) FROM vectors"  # noqa: S608 - marks
    f" WHERE n IN ({', '.join('?' * size)}) AND scene IS NOT ?"
    for size in _BLOCKS
}
_VECTOR: Final = "SELECT vector FROM vectors WHERE n = ?"

_Found: TypeAlias = tuple[int, str, int]
"""The number of a row, its id and its part."""


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
        """The nearest passages; more candidates are taken until enough of them are still rows."""
        limit, effort = self._query.limit, 1
        wanted = limit + max(_SPARE, limit // _SPARE_SHARE)
        while True:
            likeness, complete = self._candidates(wanted, effort)
            found = list(self._looked_up(list(likeness)))
            if complete or len(found) >= limit:
                return self._ordered(found, likeness)
            wanted, effort = wanted * _FURTHER, effort * _FURTHER

    def _looked_up(self, numbers: list[int]) -> Iterator[_Found]:
        """The rows among these that still exist, in no order.

        They are asked for in blocks of two sizes, so that two prepared statements do; the last
        block is filled up with a number that no row has.
        """
        without = self._query.without_scene
        # No scene has this name where none is left out: NULL would leave out rows of no scene.
        scene = "" if without is None else without
        numbers.sort()
        few, many = _BLOCKS
        size = few if len(numbers) <= 2 * few else many
        numbers += [0] * (-len(numbers) % size)
        for start in range(0, len(numbers), size):
            asked = *numbers[start : start + size], scene
            row: Any = self._db.execute(_LOOK_UP[size], asked).fetchone()
            yield from decode_json(row[0].encode())

    def _chosen(self, m: int) -> Numbers | None:
        query = self._query
        numbers: set[int] | None = None
        if query.entities:
            numbers = rows.numbers_about(self._db, m, query.entities)
        if query.source_id is not None:
            sourced = rows.numbers_from(self._db, m, query.source_id)
            numbers = sourced if numbers is None else numbers & sourced
        return None if numbers is None else np.array(sorted(numbers), dtype=np.int64)

    def _candidates(self, wanted: int, effort: int) -> tuple[dict[int, float], bool]:
        """Rows by number with their similarity, nearest first; and whether there are no others."""
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
        likeness = np.concatenate([half.similarities for half in halves]).clip(-1.0, 1.0)
        nearest = np.lexsort((numbers, -likeness))[:wanted]
        complete = all(half.complete for half in halves) and len(numbers) <= wanted
        pairs = zip(numbers[nearest].tolist(), likeness[nearest].tolist(), strict=True)
        return dict(pairs), complete

    def _ordered(
        self, found: Sequence[_Found], likeness: Mapping[int, float]
    ) -> Sequence[VectorHit]:
        limit = self._query.limit
        if limit <= _EXACT:
            likeness = self._exact([n for n, _, _ in found])
        ordered = sorted([(-likeness[n], i, part) for n, i, part in found])
        return [VectorHit(i, part, -nearness) for nearness, i, part in ordered[:limit]]

    def _exact(self, numbers: Sequence[int]) -> Mapping[int, float]:
        """The similarity of rows by their stored vectors."""
        found: list[Any] = [self._db.execute(_VECTOR, (n,)).fetchone() for n in numbers]
        vectors = rows.floats([row[0] for row in found], len(self._vector))
        likeness = np.vecdot(vectors, self._vector).clip(-1.0, 1.0)
        return dict(zip(numbers, likeness.tolist(), strict=True))
