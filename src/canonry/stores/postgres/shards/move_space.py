"""Move a space from one server to another."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from psycopg import AsyncConnection, sql
from psycopg.conninfo import make_conninfo

from canonry.log.commits import ORIGIN, Position
from canonry.log.group_appends import LogEnd
from canonry.log.sealing import Sealed, fault_in
from canonry.readmodels.ports.view import MaintenanceProgress
from canonry.stores.postgres import ledger
from canonry.stores.postgres.database import (
    Database,
    PgConnection,
    PgRow,
    fetch_rows,
    run_statement,
    run_transaction,
    translated_errors,
)
from canonry.stores.postgres.shards.servers import LEASE, Server, Shards
from canonry.stores.postgres.store import set_schemas
from canonry.values.errors import BrokenInvariant, CanonryError, Conflict, NotFound
from canonry.values.ids import SpaceId

# Tools for moving spaces: a connection, the lock of a space, and its stored records.
#
# The lock belongs to a connection, so the server releases it soon after its process is killed.

PAGE: Final = 100  # bounds the memory of a move of a whole log

_ALIVE: Final = {
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
_SESSION: Final = (
    "SELECT set_config('statement_timeout', '0', false), set_config('canonry.moving', 'on', false),"
    " set_config('idle_in_transaction_session_timeout', '60s', false)"
)
_TRY: Final = "SELECT pg_try_advisory_lock(hashtext(%s))"
_WAIT: Final = "SELECT pg_advisory_lock(hashtext(%s))"
_COMMITS: Final = f"{ledger.COLUMNS}, touched"
_LOG: Final = (
    f"SELECT {_COMMITS} FROM commits WHERE space = %s AND position > %s ORDER BY position LIMIT %s"
)
_ARRIVED: Final = (
    "INSERT INTO heads (space, position, recorded_at, hash, away) SELECT space, position,"
    " recorded_at, hash, true FROM {staged}.heads ON CONFLICT (space) DO UPDATE SET"
    " position = excluded.position, recorded_at = excluded.recorded_at, hash = excluded.hash,"
    " away = true"
)
_LEFT: Final = (
    "UPDATE heads SET position = 0, recorded_at = 0, hash = %s, away = true WHERE space = %s"
)


@asynccontextmanager
async def moving_connection(database: Database) -> AsyncIterator[PgConnection]:
    """Provide a connection for work of any length, which fences do not stop."""
    with translated_errors():
        url = make_conninfo(database.url, **_ALIVE)
        db = await AsyncConnection.connect(url, autocommit=True)
        async with db:
            await database.configure_connection(db)
            await run_statement(db, _SESSION)
            yield db


@asynccontextmanager
async def lock_space(shards: Shards, space: SpaceId, *, waits: bool = False) -> AsyncIterator[bool]:
    """Lock a space against moves, repairs and erasure; yield whether the lock was free."""
    database = shards.first_server.database
    async with moving_connection(database) as db:
        asked = (f"{database.name} moving {space}",)
        ((got,),) = await fetch_rows(db, _WAIT if waits else _TRY, asked)
        yield waits or got


async def log_of(db: PgConnection, space: SpaceId, after: Position) -> list[PgRow]:
    """Return a page of the log in this transaction, as rows of `INSERT`."""
    return await fetch_rows(db, _LOG, (space, after, PAGE))


async def append_rows(db: PgConnection, space: SpaceId, rows: Sequence[PgRow]) -> None:
    """Append the next rows of a log from another server in this transaction.

    Raises:
        BrokenInvariant: `move.differs`, the rows do not continue the log.
    """
    end = LogEnd(ledger.end_in((await fetch_rows(db, ledger.LOCK, (space, ledger.FIRST)))[0]))
    for row in rows:
        sealed = _commit_in(row)
        if fault_in(sealed, position=Position(end.position + 1), previous=end.hash) is not None:
            raise BrokenInvariant("move.differs", _DIFFERS)
        end.follow_commit(sealed)
    await ledger.record_rows(db, space, end, rows)


def _commit_in(row: PgRow) -> Sealed:
    return ledger.sealed_in(row[:-1])


def staged_in(database: Database, space: SpaceId) -> str:
    """Return the schema in which a space is collected before it arrives."""
    return f"{database.name}_in_{sha256(space.encode()).hexdigest()[:12]}"


async def make_stage(db: PgConnection, database: Database, space: SpaceId) -> None:
    """Create empty tables for the records of one space, if they are missing."""
    staged = staged_in(database, space)
    async with db.transaction():
        if (await fetch_rows(db, "SELECT to_regclass(%s)::text", (f"{staged}.heads",)))[0][0]:
            return
        names = {"s": sql.Identifier(staged), "r": sql.Identifier(database.name)}
        for statement in (
            "CREATE SCHEMA {s}",
            "CREATE TABLE {s}.heads (LIKE {r}.heads INCLUDING ALL)",
            "CREATE TABLE {s}.commits (LIKE {r}.commits INCLUDING ALL)",
        ):
            await db.execute(sql.SQL(statement).format(**names))


async def drop_stage(db: PgConnection, database: Database, space: SpaceId) -> None:
    """Delete the collected records of a space that has not arrived, if there are any."""
    staged = sql.Identifier(staged_in(database, space))
    await db.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(staged))


async def insert_staged(db: PgConnection, database: Database, space: SpaceId) -> None:
    """Insert the collected records into the store's tables, while the space is still fenced."""
    staged = sql.Identifier(staged_in(database, space)).as_string(db)
    await run_statement(db, ledger.ENTER, (database.name,))
    await run_statement(
        db,
        f"INSERT INTO commits ({_COMMITS}) SELECT {_COMMITS} FROM {staged}.commits"
        " ORDER BY position",
    )
    await run_statement(db, _ARRIVED.format(staged=staged))


