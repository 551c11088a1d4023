"""Rows: vectors in a SQLite file of their own, and the lock of its owner."""

import errno
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import IO, Any, Final, TypeAlias

import apsw

from canonry.readmodels.ports.text import EmbeddingModel, VectorBatch
from canonry.values.errors import Unavailable

with suppress(ImportError):  # without the extra `meaning`, an index can only be dropped
    import numpy as np
    from numpy.typing import NDArray

_TRIES: Final = 1200  # with `_PAUSE` a minute, longer than publishing takes
_PAUSE: Final = 0.05

if sys.platform == "win32":
    import msvcrt

    def _lock_file(file: IO[bytes]) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock_file(file: IO[bytes]) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def try_owning(path: Path) -> Iterator[bool]:
    """Yield whether the lock at `path` was free; it ends with the block or the process."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(0o600)
    with path.open("ab") as file:
        try:
            _lock_file(file)
        except OSError:
            yield False
        else:
            yield True


@contextmanager
def await_owning(path: Path) -> Iterator[None]:
    """Hold the lock at `path`; wait up to a minute, which is longer than publishing takes.

    Raises:
        Unavailable: `vectors.unfinished`.
    """
    for _ in range(_TRIES):
        with ExitStack() as stack:
            if stack.enter_context(try_owning(path)):
                yield
                return
        time.sleep(_PAUSE)
    raise unfinished_error()


def unfinished_error() -> Unavailable:
    """Return the error for bytes that stay because another process uses the file."""
    message = "Removed, but another process holds a file of the vector index. Repeat the command."
    return Unavailable("vectors.unfinished", message)


# Rows: the vectors in a SQLite file of their own, as half-precision floats.
#
# Row numbers only grow, so that a reader can continue after the last number it has read. Errors of
# SQLite and files become the two errors of the port here.

Floats: TypeAlias = "NDArray[np.float32]"
Numbers: TypeAlias = "NDArray[np.int64]"

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_REBUILD_HINT: Final = "The vector index is damaged or of another version. Run `canonry rebuild`."
APPLICATION: Final = 0x43414E56
VERSION: Final = 2
_BUSY_MS: Final = 10_000  # another process may hold the lock of the file
_ROW: Final = "SELECT collection, space, n, vector FROM vectors"
SCHEMA: Final = files(__package__).joinpath("schema.sql").read_text("utf-8")
_UPGRADES: Final = {1: "ALTER TABLE vectors ADD COLUMN digest BLOB NOT NULL DEFAULT x''"}
"""The statement that upgrades each version to the next one."""


VectorRow: TypeAlias = tuple[str, str, int, bytes]
"""Collection, space, number and vector of a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Connected:
    db: apsw.Connection
    file: tuple[int, int] | None


class VectorRows:
    """Reads and writes through connections of its own, each used by one thread at a time."""

    def __init__(self, path: Path) -> None:
        """Use the file at `path`, which is created with the first write."""
        self._path = path
        self._shared = path.with_name(f"{path.name}-shm")
        self._shared_bytes = 0
        self._idle: list[_Connected] = []
        self._lock = Lock()

    def read_transaction(self) -> AbstractContextManager[apsw.Connection]:
        """Return a connection that sees one state of the file throughout."""
        return self._run_transaction("BEGIN")

    def write_transaction(self) -> AbstractContextManager[apsw.Connection]:
        """Return a connection whose changes are committed unless an error is raised."""
        return self._run_transaction("BEGIN IMMEDIATE")

    def scrub_file(self) -> bool:
        """Erase removed data in free pages and the log; False if a reader keeps the log."""
        connected = self._idle_connection() or self._open_connection()
        try:
            connected.db.execute("VACUUM")
            row: Any = connected.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            connected.db.close()
        return int(row[0]) == 0

    def close(self) -> None:
        """Close every idle connection."""
        with self._lock:
            while self._idle:
                self._idle.pop().db.close()

    @contextmanager
    def _run_transaction(self, begin: str) -> Iterator[apsw.Connection]:
        self._restore_shared_memory()
        connected = self._idle_connection() or self._open_connection()
        db = connected.db
        try:
            db.execute(begin)
            yield db
            db.execute("COMMIT")
        except BaseException:
            db.close()  # this rolls back an open transaction
            raise
        with self._lock:
            self._idle.append(connected)

    def _restore_shared_memory(self) -> None:
        """Restore the length of SQLite's shared memory (`-shm`) if another process has cut it.

        Reading a map past the end of its file kills the process; SQLite fills the restored part
        with zeros. The expected length is read first, since another thread may see the file grow.
        """
        known = self._shared_bytes
        with suppress(OSError):  # there is none yet, or the index was dropped
            size = self._shared.stat().st_size
            if not self._idle or size >= known:
                self._shared_bytes = size
                return
            with self._lock:
                if self._shared.stat().st_size < known:
                    os.truncate(self._shared, 0)
                    os.truncate(self._shared, known)

    def _idle_connection(self) -> _Connected | None:
        """Return a free connection to the current file of that name; it may have been replaced."""
        with self._lock:
            while self._idle:
                connected = self._idle.pop()
                if connected.file == _file_at(self._path):
                    return connected
                connected.db.close()
        return None

    def _open_connection(self) -> _Connected:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):  # SQLite gives the files next to it the same mode
            self._path.touch(0o600, exist_ok=False)
        db = apsw.Connection(str(self._path))
        try:
            db.set_busy_timeout(_BUSY_MS)
            _prepare_file(db)
            # The index can be rebuilt at any time, so that it need not survive a power failure.
            db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
            db.execute("PRAGMA secure_delete = ON")  # freed pages are overwritten
        except BaseException:
            db.close()
            raise
        return _Connected(db=db, file=_file_at(self._path))


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise Canonry's errors instead of the driver's and the system's."""
    try:
        yield
    except (apsw.NotADBError, apsw.CorruptError, apsw.SQLError, apsw.MismatchError) as error:
        raise corrupt_error() from error
    except apsw.BusyError as error:
        message = "Another process holds the vector index. Try again."
        raise Unavailable("vectors.unavailable", message) from error
    except apsw.FullError as error:
        raise Unavailable("vectors.unavailable", "The disk is full. Free space.") from error
    except (apsw.Error, OSError, MemoryError) as error:
        if isinstance(error, OSError) and error.errno in _FULL:
            raise Unavailable("vectors.unavailable", "The disk is full. Free space.") from error
        message = "The vector index cannot be used. Free space on its disk, or check its folder."
        raise Unavailable("vectors.unavailable", message) from error


