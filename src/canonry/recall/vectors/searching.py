"""Search vectors: blocks in memory, a published file that is mapped, and the nearest of both."""

import json
import mmap
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

import apsw
import numpy as np
from numpy.typing import NDArray

from canonry.readmodels.ports.text import EmbeddingModel, VectorHit, VectorQuery
from canonry.recall.vectors import rows
from canonry.recall.vectors.rows import Floats, Numbers, corrupt
from canonry.values.errors import Unavailable
from canonry.values.json_values import decode_json

READ_AT_ONCE: Final = 4096
_COMPARED_AT_ONCE: Final = 2048  # other threads may run after each
_BLOCKS: Final = 16

CollectionInSpace = tuple[str, str]
"""A collection and a space."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """Numbers of rows with their similarities; `complete` if there are no others."""

    numbers: Numbers
    similarities: Floats
    complete: bool

    @classmethod
    def of(cls, numbers: Numbers, similarities: Floats, limit: int) -> Self:
        """The `limit` highest similarities, in no order."""
        if len(numbers) <= limit:
            return cls(numbers=numbers, similarities=similarities, complete=True)
        chosen = np.argpartition(similarities, -limit)[-limit:]
        return cls(numbers=numbers[chosen], similarities=similarities[chosen], complete=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Vectors with the number of the row and of the place of each."""

    numbers: Numbers
    places: NDArray[np.int32]
    vectors: Floats

    def __len__(self) -> int:
        return len(self.numbers)

    def nearest(
        self, query: Floats, places: Sequence[int], among: Numbers | None, limit: int
    ) -> Nearest:
        """The `limit` nearest at these places, of those with the numbers `among` if given."""
        fits = np.isin(self.places, places)
        if among is not None:
            fits &= np.isin(self.numbers, among)
        found = np.flatnonzero(fits)
        likeness = np.empty(len(found), dtype=np.float32)
        for start in range(0, len(found), _COMPARED_AT_ONCE):
            some = found[start : start + _COMPARED_AT_ONCE]
            first, end = int(some[0]), int(some[-1]) + 1
            # What lies side by side is read where it is; the rest has to be copied together.
            vectors = self.vectors[first : end if end - first == len(some) else 0]
            if len(vectors) != len(some):
                vectors = self.vectors[some]
            # A product of all rows at once would use every core of the machine.
            likeness[start : start + len(some)] = np.vecdot(vectors, query)
        return Nearest.of(self.numbers[found], likeness, limit)


def chosen(
    places: Mapping[CollectionInSpace, int], collection: str, spaces: frozenset[str] | None
) -> Sequence[int]:
    """The numbers of the places of a collection, of all spaces or of some."""
    return [
        number
        for (one, space), number in tuple(places.items())
        if one == collection and (spaces is None or space in spaces)
    ]


class Tail:
    """The vectors of one model after a number, in memory. It only grows."""

    def __init__(self, m: int, after: int, dimensions: int) -> None:
        """Begin after the row with that number."""
        self.after = after
        self._m = m
        self._dimensions = dimensions
        self._read = after
        self.places: dict[CollectionInSpace, int] = {}
        self.blocks: tuple[Block, ...] = ()

    def read_on(self, db: apsw.Connection) -> None:
        """Read the vectors written since the last time; one thread at a time."""
        stream = rows.after(db, self._m, self._read)
        while found := list(islice(stream, READ_AT_ONCE)):
            block = block_of(found, self.places, self._dimensions)
            self.blocks = _joined((*self.blocks, block))
            self._read = found[-1][2]


def block_of(
    found: Sequence[rows.VectorRow], places: dict[CollectionInSpace, int], dimensions: int
) -> Block:
    """The block of rows; a place that is new is given a number."""
    collections, spaces, numbers, vectors = zip(*found, strict=True)
    at = [places.setdefault(one, len(places)) for one in zip(collections, spaces, strict=True)]
    return Block(
        numbers=np.array(numbers, dtype=np.int64),
        places=np.array(at, dtype=np.int32),
        vectors=rows.floats(vectors, dimensions),
    )


