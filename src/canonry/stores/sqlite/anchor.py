"""The anchor: what is open is what lies at the store's path, and no shorter than it was.

A folder that is deleted or moved takes its open files along, and what is written into them then is
found by nobody. A file that is cut kills whoever has it in memory: SQLite shares the index of the
write-ahead log that way (`-shm`), and reads large stores so. Both are looked for where they would
do harm, by the cheapest question that the system answers: what stands at a path.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Final, TypeAlias

from canonry.values.errors import Unavailable

_Id: TypeAlias = tuple[int, int]

_stat: Final = os.stat  # that of a path object takes twice the time


class Anchor:
    """The files of one store as they were when they were opened."""

    def __init__(self, path: Path) -> None:
        """Hold nothing yet; `hold` follows when the files are open."""
        self._path: Final = str(path.absolute())
        self._log: Final = f"{self._path}-wal"
        self._index: Final = f"{self._path}-shm"
        self._known: Sequence[_Id | None] = ()
        self._index_bytes = 0
        self._bytes = 0
        self._frozen: tuple[int, ...] | None = None
        self._mending = Lock()
        self.mapped = False
        self.mended = 0

    def hold(self) -> None:
        """Remember which files are open; no other process makes them anew meanwhile."""
        self._known = [_id_at(each) for each in (self._path, self._log, self._index)]
        self.look()
        self.is_shorter()

    def freeze(self) -> None:
        """From now on nobody may write, because nobody would be noticed."""
        self._frozen = self._lies()

    def look(self) -> None:
        """Look before anything is read.

        Raises:
            Unavailable: `store.changed`, somebody writes into what is read as it lies.
        """
        if self._frozen is None:
            self._see_index()
        elif self._lies() != self._frozen:
            raise _changed()

    def is_shorter(self) -> bool:
        """Whether the database is shorter than at the last such question, by a purge or by damage.

        Whoever has it in memory asks, and must let go of what is no more; nobody else does, so
        that the answer reaches the right one.
        """
        if not self.mapped or self._frozen is not None:
            return False
        found = _look_at(self._path)
        if found is None:
            return False
        self._bytes, before = found.st_size, self._bytes
        return self._bytes < before

    def require_in_place(self) -> None:
        """Look before anything is written: refuse where open files are not those at their paths.

        Raises:
            Unavailable: `store.moved`.
        """
        index = self._see_index()
        if self._known and [_id_at(self._path), _id_at(self._log), _id_of(index)] != self._known:
            raise _moved()

    def require_file(self) -> None:
        """The same by a shorter look, for what has just been written.

        Raises:
            Unavailable: `store.moved`.
        """
        if self._known and _id_at(self._path) != self._known[0]:
            raise _moved()

    def _lies(self) -> tuple[int, ...]:
        try:
            log = _stat(self._log).st_size
        except OSError:
            log = 0
        found = _stat(self._path)
        return found.st_ino, found.st_size, found.st_mtime_ns, log

    def _see_index(self) -> os.stat_result | None:
        """What the shared index is now; one that was cut gets its length again."""
        # The length comes first: an index that grows, seen by another thread meanwhile, is not cut.
        known = self._index_bytes
        found = _look_at(self._index)
        if found is None:  # none yet, or gone with its folder: whoever writes is told
            return None
        if found.st_size < known:
            self._mend_index(known)
        else:
            self._index_bytes = found.st_size
        return found

    def _mend_index(self, known: int) -> None:
        """Give the shared index its length again, as zeros, which SQLite makes anew.

        Memory that is mapped past the end of a file is death to whoever touches it. What was read
        meanwhile may miss commits: `mended` counts up, so that it is read again.
        """
        with self._mending:
            now = _look_at(self._index)
            if now is None or now.st_size >= known:  # gone, or mended by another thread meanwhile
                return
            # By its name: closing a file of one's own would give up every lock on it. To nothing
            # first: what is left of a cut index is believed, although the rest of it is gone.
            try:
                os.truncate(self._index, 0)
                os.truncate(self._index, known)
            except OSError:  # gone meanwhile
                return
            self.mended += 1


def _look_at(path: str) -> os.stat_result | None:
    try:
        return _stat(path)
    except OSError:
        return None


def _id_of(found: os.stat_result | None) -> _Id | None:
    return None if found is None else (found.st_dev, found.st_ino)


def _id_at(path: str) -> _Id | None:
    return _id_of(_look_at(path))


def _changed() -> Unavailable:
    message = "the store was opened as it lay, and somebody writes into it: open it again"
    return Unavailable("store.changed", message)


def _moved() -> Unavailable:
    message = (
        "the store is no longer where it was opened: its folder was deleted, moved or replaced, "
        "so nothing more is written; stop this server, put the folder back, or start it on the "
        "folder's new place"
    )
    return Unavailable("store.moved", message)
