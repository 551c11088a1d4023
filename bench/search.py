"""Searching passages by words and meaning as spaces and stores grow, but for embedding questions.

Everything goes through the use case, on the embedded store and the embedded index of vectors; the
embedder alone draws its vectors. One space holds almost all passages; a small one lies beside it,
and once more alone in another folder. Questions are stretches of speech of 5 to 40 words; of each
the best of five rounds counts. The large number comes from `CANONRY_BENCH_PASSAGES` (default 10^5);
its budgets are stated for that number.
"""

import asyncio
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from bench.report import Row, median, percentile
from bench.speech import Speech, fill
from bench.vectors import DIMENSIONS, Sentences, resident
from canonry.app.embedded import open_embedded
from canonry.canon.session.canon import Canon
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.text import Embedder, EmbeddingModel, Purpose, TextQuery, Vector
from canonry.recall.usecases.find_passages import find_passages
from canonry.recall.usecases.index_passages import PassageIndexer
from canonry.recall.usecases.search_by_meaning import Engines, Recall, RecallServices
from canonry.recall.vectors import FolderVectors
from canonry.stores.sqlite import Durability
from canonry.values.ids import SpaceId

SECTION = "search"
SMALL, QUESTIONS, ROUNDS, LIMIT, STEP = 10_000, 60, 5, 10, 2_000
LARGE_MAX, SMALL_MAX, SPACE_RATIO_MAX = 30.0, 8.0, 1.5
COLD_MAX, RESIDENT_MAX = 1.0, 600.0


def run() -> list[Row]:
    """Fill both stores, then ask."""
    count = int(os.environ.get("CANONRY_BENCH_PASSAGES", "100000"))
    return asyncio.run(_measured(count))


class Drawn(Embedder):
    """Draws a vector for each passage, and one for each question that it keeps."""

    def __init__(self) -> None:
        """Draw the same vectors every time."""
        self._sentences = Sentences()
        self._questions: dict[str, Vector] = {}

    @property
    @override
    def model(self) -> EmbeddingModel:
        return EmbeddingModel(name="drawn", version="1", dimensions=DIMENSIONS)

    @override
    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[Vector]:
        if purpose is Purpose.PASSAGE:
            return [vector.tobytes() for vector in self._sentences.draw(len(texts))]
        for text in texts:
            if text not in self._questions:
                self._questions[text] = self._sentences.draw(1).tobytes()
        return [self._questions[text] for text in texts]

    @override
    async def close(self) -> None:
        self._questions.clear()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Times:
    """The best time of each question, for each way of asking."""

    by: dict[str, list[float]]

    def middle(self, name: str) -> float:
        """In milliseconds."""
        return 1e3 * median(self.by[name])

    def ratio(self, these: str, those: str) -> float:
        """The median of the questions' own ratios."""
        pairs = zip(self.by[these], self.by[those], strict=True)
        return median([this / that for this, that in pairs])


async def _measured(count: int) -> list[Row]:
    questions = _questions()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with AsyncExitStack() as closing:
            large = await _opened(closing, folder / "large", Drawn())
            alone = await _opened(closing, folder / "alone", Drawn())
            began = time.perf_counter()
            whole = await fill(large, Speech(), count)
            filled = time.perf_counter() - began
            within, without = [await fill(each, Speech(), SMALL) for each in (large, alone)]
            began = time.perf_counter()
            for canon in (large, alone):
                await _index(canon)
            indexed = time.perf_counter() - began
            times = await _asked(
                {
                    "large, words": (large.revise_service(RecallServices, recall=None), whole),
                    "large": (large, whole),
                    "inside, words": (large.revise_service(RecallServices, recall=None), within),
                    "inside": (large, within),
                    "alone, words": (alone.revise_service(RecallServices, recall=None), without),
                    "alone": (alone, without),
                },
                questions,
            )
        cold, megabytes = _cold(folder / "large", whole)
    size, small, total = f"{count:,} passages", f"{SMALL:,} passages", count + 2 * SMALL
    inside, inside_words = (times.ratio(f"inside{way}", f"alone{way}") for way in ("", ", words"))
    exact, exact_small = (1e3 * median(_floor(number)) for number in (count, SMALL))
    return [
        _row("words and vectors, median", times.middle("large"), "ms", LARGE_MAX, size),
        _row("the same, 95 of 100", 1e3 * percentile(times.by["large"], 0.95), "ms", None, size),
        _row("words alone, median", times.middle("large, words"), "ms", LARGE_MAX, size),
        _row("NumPy, exact vectors alone", exact, "ms", None, size),
        _row("words and vectors, small, median", times.middle("alone"), "ms", SMALL_MAX, small),
        _row("words alone, small, median", times.middle("alone, words"), "ms", SMALL_MAX, small),
        _row("NumPy, exact vectors alone, small", exact_small, "ms", None, small),
        _row("small, inside large against alone", inside, "x", SPACE_RATIO_MAX),
        _row("the same, words alone", inside_words, "x", SPACE_RATIO_MAX),
        _row("cold start with the first search", cold, "s", COLD_MAX, size),
        _row("resident after searching", megabytes, "MB", RESIDENT_MAX, "whole process"),
        _row("writing, with the index of words", count / filled, "/s", None, size),
        _row("indexing vectors, without a model", total / indexed, "/s", None, size),
    ]


