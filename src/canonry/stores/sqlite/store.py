"""The SQLite store, its schema, and stores that are opened read-only."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import apsw

from canonry.log.folding import key_hash
from canonry.log.ports.ledger import Blobs, Sealer
from canonry.log.ports.world import Clock, Identities, newer_store
from canonry.log.sealing import ENCODING_VERSION, MIN_READER
from canonry.stores.sqlite import connections
from canonry.stores.sqlite.catalog import SqliteCatalog
from canonry.stores.sqlite.commits import Stored
from canonry.stores.sqlite.ledger import PATIENCE_SECONDS, Pen, Pump, SqliteLedger
from canonry.stores.sqlite.rows import pack_keys, select_number
from canonry.stores.sqlite.state import SqliteDocuments, SqlitePlaces, SqliteState
from canonry.stores.sqlite.text import SqliteText, index_queued
from canonry.stores.sqlite.views import BATCH, fetch_on_loop, fold_all
from canonry.values.errors import BrokenInvariant, NotFound, Unavailable

APPLICATION_ID: Final = 0x43414E4F
VIEWS_VERSION: Final = 18
"""Increase this when a view changes its shape or content. Older views are then folded again."""

_FOLDER: Final = files("canonry.stores.sqlite")
_MIGRATIONS: Final = tuple(
    sorted(
        (item for item in (_FOLDER / "migrations").iterdir() if item.name.endswith(".sql")),
        key=lambda item: item.name,
    )
)
SCHEMA_VERSION: Final = len(_MIGRATIONS)
_TOUCHED: Final = "UPDATE commits SET touched = ? WHERE seq = ? AND touched <> ?"
_VIEWS: Final = (
    "SELECT name FROM main.sqlite_schema WHERE type = 'table'"
    " AND name NOT IN ('meta', 'commits', 'parts') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    " ORDER BY sql LIKE '%fts5vocab%' DESC, sql LIKE '%fts5%' DESC"
)
"""Tables of views of any version, dependent ones first."""


def prepare_store(db: apsw.Connection, fetch: Callable[[str], bytes]) -> None:
    """Bring the store to this version. The caller holds the write lock.

    Raises:
        BrokenInvariant: `store.not-canonry`, `store.newer` or `store.corrupt`.
    """
    with connections.translated_errors(), connections.transaction(db, "BEGIN IMMEDIATE"):
        version = _read_version(db)
        if version == 0:
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        for migration in _MIGRATIONS[version:]:
            db.execute(migration.read_text(encoding="utf-8"))
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        if _read_meta(db, "min_reader") < MIN_READER:
            _write_meta(db, "min_reader", MIN_READER)
        if _read_meta(db, "views") != VIEWS_VERSION:
            make_views(db)
            fold_all(db, fetch, touched=_rewriting_keys(db))
            index_queued(db)
            _write_meta(db, "views", VIEWS_VERSION)


def _rewriting_keys(db: apsw.Connection) -> Callable[[Stored, frozenset[str]], None]:
    """Rewrite the keys that commits touch, if another version of the fold computed them.

    Commits with erased payloads, and later commits of their spaces, keep their keys.
    """
    redacted = set[str]()

    def rewrite_keys(stored: Stored, keys: frozenset[str]) -> None:
        space = stored.sealed.space
        if None in stored.sealed.parts:
            redacted.add(space)
        if space not in redacted:
            packed = pack_keys(map(key_hash, keys))
            db.execute(_TOUCHED, (packed, stored.seq, packed))

    return rewrite_keys


def is_current(db: apsw.Connection) -> bool:
    """Return whether the store needs no preparation.

    Raises:
        BrokenInvariant: `store.not-canonry` or `store.newer`.
    """
    with connections.translated_errors():
        return _read_version(db) == SCHEMA_VERSION and _read_meta(db, "views") == VIEWS_VERSION


def require_reader(db: apsw.Connection) -> None:
    """Refuse to write if a newer version of Canonry has forbidden it to this one.

    Raises:
        BrokenInvariant: `store.newer`.
    """
    if _read_meta(db, "min_reader") > ENCODING_VERSION:
        raise newer_store()


def statements_of(version: int, *, views: bool = True) -> Sequence[str]:
    """Return the statements that create the records of a version and the current views."""
    texts = [migration.read_text(encoding="utf-8") for migration in _MIGRATIONS[:version]]
    return [*texts, (_FOLDER / "views.sql").read_text(encoding="utf-8")] if views else texts


def make_views(db: apsw.Connection) -> None:
    """Drop the views and create empty ones."""
    for (name,) in list[Any](db.execute(_VIEWS)):
        db.execute(f"DROP TABLE IF EXISTS main.{name}")
    db.execute((_FOLDER / "views.sql").read_text(encoding="utf-8"))


def _read_version(db: apsw.Connection) -> int:
    application, version = int(db.pragma("application_id")), int(db.pragma("user_version"))
    if application not in {0, APPLICATION_ID}:
        raise connections.not_canonry()
    if application == 0 and db.execute("SELECT 1 FROM sqlite_schema").fetchone() is not None:
        raise connections.not_canonry()
    if version > SCHEMA_VERSION:
        raise newer_store()
    if version:
        require_reader(db)
    return version


def _read_meta(db: apsw.Connection, name: str) -> int:
    return select_number(db, "SELECT max(value) FROM meta WHERE name = ?", (name,))


def _write_meta(db: apsw.Connection, name: str, value: int) -> None:
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))


FILE: Final = "canon.db"
DEADLINE: Final = 10.0  # a call without a deadline does not wait for ever
_QUEUED_COUNT: Final = "SELECT count(*) FROM (SELECT 1 FROM unindexed LIMIT ?)"


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlitePorts:
    """The ports of one folder, over the same connections."""

    ledger: SqliteLedger
    state: SqliteState
    documents: SqliteDocuments
    text: SqliteText
    catalog: SqliteCatalog
    places: SqlitePlaces
    readers: connections.Readers


def ports_over(
    readers: connections.Readers, blobs: Blobs, writing: tuple[Pump, Pen] | None
) -> dict[str, Any]:
    """Return the fields of `SqlitePorts`. Without `writing` the store is read-only."""
    return {
        "ledger": SqliteLedger(readers, writing, blobs),
        "state": SqliteState(readers),
        "documents": SqliteDocuments(readers),
        "text": SqliteText(readers),
        "catalog": SqliteCatalog(readers),
        "places": SqlitePlaces(readers),
        "readers": readers,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class SqliteStore(SqlitePorts):
    """Ports that read and write one folder while it is open."""

    folder: Path
    pump: Pump
    writer: apsw.Connection
    turnstile: connections.Turnstile
    checkpoints: connections.Checkpoints
    checkpointer: apsw.Connection
    durability: connections.Durability

    @property
    def path(self) -> Path:
        """Path of the database file."""
        return self.folder / FILE

    async def close(self) -> None:
        """Finish pending calls, empty the write-ahead log, and release the folder."""
        if not await self.pump.close():
            return
        await self.readers.close()
        self.writer.close()
        await asyncio.to_thread(self.checkpoints.empty_log)
        await self.checkpoints.close()
        self.checkpointer.close()
        self.turnstile.close()


async def open_store(
    folder: Path,
    *,
    clock: Clock,
    identities: Identities,
    blobs: Blobs,
    durability: connections.Durability = connections.Durability.FULL,
    deadline: float = DEADLINE,
    vfs: str | None = None,
    mapped_from: int = connections.CACHE_KB * 1024,
) -> SqliteStore:
    """Open the store in `folder`; create or upgrade it if needed.

    A database of more than `mapped_from` bytes is read through mapped memory.

    Raises:
        BrokenInvariant: `store.not-canonry`, `store.newer`, `store.emptied` or `store.corrupt`.
        Unavailable: `store.unreachable`, `store.read-only`, `store.busy`, `store.io`.
    """
    turnstile = await asyncio.to_thread(_claim_folder, folder)
    path = folder / FILE
    fetch_blob = fetch_on_loop(blobs)
    try:
        writer = await asyncio.to_thread(
            lambda: _open_prepared(path, turnstile, durability, vfs, fetch_blob)
        )
    except BaseException:
        turnstile.close()
        raise
    anchor = connections.Anchor(path)
    readers = connections.Readers(
        path, deadline=deadline, anchor=anchor, vfs=vfs, mapped_from=mapped_from
    )
    checkpointer = connections.open_connection(
        path, writes=True, durability=durability, patience_ms=connections.PATIENCE_MS, vfs=vfs
    )
    checkpoints = connections.Checkpoints(writer, checkpointer, anchor)
    anchor.record_files()
    pump = _make_pump(writer, turnstile, anchor, durability)
    writing = (pump, Pen(db=writer, sealer=Sealer(clock, identities)))
    return SqliteStore(
        **ports_over(readers, blobs, writing),
        folder=folder,
        pump=pump,
        writer=writer,
        turnstile=turnstile,
        checkpoints=checkpoints,
        checkpointer=checkpointer,
        durability=durability,
    )


def _claim_folder(folder: Path) -> connections.Turnstile:
    """Return the turnstile of the folder, and create the folder if it is missing."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return connections.Turnstile(folder)
    except OSError as error:
        message = f"The data folder {folder} cannot be used. Check that you may write to it."
        raise Unavailable("store.unreachable", message) from error