def _joined(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The same rows in fewer blocks, if there are many blocks."""
    if len(blocks) < _BLOCKS:
        return tuple(blocks)
    whole = Block(
        numbers=np.concatenate([block.numbers for block in blocks]),
        places=np.concatenate([block.places for block in blocks]),
        vectors=np.concatenate([block.vectors for block in blocks]),
    )
    return (whole,)


# The published file: vectors that are written once and mapped by every process that searches.
#
# They are sorted by collection and space, so that a search of one space reads only its own vectors.
# The owner writes a new version beside the old one and renames it: a process that dies before
# leaves a file that nobody reads, and the next owner removes it.

_MAGIC: Final = b"CANVEC02"
_TRAILER: Final = 24  # length of the header, its checksum, that of the arrays, and the magic


class Published:
    """One version of the vectors of one model."""

    def __init__(self, path: Path) -> None:
        """Map the file.

        Raises:
            Unavailable: `vectors.corrupt`, it is damaged or of another version.
            OSError: it cannot be read.
        """
        with path.open("rb") as file:
            self._size = file.seek(0, 2)
            if self._size < _TRAILER:
                raise corrupt()
            self._mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        header = _header(memoryview(self._mapped), self._size)
        self.model: Mapping[str, Any] = header["model"]
        self.origin: str = header["origin"]
        self.newest: int = header["newest"]
        self.places: Mapping[CollectionInSpace, int] = {
            (collection, space): n for n, (collection, space) in enumerate(header["places"])
        }
        count, width = header["count"], self.model["dimensions"]
        numbers_at = 4 * count * width
        places_at = numbers_at + 8 * count
        self.block = Block(
            vectors=self._array("<f4", 0, count * width).reshape(count, width),
            numbers=self._array("<i8", numbers_at, count),
            places=self._array("<i4", places_at, count),
        )

    @property
    def is_whole(self) -> bool:
        """Whether nobody has cut the file since: to touch what is mapped past its end is death."""
        return self._mapped.size() >= self._size

    def gone(self, kept: Numbers) -> Numbers:
        """The positions of the vectors whose numbers are not in `kept`."""
        found: Numbers = np.flatnonzero(~np.isin(self.block.numbers, kept))
        return found

    def overwrite(self, path: Path, positions: Numbers) -> None:
        """Write zeros over vectors in the file, also for who maps it: no search returns them."""
        width = 4 * self.block.vectors.shape[1]
        with path.open("r+b") as file:
            for position in positions:
                file.seek(int(position) * width)
                file.write(bytes(width))
            file.flush()
            os.fsync(file.fileno())

    def _array(self, kind: str, offset: int, length: int) -> Any:
        return np.frombuffer(self._mapped, dtype=kind, count=length, offset=offset)


def published_of(path: Path, origin: str, model: EmbeddingModel) -> Published | None:
    """The file if it is whole and made from these rows; a damaged or former one is passed over."""
    try:
        published = Published(path)
    except (Unavailable, OSError, ValueError, KeyError):
        return None
    fits = published.origin == origin and published.model == asdict(model)
    return published if fits else None


def publish(db: apsw.Connection, m: int, model: EmbeddingModel, target: Path) -> None:
    """Write the vectors of a model as they are now to `target`, which appears whole or not."""
    newest, places = rows.newest(db), dict[CollectionInSpace, int]()
    numbers, ats = [np.empty(0, dtype="<i8")], [np.empty(0, dtype="<i4")]
    temporary = target.with_suffix(".new")
    temporary.touch(0o600)
    checksum = 0
    try:
        with temporary.open("wb") as file:
            for block in _blocks(db, m, model.dimensions, newest, places):
                numbers.append(block.numbers)
                ats.append(block.places)
                data = block.vectors.astype("<f4", copy=False).tobytes()
                checksum = zlib.crc32(data, checksum)
                file.write(data)
            small = np.concatenate(numbers).tobytes() + np.concatenate(ats).tobytes()
            header = {
                "model": asdict(model),
                "origin": rows.identity(db),
                "newest": newest,
                "count": sum(map(len, numbers)),
                "places": list(places),
            }
            text = json.dumps(header).encode()
            file.write(small + text + len(text).to_bytes(8, "little"))
            file.write(_checks(zlib.crc32(text), zlib.crc32(small, checksum)) + _MAGIC)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(target.parent)


def _blocks(
    db: apsw.Connection, m: int, dimensions: int, newest: int, places: dict[CollectionInSpace, int]
) -> Iterator[Block]:
    stream = rows.by_space(db, m, newest)
    while found := list(islice(stream, READ_AT_ONCE)):
        yield block_of(found, places, dimensions)


def _header(raw: memoryview, size: int) -> Mapping[str, Any]:
    trailer = bytes(raw[size - _TRAILER :])
    length = int.from_bytes(trailer[:8], "little")
    if trailer[16:] != _MAGIC or length > size - _TRAILER:
        raise corrupt()
    start = size - _TRAILER - length
    text = bytes(raw[start : size - _TRAILER])
    if trailer[8:16] != _checks(zlib.crc32(text), zlib.crc32(raw[:start])):
        raise corrupt()
    header: Mapping[str, Any] = json.loads(text)
    return header


def _checks(*sums: int) -> bytes:
    return b"".join(one.to_bytes(4, "little") for one in sums)


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


_SPARE: Final = 32
_SPARE_SHARE: Final = 8
"""So many candidates more than hits are asked for, or that share of them: some are gone."""

_FURTHER: Final = 4
_BLOCK_SIZES: Final = (64, 384)

# One row for many: each row that is handed over is a chance to wait for another thread.
_LOOK_UP: Final = {
    size: "SELECT json_group_array(json_array(n, id, part)) FROM vectors"  # noqa: S608 - marks
    f" WHERE n IN ({', '.join('?' * size)}) AND scene IS NOT ?"
    for size in _BLOCK_SIZES
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
        few, many = _BLOCK_SIZES
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
