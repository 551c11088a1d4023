"""A search: the nearest vectors of the published file and the tail, if they are still rows."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import apsw
import numpy as np

from canonry.readmodels.ports.vectors import VectorHit, VectorQuery
from canonry.recall.vectors import rows
from canonry.recall.vectors.blocks import Block, CollectionInSpace, Tail, chosen
from canonry.recall.vectors.published import Published
from canonry.recall.vectors.rows import Numbers
from canonry.values.json_values import decode_json

_SPARE: Final = 32
_SPARE_SHARE: Final = 8
"""So many candidates more than hits are asked for, or that share of them: some are gone."""

_FURTHER: Final = 4
_BLOCKS: Final = (64, 384)

# One row for many: each row that is handed over is a chance to wait for another thread.
_LOOK_UP: Final = {
    size: "SELECT json_group_array(json_array(n, id, part)) FROM vectors"  # noqa: S608 - marks
    f" WHERE n IN ({', '.join('?' * size)}) AND scene IS NOT ?"
    for size in _BLOCKS
}

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
        limit = self._query.limit
        wanted = limit + max(_SPARE, limit // _SPARE_SHARE)
        while True:
            likeness, complete = self._candidates(wanted)
            found = list(self._looked_up(list(likeness)))
            if complete or len(found) >= limit:
                ordered = sorted([(-likeness[n], i, part) for n, i, part in found])
                return [VectorHit(i, part, -nearness) for nearness, i, part in ordered[:limit]]
            wanted *= _FURTHER

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

    def _candidates(self, wanted: int) -> tuple[dict[int, float], bool]:
        """Rows by number with their similarity; and whether there are no others."""
        collection, spaces = str(self._query.collection), self._query.spaces
        named = None if spaces is None else frozenset(map(str, spaces))
        tail, published = self._tail, self._published
        blocks: list[tuple[Block, Mapping[CollectionInSpace, int]]]
        blocks = [(block, tail.places) for block in tail.blocks]
        if published is not None:
            blocks.append((published.block, published.places))
        parts = [
            block.nearest(self._vector, at, self._among, wanted)
            for block, places in blocks
            if (at := chosen(places, collection, named))
        ]
        if not parts:
            return {}, True
        numbers = np.concatenate([part.numbers for part in parts])
        likeness = np.concatenate([part.similarities for part in parts]).clip(-1.0, 1.0)
        nearest = np.lexsort((numbers, -likeness))[:wanted]
        complete = all(part.complete for part in parts) and len(numbers) <= wanted
        pairs = zip(numbers[nearest].tolist(), likeness[nearest].tolist(), strict=True)
        return dict(pairs), complete