def _make_pump(
    writer: apsw.Connection,
    turnstile: connections.Turnstile,
    anchor: connections.Anchor,
    durability: connections.Durability,
) -> Pump:
    return Pump(
        writer,
        turnstile,
        syncs=durability is connections.Durability.FULL,
        anchor=anchor,
        guard=lambda: require_reader(writer),
        is_due=lambda: select_number(writer, _QUEUED_COUNT, (BATCH,)) >= BATCH,
        chore=lambda: index_queued(writer),
    )


def _open_prepared(
    path: Path,
    turnstile: connections.Turnstile,
    durability: connections.Durability,
    vfs: str | None,
    fetch: Callable[[str], bytes],
) -> apsw.Connection:
    """Return a writing connection to the store, upgraded to this version."""
    turnstile.await_entry(PATIENCE_SECONDS)
    try:
        _require_not_emptied(path)
        db = connections.open_connection(path, writes=True, durability=durability, vfs=vfs)
        try:
            with connections.translated_errors():
                made = path.stat().st_size > 0 and int(db.pragma("user_version")) > 0
            if not made or not is_current(db):
                prepare_store(db, fetch)
        except BaseException:
            db.close()
            raise
        return db
    finally:
        turnstile.release_lock()


def _require_not_emptied(path: Path) -> None:
    """Refuse to create a database if records lie beside a missing or empty one.

    SQLite would even delete a write-ahead log beside an empty file.
    """
    other_records = [path.parent / each for each in (f"{FILE}-wal", "blobs", "files")]
    if size_of(path) > 0 or not any(
        any(each.iterdir()) if each.is_dir() else size_of(each) > 0 for each in other_records
    ):
        return
    message = (
        f"{FILE} is missing or empty, but its folder contains records. Restore a backup into "
        "another folder with `canonry restore`, or move this folder away to start an empty store."
    )
    raise BrokenInvariant("store.emptied", message)


