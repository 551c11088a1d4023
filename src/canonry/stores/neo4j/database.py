"""A database in Neo4j: how it is prepared and asked, and what its faults mean."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TypeAlias
from urllib.parse import unquote, urlsplit

from neo4j import AsyncDriver, AsyncGraphDatabase, Query, exceptions

from canonry.log.ports.world import WorkUnderWay, closed, scope
from canonry.values.errors import BrokenInvariant, CanonryError, InvalidInput, Unavailable

_LATE: Final = (
    "TransactionTimedOut",
    "TransactionTimedOutClientConfiguration",
    "LockClientStopped",
)
_FULL: Final = ("MemoryPoolOutOfMemoryError", "OutOfMemoryError", "TransactionLogError")
_REFUSED: Final = ("WriteOnReadOnlyAccessDatabase", "ForbiddenDueToTransactionType", "Forbidden")
_UNREACHABLE: Final = "the Neo4j server does not answer: check that it runs; then try again"

DRIVER_FAULTS: Final = (exceptions.Neo4jError, exceptions.DriverError, UnicodeEncodeError, OSError)
"""Everything that the driver raises of its own accord."""


def is_passing(error: Exception) -> bool:
    """Whether the same once more may go another way."""
    match error:
        case exceptions.ConstraintError():
            return True
        case TimeoutError():
            return False
        case exceptions.Neo4jError():
            return error.is_retryable() and _title(error) not in (*_LATE, *_FULL)
        case exceptions.ServiceUnavailable() | exceptions.SessionExpired():
            return True
        case _:
            return isinstance(error, OSError)


def as_canonry(error: Exception) -> CanonryError:  # noqa: C901, PLR0911 - one case a kind
    """The error that tells a caller what `error` means."""
    title = _title(error)
    match error:
        case TimeoutError():
            return late()
        case exceptions.AuthError():
            message = "the Neo4j server refuses the name or password: correct them in the address"
            return Unavailable("store.refused", message)
        case UnicodeEncodeError():
            return InvalidInput("text.unreadable", "a text holds what is no character")
        case exceptions.Neo4jError() if title in _LATE:
            return late()
        case exceptions.Neo4jError() if title in _FULL:
            message = "the Neo4j server has no room left: give it memory and disk, then try again"
            return Unavailable("view.full", message)
        case exceptions.Neo4jError() if title in _REFUSED:
            message = "the graph cannot be written: check the rights of the user in the address"
            return Unavailable("store.read-only", message)
        case exceptions.ConstraintError():
            return Unavailable("view.busy", "others write the same without a pause; try again")
        case exceptions.Neo4jError() if error.is_retryable():
            return Unavailable("view.busy", "the Neo4j server is busy; try again")
        case exceptions.ClientError() if title in {"DatabaseNotFound", "DatabaseUnavailable"}:
            return Unavailable("store.unreachable", "the Neo4j server has no such database by now")
        case exceptions.ClientError():
            message = "the Neo4j server refused a statement: run `canonry doctor`"
            return BrokenInvariant("store.failed", message, kind=title)
        case exceptions.DatabaseError():
            message = "the Neo4j server failed: look at its log, restart it, then try again"
            return Unavailable("store.failing", message, kind=title)
        case _:
            return Unavailable("store.unreachable", _UNREACHABLE)


def late() -> Unavailable:
    """The error of whoever asked for too much."""
    return Unavailable("store.deadline", "the query took too long; ask for less of it")


def newer() -> BrokenInvariant:
    """The error of a Canonry that is too old for its graph."""
    message = "a later version of Canonry has written into this graph; update this one"
    return BrokenInvariant("store.newer", message)


def _title(error: Exception) -> str:
    """The last part of the server's code, such as `DeadlockDetected`."""
    code = getattr(error, "code", None)
    return code.rpartition(".")[2] if isinstance(code, str) else ""


# Preparing a graph: the constraints and indexes that it is written by, where they are missing.
#
# Labels with a line before them say where the graph stands; the others are for people.

AskGraph: TypeAlias = Callable[[str, Mapping[str, Any] | None], Awaitable[list[list[Any]]]]

FORMAT: Final = 2
"""The form of nodes and edges; of form 1 there are nodes beside, by which it answered questions."""

_UNIQUE: Final = (
    ("Thing", "store", "id"),
    ("_Cursor", "store", "space"),
    ("_Store", "store"),
)
_FOUND_BY: Final = (
    ("Thing", "store", "space", "kind"),
    ("Entity", "name"),
    ("Fact", "name"),
    ("Event", "name"),
)
_KNOWN: Final = "SHOW INDEXES YIELD name WHERE name STARTS WITH 'canonry_' RETURN name"
_FORMAT: Final = "MERGE (s:_Store {store: $store}) ON CREATE SET s.format = $format RETURN s.format"
_BESIDE: Final = """
MATCH (n:_Date|_Row|_Run|_Text|_Version) WHERE n.store = $store
WITH n LIMIT 10000 DELETE n RETURN count(n)
"""
_RAISED: Final = "MATCH (s:_Store {store: $store}) SET s.format = $format"
LABELS: Final = tuple(dict.fromkeys(label for label, *_ in _UNIQUE))
"""Every node bears one of these."""


async def prepared(ask: AskGraph) -> None:
    """Let the graph have what it is written by, and nothing that only former versions need.

    Raises:
        BrokenInvariant: `store.newer`.
    """
    wanted = dict([*map(_constraint, _UNIQUE), *map(_index, _FOUND_BY)])
    known = {row[0] for row in await ask(_KNOWN, None)}
    missing = [statement for name, statement in wanted.items() if name not in known]
    for statement in missing:
        await ask(statement, None)
    if missing:
        await ask("CALL db.awaitIndexes(60)", None)
    ((found,),) = await ask(_FORMAT, {"format": FORMAT})
    if found > FORMAT:
        raise newer()
    if found < FORMAT:
        while await ask(_BESIDE, None) != [[0]]:
            pass
        await ask(_RAISED, {"format": FORMAT})


