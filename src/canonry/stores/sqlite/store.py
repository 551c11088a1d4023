"""The store: one file in a folder, opened by any number of processes, closed without loss."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import apsw

from canonry.log.ports.blobs import Blobs
from canonry.log.ports.sealer import Sealer
from canonry.log.ports.world import Clock, Identities
from canonry.stores.sqlite.anchor import Anchor
from canonry.stores.sqlite.catalog.catalog import SqliteCatalog
from canonry.stores.sqlite.checkpoints import PATIENCE_MS, Checkpoints
from canonry.stores.sqlite.connections import CACHE_KB, Durability, connect
from canonry.stores.sqlite.documents import SqliteDocuments
from canonry.stores.sqlite.faults import translated
from canonry.stores.sqlite.ledger.ledger import SqliteLedger
from canonry.stores.sqlite.ledger.pump import PATIENCE_SECONDS, Chore, Pump
from canonry.stores.sqlite.ledger.writing import Pen
from canonry.stores.sqlite.places import SqlitePlaces
from canonry.stores.sqlite.readers import Readers
from canonry.stores.sqlite.schema import is_current, prepare, require_reader
from canonry.stores.sqlite.state.state import SqliteState
from canonry.stores.sqlite.text.passages import BATCH
from canonry.stores.sqlite.text.text import SqliteText
from canonry.stores.sqlite.text.waiting import how_many_wait, index_waiting
from canonry.stores.sqlite.turnstile import Turnstile
from canonry.values.errors import BrokenInvariant, Unavailable

FILE: Final = "canon.db"
_RECORDS_BESIDE: Final = (f"{FILE}-wal", "blobs", "files")
DEADLINE: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlitePorts:
    """The ports of one folder over the same connections."""

    ledger: SqliteLedger
    state: SqliteState
    documents: SqliteDocuments
    text: SqliteText
    catalog: SqliteCatalog
    places: SqlitePlaces
    readers: Readers


def ports_over(readers: Readers, blobs: Blobs, writing: tuple[Pump, Pen] | None) -> dict[str, Any]:
    """What `SqlitePorts` holds; without `writing` nothing can be written."""
    views = None if writing is None else (writing[0], writing[1].db)
    return {
        "ledger": SqliteLedger(readers, writing, blobs),
        "state": SqliteState(readers, views),
        "documents": SqliteDocuments(readers, views),
        "text": SqliteText(readers, views),
        "catalog": SqliteCatalog(readers, views),
        "places": SqlitePlaces(readers, views),
        "readers": readers,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class SqliteStore(SqlitePorts):
    """Everything that reads and writes one folder, for as long as it is open."""

    folder: Path
    pump: Pump
    writer: apsw.Connection
    turnstile: Turnstile
    checkpoints: Checkpoints
    checkpointer: apsw.Connection
    durability: Durability

    @property
    def path(self) -> Path:
        """The database file."""
        return self.folder / FILE

    async def close(self) -> None:
        """Finish what was asked for, empty the write-ahead log, and let go of the folder."""
        if not await self.pump.close():
            return
        await self.readers.close()
        self.writer.close()
        await asyncio.to_thread(self.checkpoints.empty)
        await self.checkpoints.close()
        self.checkpointer.close()
        self.turnstile.close()


async def open_store(
    folder: Path,
    *,
    clock: Clock,
    identities: Identities,
    blobs: Blobs,
    durability: Durability = Durability.FULL,
    deadline: float = DEADLINE,
    vfs: str | None = None,
    mapped_from: int = CACHE_KB * 1024,
) -> SqliteStore:
    """Open the store in `folder`, making or upgrading it where needed.

    A database of more than `mapped_from` bytes is read through memory that is mapped.

    Raises:
        BrokenInvariant: `store.not-canonry`, `store.newer`, `store.emptied` or `store.corrupt`.
        Unavailable: `store.unreachable`, `store.read-only`, `store.busy`, `store.io`.
    """
    turnstile = await asyncio.to_thread(_claimed, folder)
    path = folder / FILE
    loop = asyncio.get_running_loop()

    def fetch(digest: str) -> bytes:
        return asyncio.run_coroutine_threadsafe(blobs.get(digest), loop).result()

    try:
        writer = await asyncio.to_thread(lambda: _prepared(path, turnstile, durability, vfs, fetch))
    except BaseException:
        turnstile.close()
        raise
    anchor = Anchor(path)
    readers = Readers(path, deadline=deadline, anchor=anchor, vfs=vfs, mapped_from=mapped_from)
    checkpointer = connect(
        path, writes=True, durability=durability, patience_ms=PATIENCE_MS, vfs=vfs
    )
    checkpoints = Checkpoints(writer, checkpointer, anchor)
    anchor.hold()
    pump = _pump(writer, turnstile, anchor, durability)
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


def _claimed(folder: Path) -> Turnstile:
    """The turnstile of the folder, which is made if it is missing."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Turnstile(folder)
    except OSError as error:
        message = "the data folder cannot be used: check that it is a folder you may write to"
        raise Unavailable("store.unreachable", message) from error


def _pump(
    writer: apsw.Connection, turnstile: Turnstile, anchor: Anchor, durability: Durability
) -> Pump:
    return Pump(
        writer,
        turnstile,
        syncs=durability is Durability.FULL,
        anchor=anchor,
        guard=lambda: require_reader(writer),
        chore=Chore(
            is_due=lambda: how_many_wait(writer) >= BATCH, work=lambda: index_waiting(writer)
        ),
    )


def _prepared(
    path: Path,
    turnstile: Turnstile,
    durability: Durability,
    vfs: str | None,
    fetch: Callable[[str], bytes],
) -> apsw.Connection:
    """A connection that may write into a store of this version."""
    turnstile.enter(PATIENCE_SECONDS)
    try:
        _require_not_emptied(path)
        db = connect(path, writes=True, durability=durability, vfs=vfs)
        try:
            with translated():
                current = path.stat().st_size > 0 and _is_ours(db)
            if not current:
                prepare(db, fetch)
        except BaseException:
            db.close()
            raise
        return db
    finally:
        turnstile.leave()


def _require_not_emptied(path: Path) -> None:
    """Refuse to begin anew where records lie beside a database that is empty or gone.

    SQLite would even remove a write-ahead log that belongs to an empty file.
    """
    if size_of(path) > 0 or not any(_has_content(path.parent / each) for each in _RECORDS_BESIDE):
        return
    message = (
        f"{FILE} is missing or empty, but records lie beside it: put a backup in place with "
        "`canonry restore` into another folder, or move this folder away to begin anew"
    )
    raise BrokenInvariant("store.emptied", message)


def _has_content(path: Path) -> bool:
    return any(path.iterdir()) if path.is_dir() else size_of(path) > 0


def size_of(path: Path) -> int:
    """The bytes of a file; 0 where there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _is_ours(db: apsw.Connection) -> bool:
    return int(db.pragma("user_version")) > 0 and is_current(db)
