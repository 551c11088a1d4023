"""The database in PostgreSQL, and its faults as our errors."""

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

from canonry.log.ports.world import WorkUnderWay, closed, scope
from canonry.values.errors import BrokenInvariant, CanonryError, InvalidInput, Unavailable

CONTENDED: Final = (
    errors.SerializationFailure,
    errors.DeadlockDetected,
    errors.UniqueViolation,
    errors.LockNotAvailable,
)
"""What is raised where others were quicker: the same once more goes another way."""

MOVED: Final = "space.moved"
_FENCED: Final = "CY001"
"""What the trigger of `migrations/0002_shards.sql` raises."""

_UNREACHABLE: Final = "The database server does not answer. Check that it runs, then try again."


@contextmanager
def translated() -> Iterator[None]:
    """Raise Canonry's errors in place of the driver's."""
    try:
        yield
    except (psycopg.Error, UnicodeEncodeError) as error:
        raise as_canonry(error) from error


def as_canonry(error: Exception) -> CanonryError:  # noqa: C901, PLR0911 - one case a kind
    """The error that tells a caller what `error` means."""
    match error:
        case PoolClosed():
            return closed()
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
            return newer()
        case psycopg.Error() if error.sqlstate == _FENCED:
            return moved()
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


def moved() -> Unavailable:
    """The error of whoever would write to a space where it does not live."""
    message = (
        "The space is on another server, or is being moved there. Try again, and name all servers "
        "in records.shards."
    )
    return Unavailable(MOVED, message)


def newer() -> BrokenInvariant:
    """The error of a Canonry that is too old for its store."""
    message = "A newer version of Canonry has written to this store. Update Canonry."
    return BrokenInvariant("store.newer", message)


# The database: a pool of connections to one server, and the few ways in which they are used.
#
# Statements that wait for nothing of each other travel together, in pipelines. Whoever is cancelled
# or runs past the deadline has the statement stopped on the server as well.

T = TypeVar("T")
Values: TypeAlias = Sequence[Any] | Mapping[str, Any]
PgRow: TypeAlias = tuple[Any, ...]
PgConnection: TypeAlias = AsyncConnection[PgRow]
PgCursor: TypeAlias = AsyncCursor[PgRow]

CONNECTIONS: Final = 16
DEADLINE: Final = 30.0
"""So many seconds a statement may take before the server stops it."""

ATTEMPTS_MAX: Final = 24
"""So often what others were quicker at is begun anew; also with a new connection after a loss."""

_PATIENCE: Final = 10.0
_TURN: Final = 1.0
"""So many seconds one attempt waits for a connection."""

_GRACE: Final = 1.0
"""So many seconds after the end of a call the server may take to stop its statement."""

_ROUNDED: Final = (1, 2, 5, 10, 30, 60, 120)
_PAUSE: Final = 0.002
_LONGEST_PAUSE: Final = 0.25
_READING: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

_UNTOLD: Final[WeakKeyDictionary[PgConnection, str]] = WeakKeyDictionary()
"""What a connection is to be told before anything else, together with that."""


