"""Files of the user: each takes its name only when it is whole, and no link is written through."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def whole_file(path: Path, *, newline: str = "\n", mode: int = 0o600) -> Iterator[TextIO]:
    """A text in UTF-8 that replaces what `path` names, on the disk, when the block ends well.

    It is written under a name in the same folder that nobody can guess, which must be new: a link
    that somebody has put there beforehand leads nowhere else. A link at `path` is replaced.
    """
    from canonry.stores.folder.blobs import sync_folder  # noqa: PLC0415 - loads asyncio

    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    part = Path(name)
    try:
        with open(handle, "w", encoding="utf-8", newline=newline) as out:  # noqa: PTH123 - a descriptor
            yield out
            out.flush()
            os.fsync(out.fileno())
        part.chmod(mode)
        part.replace(path)
        sync_folder(path.parent)
    finally:
        part.unlink(missing_ok=True)