def corrupt_error() -> Unavailable:
    """Return the error for damage that needs a rebuild."""
    return Unavailable("vectors.corrupt", _REBUILD_HINT)


def _file_at(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _prepare_file(db: apsw.Connection) -> None:
    if _select_number(db, "PRAGMA user_version") != VERSION:
        db.execute("BEGIN IMMEDIATE")
        try:
            if _select_number(db, "SELECT count(*) FROM sqlite_schema") == 0:
                db.execute(SCHEMA)
                db.pragma("application_id", APPLICATION)
                db.pragma("user_version", VERSION)
            version = _select_number(db, "PRAGMA user_version")
            while (
                version in _UPGRADES and _select_number(db, "PRAGMA application_id") == APPLICATION
            ):
                db.execute(_UPGRADES[version])
                version += 1
                db.pragma("user_version", version)
        except BaseException:
            if db.in_transaction:  # a full disk ends the whole transaction
                db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")
    marks = _select_number(db, "PRAGMA user_version"), _select_number(db, "PRAGMA application_id")
    if marks != (VERSION, APPLICATION):
        raise corrupt_error()


def _select_number(db: apsw.Connection, sql: str, *bound: Any) -> int:
    row: Any = db.execute(sql, bound).fetchone()
    return int(row[0] or 0)


def check_rows(db: apsw.Connection) -> None:
    """Read everything.

    Raises:
        Unavailable: `vectors.corrupt`, pages are damaged, or a vector has another size.
    """
    wrong = (
        "SELECT count(*) FROM vectors JOIN models USING (m) WHERE length(vector) <> 2 * dimensions"
    )
    if list[Any](db.execute("PRAGMA quick_check(1)")) != [("ok",)] or _select_number(db, wrong):
        raise corrupt_error()


def file_identity(db: apsw.Connection) -> str:
    """Return the identity of this file; files made from it repeat it."""
    row: Any = db.execute("SELECT id FROM identity").fetchone()
    return str(row[0])


def model_number(db: apsw.Connection, model: EmbeddingModel) -> int | None:
    """Return the number of a model in this file."""
    sql = "SELECT m FROM models WHERE name = ? AND version = ? AND dimensions = ? AND digest = ?"
    row: Any = db.execute(sql, _model_values(model)).fetchone()
    return None if row is None else int(row[0])


def list_models(db: apsw.Connection) -> Sequence[tuple[int, EmbeddingModel, str]]:
    """Return every model with its number and cursor."""
    sql = "SELECT m, name, version, dimensions, digest, cursor FROM models ORDER BY m"
    return [
        (m, EmbeddingModel(name=name, version=v, dimensions=size, digest=digest or None), cursor)
        for m, name, v, size, digest, cursor in list[Any](db.execute(sql))
    ]


def write_batch(db: apsw.Connection, batch: VectorBatch) -> None:
    """Write a batch.

    Raises:
        Unavailable: `vectors.moved`, the batch follows another cursor.
    """
    cursors = {model: cursor for _, model, cursor in list_models(db)}
    if batch.follows is not None and batch.follows != cursors.get(batch.model, ""):
        message = "Another process dropped or changed the vector index. Try again."
        raise Unavailable("vectors.moved", message)
    db.execute(
        "INSERT INTO models (name, version, dimensions, digest, cursor) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET cursor = excluded.cursor",
        (*_model_values(batch.model), batch.cursor),
    )
    m = model_number(db, batch.model)
    remove_passages(db, m, {*batch.removed, *(entry.id for entry in batch.entries)})
    for entry in batch.entries:
        db.execute(
            "INSERT INTO vectors (m, id, part, collection, space, scene, source, vector, digest)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(m, entry.id, entry.part, str(entry.collection), entry.space),
                *(entry.scene_id, entry.source_id, to_halves(entry.vector), entry.digest),
            ),
        )
        n = db.last_insert_rowid()
        about = [(m, entity, n) for entity in sorted(set(entry.entities))]
        db.executemany("INSERT INTO about (m, entity, n) VALUES (?, ?, ?)", about)


