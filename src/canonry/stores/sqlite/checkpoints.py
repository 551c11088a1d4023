"""Checkpoints, and the order of writers."""

import asyncio
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock, Timer
from typing import Final

import apsw

from canonry.stores.sqlite.connections import Anchor
from canonry.values.errors import Unavailable

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


# The turnstile: processes that write take turns, in two steps, so that nobody is passed for ever.
#
# Whoever wants to write first waits at `next.lock`, holds it while waiting for `turn.lock`, and
# lets it go once inside. A process that has just left therefore queues behind one that already
# waits. The operating system opens the locks of a process that dies.

_FIRST_PAUSE: Final = 0.0001
_LONGEST_PAUSE: Final = 0.002

if sys.platform == "win32":
    import msvcrt

    def try_lock(file: int) -> bool:
        """Lock an open file, if nobody holds it."""
        os.lseek(file, 0, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def unlock(file: int) -> None:
        """Give a locked file back."""
        os.lseek(file, 0, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def try_lock(file: int) -> bool:
        """Lock an open file, if nobody holds it."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(file: int) -> None:
        """Give a locked file back."""
        fcntl.flock(file, fcntl.LOCK_UN)


class Turnstile:
    """One at a time, in all processes on a folder; used by one thread at a time."""

    def __init__(self, folder: Path) -> None:
        """Make the lock files where there are none."""
        self._files = [_file(folder / "next.lock"), _file(folder / "turn.lock")]

    def try_enter(self) -> bool:
        """Enter if nobody is inside or waits."""
        waiting, turn = self._files
        if not try_lock(waiting):
            return False
        entered = try_lock(turn)
        unlock(waiting)
        return entered

    def enter(self, seconds: float) -> None:
        """Wait for the turn.

        Raises:
            Unavailable: `ledger.busy`, it did not come in time.
        """
        waiting, turn = self._files
        deadline = time.monotonic() + seconds
        _wait(waiting, deadline)
        try:
            _wait(turn, deadline)
        finally:
            unlock(waiting)

    def leave(self) -> None:
        """Let the next one in."""
        unlock(self._files[1])

    def close(self) -> None:
        """Close the lock files, and so leave."""
        for file in self._files:
            os.close(file)
        self._files = []


def _file(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


def _wait(file: int, deadline: float) -> None:
    pause = _FIRST_PAUSE
    while not try_lock(file):
        if time.monotonic() > deadline:
            raise Unavailable("ledger.busy", "others write without a pause; try again")
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
