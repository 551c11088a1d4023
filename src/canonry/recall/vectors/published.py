"""The published index: a file that is written once and mapped by every process that searches.

Its vectors are sorted by collection and space. A large space is divided into clusters, a small one
is scanned whole; so the cost of a search depends on the size of that space alone.
"""

import json
import math
import mmap
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from canonry.recall.vectors.codes import Codes, Floats, Numbers, best
from canonry.recall.vectors.faults import corrupt

MAGIC: Final = b"CANVEC01"
TRAILER: Final = 24  # length of the header, its checksum, that of the arrays, and the magic
ALIGNED: Final = 64
PROBED: Final = 7.0
"""So many times the square root of the number of clusters are scanned: the more vectors there are,
the nearer the nearest ones lie together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """The rows of a space, from `start` to `end`, and the numbers of its clusters, if any."""

    start: int
    end: int
    first: int
    clusters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """Numbers of rows with their similarities; `complete` if every row was looked at."""

    numbers: Numbers
    similarities: Floats
    complete: bool


class Published:
    """One version of the index of one model."""

    def __init__(self, path: Path) -> None:
        """Map the file.

        Raises:
            Unavailable: `vectors.corrupt`, it is damaged or of another version.
            OSError: it cannot be read.
        """
        with path.open("rb") as file:
            size = file.seek(0, 2)
            if size < TRAILER:
                raise corrupt()
            self._mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._size = size
        header = _header(memoryview(self._mapped), size)
        arrays = {name: self._array(entry) for name, entry in header["arrays"].items()}
        self.model: Mapping[str, Any] = header["model"]
        self.origin: str = header["origin"]
        self.newest: int = header["newest"]
        self._codes = Codes(values=arrays["values"], scales=arrays["scales"])
        self._numbers: Numbers = arrays["numbers"]
        self._sorted: Numbers = arrays["sorted"]
        self._positions: Numbers = arrays["positions"]
        self._centres: Floats = arrays["centres"]
        self._starts: Numbers = arrays["starts"]
        self._values_at = int(header["arrays"]["values"]["offset"])
        self._spaces: Mapping[str, Mapping[str, Sequence[int]]] = header["spaces"]
        self._runs: Mapping[str, Sequence[Sequence[int]]] = header["runs"]

    @property
    def is_whole(self) -> bool:
        """Whether nobody has cut the file since: to touch what is mapped past its end is death."""
        return self._mapped.size() >= self._size

    def __len__(self) -> int:
        return len(self._codes)

    def gone(self, kept: Numbers) -> Numbers:
        """The byte positions in the file of the rows whose numbers are not in `kept`."""
        rows = np.flatnonzero(~np.isin(self._numbers, kept))
        places: Numbers = self._values_at + rows * self.width
        return places

    @property
    def width(self) -> int:
        """The bytes of a row."""
        return int(self._codes.values.shape[1])

    def nearest(
        self,
        query: Floats,
        collection: str,
        spaces: frozenset[str] | None,
        *,
        limit: int,
        effort: int,
    ) -> Nearest:
        """About the `limit` nearest rows; more `effort` scans more clusters."""
        rows: list[Numbers] = [np.empty(0, dtype=np.int64)]
        likeness: list[Floats] = [np.empty(0, dtype=np.float32)]
        complete = True
        for region in self._regions(collection, spaces):
            probes = round(effort * PROBED * math.sqrt(region.clusters))
            if region.clusters <= probes:
                rows.append(np.arange(region.start, region.end))
                likeness.append(self._codes.similarities(query, region.start, region.end))
            else:
                complete = False
                rows.append(self._probed(query, region, probes))
                likeness.append(self._codes.similarities_at(query, rows[-1]))
        return self._best(np.concatenate(rows), np.concatenate(likeness), limit, complete=complete)

    def among(
        self,
        query: Floats,
        collection: str,
        spaces: frozenset[str] | None,
        numbers: Numbers,
        *,
        limit: int,
    ) -> Nearest:
        """The `limit` nearest of the rows with these numbers, exactly."""
        if not len(self):
            return _nothing()
        found = np.minimum(np.searchsorted(self._sorted, numbers), len(self) - 1)
        rows = self._positions[found[self._sorted[found] == numbers]]
        inside = np.zeros(len(rows), dtype=bool)
        for region in self._regions(collection, spaces):
            inside |= (rows >= region.start) & (rows < region.end)
        rows = np.sort(rows[inside])
        similarities = self._codes.similarities_at(query, rows)
        return self._best(rows, similarities, limit, complete=True)

    def _best(self, rows: Numbers, likeness: Floats, limit: int, *, complete: bool) -> Nearest:
        chosen = best(likeness, limit)
        return Nearest(
            numbers=self._numbers[rows[chosen]],
            similarities=likeness[chosen],
            complete=complete and len(rows) <= limit,
        )

    def _probed(self, query: Floats, region: Region, probes: int) -> Numbers:
        """The rows of the clusters with the nearest centres, in the order of the file."""
        centres = self._centres[region.first : region.first + region.clusters]
        likely = np.sort(best(np.vecdot(centres, query), probes)) + region.first
        starts = self._starts[likely]
        sizes = self._starts[likely + 1] - starts
        skipped = starts - (np.cumsum(sizes) - sizes)
        return np.repeat(skipped, sizes) + np.arange(int(sizes.sum()))

    def _regions(self, collection: str, spaces: frozenset[str] | None) -> Iterator[Region]:
        if spaces is None:
            found = self._runs.get(collection, ())
        else:
            known = self._spaces.get(collection, {})
            found = [known[space] for space in spaces if space in known]
        for start, end, first, clusters in found:
            yield Region(start=start, end=end, first=first, clusters=clusters)

    def _array(self, entry: Mapping[str, Any]) -> Any:
        shape = tuple(entry["shape"])
        kind = np.dtype(entry["kind"])
        length = int(np.prod(shape, dtype=np.int64))
        flat = np.frombuffer(self._mapped, dtype=kind, count=length, offset=entry["offset"])
        return flat.reshape(shape)


def _nothing() -> Nearest:
    return Nearest(
        numbers=np.empty(0, dtype=np.int64),
        similarities=np.empty(0, dtype=np.float32),
        complete=True,
    )


def _header(raw: memoryview, size: int) -> Mapping[str, Any]:
    trailer = bytes(raw[size - TRAILER :])
    length = int.from_bytes(trailer[:8], "little")
    if trailer[16:] != MAGIC or length > size - TRAILER:
        raise corrupt()
    start = size - TRAILER - length
    checks = zlib.crc32(raw[start : size - TRAILER]), zlib.crc32(raw[:start])
    if trailer[8:16] != b"".join(check.to_bytes(4, "little") for check in checks):
        raise corrupt()
    header: Mapping[str, Any] = json.loads(bytes(raw[start : size - TRAILER]))
    return header