def _constraint(told: Sequence[str]) -> tuple[str, str]:
    name, label, fields = _named(told)
    made = f"CREATE CONSTRAINT {name} IF NOT EXISTS FOR (n:{label}) REQUIRE ({fields}) IS UNIQUE"
    return name, made


def _index(told: Sequence[str]) -> tuple[str, str]:
    name, label, fields = _named(told)
    return name, f"CREATE INDEX {name} IF NOT EXISTS FOR (n:{label}) ON ({fields})"


def _named(told: Sequence[str]) -> tuple[str, str, str]:
    label, *names = told
    name = "_".join(("canonry", label.strip("_").lower(), *names))
    return name, label, ", ".join(f"n.{each}" for each in names)


# The database: connections to one Neo4j server, and the few ways in which they are used.
#
# Neo4j Community has a single database, so that stores share one: each has a name of its own, which
# all of its nodes bear as `store`. Every statement is bounded by the deadline of the call, on the
# server as well.

GraphRow: TypeAlias = list[Any]

CONNECTIONS: Final = 16
DEADLINE: Final = 30.0
"""So many seconds a statement may take where no call says less."""

WRITING: Final = 600.0
"""So many seconds a large commit may take: who waits for it may go, others wait for it too."""

ATTEMPTS_MAX: Final = 12
"""So often what failed in passing is begun anew."""

_PATIENCE: Final = 10.0
_GRACE: Final = 0.5
"""So much later than the server the client stops waiting for it."""

_PAUSE: Final = 0.01
_LONGEST_PAUSE: Final = 0.5
_DATABASE: Final = "neo4j"


class Neo4jDatabase:
    """One store in a graph, by an address like `bolt://neo4j:password@127.0.0.1:7687/neo4j`.

    `neo4j://` asks the server for the others of its cluster, `+s` at its end encrypts.
    """

    def __init__(
        self,
        url: str,
        name: str = "canonry",
        *,
        connections: int = CONNECTIONS,
        deadline: float = DEADLINE,
    ) -> None:
        """Open nothing yet.

        Raises:
            BrokenInvariant: `store.address`, it is no address of a graph.
        """
        self.name: Final = name
        told = urlsplit(url)
        if told.hostname is None or not told.scheme.startswith(("bolt", "neo4j")):
            message = "the address of a graph is like bolt://user:password@127.0.0.1:7687"
            raise BrokenInvariant("store.address", message)
        host = f"[{told.hostname}]" if ":" in told.hostname else told.hostname
        self._address: Final = f"{told.scheme}://{host}:{told.port or 7687}"
        self._auth: Final = (unquote(told.username or "neo4j"), unquote(told.password or ""))
        self._database: Final = told.path.strip("/") or _DATABASE
        self._connections = connections
        self._deadline = deadline
        self._driver: AsyncDriver | None = None
        self._work = WorkUnderWay()

    async def open(self) -> None:
        """Connect once, and make what indexes and constraints are missing.

        Raises:
            Unavailable: `store.unreachable` or `store.refused`.
            BrokenInvariant: `store.newer`.
        """
        self._driver = AsyncGraphDatabase.driver(
            self._address,
            auth=self._auth,
            max_connection_pool_size=self._connections,
            connection_timeout=_PATIENCE,
            connection_acquisition_timeout=_PATIENCE,
            max_transaction_retry_time=0,
            notifications_min_severity="OFF",
            telemetry_disabled=True,
            user_agent="canonry",
        )
        try:
            async with self._driver.session(database=self._database) as probe:
                await probe.run("RETURN 1")  # says why at once, where others try again
            await prepared(self.rows)
        except BaseException as error:
            await self.close()
            if isinstance(error, DRIVER_FAULTS):
                raise as_canonry(error) from error
            raise

    async def close(self) -> None:
        """Finish what was begun, then let go of the server; closing twice is allowed."""
        driver, self._driver = self._driver, None
        if driver is None:
            return
        await self._work.end(self._deadline)
        with suppress(*DRIVER_FAULTS):
            await driver.close()

    async def rows(
        self,
        statement: str,
        values: Mapping[str, Any] | None = None,
        *,
        seconds: float | None = None,
    ) -> list[GraphRow]:
        """What one statement gives, in one round trip; `$store` is the name of the store.

        Raises:
            Unavailable: as `canonry.stores.neo4j.database` says.
        """
        loop = asyncio.get_running_loop()
        call, pause, patience = scope(), _PAUSE, loop.time() + _PATIENCE
        ends = loop.time() + (self._deadline if seconds is None else seconds)
        if call is not None and seconds is None:
            ends = call.ends
        told = {"store": self.name, **(values or {})}
        driver = self._driver
        if driver is None:
            raise closed()
        with self._work.begun():
            for left in reversed(range(ATTEMPTS_MAX)):
                time = max(ends - loop.time(), 0.001)
                try:
                    async with (
                        asyncio.timeout(time + _GRACE),
                        driver.session(database=self._database) as session,
                    ):
                        result = await session.run(Query(statement, timeout=time), told)
                        return await result.values()
                except DRIVER_FAULTS as error:
                    over = loop.time() + pause > min(ends, patience)
                    if not left or over or self._driver is None or not is_passing(error):
                        raise as_canonry(error) from error
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        raise closed()
