"""The database: connections to one Neo4j server, and the few ways in which they are used.

Neo4j Community has a single database, so that stores share one: each has a name of its own, which
all of its nodes bear as `store`. Every statement is bounded by the deadline of the call, on the
server as well.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, TypeAlias
from urllib.parse import unquote, urlsplit

from neo4j import AsyncDriver, AsyncGraphDatabase, Query

from canonry.log.ports.world import WorkUnderWay, closed, scope
from canonry.stores.neo4j.faults import DRIVER_FAULTS, as_canonry, is_passing
from canonry.stores.neo4j.preparing import prepared
from canonry.values.errors import BrokenInvariant

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
            Unavailable: as `canonry.stores.neo4j.faults` says.
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
