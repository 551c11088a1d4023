"""The one place that turns what files and SQLite raise into the two errors of the port."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from canonry.values.errors import Unavailable

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_MEND = "the vector index is damaged or of another version: run `canonry rebuild`"


@contextmanager
def translated() -> Iterator[None]:
    """Raise Canonry's errors in place of the driver's and the system's."""
    try:
        yield
    except (apsw.NotADBError, apsw.CorruptError, apsw.SQLError, apsw.MismatchError) as error:
        raise corrupt() from error
    except apsw.BusyError as error:
        message = "another process holds the vector index; try again"
        raise Unavailable("vectors.unavailable", message) from error
    except apsw.FullError as error:
        raise Unavailable("vectors.unavailable", "the disk is full: make room") from error
    except (apsw.Error, OSError, MemoryError) as error:
        if isinstance(error, OSError) and error.errno in _FULL:
            raise Unavailable("vectors.unavailable", "the disk is full: make room") from error
        message = "the vector index cannot be read or written: make room, or check its folder"
        raise Unavailable("vectors.unavailable", message) from error


def corrupt() -> Unavailable:
    """The error for what only a rebuild mends."""
    return Unavailable("vectors.corrupt", _MEND)