def row_numbers(db: apsw.Connection, m: int) -> Numbers:
    """Return the numbers of all rows of a model."""
    found = [row[0] for row in list[Any](db.execute("SELECT n FROM vectors WHERE m = ?", (m,)))]
    return np.array(found, dtype=np.int64)


def ids_about(db: apsw.Connection, m: int, entity: str, *, after: str, limit: int) -> Sequence[str]:
    """Return the ids of passages about an entity after an id, in order."""
    sql = (
        "SELECT DISTINCT v.id FROM about AS a JOIN vectors AS v ON v.n = a.n"
        " WHERE a.m = ? AND a.entity = ? AND v.id > ? ORDER BY v.id LIMIT ?"
    )
    return [row[0] for row in list[Any](db.execute(sql, (m, entity, after, limit)))]


def read_digests(db: apsw.Connection, m: int, ids: Iterable[str]) -> dict[str, Sequence[bytes]]:
    """Return the digest of each part of passages, in order."""
    sql = "SELECT digest FROM vectors WHERE m = ? AND id = ? ORDER BY part"
    found = {i: tuple(row[0] for row in list[Any](db.execute(sql, (m, i)))) for i in ids}
    return {i: parts for i, parts in found.items() if parts}


def remove_passages(db: apsw.Connection, m: int | None, ids: Iterable[str]) -> None:
    """Remove every part of passages from the rows of a model."""
    numbers = "SELECT n FROM vectors WHERE m = ? AND id = ?"
    for i in ids:
        db.execute(f"DELETE FROM about WHERE n IN ({numbers})", (m, i))  # noqa: S608 - constant
        db.execute("DELETE FROM vectors WHERE m = ? AND id = ?", (m, i))


def drop_model(db: apsw.Connection, m: int) -> None:
    """Drop a model."""
    for table in ("about", "vectors", "models"):
        db.execute(f"DELETE FROM {table} WHERE m = ?", (m,))  # noqa: S608 - names are constants


def count_vectors(db: apsw.Connection, m: int, *, after: int = 0) -> int:
    """Return the number of vectors of a model, or of those with a higher number."""
    if after:
        # The plus forces the index on numbers, because few rows are newer.
        return _select_number(db, "SELECT count(*) FROM vectors WHERE n > ? AND +m = ?", after, m)
    return _select_number(db, "SELECT count(*) FROM vectors WHERE m = ?", m)


def newest_number(db: apsw.Connection) -> int:
    """Return the highest number used so far."""
    return _select_number(db, "SELECT max(n) FROM vectors")


def rows_after(db: apsw.Connection, m: int, n: int) -> Iterator[VectorRow]:
    """Yield the rows of a model with a higher number, in order."""
    return iter(db.execute(f"{_ROW} WHERE n > ? AND +m = ? ORDER BY n", (n, m)))


def numbers_about(db: apsw.Connection, m: int, entities: frozenset[str]) -> set[int]:
    """Return the rows about any of the entities."""
    sql = "SELECT n FROM about WHERE m = ? AND entity = ?"
    return {row[0] for entity in entities for row in list[Any](db.execute(sql, (m, entity)))}


def numbers_from(db: apsw.Connection, m: int, source: str) -> set[int]:
    """Return the rows from a source."""
    sql = "SELECT n FROM vectors WHERE m = ? AND source = ?"
    return {row[0] for row in list[Any](db.execute(sql, (m, source)))}


def by_space(db: apsw.Connection, m: int, newest: int) -> Iterator[VectorRow]:
    """Yield every row of a model up to `newest`, grouped by space."""
    sql = f"{_ROW} INDEXED BY vectors_by_space WHERE m = ? AND n <= ? ORDER BY collection, space, n"
    return iter(db.execute(sql, (m, newest)))


def to_halves(vector: bytes) -> bytes:
    """Convert a vector of the port to half precision."""
    return np.frombuffer(vector, dtype="<f4").astype("<f2").tobytes()


def to_floats(stored: Sequence[bytes], dimensions: int) -> Floats:
    """Convert stored vectors to floats.

    Raises:
        Unavailable: `vectors.corrupt`, one has another size.
    """
    if any(len(one) != 2 * dimensions for one in stored):
        raise corrupt_error()
    joined = np.frombuffer(b"".join(stored), dtype="<f2").astype(np.float32)
    return joined.reshape(len(stored), dimensions)


def _model_values(model: EmbeddingModel) -> tuple[str, str, int, str]:
    return model.name, model.version, model.dimensions, model.digest or ""
