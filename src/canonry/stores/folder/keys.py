"""A key of a store's own: made once, readable by its owner only, and then the same for ever."""

import os
from collections.abc import Callable
from pathlib import Path

from canonry.stores.folder.blobs import new_file
from canonry.values.errors import Unavailable


def kept_key(path: Path, make: Callable[[], bytes]) -> bytes:
    """The key in the file, which `make` gives where there is none; of two who make one, one wins.

    Raises:
        Unavailable: `file.signing-failed`, the file cannot be read or made, or holds no key.
    """
    try:
        if not path.exists():
            _make(path, make())
        key = path.read_bytes()
    except OSError as error:
        message = "the key that signs links cannot be kept: check the data folder and its disk"
        raise Unavailable("file.signing-failed", message) from error
    if len(key) < len(make()):
        message = "the key that signs links is damaged: delete its file, and links are made anew"
        raise Unavailable("file.signing-failed", message)
    return key


def _make(path: Path, key: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with new_file(path.parent, key) as new:
        try:
            os.link(new, path)
        except FileExistsError:
            return
        except OSError:  # a file system without links
            if not path.exists():
                new.replace(path)