async def delete_moved(server: Server, space: SpaceId) -> None:
    """Delete the records that a moved space left; the fence stays for outdated writers."""
    async with moving_connection(server.database) as db, db.transaction():
        await run_statement(db, ledger.ENTER, (server.database.name,))
        await run_statement(db, "DELETE FROM commits WHERE space = %s", (space,))
        await run_statement(db, _LEFT, (ledger.FIRST, space))


# Moving a space from one server to another while other processes write to it.
#
# The target collects the records page by page. This may be interrupted, and the next attempt
# continues it. Then the space is fenced while the last commits are copied and until no process
# trusts an older directory; writers wait. At every time one server has all acknowledged commits,
# and the directory names it. If the moving process is gone, the next writer removes its fence.

_TRUSTED: Final = 1.1 * LEASE
"""Seconds after which no process trusts an older answer of the directory."""

_DIFFERS: Final = "The copy differed from the original and was deleted. Move the space again."
_END: Final = "SELECT position, hash FROM heads WHERE space = %s"
_LAST: Final = f"{_END} FOR UPDATE"
_FENCE: Final = "UPDATE heads SET away = %s WHERE space = %s"
_FENCED: Final = "SELECT away, position FROM heads WHERE space = %s"
LEFTOVERS: Final = "SELECT space FROM heads WHERE away AND position > 0"


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedSpace:
    """A finished move. This run copied `gathered` commits; writes waited for `paused` seconds.

    `digest` is the SHA-256 of the space's lines in an export. It is the same before and after.
    """

    source: str
    target: str
    commits: int
    gathered: int
    size: int
    digest: str
    paused: float


async def move_space(
    shards: Shards,
    space: SpaceId,
    target: Server,
    progress: MaintenanceProgress,
    *,
    line: Callable[[Sealed], bytes],
) -> MovedSpace | None:
    """Move a space to another server; return None if it is already there.

    `line` returns the export line of a commit. Both sides are compared by their lines.

    Raises:
        Conflict: `space.moving`, another process moves the space or erases in it.
        NotFound: `space.unknown`.
        BrokenInvariant: `move.differs`, the copy differs from the original; nothing was moved.
    """
    async with lock_space(shards, space) as is_mine:
        if not is_mine:
            message = "Another process moves this space or erases in it. Wait until it has ended."
            raise Conflict("space.moving", message)
        await _open_home_server(shards, space)
        source = shards.servers[await shards.directory.ask_directory(space)]
        if await source.store.ledger.head_position(space) == ORIGIN:
            raise NotFound("space.unknown", f"No space has the id {space}.", id=space)
        if source.id == target.id:
            return None
        moving = _SpaceMove(shards, space, source, target, progress)
        await moving.copy_log()
        return await moving.switch_server(_Digests(line))


async def finish_move(shards: Shards, space: SpaceId) -> bool:
    """Finish the move of a space whose process is gone; return False if it still runs."""
    async with lock_space(shards, space) as is_mine:
        if is_mine:
            await _open_home_server(shards, space)
        return is_mine