class Database:
    """One store, in the schema `name`."""

    def __init__(
        self, url: str, name: str, *, connections: int = CONNECTIONS, deadline: float = DEADLINE
    ) -> None:
        """Open nothing yet."""
        self.name: Final = name
        settings = conninfo_to_dict(url)
        settings.setdefault("connect_timeout", int(_PATIENCE))
        settings.setdefault("application_name", "canonry")
        self.url: Final = make_conninfo(**{name: str(value) for name, value in settings.items()})
        self._deadline = deadline
        self._seconds: WeakKeyDictionary[PgConnection, int] = WeakKeyDictionary()
        self.ending: Final[list[Callable[[], Awaitable[None]]]] = []
        """What has to end when the database is closed."""
        self._work = WorkUnderWay()
        self.begun = self._work.begun
        self._pool: AsyncConnectionPool[PgConnection] = AsyncConnectionPool(
            self.url,
            kwargs={"autocommit": True},
            min_size=1,
            max_size=connections,
            timeout=_TURN,
            reconnect_timeout=_TURN,  # a pool that waits longer and longer finds a server too late
            configure=self.configure,
            open=False,
        )

    async def open(self) -> None:
        """Connect once.

        Raises:
            Unavailable: `store.unreachable`.
        """
        # What the driver notes on the way is raised as well, or ended by an attempt anew.
        logging.getLogger("psycopg").setLevel(logging.ERROR)
        with translated():
            probe = await AsyncConnection.connect(self.url)  # says why, where the pool only waits
            await probe.close()
            await self._pool.open()

    async def close(self) -> None:
        """Finish what was begun, then let go of the server; closing twice is allowed."""
        while self.ending:
            await self.ending.pop()()
        await self._work.end(self._deadline)
        with suppress(psycopg.Error):
            await self._pool.close(timeout=_PATIENCE)

    async def configure(self, db: PgConnection) -> None:
        """Let a connection look for tables where they are, and stop what takes too long."""
        path = sql.SQL("{}, public").format(sql.Identifier(self.name))
        await db.execute(
            "SELECT set_config('search_path', %s, false),"
            " set_config('statement_timeout', %s, false)",
            (path.as_string(db), f"{ceil(self._deadline)}s"),
        )
        self._seconds[db] = ceil(self._deadline)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[PgConnection]:
        """A connection of one's own until the block ends.

        Raises:
            Unavailable: as `canonry.stores.postgres.database` says.
        """
        with self.begun(), translated():
            async with self._pooled() as db:
                yield db

    @asynccontextmanager
    async def _pooled(self) -> AsyncIterator[PgConnection]:
        """A connection of the pool, closed where its server forgot what the driver prepared.

        The driver counts on what it sent, also where a cancelled or failed statement before it made
        the server skip it. The server refused the whole block, so that it may be sent again.
        """
        async with self._pool.connection() as db:
            try:
                yield db
            except psycopg.errors.InvalidSqlStatementName:
                await db.close()
                raise

    async def _told(self, error: psycopg.Error) -> CanonryError:
        """What a failure means; a pool that waits in vain does not say that the server is away."""
        if isinstance(error, PoolTimeout) and not self._work.is_closed:
            try:
                probe = await AsyncConnection.connect(self.url, connect_timeout=1)
            except psycopg.Error as why:
                return as_canonry(why)
            await probe.close()
        return as_canonry(error)

    async def rows(self, statement: str, values: Values = ()) -> list[PgRow]:
        """What one statement gives: one round trip, and one state of the store."""

        async def ask(db: PgConnection) -> list[PgRow]:
            return await fetched(db, statement, values)

        return await self.attempt(ask)

    async def attempt(self, work: Callable[[PgConnection], Awaitable[T]]) -> T:
        """Do `work`, and again where others were quicker or the connection was lost.

        Raises:
            Unavailable: `ledger.busy` or `store.unreachable`, after a bounded number of attempts.
        """
        with self.begun():
            return await self.attempt_begun(work)

    async def attempt_begun(self, work: Callable[[PgConnection], Awaitable[T]]) -> T:
        """The same within a block that was `begun`, also while somebody closes."""
        pause, ends = _PAUSE, time.monotonic() + _PATIENCE
        for left in reversed(range(ATTEMPTS_MAX)):
            db: PgConnection | None = None
            try:
                with _left_alone():
                    async with self._pooled() as db:
                        self._follow(db)
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
                    raise await self._told(error) from error
                if db is not None:
                    continue  # another connection of the pool may be a good one
            except (psycopg.Error, UnicodeEncodeError) as error:
                raise as_canonry(error) from error
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        raise Unavailable("ledger.busy", "Other calls keep writing first. Try again.")

    def _follow(self, db: PgConnection) -> None:
        """Let the server itself stop what runs when the call ends, should nobody be left to ask.

        It is told in round numbers, so that nearly always a connection knows it from before.
        """
        call = scope()
        left = self._deadline if call is None else call.ends - asyncio.get_running_loop().time()
        seconds = next((each for each in _ROUNDED if each >= left), ceil(left))
        if self._seconds.get(db) != seconds:
            _UNTOLD[db] = f"SET statement_timeout = '{seconds}s'"
            self._seconds[db] = seconds

    async def reading(self, work: Callable[[PgConnection], Awaitable[T]]) -> T:
        """What several statements find in one state of the store."""
        return await self.attempt(lambda db: _within(db, _READING, work))

    async def at_once(self, *asked: tuple[str, Values]) -> list[list[PgRow]]:
        """What these statements find in one state of the store, in one round trip."""

        async def send(db: PgConnection) -> list[PgCursor]:
            return [await _sent(db, *each) for each in asked]

        async def ask(db: PgConnection) -> list[list[PgRow]]:
            return [await cursor.fetchall() for cursor in await _within(db, _READING, send)]

        return await self.attempt(ask)

    async def writing(self, work: Callable[[PgConnection], Awaitable[T]]) -> T:
        """What `work` writes, all or nothing; durable on return."""
        return await self.attempt(lambda db: written(db, work))


