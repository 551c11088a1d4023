"""Readers: a short query runs where it is asked, a long one in a thread of its own.

A hop to a thread and back costs as much as five lookups. So every query starts on the event loop
with a budget of two milliseconds; one that needs more is stopped and starts again in a thread,
where it has until the deadline.
"""

import asyncio
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Final, TypeVar

import apsw

from canonry.log.ports.world import closed
from canonry.stores.sqlite.anchor import Anchor
from canonry.stores.sqlite.connections import (
    CACHE_KB,
    MAPPED_BYTES,
    RAISED,
    OpenMode,
    as_canonry,
    connect,
    translated,
)

T = TypeVar("T")
Query = Callable[[apsw.Connection], T]

INLINE_SECONDS: Final = 0.002
_STEPS: Final = 2000
_STEPS_APART: Final = 40_000
"""A statement in a thread is watched more rarely: for each look it waits for all other threads."""

_MOMENT: Final = 0.001
"""A look at the files may cost as much as the lookup it protects: those of one moment share it."""

_PATIENCE_MS: Final = 5000
_THREADS: Final = 4


class _Asker:
    """Whoever waits for a query in a thread, until they are gone."""

    gone = False


class _Watch:
    """Stops the statement that runs past its time, or that nobody waits for any more.

    SQLite asks it now and then. Without an end of its time nothing stops a statement.
    """

    def __init__(self) -> None:
        self.until = 0.0
        self.asker = _Asker()

    def __call__(self) -> bool:
        return self.until < math.inf and (self.asker.gone or time.monotonic() > self.until)


class Readers:
    """The connections that only read; none keeps a transaction open past a query."""

    def __init__(
        self,
        path: Path,
        *,
        deadline: float,
        anchor: Anchor,
        vfs: str | None = None,
        way: OpenMode = OpenMode.SERVED,
        mapped_from: int = CACHE_KB * 1024,
    ) -> None:
        """Open the connection of the event loop; those of the threads follow as needed.

        A file of more than `mapped_from` bytes is mapped; what the cache holds as a whole gains
        nothing by it.
        """
        self._path = path
        self._anchor = anchor
        self._way = way
        self._vfs = vfs
        self._deadline = deadline
        self._watch = _Watch()
        self._looked = 0.0
        self._mapped = path.stat().st_size > mapped_from
        anchor.mapped = self._mapped
        self._inline = self._open(self._watch, inline=True)
        self._idle: SimpleQueue[tuple[apsw.Connection, _Watch]] = SimpleQueue()
        self._opened: list[apsw.Connection] = [self._inline]
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="canonry-read")
        self._closed = False

    async def short(
        self, query: Query[T], *, together: bool = False, seconds: float | None = None
    ) -> T:
        """Run a query that an index bounds; its statements see one state if they run `together`.

        It has `seconds` where it turns out to be long, by default those of this reader.
        """
        if self._closed:
            raise closed()
        now = time.monotonic()
        self._watch.until = now + INLINE_SECONDS
        if now - self._looked > _MOMENT:
            self._look(now)
        mended = self._anchor.mended
        try:
            found = _ask(self._inline, self._watch, query, together=together)
            if self._anchor.mended == mended:
                return found
            raise apsw.BusyError  # noqa: TRY301 - as where another process mends the index
        except (apsw.InterruptError, apsw.BusyError):
            return await self.long(query, together=together, seconds=seconds)
        except RAISED as error:
            raise as_canonry(error) from error

    async def consistent(self, query: Query[T], *, seconds: float | None = None) -> T:
        """Run a short query of several statements that must see one state."""
        return await self.short(query, together=True, seconds=seconds)

    async def long(
        self, query: Query[T], *, together: bool = False, seconds: float | None = None
    ) -> T:
        """Run a query in a thread, until `seconds` or the deadline are over."""
        if self._closed:
            raise closed()
        allowed = self._deadline if seconds is None else seconds
        asker = _Asker()

        def run() -> T:
            with translated():
                self._anchor.look()
                mended = self._anchor.mended
                db, watch = self._borrow()
                watch.asker, watch.until = asker, time.monotonic() + allowed
                try:
                    found = _ask(db, watch, query, together=together)
                finally:
                    self._idle.put((db, watch))
                if self._anchor.mended != mended:
                    raise apsw.BusyError  # whoever asks again reads what is there
                return found

        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, run)
        except asyncio.CancelledError:
            asker.gone = True
            raise

    async def whole(self, query: Query[T], *, together: bool = True) -> T:
        """Run a query over everything in a thread, however long it takes.

        Statements that need not agree do not run `together`: each then sees a moment of its own,
        and the write-ahead log can be emptied between them.
        """
        return await self.long(query, together=together, seconds=math.inf)

    def _look(self, now: float) -> None:
        """Look at the files before the event loop's connection reads them."""
        self._looked = now
        self._anchor.look()
        if self._anchor.is_shorter():
            # What is mapped past the end of a file is death to touch: map what is left of it.
            self._inline.execute("PRAGMA mmap_size = 0")
            self._inline.execute(f"PRAGMA mmap_size = {MAPPED_BYTES}")

    def _borrow(self) -> tuple[apsw.Connection, _Watch]:
        if self._idle.empty():
            watch = _Watch()
            db = self._open(watch)
            db.set_busy_timeout(_PATIENCE_MS)
            self._opened.append(db)
            return db, watch
        return self._idle.get()

    def _open(self, watch: _Watch, *, inline: bool = False) -> apsw.Connection:
        mapped = inline and self._mapped
        db = connect(self._path, vfs=self._vfs, mapped=mapped, way=self._way)
        db.set_progress_handler(watch, _STEPS if inline else _STEPS_APART)
        return db

    async def close(self) -> None:
        """Let running queries end, then close every connection."""
        if self._closed:
            return
        self._closed = True
        await asyncio.get_running_loop().run_in_executor(None, self._pool.shutdown)
        for db in self._opened:
            db.close()


def _ask(db: apsw.Connection, watch: _Watch, query: Query[T], *, together: bool) -> T:
    if not together:
        return query(db)
    until, watch.until = watch.until, math.inf  # nor its beginning, which may be stopped once done
    db.execute("BEGIN")
    watch.until = until
    try:
        return query(db)
    finally:
        watch.until = math.inf  # nothing may stop the end of a transaction
        db.execute("COMMIT")
