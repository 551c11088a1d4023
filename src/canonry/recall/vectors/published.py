"""The published file: vectors that are written once and mapped by every process that searches.

They are sorted by collection and space, so that a search of one space reads only its own vectors.
The owner writes a new version beside the old one and renames it: a process that dies before leaves
a file that nobody reads, and the next owner removes it.
"""

import json
import mmap
import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any, Final

import apsw
import numpy as np

from canonry.readmodels.ports.vectors import EmbeddingModel
from canonry.recall.vectors import rows
from canonry.recall.vectors.blocks import READ_AT_ONCE, Block, CollectionInSpace, block_of
from canonry.recall.vectors.rows import Numbers, corrupt
from canonry.values.errors import Unavailable

_MAGIC: Final = b"CANVEC02"
_TRAILER: Final = 24  # length of the header, its checksum, that of the arrays, and the magic


class Published:
    """One version of the vectors of one model."""

    def __init__(self, path: Path) -> None:
        """Map the file.

        Raises:
            Unavailable: `vectors.corrupt`, it is damaged or of another version.
            OSError: it cannot be read.
        """
        with path.open("rb") as file:
            self._size = file.seek(0, 2)
            if self._size < _TRAILER:
                raise corrupt()
            self._mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        header = _header(memoryview(self._mapped), self._size)
        self.model: Mapping[str, Any] = header["model"]
        self.origin: str = header["origin"]
        self.newest: int = header["newest"]
        self.places: Mapping[CollectionInSpace, int] = {
            (collection, space): n for n, (collection, space) in enumerate(header["places"])
        }
        count, width = header["count"], self.model["dimensions"]
        numbers_at = 4 * count * width
        places_at = numbers_at + 8 * count
        self.block = Block(
            vectors=self._array("<f4", 0, count * width).reshape(count, width),
            numbers=self._array("<i8", numbers_at, count),
            places=self._array("<i4", places_at, count),
        )

    @property
    def is_whole(self) -> bool:
        """Whether nobody has cut the file since: to touch what is mapped past its end is death."""
        return self._mapped.size() >= self._size

    def gone(self, kept: Numbers) -> Numbers:
        """The positions of the vectors whose numbers are not in `kept`."""
        found: Numbers = np.flatnonzero(~np.isin(self.block.numbers, kept))
        return found

    def overwrite(self, path: Path, positions: Numbers) -> None:
        """Write zeros over vectors in the file, also for who maps it: no search returns them."""
        width = 4 * self.block.vectors.shape[1]
        with path.open("r+b") as file:
            for position in positions:
                file.seek(int(position) * width)
                file.write(bytes(width))
            file.flush()
            os.fsync(file.fileno())

    def _array(self, kind: str, offset: int, length: int) -> Any:
        return np.frombuffer(self._mapped, dtype=kind, count=length, offset=offset)


def published_of(path: Path, origin: str, model: EmbeddingModel) -> Published | None:
    """The file if it is whole and made from these rows; a damaged or former one is passed over."""
    try:
        published = Published(path)
    except (Unavailable, OSError, ValueError, KeyError):
        return None
    fits = published.origin == origin and published.model == asdict(model)
    return published if fits else None


def publish(db: apsw.Connection, m: int, model: EmbeddingModel, target: Path) -> None:
    """Write the vectors of a model as they are now to `target`, which appears whole or not."""
    newest, places = rows.newest(db), dict[CollectionInSpace, int]()
    numbers, ats = [np.empty(0, dtype="<i8")], [np.empty(0, dtype="<i4")]
    temporary = target.with_suffix(".new")
    temporary.touch(0o600)
    checksum = 0
    try:
        with temporary.open("wb") as file:
            for block in _blocks(db, m, model.dimensions, newest, places):
                numbers.append(block.numbers)
                ats.append(block.places)
                data = block.vectors.astype("<f4", copy=False).tobytes()
                checksum = zlib.crc32(data, checksum)
                file.write(data)
            small = np.concatenate(numbers).tobytes() + np.concatenate(ats).tobytes()
            header = {
                "model": asdict(model),
                "origin": rows.identity(db),
                "newest": newest,
                "count": sum(map(len, numbers)),
                "places": list(places),
            }
            text = json.dumps(header).encode()
            file.write(small + text + len(text).to_bytes(8, "little"))
            file.write(_checks(zlib.crc32(text), zlib.crc32(small, checksum)) + _MAGIC)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(target.parent)


def _blocks(
    db: apsw.Connection, m: int, dimensions: int, newest: int, places: dict[CollectionInSpace, int]
) -> Iterator[Block]:
    stream = rows.by_space(db, m, newest)
    while found := list(islice(stream, READ_AT_ONCE)):
        yield block_of(found, places, dimensions)


def _header(raw: memoryview, size: int) -> Mapping[str, Any]:
    trailer = bytes(raw[size - _TRAILER :])
    length = int.from_bytes(trailer[:8], "little")
    if trailer[16:] != _MAGIC or length > size - _TRAILER:
        raise corrupt()
    start = size - _TRAILER - length
    text = bytes(raw[start : size - _TRAILER])
    if trailer[8:16] != _checks(zlib.crc32(text), zlib.crc32(raw[:start])):
        raise corrupt()
    header: Mapping[str, Any] = json.loads(text)
    return header


def _checks(*sums: int) -> bytes:
    return b"".join(one.to_bytes(4, "little") for one in sums)


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
