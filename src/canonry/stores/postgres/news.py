"""News: processes tell each other that something was written, over LISTEN and NOTIFY.

Nothing rests on it but how soon somebody looks again. What was written is told after its commit, by
one word for all that was written within moments: a NOTIFY in the transaction itself would make all
commits of the server take turns. So whoever waits looks from time to time all the same: a process
may die before it tells, and whoever was cut off hears nothing until they are connected again.
"""

import asyncio
from contextlib import suppress
from typing import Final

import psycopg
from psycopg import AsyncConnection, sql

from canonry.stores.postgres.database import Database
from canonry.values.errors import CanonryError

_GATHERS: Final = 0.02
"""So many seconds of writing are told by one word."""

_PAUSE: Final = 1.0
_TELL: Final = "SELECT pg_notify(%s, '')"


class News:
    """What this process hears, and what it tells; it connects when somebody first waits."""

    def __init__(self, database: Database) -> None:
        """Share `database`; whoever listens has a connection besides those of its pool."""
        self._database = database
        self._written = asyncio.Event()
        self._listening: asyncio.Task[None] | None = None
        self._telling: asyncio.Task[None] | None = None
        self._untold = self._ended = False
        database.ending.append(self._end)

    def tell(self) -> None:
        """Say soon, to this process at once, that something was written."""
        self._stir()
        self._untold = True
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell(), name="news")

    async def wait(self, seconds: float) -> None:
        """Wait until something was written, by whomever, or until `seconds` are over."""
        if self._listening is None and not self._ended:
            self._listening = asyncio.create_task(self._listen(), name="news")
        written = self._written
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await written.wait()

    async def _tell(self) -> None:
        while self._untold:
            await asyncio.sleep(_GATHERS)
            self._untold = False
            with suppress(CanonryError):
                await self._database.rows(_TELL, (self._database.name,))

    async def _listen(self) -> None:
        while True:
            with suppress(psycopg.Error, OSError):
                await self._hear()
            await asyncio.sleep(_PAUSE)

    async def _hear(self) -> None:
        db = await AsyncConnection.connect(self._database.url, autocommit=True)
        async with db:
            await db.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._database.name)))
            self._stir()  # what was written before is not told again
            async for _ in db.notifies():
                self._stir()

    def _stir(self) -> None:
        """Wake everybody who waits."""
        self._written.set()
        self._written = asyncio.Event()

    async def _end(self) -> None:
        self._ended = True
        if self._telling is not None:
            await asyncio.wait([self._telling], timeout=_PAUSE)
        tasks = [task for task in (self._listening, self._telling) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
