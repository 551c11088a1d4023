"""Checkpoints: the write-ahead log moves into the database in a thread, never during a request."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event, Lock, Timer
from typing import Final

import apsw

from canonry.stores.sqlite.anchor import Anchor

PATIENCE_MS: Final = 1000

PAGES_BEFORE: Final = 4000
"""After so many more pages the write-ahead log is moved again.

Where writing never pauses the log goes on growing, although all of it has been moved; so what
counts is what came since the last time, else every commit would ask for a checkpoint.
"""

PAGES_TOO_MANY: Final = 50_000
"""From here on writers wait until the write-ahead log has been emptied."""


PAGES_KEPT: Final = 16_000
"""A longer log is emptied as soon as nobody reads from it: 64 MB, which one burst may take."""

_LOOKS_EVERY: Final = 1.0
_ATTEMPTS: Final = 20
_PAUSE: Final = 0.05


class Checkpoints:
    """Watches the connection that writes, and moves pages by one of its own."""

    def __init__(self, writer: apsw.Connection, own: apsw.Connection, anchor: Anchor) -> None:
        """`own` is used by nobody else; it may wait for others."""
        self._anchor = anchor
        self._own = own
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="canonry-checkpoint")
        self._busy = False
        self._pages = 0
        self._moved = 0
        self._rest_is_due = False
        self._ended = False
        self.short = Event()
        """Set unless the log is long and somebody still reads from it."""
        self.short.set()
        self._using = Lock()
        writer.set_wal_hook(self._committed)

    def _committed(self, _db: apsw.Connection, _name: str, pages: int) -> int:
        if pages < self._pages:  # the log began anew
            self._moved, self._rest_is_due = 0, False
        self._pages = pages
        if pages > PAGES_KEPT and self.short.is_set():
            self.short.clear()
            self._try_again()
        if self._busy:
            return apsw.SQLITE_OK
        if self._rest_is_due:
            self._rest_is_due, self._moved = False, pages
            self._checkpoint(apsw.SQLITE_CHECKPOINT_PASSIVE)
        elif pages - self._moved > PAGES_BEFORE:
            self._busy, self._moved = True, pages
            self._thread.submit(self._move, pages)
        return apsw.SQLITE_OK

    def _move(self, pages: int) -> None:
        """Move what there is, beside the writer.

        What is written meanwhile is little. It is moved right after the next commit, when nobody
        writes: only a log that has been moved as a whole begins anew, and a long one is slow.
        """
        much = pages > PAGES_TOO_MANY
        passive, restart = apsw.SQLITE_CHECKPOINT_PASSIVE, apsw.SQLITE_CHECKPOINT_RESTART
        self._checkpoint(restart if much else passive)
        self._rest_is_due, self._busy = True, False

    def _shorten(self) -> None:
        """Give the room of a long log back as soon as whoever still reads from it has gone.

        Nobody who writes waits for it. What this process reads for long has a deadline; another
        one may read for as long as it likes, and is looked after now and then.
        """
        if self._ended or self._attempt():
            self.short.set()
            return
        later = Timer(_LOOKS_EVERY, self._try_again)
        later.daemon = True
        later.start()

    def _try_again(self) -> None:
        with suppress(RuntimeError):  # closed meanwhile
            self._thread.submit(self._shorten)

    def _attempt(self) -> bool:
        """Whether the log is empty now, or cannot be emptied at all."""
        with self._using:
            self._anchor.look()
            self._own.set_busy_timeout(0)
            try:
                # What takes time goes first, because only the other one keeps writers out.
                self._own.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
                self._own.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            except apsw.BusyError:
                return False
            except apsw.Error:  # whoever writes next is told of a disk that is full or broken
                return True
            finally:
                self._own.set_busy_timeout(PATIENCE_MS)
        return True

    def _checkpoint(self, mode: int) -> None:
        # One that fails loses nothing: a later commit asks for another, and a disk that is full or
        # broken is reported to whoever writes.
        if not self._using.acquire(blocking=False):
            return
        try:
            self._anchor.look()
            with suppress(apsw.Error):
                self._own.wal_checkpoint(mode=mode)
        finally:
            self._using.release()

    def empty(self) -> bool:
        """Move everything and empty the write-ahead log; False if others kept reading from it."""
        return self._thread.submit(self._empty).result()

    def _empty(self) -> bool:
        self._anchor.look()
        for _ in range(_ATTEMPTS):
            try:
                self._own.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            except apsw.BusyError:  # told at once where another process checkpoints
                time.sleep(_PAUSE)
            except apsw.Error:  # a disk that is full or broken: the log keeps what it holds
                return False
            else:
                return True
        return False

    async def close(self) -> None:
        """Wait for the one that runs."""
        self._ended = True
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self._thread.shutdown)
