"""The embedded index: a published, mapped file, newer vectors in memory, and the search."""

from __future__ import annotations

import asyncio
import json
import mmap
import os
import zlib
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import wraps
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, Final, ParamSpec, Self, TypeAlias, TypeVar

import apsw
from typing_extensions import override

from canonry.readmodels.ports.text import (
    EmbeddingModel,
    VectorBatch,
    VectorHit,
    VectorQuery,
    Vectors,
    VectorStatus,
    require_sizes,
)
from canonry.recall.vectors import rows
from canonry.recall.vectors.rows import (
    Floats,
    Numbers,
    await_owning,
    corrupt_error,
    try_owning,
    unfinished_error,
)
from canonry.values.errors import Unavailable
from canonry.values.json_values import decode_json

with suppress(ImportError):  # without the extra `meaning`, an index can only be dropped
    import numpy as np
    from numpy.typing import NDArray

READ_AT_ONCE: Final = 4096  # bounds the memory of a rebuild: bench vectors
_COMPARED_AT_ONCE: Final = 2048  # other threads may run after each
_BLOCKS: Final = 16

CollectionInSpace = tuple[str, str]
"""A collection and a space."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """Numbers of rows with their similarities; `complete` means that there are no others."""

    numbers: Numbers
    similarities: Floats
    complete: bool

    @classmethod
    def take_highest(cls, numbers: Numbers, similarities: Floats, limit: int) -> Self:
        """Return the `limit` highest similarities, in no order."""
        if len(numbers) <= limit:
            return cls(numbers=numbers, similarities=similarities, complete=True)
        chosen = np.argpartition(similarities, -limit)[-limit:]
        return cls(numbers=numbers[chosen], similarities=similarities[chosen], complete=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Vectors with the row number and partition of each; a collection in a space is a partition."""

    numbers: Numbers
    partitions: NDArray[np.int32]
    vectors: Floats

    def __len__(self) -> int:
        return len(self.numbers)

    def find_nearest(
        self, query: Floats, partitions: Sequence[int], among: Numbers | None, limit: int
    ) -> Nearest:
        """Return the `limit` nearest vectors in these partitions, and in `among` if given."""
        fits = np.isin(self.partitions, partitions)
        if among is not None:
            fits &= np.isin(self.numbers, among)
        found = np.flatnonzero(fits)
        likeness = np.empty(len(found), dtype=np.float32)
        for start in range(0, len(found), _COMPARED_AT_ONCE):
            some = found[start : start + _COMPARED_AT_ONCE]
            first, end = int(some[0]), int(some[-1]) + 1
            # Neighbouring rows are read in place; others must be copied together.
            vectors = self.vectors[first : end if end - first == len(some) else 0]
            if len(vectors) != len(some):
                vectors = self.vectors[some]
            # A product of all rows at once would use every core of the machine.
            likeness[start : start + len(some)] = np.vecdot(vectors, query)
        return Nearest.take_highest(self.numbers[found], likeness, limit)


def choose_partitions(
    partitions: Mapping[CollectionInSpace, int], collection: str, spaces: frozenset[str] | None
) -> Sequence[int]:
    """Return the partitions of a collection, in all spaces or in some."""
    return [
        number
        for (one, space), number in tuple(partitions.items())
        if one == collection and (spaces is None or space in spaces)
    ]


class Tail:
    """The vectors of one model after a number, in memory. It only grows."""

    def __init__(self, m: int, after: int, dimensions: int) -> None:
        """Start after the row with that number."""
        self.after = after
        self._m = m
        self._dimensions = dimensions
        self._read = after
        self.partitions: dict[CollectionInSpace, int] = {}
        self.blocks: tuple[Block, ...] = ()

    def read_new(self, db: apsw.Connection) -> None:
        """Read the vectors written since the last call; one thread at a time."""
        stream = rows.rows_after(db, self._m, self._read)
        while found := list(islice(stream, READ_AT_ONCE)):
            block = block_of(found, self.partitions, self._dimensions)
            self.blocks = _join_blocks((*self.blocks, block))
            self._read = found[-1][2]


def block_of(
    found: Sequence[rows.VectorRow], partitions: dict[CollectionInSpace, int], dimensions: int
) -> Block:
    """Return the block of rows; a new collection in a space gets a number."""
    collections, spaces, numbers, vectors = zip(*found, strict=True)
    at = [partitions.setdefault(p, len(partitions)) for p in zip(collections, spaces, strict=True)]
    return Block(
        numbers=np.array(numbers, dtype=np.int64),
        partitions=np.array(at, dtype=np.int32),
        vectors=rows.to_floats(vectors, dimensions),
    )


