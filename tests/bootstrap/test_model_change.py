"""Another default model: what the former one has indexed serves, and is replaced by itself."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from canonry.app.recall_models import embedder_for
from canonry.app.settings import Settings
from canonry.readmodels.ports.text import Embedder, EmbeddingModel
from canonry.recall.embedders import MINILM, OnnxEmbedder
from canonry.recall.usecases.index_passages import PassageIndexer
from canonry.recall.usecases.search_by_meaning import Engines, Recall
from canonry.recall.vectors import FolderVectors
from canonry.testing.example_items import uuid_of
from tests.usecases.recall_scenario import Scenario, a_scenario, index_all, search_ids

pytestmark = pytest.mark.anyio

FORMER = MINILM.forms[0]
DRAGON, DAWN = "The dragon sleeps on gold.", "We sail at dawn."
ASKED = "a wyrm rests upon its treasure"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Scenario]:
    async with a_scenario(tmp_path) as made:
        yield made


def open_recall(world: Scenario, embedder: OnnxEmbedder | None = None) -> Recall:
    """Recall by the settings as they come, or by one embedder and no other."""

    def made(model: EmbeddingModel | None) -> Embedder | None:
        return embedder_for(Settings(), model) if embedder is None else embedder

    canon = world.stage.canon
    opened = Recall(
        Engines(embedder=made, vectors=lambda: FolderVectors(world.folder)),
        ledger=canon.ledger,
        state=canon.state,
        documents=canon.documents,
        clock=world.clock,
    )
    world.opened.append(opened)
    return opened


async def kept_models(one: Recall) -> set[EmbeddingModel]:
    """The models whose vectors are kept."""
    return set(await (await one.open_engines()).vectors.cursors())


async def test_the_previous_models_index_serves_until_it_is_replaced(world: Scenario) -> None:
    await world.say_turns(DAWN, DRAGON, "The bell tolls.")
    await index_all(open_recall(world, OnnxEmbedder(identity=FORMER)))
    now = open_recall(world)
    indexer = PassageIndexer(now, items_per_step=1)

    assert (await search_ids(now, ASKED))[0] == uuid_of(DRAGON)
    serving = await now.former_embedder()
    assert serving is not None
    assert serving.model == FORMER

    await indexer.index_step()
    assert await kept_models(now) == {FORMER, MINILM.identity}
    assert (await search_ids(now, ASKED))[0] == uuid_of(DRAGON)

    while not (await indexer.index_step()).idle:
        pass
    assert await kept_models(now) == {MINILM.identity}
    assert (await search_ids(now, ASKED))[0] == uuid_of(DRAGON)


async def test_new_passages_are_found_by_the_previous_model(world: Scenario) -> None:
    await world.say_turns(DAWN, "The bell tolls.")
    await index_all(open_recall(world, OnnxEmbedder(identity=FORMER)))
    indexer = PassageIndexer(open_recall(world), items_per_step=1)
    await indexer.index_step()

    await world.say_turns(DRAGON, start=3)
    assert await indexer.step_older() is not None

    asked = open_recall(world)
    serving = await asked.former_embedder()
    assert serving is not None
    assert serving.model == FORMER
    assert (await search_ids(asked, ASKED))[0] == uuid_of(DRAGON)
