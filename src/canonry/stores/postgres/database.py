"""The PostgreSQL database, and the translation of its errors."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from math import ceil
from typing import Any, Final, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

import psycopg
from psycopg import AsyncConnection, AsyncCursor, errors, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout, TooManyRequests

from canonry.log.ports import world
from canonry.values.errors import BrokenInvariant, CanonryError, InvalidInput, Unavailable

CONTENDED: Final = (
    errors.SerializationFailure,
    errors.DeadlockDetected,
    errors.UniqueViolation,
    errors.LockNotAvailable,
)
"""Errors of transactions that lost to another one. They may be sent again."""

MOVED: Final = "space.moved"
_FENCED: Final = "CY001"
"""Error code of the trigger in `migrations/0002_shards.sql`."""

_UNREACHABLE: Final = "PostgreSQL does not answer. Check its URL and that it runs, then try again."


def as_canonry(error: Exception) -> CanonryError:  # noqa: C901, PLR0911 - one case a kind
    """Return Canonry's error for an error of the driver."""
    match error:
        case PoolClosed():
            return world.closed_store()
        case PoolTimeout() | TooManyRequests() | errors.TooManyConnections():
            return Unavailable("store.busy", "All connections are in use. Try again.")
        case errors.QueryCanceled():
            return Unavailable("store.deadline", "The query took too long. Ask for less.")
        case errors.DiskFull() | errors.OutOfMemory():
            return Unavailable("ledger.full", "The disk is full. Nothing was written. Free space.")
        case errors.ReadOnlySqlTransaction() | errors.InsufficientPrivilege():
            message = "The role in postgres.url may not write to the database. Check its rights."
            return Unavailable("store.read-only", message)
        case errors.UndefinedTable() | errors.InvalidSchemaName() | errors.UndefinedColumn():
            return world.newer_store()
        case psycopg.Error() if error.sqlstate == _FENCED:
            return moved_error()
        case UnicodeEncodeError():
            return InvalidInput("text.unreadable", "A text contains a lone surrogate. Remove it.")
        case psycopg.DataError() if "NUL" in str(error):
            return InvalidInput("text.unreadable", "A text contains the character NUL. Remove it.")
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return Unavailable("store.unreachable", _UNREACHABLE)
        case _ if isinstance(error, CONTENDED):
            return Unavailable("ledger.busy", "Other calls keep writing first. Try again.")
        case _:
            message = "The database refused a statement. Run `canonry doctor`."
            return BrokenInvariant("store.failed", message, kind=type(error).__name__)


translated_errors: Final = world.translate_errors((psycopg.Error, UnicodeEncodeError), as_canonry)


def moved_error() -> Unavailable:
    """Return the error for a write to a space on another server."""
    message = (
        "The space is on another server, or is being moved there. Try again, and name all servers "
        "in records.shards."
    )
    return Unavailable(MOVED, message)


# The database: a pool of connections to one server, and the ways in which they are used.
#
# Independent statements travel together in pipelines. If a call is cancelled or passes its
# deadline, the server stops its statement too.

T = TypeVar("T")
Values: TypeAlias = Sequence[Any] | Mapping[str, Any]
PgRow: TypeAlias = tuple[Any, ...]
PgConnection: TypeAlias = AsyncConnection[PgRow]
PgCursor: TypeAlias = AsyncCursor[PgRow]

CONNECTIONS: Final = 16  # a server allows 100 by default, for several processes
DEADLINE: Final = 30.0
"""Seconds after which the server stops a statement."""

ATTEMPTS_MAX: Final = 24
"""Attempts of a transaction that loses to others, or whose connection is lost."""

_PATIENCE: Final = 10.0  # a server that restarts is back by then; callers wait no longer
_CONNECTION_WAIT: Final = 1.0  # seconds that one attempt waits for a connection

_GRACE: Final = 1.0  # seconds after the end of a call in which the server may stop its statement

_PAUSE: Final = 0.002  # most conflicts are over within milliseconds: bench writers
_LONGEST_PAUSE: Final = 0.25  # waiting calls do not load a server that starts
_READING: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

_PENDING_SETTINGS: Final[WeakKeyDictionary[PgConnection, str]] = WeakKeyDictionary()
"""Settings that a connection sends together with its next statement."""


