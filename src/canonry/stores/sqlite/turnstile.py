"""The turnstile: processes that write take turns, in two steps, so that nobody is passed for ever.

Whoever wants to write first waits at `next.lock`, holds it while waiting for `turn.lock`, and lets
it go once inside. A process that has just left therefore queues behind one that already waits.
The operating system opens the locks of a process that dies.
"""

import os
import sys
import time
from pathlib import Path
from typing import Final

from canonry.values.errors import Unavailable

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