def _row(what: str, value: float, unit: str, budget: float | None, note: str = "") -> Row:
    return Row(section=SECTION, what=what, value=value, unit=unit, budget=budget, note=note)


def _questions() -> Sequence[str]:
    speech = Speech()
    return [speech.stretch(5, 40, 0.0) for _ in range(QUESTIONS)]


async def _opened(closing: AsyncExitStack, folder: Path, drawn: Drawn) -> Canon:
    store = await open_embedded(folder, durability=Durability.NORMAL)
    closing.push_async_callback(store.close)
    engines = Engines(embedder=lambda _: drawn, vectors=lambda: FolderVectors(folder / "recall"))
    canon = store.canon
    recall = Recall(
        engines,
        ledger=canon.ledger,
        state=canon.state,
        documents=canon.documents,
        clock=canon.clock,
    )
    closing.push_async_callback(recall.close)
    return canon.revise_service(RecallServices, recall=recall)


async def _index(canon: Canon) -> None:
    recall = canon.find_service(RecallServices).recall
    assert recall is not None
    indexer = PassageIndexer(recall, items_per_step=STEP)
    while (await indexer.index_step()).commits:
        pass
    await indexer.publish_vectors()


async def _asked(ways: dict[str, tuple[Canon, SpaceId]], questions: Sequence[str]) -> _Times:
    times = {name: [math.inf] * len(questions) for name in ways}
    for _ in range(ROUNDS):
        for n, text in enumerate(questions):  # by turns: all meet the same busy moments
            for name, (canon, space) in ways.items():
                times[name][n] = min(times[name][n], await _ask(canon, space, text))
    return _Times(by=times)


async def _ask(canon: Canon, space: SpaceId, text: str) -> float:
    query = TextQuery(
        collection=Collection.SCENES, text=text, spaces=frozenset((space,)), limit=LIMIT
    )
    began = time.perf_counter()
    found = await find_passages(canon, query)
    took = time.perf_counter() - began
    assert len(found.hits) == LIMIT
    assert canon.find_service(RecallServices).recall is None or not found.degraded
    return took


def _floor(count: int) -> list[float]:
    """Return how long exact search takes over so many vectors, all of them in memory."""
    drawn = np.random.default_rng(5).standard_normal((count, DIMENSIONS), dtype=np.float32)
    times: list[float] = []
    for number in range(QUESTIONS):
        began = time.perf_counter()
        likeness: NDArray[np.float32] = drawn @ drawn[number]
        np.argpartition(-likeness, LIMIT)
        times.append(time.perf_counter() - began)
    return times


def _cold(folder: Path, space: SpaceId) -> tuple[float, float]:
    """Seconds in which a new process opens and answers once, and its megabytes after all."""
    command = [sys.executable, "-m", "bench.search", str(folder), space]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    answered, megabytes = done.stdout.split()
    return float(answered), float(megabytes)


async def _serve(folder: Path, space: SpaceId) -> None:
    drawn, (first, *others) = Drawn(), _questions()
    async with AsyncExitStack() as closing:
        began = time.perf_counter()
        canon = await _opened(closing, folder, drawn)
        await _ask(canon, space, first)
        answered = time.perf_counter() - began
        for text in others:
            await _ask(canon, space, text)
        sys.stdout.write(f"{answered} {resident()}\n")


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1]), SpaceId(sys.argv[2])))