class Database:
    """One store, in the schema `name`."""

    def __init__(
        self, url: str, name: str, *, connections: int = CONNECTIONS, deadline: float = DEADLINE
    ) -> None:
        """Connect with `open`."""
        self.name: Final = name
        settings = conninfo_to_dict(url)
        settings.setdefault("connect_timeout", int(_PATIENCE))
        settings.setdefault("application_name", "canonry")
        self.url: Final = make_conninfo(**{name: str(value) for name, value in settings.items()})
        self._deadline = deadline
        self._seconds: WeakKeyDictionary[PgConnection, int] = WeakKeyDictionary()
        self.ending: Final[list[Callable[[], Awaitable[None]]]] = []
        """Functions to await when the database is closed."""
        self._work = world.RunningWork()
        self.begin_work = self._work.begin_work
        self._pool: AsyncConnectionPool[PgConnection] = AsyncConnectionPool(
            self.url,
            kwargs={"autocommit": True},
            min_size=1,
            max_size=connections,
            timeout=_CONNECTION_WAIT,
            reconnect_timeout=_CONNECTION_WAIT,  # growing waits would find a server too late
            configure=self.configure_connection,
            open=False,
        )

    async def open(self) -> None:
        """Connect once.

        Raises:
            Unavailable: `store.unreachable`.
        """
        # Errors in the driver's log are also raised, or end in a new attempt.
        logging.getLogger("psycopg").setLevel(logging.ERROR)
        with translated_errors():
            probe = await AsyncConnection.connect(self.url)  # it raises the cause; the pool waits
            await probe.close()
            await self._pool.open()

    async def close(self) -> None:
        """Finish pending calls, then disconnect. Closing twice is allowed."""
        while self.ending:
            await self.ending.pop()()
        await self._work.end_work(self._deadline)
        with suppress(psycopg.Error):
            await self._pool.close(timeout=_PATIENCE)

    async def configure_connection(self, db: PgConnection) -> None:
        """Set the schema and the time limit of a new connection."""
        path = sql.SQL("{}, public").format(sql.Identifier(self.name))
        await db.execute(
            "SELECT set_config('search_path', %s, false),"
            " set_config('statement_timeout', %s, false)",
            (path.as_string(db), f"{ceil(self._deadline)}s"),
        )
        self._seconds[db] = ceil(self._deadline)

    @asynccontextmanager
    async def borrow_connection(self) -> AsyncIterator[PgConnection]:
        """Provide a connection for the block only.

        Raises:
            Unavailable: see `as_canonry`.
        """
        with self.begin_work(), translated_errors():
            async with self._pooled_connection() as db:
                yield db

    @asynccontextmanager
    async def _pooled_connection(self) -> AsyncIterator[PgConnection]:
        """Provide a pooled connection, and close it if the server lost a prepared statement.

        The driver assumes that the server prepared what it sent, even if an earlier cancelled or
        failed statement made the server skip it. The server refused the whole block, so it may be
        sent again.
        """
        async with self._pool.connection() as db:
            try:
                yield db
            except psycopg.errors.InvalidSqlStatementName:
                await db.close()
                raise

    async def _error_for(self, error: psycopg.Error) -> CanonryError:
        """Return the error for a failure; a pool timeout alone does not mean an absent server."""
        if isinstance(error, PoolTimeout) and not self._work.is_closed:
            try:
                probe = await AsyncConnection.connect(self.url, connect_timeout=1)
            except psycopg.Error as why:
                return as_canonry(why)
            await probe.close()
        return as_canonry(error)

    async def fetch_rows(self, statement: str, values: Values = ()) -> list[PgRow]:
        """Return the rows of one statement, in one round trip."""

        async def ask_rows(db: PgConnection) -> list[PgRow]:
            return await fetch_rows(db, statement, values)

        return await self.attempt_work(ask_rows)

    async def attempt_work(self, work: Callable[[PgConnection], Awaitable[T]]) -> T:
        """Run `work`, and run it again if it lost to others or the connection was lost.

        Raises:
            Unavailable: `ledger.busy` or `store.unreachable`, after a bounded number of attempts.
        """
        with self.begin_work():
            return await self.attempt_begun(work)

    async def attempt_begun(self, work: Callable[[PgConnection], Awaitable[T]]) -> T:
        """Attempt `work` within a block that has `begin_work`, even while the database closes."""
        pause, ends = _PAUSE, time.monotonic() + _PATIENCE
        for left in reversed(range(ATTEMPTS_MAX)):
            db: PgConnection | None = None
            try:
                with _bound_wait():
                    async with self._pooled_connection() as db:
                        self._limit_time(db)
                        return await work(db)
            except CONTENDED as error:
                if not left:
                    raise as_canonry(error) from error
            except (
                psycopg.OperationalError,
                psycopg.InterfaceError,
                psycopg.errors.InvalidSqlStatementName,
            ) as error:
                lost = db is None or db.closed or db.broken
                if not left or not lost or self._work.is_closed or time.monotonic() > ends:
                    raise await self._error_for(error) from error
                if db is not None:
                    continue  # another pooled connection may work
            except (psycopg.Error, UnicodeEncodeError) as error:
                raise as_canonry(error) from error
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        raise Unavailable("ledger.busy", "Other calls keep writing first. Try again.")

    def _limit_time(self, db: PgConnection) -> None:
        """Set a time limit on the server, in case the client dies before the call ends.

        Rounded limits rarely change, so a connection seldom has to send one.
        """
        call = world.current_scope()
        left = self._deadline if call is None else call.ends - asyncio.get_running_loop().time()
        seconds = next((each for each in (1, 2, 5, 10, 30, 60, 120) if each >= left), ceil(left))
        if self._seconds.get(db) != seconds:
            _PENDING_SETTINGS[db] = f"SET statement_timeout = '{seconds}s'"
            self._seconds[db] = seconds

    async def read_transaction(self, work: Callable[[PgConnection], Awaitable[T]]) -> T:
        """Run several statements on one state of the store."""
        return await self.attempt_work(lambda db: _run_between(db, _READING, work))

    async def fetch_snapshot(self, *asked: tuple[str, Values]) -> list[list[PgRow]]:
        """Return the rows of several statements on one state of the store, in one round trip."""

        async def send_statements(db: PgConnection) -> list[PgCursor]:
            return [await _send_statement(db, *each) for each in asked]

        async def ask_rows(db: PgConnection) -> list[list[PgRow]]:
            return [
                await cursor.fetchall()
                for cursor in await _run_between(db, _READING, send_statements)
            ]

        return await self.attempt_work(ask_rows)

    async def write_transaction(self, work: Callable[[PgConnection], Awaitable[T]]) -> T:
        """Run `work` in a transaction that is durable on return."""
        return await self.attempt_work(lambda db: run_transaction(db, work))


