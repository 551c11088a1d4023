"""Recall scenarios: a world, and recall over it by embedders that note what they are given."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from typing_extensions import override

from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.text import (
    Embedder,
    EmbeddingModel,
    Purpose,
    TextQuery,
    Vector,
    Vectors,
)
from canonry.recall.embedders import HashingEmbedder
from canonry.recall.usecases.index_passages import PassageIndexer
from canonry.recall.usecases.search_by_meaning import Engines, Recall
from canonry.recall.vectors import FolderVectors
from canonry.testing.clocks import HandClock
from canonry.testing.example_items import MIDDLE_EARTH, a_turn
from canonry.values.errors import Unavailable
from tests.usecases.stage import Stage, a_stage

SCENES = TextQuery(collection=Collection.SCENES, text="", spaces=frozenset((MIDDLE_EARTH,)))


class Noting(Embedder):
    """Hashes, notes what it was given, and is away when it is told to."""

    def __init__(self, dimensions: int = 384) -> None:
        self._hashing = HashingEmbedder(dimensions)
        self.texts: list[str] = []
        self.away = False

    @property
    @override
    def model(self) -> EmbeddingModel:
        return self._hashing.model

    @override
    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[Vector]:
        if self.away:
            raise Unavailable("embedder.unavailable", "the model is away")
        if purpose is Purpose.PASSAGE:
            self.texts += texts
        return await self._hashing.embed(texts, purpose)

    @override
    async def close(self) -> None:
        return


@dataclass
class Scenario:
    """A world, and recall over it with as many embedders as there are sizes of vectors."""

    stage: Stage
    folder: Path
    clock: HandClock = field(default_factory=HandClock)
    embedders: dict[int, Noting] = field(default_factory=dict)
    opened: list[Recall] = field(default_factory=list)

    def open_recall(self, dimensions: int = 384, vectors: Vectors | None = None) -> Recall:
        """As a process sees it that was started with an embedder of so many dimensions."""

        def embedder(model: EmbeddingModel | None) -> Embedder | None:
            size = dimensions if model is None else model.dimensions
            return self.embedders.setdefault(size, Noting(size))

        canon = self.stage.canon
        recall = Recall(
            Engines(embedder=embedder, vectors=lambda: vectors or FolderVectors(self.folder)),
            ledger=canon.ledger,
            state=canon.state,
            documents=canon.documents,
            clock=self.clock,
        )
        self.opened.append(recall)
        return recall

    async def say_turns(self, *texts: str, start: int = 1) -> None:
        """Turns of the scene, in one commit."""
        turns = [a_turn(text, index=start + number, text=text) for number, text in enumerate(texts)]
        await self.stage.make(*turns)


@asynccontextmanager
async def a_scenario(folder: Path) -> AsyncIterator[Scenario]:
    """A scenario whose recalls are closed in the end."""
    made = Scenario(stage=await a_stage(), folder=folder / "recall")
    yield made
    for recall in made.opened:
        await recall.close()


async def index_all(recall: Recall, items: int = 256) -> int:
    """Index all that there is; the number of vectors made."""
    indexer, made = PassageIndexer(recall, items_per_step=items), 0
    while True:
        done = await indexer.index_step()
        made += done.vectors
        if done.idle:
            return made


async def search_ids(recall: Recall, text: str, query: TextQuery = SCENES) -> list[str]:
    """The ids that a search finds, nearest first."""
    return [item_id for item_id, _ in await recall.find_nearest(text, query)]