@contextmanager
def _left_alone() -> Iterator[None]:
    """Let nobody wait for a server that says nothing, not even to a call that has ended.

    Whoever is cancelled waits until the server has stopped the statement, which the driver gives
    ten seconds; to be cancelled once more makes it drop the connection.
    """
    call, task = scope(), asyncio.current_task()
    if call is None or task is None:
        yield
        return
    dropped = False

    def drop() -> None:
        nonlocal dropped
        dropped = bool(task.cancelling()) and task.cancel()

    timer = asyncio.get_running_loop().call_at(call.ends + _GRACE, drop)
    try:
        yield
    finally:
        timer.cancel()
        if dropped:
            task.uncancel()


async def written(db: PgConnection, work: Callable[[PgConnection], Awaitable[T]]) -> T:
    """What `work` writes over this connection, all or nothing."""
    return await _within(db, "BEGIN", work)


async def _within(db: PgConnection, begin: str, work: Callable[[PgConnection], Awaitable[T]]) -> T:
    untold = _UNTOLD.pop(db, None)
    try:
        async with db.pipeline():
            for statement in (begin,) if untold is None else (untold, begin):
                await run(db, statement)
            result = await work(db)
            await run(db, "COMMIT")
    except asyncio.CancelledError:
        # Nobody knows which of the statements the server has seen.
        await db.close()
        raise
    except BaseException:
        if untold is not None:
            _UNTOLD[db] = untold  # it is taken back as well
        if not (db.closed or db.broken):
            with suppress(psycopg.Error):
                await db.rollback()
        raise
    return result


async def fetched(db: PgConnection, statement: str, values: Values = ()) -> list[PgRow]:
    """The rows that a statement gives."""
    async with _told(db):
        cursor = await _sent(db, statement, values)
    return await cursor.fetchall()


async def run(db: PgConnection, statement: str, values: Values = ()) -> None:
    """Send a statement whose rows nobody wants; in a pipeline without waiting for it."""
    async with _told(db):
        await db.execute(statement, values)


async def together(db: PgConnection, *asked: tuple[str, Values]) -> list[list[PgRow]]:
    """The rows of several statements, within a pipeline in one round trip."""
    cursors = [await _sent(db, *each) for each in asked]
    return [await cursor.fetchall() for cursor in cursors]


async def _sent(db: PgConnection, statement: str, values: Values) -> PgCursor:
    return await db.cursor(binary=True).execute(statement, values)


@asynccontextmanager
async def _told(db: PgConnection) -> AsyncIterator[None]:
    """Tell a connection what it has not been told, in the same trip as what is sent in the block.

    What fails takes that back as well, and so it is to be told once more.
    """
    if (untold := _UNTOLD.pop(db, None)) is None:
        yield
        return
    try:
        async with db.pipeline():
            await db.execute(untold)
            yield
    except BaseException:
        _UNTOLD[db] = untold
        raise
