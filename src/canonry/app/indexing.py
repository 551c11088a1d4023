"""Indexing in the background of a server: one process of all on a folder does it.

Several machines on one database share the work: whoever comes second embeds ahead of the first.

It begins with the first search or write, or a while after the start where there is no index yet.
The lock of whoever does it falls with that process.
"""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

from canonry.app.recalling import MANY_VECTORS, RECALL_FILE, SEARCHED_WELL
from canonry.canon.session.canon import Canon
from canonry.readmodels.ports.view import UpkeepProgress
from canonry.recall.usecases.index_passages import PassageIndexer, drop_index, index_ahead
from canonry.recall.usecases.recall import Recall
from canonry.values.errors import CanonryError, Unavailable

LOCK: Final = "indexing.lock"
LOOKS_EVERY: Final = 1.0
"""Seconds between two looks at the log of a store that is idle."""

_PATIENCE: Final = 2.0
_WAITS: Final = (2.0, 10.0, 60.0)
_LOOKS_UNASKED: Final = 10
_ANY: Final = 1

_FileId: TypeAlias = tuple[int, int]

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
        self._failures = 0
        self._weighed = False

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
        while True:
            try:
                await self._own(cursor)
            except Exception as error:  # noqa: BLE001 - not even a defect may end it for good
                why = _reason(error)
                self._tell(f"passages are not indexed by meaning: {why}; `canonry doctor` helps")
                await self._bide(_WAITS[min(self._failures, len(_WAITS) - 1)])
                self._failures += 1

    async def _bide(self, seconds: float) -> None:
        """Wait before the next attempt, at most until somebody drops or replaces the index.

        An older index that still serves follows meanwhile.
        """
        file = self._file()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                with suppress(Exception):  # it was told already, and the next attempt may say more
                    await self._follow_older()
                while True:
                    await asyncio.sleep(LOOKS_EVERY)
                    if file != self._file():
                        return

    async def _follow_older(self) -> None:
        """Follow with the model before, as long as it serves and nobody else indexes."""
        from canonry.recall.vectors.rows import owning  # noqa: PLC0415 - loads NumPy

        with owning(self._folder / LOCK) as owned:
            indexer = PassageIndexer(self._recall)
            while owned:
                done = await indexer.step_older()
                if done is None:
                    return
                await asyncio.sleep(LOOKS_EVERY if done.idle else 0)

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
        from canonry.recall.vectors.rows import owning  # noqa: PLC0415 - loads NumPy

        while True:
            with owning(self._folder / LOCK) as owned:
                if owned:
                    await self._index(cursor)
            await asyncio.sleep(_PATIENCE)

    async def _index(self, cursor: int) -> None:
        while True:
            indexer, file = PassageIndexer(self._recall), self._file()
            while file in {None, self._file()}:
                try:
                    done = await indexer.step()
                except Unavailable as error:
                    if error.code != "vectors.moved":
                        raise
                    await self._help()
                    continue
                file = file or self._file()
                self._tell(None)
                self._failures = 0
                if done.idle:
                    tended = await indexer.tend()
                    if tended or not self._weighed:
                        await self._weigh()
                    if not tended:
                        cursor = await self._wait(cursor, file)
            self._recall.indexed_anew()

    async def _weigh(self) -> None:
        """Tell when the folder holds more vectors than it searches well."""
        self._weighed = True
        if self._file() is None:
            return  # the index lies elsewhere
        statuses = await (await self._recall.opened()).vectors.status()
        count = max((status.count for status in statuses), default=0)
        if count > SEARCHED_WELL:
            self._report(f"each search compares {count:,} vectors: {MANY_VECTORS}")

    async def _help(self) -> None:
        """Another machine indexes too: embed what lies ahead of it, until nothing does."""
        while await index_ahead(self._recall, seat=os.getpid()):
            self._tell(None)
        await asyncio.sleep(LOOKS_EVERY)

    async def _wait(self, cursor: int, file: _FileId | None) -> int:
        """Wait until something was written, or until somebody dropped the index."""
        while True:
            now = await self._look(cursor)
            if now != cursor or file != self._file():
                return now
            await self._canon.ledger.await_news(LOOKS_EVERY)

    def _file(self) -> _FileId | None:
        """Which file the index is: `canonry rebuild` in another process drops a damaged one."""
        try:
            found = (self._folder / RECALL_FILE).stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _tell(self, fault: str | None) -> None:
        if fault is not None and fault != self._fault:
            self._report(fault)
        self._fault = fault


def _reason(error: Exception) -> str:
    """What is said of an error; the words of a defect may be anybody's, so that it has none."""
    match error:
        case CanonryError():
            return error.message
        case OSError():
            return error.strerror or "the folder cannot be used"
        case _:
            return f"an unexpected {type(error).__name__}"


async def rebuild_index(recall: Recall, folder: Path, told: UpkeepProgress) -> int:
    """Forget all vectors and make them anew; the number of vectors made.

    Raises:
        Unavailable: `vectors.busy`, a server indexes now; or what the engines raise.
    """
    from canonry.recall.vectors.rows import owning  # noqa: PLC0415 - loads NumPy

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
            if done.idle and not await indexer.tend():
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