@contextmanager
def _bound_wait() -> Iterator[None]:
    """Bound the wait for a silent server, also after the call has ended.

    A cancelled task waits until the server has stopped the statement, for which the driver allows
    ten seconds. A second cancellation makes the driver drop the connection.
    """
    call, task = world.current_scope(), asyncio.current_task()
    if call is None or task is None:
        yield
        return
    dropped = False

    def drop_task() -> None:
        nonlocal dropped
        dropped = bool(task.cancelling()) and task.cancel()

    timer = asyncio.get_running_loop().call_at(call.ends + _GRACE, drop_task)
    try:
        yield
    finally:
        timer.cancel()
        if dropped:
            task.uncancel()


async def run_transaction(db: PgConnection, work: Callable[[PgConnection], Awaitable[T]]) -> T:
    """Run `work` in a transaction of this connection."""
    return await _run_between(db, "BEGIN", work)


async def _run_between(
    db: PgConnection, begin: str, work: Callable[[PgConnection], Awaitable[T]]
) -> T:
    settings = _PENDING_SETTINGS.pop(db, None)
    try:
        async with db.pipeline():
            for statement in (begin,) if settings is None else (settings, begin):
                await run_statement(db, statement)
            result = await work(db)
            await run_statement(db, "COMMIT")
    except asyncio.CancelledError:
        # The server may have seen any of the statements.
        await db.close()
        raise
    except BaseException:
        if settings is not None:
            _PENDING_SETTINGS[db] = settings  # the rollback reverts it too
        if not (db.closed or db.broken):
            with suppress(psycopg.Error):
                await db.rollback()
        raise
    return result


async def fetch_rows(db: PgConnection, statement: str, values: Values = ()) -> list[PgRow]:
    """Return the rows of a statement."""
    async with _send_settings(db):
        cursor = await _send_statement(db, statement, values)
    return await cursor.fetchall()


async def run_statement(db: PgConnection, statement: str, values: Values = ()) -> None:
    """Send a statement and ignore its rows; in a pipeline, without waiting for it."""
    async with _send_settings(db):
        await db.execute(statement, values)


async def fetch_results(db: PgConnection, *asked: tuple[str, Values]) -> list[list[PgRow]]:
    """Return the rows of several statements; in a pipeline, in one round trip."""
    cursors = [await _send_statement(db, *each) for each in asked]
    return [await cursor.fetchall() for cursor in cursors]


async def _send_statement(db: PgConnection, statement: str, values: Values) -> PgCursor:
    return await db.cursor(binary=True).execute(statement, values)


@asynccontextmanager
async def _send_settings(db: PgConnection) -> AsyncIterator[None]:
    """Send pending settings of a connection in the same round trip as the block.

    A failure reverts the settings too, so they stay pending.
    """
    if (settings := _PENDING_SETTINGS.pop(db, None)) is None:
        yield
        return
    try:
        async with db.pipeline():
            await db.execute(settings)
            yield
    except BaseException:
        _PENDING_SETTINGS[db] = settings
        raise