def size_of(path: Path) -> int:
    """Return the bytes of a file, or 0 if it is missing."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


UNWRITABLE: Final = frozenset(
    {"store.unreachable", "store.read-only", "store.io", "ledger.full", "file.signing-failed"}
)
"""Error codes of opening a store whose disk is full or read-only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedStore(SqlitePorts):
    """Ports that read one folder while it is open."""

    path: Path
    mode: connections.OpenMode

    async def close(self) -> None:
        """Wait for running queries and release the folder."""
        await self.readers.close()


async def open_sealed(folder: Path, *, blobs: Blobs) -> SealedStore:
    """Open the store in `folder` read-only.

    Raises:
        NotFound: `store.absent`.
        BrokenInvariant: `store.not-canonry`, `store.newer`, `store.older` or `store.corrupt`.
        Unavailable: `store.unreachable`, `store.io`, or `store.unclosed`, a server died and
            left commits in a write-ahead log that needs a writable disk.
    """
    path = folder / FILE
    if not path.is_file():
        message = f"The folder {folder} contains no store. Name the folder of a store with --data."
        raise NotFound("store.absent", message, path=str(folder))
    mode = await asyncio.to_thread(_mode_for, path)
    anchor = connections.Anchor(path)
    if mode is connections.OpenMode.FROZEN:
        anchor.record_frozen()
    readers = connections.Readers(path, deadline=DEADLINE, anchor=anchor, mode=mode)
    anchor.record_files()
    return SealedStore(**ports_over(readers, blobs, None), path=path, mode=mode)


def _mode_for(path: Path) -> connections.OpenMode:
    """Return the first mode in which the store opens. A full or read-only disk allows fewer."""
    try:
        _require_current(path, connections.OpenMode.SEALED)
    except Unavailable as error:
        if error.code not in UNWRITABLE:
            raise
    else:
        return connections.OpenMode.SEALED
    mode = (
        connections.OpenMode.APART if size_of(Path(f"{path}-wal")) else connections.OpenMode.FROZEN
    )
    try:
        _require_current(path, mode)
    except Unavailable as error:
        if mode is connections.OpenMode.FROZEN or error.code not in UNWRITABLE:
            raise
        message = (
            "A server died and left commits in the write-ahead log, which needs a writable disk. "
            "Make the disk writable, or copy the folder to a writable disk and open it there."
        )
        raise Unavailable("store.unclosed", message) from error
    return mode


def _require_current(path: Path, mode: connections.OpenMode) -> None:
    db = connections.open_connection(path, mode=mode)
    try:
        if not is_current(db):
            message = "An older version of Canonry wrote this store. Open it once for writing."
            raise BrokenInvariant("store.older", message)
    finally:
        db.close()