async def _open_home_server(shards: Shards, space: SpaceId) -> None:
    """Allow writes only on the server that the directory names, which has the whole space."""
    home = await shards.directory.ask_directory(space)
    for server in shards.servers.values():
        rows = await server.database.fetch_rows(_FENCED, (space,))
        is_away, position = rows[0] if rows else (False, ORIGIN)
        if server.id == home and is_away:
            await asyncio.sleep(_TRUSTED)
            async with moving_connection(server.database) as db:
                await run_statement(db, _FENCE, (False, space))
        elif server.id != home and position > ORIGIN:
            await delete_moved(server, space)


@dataclass(slots=True)
class _Digests:
    """Digests of the commits that both sides have, over their export lines."""

    line: Callable[[Sealed], bytes]
    mine: Any = field(default_factory=sha256)
    theirs: Any = field(default_factory=sha256)
    size: int = 0

    def add_target(self, rows: Sequence[PgRow]) -> None:
        for row in rows:
            self.theirs.update(self.line(_commit_in(row)))


@dataclass(slots=True)
class _SpaceMove:
    """One move of one space by the holder of its lock."""

    shards: Shards
    space: SpaceId
    source: Server
    target: Server
    progress: MaintenanceProgress
    gathered: int = 0

    async def copy_log(self) -> None:
        """Copy the log into separate tables, and continue an earlier copy."""
        total = await self.source.store.ledger.head_position(self.space)
        async with moving_connection(self.target.database) as db:
            await make_stage(db, self.target.database, self.space)
            staged = staged_in(self.target.database, self.space)

            async def write_page(db: PgConnection) -> None:
                await set_schemas(db, staged, self.target.database.name)
                await append_rows(db, self.space, page)

            rows = await fetch_rows(db, _END.replace("heads", f"{staged}.heads"), (self.space,))
            done = Position(rows[0][0] if rows else ORIGIN)
            while page := await self._read_page(done):
                await run_transaction(db, write_page)
                self.gathered += len(page)
                done = Position(page[-1][1])
                self.progress(done, max(total, done))

    async def _read_page(self, after: Position) -> list[PgRow]:
        return await self.source.database.fetch_rows(_LOG, (self.space, after, PAGE))

    async def switch_server(self, digests: _Digests) -> MovedSpace:
        """Fence the space, copy the rest, and make the target its server."""
        try:
            began, commits = await self._change_over(digests)
            await self.shards.directory.record_move(self.space, self.target.id)
            await asyncio.sleep(_TRUSTED)
            async with moving_connection(self.target.database) as db:
                await run_statement(db, _FENCE, (False, self.space))
                paused = time.monotonic() - began
                await drop_stage(db, self.target.database, self.space)
        except BaseException as error:
            with suppress(CanonryError):
                await _open_home_server(self.shards, self.space)
                if isinstance(error, BrokenInvariant):
                    await self._drop_copy()
            raise
        await delete_moved(self.source, self.space)
        return MovedSpace(
            source=self.source.name,
            target=self.target.name,
            commits=commits,
            gathered=self.gathered,
            size=digests.size,
            digest=digests.mine.hexdigest(),
            paused=paused,
        )

    async def _change_over(self, digests: _Digests) -> tuple[float, Position]:
        """Switch while both servers have the whole space and both refuse writes."""
        target, source = self.target.database, self.source.database
        async with (
            moving_connection(target) as there,
            moving_connection(source) as here,
            there.transaction(),
        ):
            await insert_staged(there, target, self.space)
            done = await self._copy_missing(there, ORIGIN, digests)
            async with here.transaction():
                await run_statement(here, ledger.ENTER, (source.name,))
                ((end, _),) = await fetch_rows(here, _LAST, (self.space,))
                began = time.monotonic()
                await self._copy_missing(there, done, digests)
                ((arrived, _),) = await fetch_rows(there, _END, (self.space,))
                if arrived != end or digests.mine.digest() != digests.theirs.digest():
                    raise BrokenInvariant("move.differs", _DIFFERS)
                await run_statement(here, _FENCE, (True, self.space))
        return began, end

    async def _copy_missing(
        self, there: PgConnection, after: Position, digests: _Digests
    ) -> Position:
        """Read both sides past `after`, and copy missing commits to the target."""
        while page := await self._read_page(after):
            for row in page:
                line = digests.line(_commit_in(row))
                digests.mine.update(line)
                digests.size += len(line)
            copied = await log_of(there, self.space, after)
            if len(copied) < len(page):
                await append_rows(there, self.space, page[len(copied) :])
                copied = await log_of(there, self.space, after)
            digests.add_target(copied[: len(page)])
            after = Position(page[-1][1])
        return after

    async def _drop_copy(self) -> None:
        """Delete the collected records, so that the next move starts again."""
        async with moving_connection(self.target.database) as db:
            await drop_stage(db, self.target.database, self.space)