def _join_blocks(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Return the same rows in fewer blocks, if there are many."""
    if len(blocks) < _BLOCKS:
        return tuple(blocks)
    whole = Block(
        numbers=np.concatenate([block.numbers for block in blocks]),
        partitions=np.concatenate([block.partitions for block in blocks]),
        vectors=np.concatenate([block.vectors for block in blocks]),
    )
    return (whole,)


# The published file: vectors that are written once and mapped by every searching process.
#
# They are sorted by collection and space, so that a search of one space reads only its own vectors.
# The owner writes a new version next to the old one and renames it. A process that dies before
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
                raise corrupt_error()
            self._mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        header = _read_header(memoryview(self._mapped), self._size)
        self.model: Mapping[str, Any] = header["model"]
        self.origin: str = header["origin"]
        self.newest: int = header["newest"]
        self.partitions: Mapping[CollectionInSpace, int] = {
            (collection, space): n for n, (collection, space) in enumerate(header["places"])
        }
        count, width = header["count"], self.model["dimensions"]
        numbers_at = 4 * count * width
        partitions_at = numbers_at + 8 * count
        self.block = Block(
            vectors=self._read_array("<f4", 0, count * width).reshape(count, width),
            numbers=self._read_array("<i8", numbers_at, count),
            partitions=self._read_array("<i4", partitions_at, count),
        )

    @property
    def is_whole(self) -> bool:
        """Return whether the file kept its length; reading a map past its end kills the process."""
        return self._mapped.size() >= self._size

    def zero_vectors(self, path: Path, positions: Numbers) -> None:
        """Overwrite vectors with zeros in the file and in all maps of it, so that none is found."""
        width = 4 * self.block.vectors.shape[1]
        with path.open("r+b") as file:
            for position in positions:
                file.seek(int(position) * width)
                file.write(bytes(width))
            file.flush()
            os.fsync(file.fileno())

    def _read_array(self, kind: str, offset: int, length: int) -> Any:
        return np.frombuffer(self._mapped, dtype=kind, count=length, offset=offset)


def published_of(path: Path, origin: str, model: EmbeddingModel) -> Published | None:
    """Return the file if it is complete and made from these rows; None: damaged or outdated."""
    try:
        published = Published(path)
    except (Unavailable, OSError, ValueError, KeyError):
        return None
    fits = published.origin == origin and published.model == asdict(model)
    return published if fits else None


def publish_vectors(db: apsw.Connection, m: int, model: EmbeddingModel, target: Path) -> None:
    """Write the current vectors of a model to `target`, which appears complete or not at all."""
    newest, partitions = rows.newest_number(db), dict[CollectionInSpace, int]()
    numbers, ats = [np.empty(0, dtype="<i8")], [np.empty(0, dtype="<i4")]
    temporary = target.with_suffix(".new")
    temporary.touch(0o600)
    checksum = 0
    try:
        with temporary.open("wb") as file:
            for block in _read_blocks(db, m, model.dimensions, newest, partitions):
                numbers.append(block.numbers)
                ats.append(block.partitions)
                data = block.vectors.astype("<f4", copy=False).tobytes()
                checksum = zlib.crc32(data, checksum)
                file.write(data)
            small = np.concatenate(numbers).tobytes() + np.concatenate(ats).tobytes()
            header = {
                "model": asdict(model),
                "origin": rows.file_identity(db),
                "newest": newest,
                "count": sum(map(len, numbers)),
                "places": list(partitions),
            }
            text = json.dumps(header).encode()
            file.write(small + text + len(text).to_bytes(8, "little"))
            file.write(_checksum_bytes(zlib.crc32(text), zlib.crc32(small, checksum)) + _MAGIC)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(target.parent)


def _read_blocks(
    db: apsw.Connection, m: int, size: int, newest: int, partitions: dict[CollectionInSpace, int]
) -> Iterator[Block]:
    stream = rows.by_space(db, m, newest)
    while found := list(islice(stream, READ_AT_ONCE)):
        yield block_of(found, partitions, size)


def _read_header(raw: memoryview, size: int) -> Mapping[str, Any]:
    trailer = bytes(raw[size - _TRAILER :])
    length = int.from_bytes(trailer[:8], "little")
    if trailer[16:] != _MAGIC or length > size - _TRAILER:
        raise corrupt_error()
    start = size - _TRAILER - length
    text = bytes(raw[start : size - _TRAILER])
    if trailer[8:16] != _checksum_bytes(zlib.crc32(text), zlib.crc32(raw[:start])):
        raise corrupt_error()
    header: Mapping[str, Any] = json.loads(text)
    return header


def _checksum_bytes(*sums: int) -> bytes:
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
"""The extra candidates for hits that may be deleted: this number or this share of them."""

_FURTHER: Final = 4
_BLOCK_SIZES: Final = (64, 384)

# One result row for many: after each row, the thread may have to wait for others.
_LOOK_UP: Final = {
    size: "SELECT json_group_array(json_array(n, id, part)) FROM vectors"  # noqa: S608 - marks
    f" WHERE n IN ({', '.join('?' * size)}) AND scene IS NOT ?"
    for size in _BLOCK_SIZES
}

_Found: TypeAlias = tuple[int, str, int]
"""The number of a row, its id and its part."""


class VectorSearch:
    """One query on one state of the rows."""

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
        self._among = self._chosen_numbers(m)

    def find_hits(self) -> Sequence[VectorHit]:
        """Return the nearest passages; take more candidates until enough of them still exist."""
        limit = self._query.limit
        wanted = limit + max(_SPARE, limit // _SPARE_SHARE)
        while True:
            likeness, complete = self._find_candidates(wanted)
            found = list(self._look_up_rows(list(likeness)))
            if complete or len(found) >= limit:
                ordered = sorted([(-likeness[n], i, part) for n, i, part in found])
                return [VectorHit(i, part, -nearness) for nearness, i, part in ordered[:limit]]
            wanted *= _FURTHER

    def _look_up_rows(self, numbers: list[int]) -> Iterator[_Found]:
        """Yield the rows that still exist, in no order.

        They are read in blocks of two sizes, so that two prepared statements suffice. The last
        block is padded with an unused number.
        """
        without = self._query.without_scene
        # No scene has this name; NULL would also exclude rows without a scene.
        scene = "" if without is None else without
        numbers.sort()
        few, many = _BLOCK_SIZES
        size = few if len(numbers) <= 2 * few else many
        numbers += [0] * (-len(numbers) % size)
        for start in range(0, len(numbers), size):
            asked = *numbers[start : start + size], scene
            row: Any = self._db.execute(_LOOK_UP[size], asked).fetchone()
            yield from decode_json(row[0].encode())

    def _chosen_numbers(self, m: int) -> Numbers | None:
        query = self._query
        numbers: set[int] | None = None
        if query.entities:
            numbers = rows.numbers_about(self._db, m, query.entities)
        if query.source_id is not None:
            sourced = rows.numbers_from(self._db, m, query.source_id)
            numbers = sourced if numbers is None else numbers & sourced
        return None if numbers is None else np.array(sorted(numbers), dtype=np.int64)

    def _find_candidates(self, wanted: int) -> tuple[dict[int, float], bool]:
        """Return rows by number with their similarity, and whether there are no others."""
        collection, spaces = str(self._query.collection), self._query.spaces
        named = None if spaces is None else frozenset(map(str, spaces))
        tail, published = self._tail, self._published
        blocks: list[tuple[Block, Mapping[CollectionInSpace, int]]]
        blocks = [(block, tail.partitions) for block in tail.blocks]
        if published is not None:
            blocks.append((published.block, published.partitions))
        parts = [
            block.find_nearest(self._vector, at, self._among, wanted)
            for block, partitions in blocks
            if (at := choose_partitions(partitions, collection, named))
        ]
        if not parts:
            return {}, True
        numbers = np.concatenate([part.numbers for part in parts])
        likeness = np.concatenate([part.similarities for part in parts]).clip(-1.0, 1.0)
        nearest = np.lexsort((numbers, -likeness))[:wanted]
        complete = all(part.complete for part in parts) and len(numbers) <= wanted
        pairs = zip(numbers[nearest].tolist(), likeness[nearest].tolist(), strict=True)
        return dict(pairs), complete


# The embedded index compares every vector, in a mapped file or, if newer, in memory.
#
# Every candidate is looked up in the rows before it is returned. A vector that another process
# removed or replaced is therefore never found, whichever version of the published file is mapped.

FILE: Final = "recall.db"
LOCK: Final = "recall.lock"
WAITING: Final = 4096
"""The unpublished vectors that trigger a new file: this many, or an eighth of the last file."""

_SHARE: Final = 8
_IN_MEMORY: Final = 200_000
"""The most unpublished vectors that are searched; more would fill the memory."""


P = ParamSpec("P")
R = TypeVar("R")


def _in_thread(work: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Run the work in a thread, and translate the engine's errors into those of the port."""
    translating = rows.translated_errors()(work)

    @wraps(work)
    async def run_work(*args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(translating, *args, **kwargs)

    return run_work


@dataclass(slots=True)
class _Opened:
    """A process's state of one model: the published version, if any, and the rows after it."""

    path: Path | None
    published: Published | None
    tail: Tail
    lock: Lock = field(default_factory=Lock)

    def is_current(self, newest: Path | None) -> bool:
        """Return whether this is still the newest version, and complete."""
        return self.path == newest and (self.published is None or self.published.is_whole)


class FolderVectors(Vectors):
    """Vectors in a folder that several processes may share."""

    def __init__(self, folder: Path, *, waiting: int = WAITING) -> None:
        """Use the folder, which is created with the first write."""
        self._folder = folder
        self._waiting = waiting
        self._rows = rows.VectorRows(folder / FILE)
        self._lock = Lock()
        self._opened: dict[int, _Opened] = {}

    @override
    @_in_thread
    def apply(self, batch: VectorBatch) -> None:
        require_sizes(batch)
        with self._rows.write_transaction() as db:
            rows.write_batch(db, batch)

    @override
    @_in_thread
    def remove(self, ids: Sequence[str]) -> None:
        with self._rows.write_transaction() as db:
            for m, _, _ in rows.list_models(db):
                rows.remove_passages(db, m, ids)

    @override
    @_in_thread
    def search(self, query: VectorQuery) -> Sequence[VectorHit]:
        if query.limit < 1 or len(query.vector) != 4 * query.model.dimensions:
            return []
        with self._rows.read_transaction() as db:
            m = rows.model_number(db, query.model)
            if m is None:
                return []
            opened = self._current_version(db, m, query.model)
            return VectorSearch(db, m, query, opened.published, opened.tail).find_hits()

    @override
    @_in_thread
    def status(self) -> Sequence[VectorStatus]:
        with self._rows.read_transaction() as db:
            return [
                VectorStatus(
                    model=model,
                    count=rows.count_vectors(db, m),
                    cursor=cursor,
                    waiting=rows.count_vectors(db, m, after=self._newest_published(db, m, model)),
                )
                for m, model, cursor in rows.list_models(db)
            ]

    @_in_thread
    def check_rows(self) -> None:
        """Read the whole file of the rows.

        Raises:
            Unavailable: `vectors.corrupt`, it is damaged.
        """
        with self._rows.read_transaction() as db:
            rows.check_rows(db)

    @override
    @_in_thread
    def cursors(self) -> Mapping[EmbeddingModel, str]:
        with self._rows.read_transaction() as db:
            return {model: cursor for _, model, cursor in rows.list_models(db)}

    @override
    @_in_thread
    def vector_digests(
        self, model: EmbeddingModel, ids: Sequence[str]
    ) -> Mapping[str, Sequence[bytes]]:
        with self._rows.read_transaction() as db:
            m = rows.model_number(db, model)
            return {} if m is None else rows.read_digests(db, m, ids)

    @override
    @_in_thread
    def passages_about(
        self, model: EmbeddingModel, entity: str, *, after: str = "", limit: int
    ) -> Sequence[str]:
        with self._rows.read_transaction() as db:
            m = rows.model_number(db, model)
            return [] if m is None else rows.ids_about(db, m, entity, after=after, limit=limit)

    @override
    @_in_thread
    def compact_updates(self, model: EmbeddingModel) -> bool:
        with try_owning(self._folder / LOCK) as owned:
            if not owned:
                return False
            with self._rows.read_transaction() as db:
                m = rows.model_number(db, model)
                if m is None or not self._is_due(db, m, model):
                    return False
                self._publish_version(db, m, model)
            self._remove_versions(m)
            return True

    @override
    @_in_thread
    def purge(self) -> None:
        if not (self._folder / FILE).is_file():
            return
        with await_owning(self._folder / LOCK):
            with self._rows.read_transaction() as db:
                known = rows.list_models(db)
                for m, model, _ in known:
                    self._renew_published(db, m, model)
            # A process may have been killed while it published or dropped a model.
            numbers = {str(m) for m, _, _ in known}
            for path in self._folder.glob("recall-*-*.*"):
                if path.suffix != ".index" or path.stem.split("-")[1] not in numbers:
                    _remove_file(path)
            if not self._rows.scrub_file():
                raise unfinished_error()

    @override
    @_in_thread
    def drop(self, model: EmbeddingModel | None = None) -> None:
        if model is None:
            self._close_versions()
            for path in self._folder.glob("recall*"):
                if path.name != LOCK:
                    path.unlink(missing_ok=True)
            return
        with self._rows.write_transaction() as db:
            m = rows.model_number(db, model)
            if m is not None:
                rows.drop_model(db, m)
        if m is not None:
            self._remove_versions(m, kept=0)
        self._close_versions()

    @override
    async def close(self) -> None:
        self._close_versions()

    def _newest_published(self, db: apsw.Connection, m: int, model: EmbeddingModel) -> int:
        published = self._open_version(db, m, model).published
        return published.newest if published is not None else 0

    def _publish_version(self, db: apsw.Connection, m: int, model: EmbeddingModel) -> None:
        last = max(self._list_versions(m), default=(0, None))[0]
        target = self._folder / f"recall-{m}-{last + 1:08}.index"
        publish_vectors(db, m, model, target)

    def _remove_versions(self, m: int, *, kept: int = 1) -> None:
        """Remove the published files of a model, except the newest ones."""
        for _, path in sorted(self._list_versions(m), reverse=True)[kept:]:
            _remove_file(path)

    def _renew_published(self, db: apsw.Connection, m: int, model: EmbeddingModel) -> None:
        """If removed rows are published, publish without them and erase them in the old file."""
        opened = self._open_version(db, m, model)
        if opened.published is None or opened.path is None:
            self._remove_versions(m, kept=0)
            return
        gone: Numbers = np.flatnonzero(
            ~np.isin(opened.published.block.numbers, rows.row_numbers(db, m))
        )
        if len(gone):
            self._publish_version(db, m, model)
            opened.published.zero_vectors(opened.path, gone)
        self._remove_versions(m)

    def _is_due(self, db: apsw.Connection, m: int, model: EmbeddingModel) -> bool:
        opened = self._open_version(db, m, model)
        published = opened.published
        if published is None and opened.path is not None:
            return True  # damaged, or of a former kind
        size, newest = (0, 0) if published is None else (len(published.block), published.newest)
        waiting = rows.count_vectors(db, m, after=newest)
        removed = size + waiting - rows.count_vectors(db, m)
        return max(waiting, removed) > max(self._waiting, size // _SHARE)

    def _current_version(self, db: apsw.Connection, m: int, model: EmbeddingModel) -> _Opened:
        opened = self._open_version(db, m, model)
        with opened.lock:
            if not opened.tail.blocks:
                waiting = rows.count_vectors(db, m, after=opened.tail.after)
                if waiting > _IN_MEMORY:
                    message = "The vector index is being built. Search matches words only."
                    raise Unavailable("vectors.unavailable", message)
            opened.tail.read_new(db)
        return opened

    def _open_version(self, db: apsw.Connection, m: int, model: EmbeddingModel) -> _Opened:
        """Return the newest complete version; skip a damaged one."""
        with self._lock:
            _, path = max(self._list_versions(m), default=(0, None))
            opened = self._opened.get(m)
            if opened is None or not opened.is_current(path):
                published = (
                    None if path is None else published_of(path, rows.file_identity(db), model)
                )
                after = 0 if published is None else published.newest
                opened = _Opened(path, published, Tail(m, after, model.dimensions))
                self._opened[m] = opened
            return opened

    def _list_versions(self, m: int) -> list[tuple[int, Path]]:
        begin, end = f"recall-{m}-", ".index"
        # Every search does this: comparing names costs a fifth of matching a pattern.
        try:
            with os.scandir(self._folder) as entries:
                names = [entry.name for entry in entries]
        except FileNotFoundError:
            return []
        return [
            (int(name[len(begin) : -len(end)]), self._folder / name)
            for name in names
            if name.startswith(begin) and name.endswith(end)
        ]

    def _close_versions(self) -> None:
        with self._lock:
            self._opened.clear()
        self._rows.close()


def _remove_file(path: Path) -> None:
    try:
        path.unlink()
    except OSError:
        return  # a process that maps it may keep it; the next owner tries again
