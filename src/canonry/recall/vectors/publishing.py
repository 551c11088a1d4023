"""Publishing: the owner writes a new version of the index beside the old one and renames it.

A process that dies before the rename leaves a file that nobody reads; the next owner removes it.
"""

import json
import math
import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Final

import apsw
import numpy as np

from canonry.readmodels.ports.vectors import EmbeddingModel
from canonry.recall.vectors import rows
from canonry.recall.vectors.codes import Codes, Floats, Numbers, encoded
from canonry.recall.vectors.published import ALIGNED, MAGIC

SCANNED_WHOLE: Final = 32_768
"""A space with so many vectors or fewer has no clusters."""

_READ_AT_ONCE: Final = 4096
_ROUNDS: Final = 3
_SAMPLED: Final = 16


class _Writer:
    """Writes arrays one after the other and remembers where each is."""

    def __init__(self, path: Path) -> None:
        path.touch(0o600)
        self._file = path.open("wb")
        self._checksum = 0
        self._at = 0
        self._arrays: dict[str, Any] = {}

    def begin(self, name: str, kind: str, *width: int) -> None:
        self._write(bytes(-self._at % ALIGNED))
        self._arrays[name] = {"offset": self._at, "kind": kind, "shape": [0, *width]}

    def extend(self, name: str, values: np.ndarray[Any, Any]) -> None:
        entry = self._arrays[name]
        entry["shape"][0] += len(values)
        self._write(np.ascontiguousarray(values, dtype=entry["kind"]).tobytes())

    def finish(self, header: Mapping[str, Any]) -> None:
        text = json.dumps({**header, "arrays": self._arrays}).encode()
        checks = zlib.crc32(text), self._checksum
        with self._file as file:
            file.write(text + len(text).to_bytes(8, "little"))
            file.write(b"".join(check.to_bytes(4, "little") for check in checks) + MAGIC)
            file.flush()
            os.fsync(file.fileno())

    def close(self) -> None:
        self._file.close()

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._checksum = zlib.crc32(data, self._checksum)
        self._at += len(data)


class _Layout:
    """Where the rows of each space are in the file, and the arrays small enough for memory."""

    def __init__(self, dimensions: int, scanned_whole: int) -> None:
        self._scanned_whole = scanned_whole
        self.spaces: dict[str, dict[str, list[int]]] = {}
        self.runs: dict[str, list[list[int]]] = {}
        self.numbers: list[Numbers] = []
        self.scales: list[Any] = []
        self.centres: list[Any] = [np.empty((0, dimensions), dtype=np.float32)]
        self.starts: list[Numbers] = []
        self.rows = 0
        self.clusters = 0

    def add(self, collection: str, space: str, numbers: Numbers, codes: Codes) -> Numbers:
        """Give a space its rows in the file; the order in which its vectors must be written."""
        start, first, order = self.rows, self.clusters, np.arange(len(codes), dtype=np.int64)
        self.rows += len(codes)
        if len(codes) > self._scanned_whole:
            centres = _centres_of(codes, _how_many(len(codes)))
            groups = _assigned(codes, centres)
            order = np.argsort(groups, kind="stable")
            bounds = np.searchsorted(groups[order], np.arange(len(centres) + 1))
            # One bound more than clusters: the extra centre keeps both arrays in step.
            self.centres.extend((centres, np.zeros_like(centres[:1])))
            self.starts.append(bounds + start)
            self.clusters += len(centres) + 1
        region = [start, self.rows, first, max(0, self.clusters - first - 1)]
        self.spaces.setdefault(collection, {})[space] = region
        self._run(collection, region)
        self.numbers.append(numbers[order])
        self.scales.append(codes.scales[order])
        return order

    def _run(self, collection: str, region: list[int]) -> None:
        runs = self.runs.setdefault(collection, [])
        if region[3] == 0 and runs and runs[-1][3] == 0 and runs[-1][1] == region[0]:
            runs[-1] = [runs[-1][0], region[1], 0, 0]
        else:
            runs.append(list(region))


