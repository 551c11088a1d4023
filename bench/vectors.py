"""The vector index against NumPy's exact search over the same vectors in the same run.

Vectors are drawn around topics, two to a vector, and spread over directions as sentences are. One
space holds almost all of them; a small one lies beside it, and once more alone in another folder.
The number comes from `CANONRY_BENCH_VECTORS` (default 10^5), up to 2*10^5.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.report import Row, median, percentile
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.text import EmbeddingModel, VectorBatch, VectorEntry, VectorQuery
from canonry.recall.vectors import FolderVectors
from canonry.values.ids import SpaceId

SECTION = "vectors"
DIMENSIONS, TOPICS, STRAYING, SPREAD, BLOCK = 384, 1_000, 0.65, 0.45, 10_000
QUERIES, LIMIT, SMALL, BATCH = 200, 10, 1_000, 2_000
LARGE, LITTLE = SpaceId("large"), SpaceId("little")
MODEL = EmbeddingModel(name="bench", version="1", dimensions=DIMENSIONS)
RECALL_MIN, LARGE_MAX, SPACE_RATIO_MAX = 1.0, 30.0, 1.5  # ms for 10^5
COLD_MAX, RESIDENT_MAX = 1.0, 600.0

Floats = NDArray[np.float32]


def run() -> list[Row]:
    """Fill, publish, search."""
    count = int(os.environ.get("CANONRY_BENCH_VECTORS", "100000"))
    return asyncio.run(_measured(count))


async def _measured(count: int) -> list[Row]:
    sentences = Sentences()
    known = sentences.draw(count).astype(np.float16).astype(np.float32)  # as they are stored
    queries = sentences.draw(QUERIES)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        large, alone = FolderVectors(folder / "large"), FolderVectors(folder / "alone", waiting=1)
        filled = await _fill(large, known, LARGE)
        for vectors in (large, alone):
            await _fill(vectors, known[:SMALL], LITTLE)
        built = await _tended(large)
        await _tended(alone)
        exact, worst = _floor(known, queries)
        times, found = await _searches(large, queries, LARGE)
        shared = _share(known, queries, found, worst)
        inside, outside = [], []
        for query in queries:  # by turns, so that both meet the same moments of the machine
            inside += (await _searches(large, query[None], LITTLE))[0]
            outside += (await _searches(alone, query[None], LITTLE))[0]
        del known
        cold = _cold(folder / "large", queries)
        await large.close()
        await alone.close()
    ratio = median(times) / median(exact)
    size, most = f"{count:,} vectors", LARGE_MAX * max(1.0, count / 100_000)
    return [
        _row("share of the exact ten nearest", shared, "", RECALL_MIN, size),
        _row("search, median", 1e3 * median(times), "ms", most, size),
        _row("search, 99 of 100", 1e3 * percentile(times, 0.99), "ms", None, size),
        _row(
            "search against NumPy exact",
            ratio,
            "x",
            None,
            f"{1e3 * median(exact):.1f} ms",
        ),
        _row("small space, inside against alone", _ratio(inside, outside), "x", SPACE_RATIO_MAX),
        _row("taking in", count / filled, "/s", None, f"batches of {BATCH:,}"),
        _row("publishing", built, "s", None, size),
        _row("cold start with the first search", cold["start"], "s", COLD_MAX),
        _row("resident after searching", cold["resident"], "MB", RESIDENT_MAX, "whole process"),
    ]


def _row(what: str, value: float, unit: str, budget: float | None, note: str = "") -> Row:
    return Row(
        section=SECTION,
        what=what,
        value=value,
        unit=unit,
        budget=budget,
        at_least=what.startswith("share"),
        note=note,
    )


def _unit(vectors: NDArray[Any]) -> Floats:
    scaled: Floats = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return scaled


class Sentences:
    """Draws vectors that lie about as sentences do."""

    def __init__(self) -> None:
        self._drawn = np.random.default_rng(7)
        self._directions = np.linalg.qr(self._drawn.normal(size=(DIMENSIONS, DIMENSIONS)))[0]
        self._topics = _unit(self._strayed(TOPICS))

    def draw(self, count: int) -> Floats:
        """So many vectors."""
        return np.concatenate([self._block(min(BLOCK, count - i)) for i in range(0, count, BLOCK)])

    def _block(self, size: int) -> Floats:
        one, other = self._drawn.integers(0, TOPICS, (2, size))
        share = self._drawn.uniform(0.4, 1.0, (size, 1))
        about = share * self._topics[one] + (1 - share) * self._topics[other]
        return _unit(about + STRAYING * self._strayed(size))

    def _strayed(self, size: int) -> NDArray[np.float64]:
        spread = np.arange(1, DIMENSIONS + 1) ** -SPREAD
        normal = self._drawn.normal(size=(size, DIMENSIONS)) * spread / np.linalg.norm(spread)
        strayed: NDArray[np.float64] = normal @ self._directions
        return strayed


async def _fill(vectors: FolderVectors, known: Floats, space: SpaceId) -> float:
    begun = time.perf_counter()
    for start in range(0, len(known), BATCH):
        entries = [
            VectorEntry(
                id=f"{space}{start + i}",
                collection=Collection.SCENES,
                space=space,
                scene_id=f"scene{(start + i) // 500}",
                vector=vector.tobytes(),
            )
            for i, vector in enumerate(known[start : start + BATCH])
        ]
        await vectors.apply(VectorBatch(model=MODEL, entries=entries, cursor=str(start)))
    return time.perf_counter() - begun


async def _tended(vectors: FolderVectors) -> float:
    begun = time.perf_counter()
    assert await vectors.compact_updates(MODEL)
    return time.perf_counter() - begun


async def _searches(
    vectors: FolderVectors, queries: Floats, space: SpaceId
) -> tuple[list[float], list[list[int]]]:
    times, found = [], []
    for query in queries:
        asked = VectorQuery(
            model=MODEL,
            vector=query.tobytes(),
            collection=Collection.SCENES,
            spaces=frozenset((space,)),
            limit=LIMIT,
        )
        begun = time.perf_counter()
        hits = await vectors.search(asked)
        times.append(time.perf_counter() - begun)
        found.append([int(hit.id.removeprefix(space)) for hit in hits])
    return times, found


def _floor(known: Floats, queries: Floats) -> tuple[list[float], list[float]]:
    """Return how long exact search takes, and the similarity of the last one that it finds."""
    times, worst = [], []
    for query in queries:
        begun = time.perf_counter()
        likeness = np.vecdot(known, query)  # on one core
        nearest = np.argpartition(-likeness, LIMIT)[:LIMIT]
        times.append(time.perf_counter() - begun)
        worst.append(float(likeness[nearest].min()))
    return times, worst


def _share(
    known: Floats, queries: Floats, found: Sequence[Sequence[int]], worst: Sequence[float]
) -> float:
    """The share of hits that exact search might have found as well; equals may be exchanged."""
    good = 0
    for query, hits, last in zip(queries, found, worst, strict=True):
        good += int((known[list(hits)] @ query >= last - 1e-5).sum())
    return good / (len(queries) * LIMIT)


def _ratio(these: Sequence[float], those: Sequence[float]) -> float:
    return median(these) / median(those)


def _cold(folder: Path, queries: Floats) -> dict[str, float]:
    """A process of its own, which opens the folder, searches once, and then for every query."""
    command = [sys.executable, "-m", "bench.vectors", str(folder)]
    done = subprocess.run(command, input=queries.tobytes(), capture_output=True, check=True)
    reply: dict[str, float] = json.loads(done.stdout)
    return reply


async def _serve(folder: Path, queries: Floats) -> dict[str, float]:
    begun = time.perf_counter()
    vectors = FolderVectors(folder)
    await _searches(vectors, queries[:1], LARGE)
    start = time.perf_counter() - begun
    await _searches(vectors, queries, LARGE)
    return {"start": start, "resident": resident()}


def resident() -> float:
    """Megabytes of this process in memory, mapped files included; 0 where nobody tells."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


if __name__ == "__main__":
    asked_for = np.frombuffer(sys.stdin.buffer.read(), dtype=np.float32).reshape(-1, DIMENSIONS)
    print(json.dumps(asyncio.run(_serve(Path(sys.argv[1]), asked_for))))
