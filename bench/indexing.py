"""Indexing by the default model: what it leaves to 16 writers, and how much of it is the model.

Writers write alone and while passages are indexed, by turns in one process, and each turn is
compared with the ones before and after it; so that a busy machine weighs on both. The passages are
turns of 5 to 30 words, which is short: the longer a text, the more of the time is the model's.
"""

import asyncio
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from typing_extensions import override

from bench.report import Row, median
from bench.speech import Speech, fill
from bench.worlds import build_world
from bench.writers import WRITERS, phase
from canonry.app.embedded import open_embedded
from canonry.readmodels.ports.text import Embedder, EmbeddingModel, Purpose, Vector
from canonry.recall.embedders import OnnxEmbedder
from canonry.recall.usecases.index_passages import PassageIndexer
from canonry.recall.usecases.search_by_meaning import Engines, Recall, RecallServices
from canonry.recall.vectors import FolderVectors

SECTION = "indexing"
BACKLOG, ROUNDS, SECONDS, ALONE_SECONDS = 8_000, 6, 2.0, 10.0
KEPT_MIN, MODEL_SHARE_MIN = 0.9, 0.9


class Timed(Embedder):
    """An embedder, and the time that it took."""

    def __init__(self, embedder: Embedder) -> None:
        """Time `embedder`."""
        self._embedder = embedder
        self.seconds = 0.0

    @property
    @override
    def model(self) -> EmbeddingModel:
        return self._embedder.model

    @override
    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[Vector]:
        began = time.perf_counter()
        try:
            return await self._embedder.embed(texts, purpose)
        finally:
            self.seconds += time.perf_counter() - began

    @override
    async def close(self) -> None:
        await self._embedder.close()


def run() -> list[Row]:
    """One store, filled with turns that nobody has indexed yet."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measured(Path(folder)))


async def _measured(folder: Path) -> list[Row]:
    async with AsyncExitStack() as closing:
        store = await open_embedded(folder)
        closing.push_async_callback(store.close)
        canon, timed = store.canon, Timed(OnnxEmbedder())
        recall = Recall(
            Engines(embedder=lambda _: timed, vectors=lambda: FolderVectors(folder / "recall")),
            ledger=canon.ledger,
            state=canon.state,
            documents=canon.documents,
            clock=canon.clock,
        )
        closing.push_async_callback(recall.close)
        world = await build_world(canon, entities=1000, facts_each=2, scenes=WRITERS)
        await fill(canon, Speech(), BACKLOG)
        indexer = PassageIndexer(recall)
        await indexer.index_step()  # loads the model
        share, speed = await _alone(indexer, timed)
        canon = canon.revise_service(RecallServices, recall=recall)
        rates: list[tuple[float, float]] = []
        for _ in range(ROUNDS):
            alone = sum((await phase(canon, world, WRITERS, SECONDS)).values())
            indexing = asyncio.create_task(_steps(indexer))
            beside = sum((await phase(canon, world, WRITERS, SECONDS)).values())
            indexing.cancel()
            with suppress(asyncio.CancelledError):
                await indexing
            rates.append((alone / SECONDS, beside / SECONDS))
    kept = median([beside / alone for alone, beside in _around(rates)])
    before, after = (median([rate[n] for rate in rates]) for n in (0, 1))
    return [
        Row(
            section=SECTION,
            what="16 writers while passages are indexed / alone",
            value=kept,
            unit="x",
            budget=KEPT_MIN,
            at_least=True,
            note=f"{before:.0f} -> {after:.0f} commits/s",
        ),
        Row(
            section=SECTION,
            what="share of the time in the model, when nobody writes",
            value=share,
            unit="",
            budget=MODEL_SHARE_MIN,
            at_least=True,
            note=f"{speed:.0f} passages/s",
        ),
    ]


async def _alone(indexer: PassageIndexer, timed: Timed) -> tuple[float, float]:
    """The model's share of the time, and the passages a second."""
    before, began, made = timed.seconds, time.perf_counter(), 0
    while time.perf_counter() - began < ALONE_SECONDS:
        made += (await indexer.index_step()).vectors
    took = time.perf_counter() - began
    return (timed.seconds - before) / took, made / took


async def _steps(indexer: PassageIndexer) -> None:
    while (await indexer.index_step()).commits:
        pass
    raise RuntimeError("there was nothing left to index: the backlog is too small")


def _around(rates: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    """Each rate beside the indexer with the mean of those alone before and after it."""
    alone = [rate for rate, _ in rates]
    following = [*alone[1:], alone[-1]]
    return [
        ((before + after) / 2, beside)
        for (before, beside), after in zip(rates, following, strict=True)
    ]