def publish(
    db: apsw.Connection,
    m: int,
    model: EmbeddingModel,
    target: Path,
    *,
    scanned_whole: int = SCANNED_WHOLE,
) -> None:
    """Write the index of a model as it is now to `target`, which appears whole or not at all."""
    newest = rows.newest(db)
    writer = _Writer(temporary(target))
    try:
        layout = _Layout(model.dimensions, scanned_whole)
        writer.begin("values", "|i1", model.dimensions)
        for (collection, space), numbers, codes in _spaces(db, m, model.dimensions, newest):
            order = layout.add(collection, space, numbers, codes)
            for block in _blocks(len(order)):
                writer.extend("values", codes.values[order[block]])
        _write_small(writer, layout, model.dimensions)
        header = {
            "model": asdict(model),
            "origin": rows.identity(db),
            "newest": newest,
            "spaces": layout.spaces,
            "runs": layout.runs,
        }
        writer.finish(header)
        temporary(target).replace(target)
    finally:
        writer.close()
        temporary(target).unlink(missing_ok=True)
    _sync_folder(target.parent)


def temporary(target: Path) -> Path:
    """Where a version is written before it is published."""
    return target.with_suffix(".new")


def _write_small(writer: _Writer, layout: _Layout, dimensions: int) -> None:
    numbers = np.concatenate(layout.numbers or [np.empty(0, dtype=np.int64)])
    positions = np.argsort(numbers, kind="stable")
    small: tuple[tuple[str, str, tuple[int, ...], list[Any]], ...] = (
        ("scales", "<f4", (), layout.scales),
        ("numbers", "<i8", (), [numbers]),
        ("sorted", "<i8", (), [numbers[positions]]),
        ("positions", "<i8", (), [positions]),
        ("centres", "<f4", (dimensions,), layout.centres),
        ("starts", "<i8", (), layout.starts),
    )
    for name, kind, width, parts in small:
        writer.begin(name, kind, *width)
        for part in parts:
            writer.extend(name, part)


def _spaces(
    db: apsw.Connection, m: int, dimensions: int, newest: int
) -> Iterator[tuple[tuple[str, str], Numbers, Codes]]:
    stream = rows.by_space(db, m, newest)
    for place, group in groupby(stream, key=lambda row: (row[0], row[1])):
        numbers: list[int] = []
        blocks: list[Codes] = []
        while block := list(islice(group, _READ_AT_ONCE)):
            numbers.extend(row[2] for row in block)
            blocks.append(encoded(rows.floats([row[3] for row in block], dimensions)))
        codes = Codes.joined(blocks)
        blocks.clear()
        yield place, np.array(numbers, dtype=np.int64), codes


def _how_many(rows: int) -> int:
    """The number of clusters for so many rows; finer ones find more in the same time."""
    return max(1, round(6 * math.sqrt(rows)))


def _centres_of(codes: Codes, number: int) -> Floats:
    """Centres of unit length found by spherical k-means on an even sample; the same every time."""
    step = max(1, len(codes) // (number * _SAMPLED))
    sample = codes.floats(np.arange(0, len(codes), step))
    centres = sample[np.linspace(0, len(sample) - 1, number).astype(np.int64)].copy()
    for _ in range(_ROUNDS):
        nearest = np.concatenate(
            [_nearest(sample[block], centres) for block in _blocks(len(sample))]
        )
        order = np.argsort(nearest, kind="stable")
        groups, starts = np.unique(nearest[order], return_index=True)
        sums = np.add.reduceat(sample[order], starts, axis=0)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres[groups] = sums / np.where(lengths == 0, 1, lengths)
    return centres


def _assigned(codes: Codes, centres: Floats) -> Numbers:
    """The cluster of each row."""
    found = np.empty(len(codes), dtype=np.int64)
    for block in _blocks(len(codes)):
        found[block] = _nearest(codes.floats(block), centres)
    return found


def _nearest(vectors: Floats, centres: Floats) -> Numbers:
    nearest: Numbers = np.argmax(vectors @ centres.T, axis=1)
    return nearest


def _blocks(rows: int) -> Iterator[slice]:
    for low in range(0, rows, _READ_AT_ONCE):
        yield slice(low, min(low + _READ_AT_ONCE, rows))


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
