"""Indexing in the background of a server: one process of all on a folder does it.

It begins with the first search or write, or a while after the start where there is no index yet.
The lock of whoever does it falls with that process.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from canonry.bootstrap.recalling import RECALL_FILE
from canonry.domain.errors import CanonryError, Unavailable
from canonry.ports.views.upkeep import Told
from canonry.usecases.canon import Canon
from canonry.usecases.index_passages import PassageIndexer, drop_index
from canonry.usecases.recall import Recall

LOCK: Final = "indexing.lock"
LOOKS_EVERY: Final = 1.0
"""Seconds between two looks at the log of a store that is idle."""

_PATIENCE: Final = 2.0
_WAITS: Final = (2.0, 10.0, 60.0)
_LOOKS_UNASKED: Final = 10
_ANY: Final = 1

Report = Callable[[str], None]
"""Told what an operator should know, once for each change."""


class BackgroundIndexing:
    """Follows the log while a server runs; it fails alone, and tries again."""

    def __init__(self, canon: Canon, recall: Recall, folder: Path, report: Report) -> None:
        """Do nothing yet."""
        self._canon = canon
        self._recall = recall
        self._folder = folder
        self._report = report
        self._task: asyncio.Task[None] | None = None
        self._fault: str | None = None

    def start(self) -> None:
        """Begin to watch; it costs nothing until something is searched or written."""
        self._task = asyncio.create_task(self._run(), name="indexing")

    async def stop(self) -> None:
        """End within moments; a step that is under way is made again by the next process."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        cursor = await self._wanted()
        failures = 0
        while True:
            try:
                await self._own(cursor)
            except (CanonryError, OSError) as error:
                why = error.message if isinstance(error, CanonryError) else error.strerror
                self._tell(f"passages are not indexed by meaning: {why}; `canonry doctor` helps")
                await asyncio.sleep(_WAITS[min(failures, len(_WAITS) - 1)])
                failures += 1

    async def _wanted(self) -> int:
        """Wait for the first search, or for a write of any process."""
        cursor, looks = await self._look(0), 0
        while not self._recall.asked.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOKS_EVERY):
                    await self._recall.asked.wait()
            looks += 1
            if await self._look(cursor) != cursor:
                break
            if looks == _LOOKS_UNASKED and await self._never_indexed():
                break
        return cursor

    async def _never_indexed(self) -> bool:
        """Whether there are records, such as imported ones, and no index at all."""
        if (self._folder / RECALL_FILE).is_file():
            return False
        return bool(await self._canon.ledger.heads(limit=1))

    async def _look(self, cursor: int) -> int:
        """Where the log of all spaces stands; only whether that has changed matters."""
        try:
            return (await self._canon.ledger.touched_since(cursor, limit=_ANY)).cursor
        except Unavailable:
            return cursor

    async def _own(self, cursor: int) -> None:
        """Index while this process has the lock; others look whether it is free."""
        from canonry.adapters.vectors.owner import owning  # noqa: PLC0415 - loads NumPy

        while True:
            with owning(self._folder / LOCK) as owned:
                if owned:
                    await self._index(cursor)
            await asyncio.sleep(_PATIENCE)

    async def _index(self, cursor: int) -> None:
        indexer = PassageIndexer(self._recall)
        while True:
            done = await indexer.step()
            self._tell(None)
            if done.commits == 0 and not await indexer.tend():
                cursor = await self._wait(cursor)

    async def _wait(self, cursor: int) -> int:
        while True:
            now = await self._look(cursor)
            if now != cursor:
                return now
            await asyncio.sleep(LOOKS_EVERY)

    def _tell(self, fault: str | None) -> None:
        if fault is not None and fault != self._fault:
            self._report(fault)
        self._fault = fault


async def rebuild_index(recall: Recall, folder: Path, told: Told) -> int:
    """Forget all vectors and make them anew; the number of vectors made.

    Raises:
        Unavailable: `vectors.busy`, a server indexes now; or what the engines raise.
    """
    from canonry.adapters.vectors.owner import owning  # noqa: PLC0415 - loads NumPy

    with owning(folder / LOCK) as owned:
        if not owned:
            message = "a server is indexing this folder: stop it, then rebuild"
            raise Unavailable("vectors.busy", message)
        await drop_index(recall)
        indexer = PassageIndexer(recall)
        vectors = commits = 0
        while True:
            done = await indexer.step()
            vectors += done.vectors
            commits += done.commits
            told(commits, commits + done.waiting)
            if done.commits == 0 and not await indexer.tend():
                return vectors


async def mend_index(recall: Recall) -> bool:
    """Forget the vectors if they are damaged, so that a server makes them anew; whether it did."""
    opened = await recall.opened()
    try:
        await opened.vectors.status()
    except Unavailable as error:
        if error.code != "vectors.corrupt":
            raise
        await drop_index(recall)
        return True
    return False
