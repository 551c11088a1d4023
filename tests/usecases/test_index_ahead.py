"""Several processes index one log: none does what another did, and the vectors are the same."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from canonry.log.entries import Erased
from canonry.recall.usecases.index_passages import PassageIndexer, index_ahead
from canonry.recall.vectors import FolderVectors
from canonry.testing.example_items import uuid_of
from tests.usecases.recall_scenario import SCENES, Scenario, a_scenario, index_all

pytestmark = pytest.mark.anyio
LINES = [f"The {n}th ship leaves the harbour" for n in range(40)]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Scenario]:
    async with a_scenario(tmp_path) as made:
        for start, line in enumerate(LINES, 1):
            await made.say_turns(line, start=start)
        yield made


async def test_a_second_indexer_prepares_vectors_for_the_first(world: Scenario) -> None:
    vectors = FolderVectors(world.folder / "shared")
    leader = PassageIndexer(world.open_recall(vectors=vectors), items_per_step=4)
    helper = world.open_recall(vectors=vectors)
    assert await index_ahead(helper, items_per_step=4) == 0, "nobody has begun"
    await leader.index_step()

    made = [await index_ahead(helper, seat=seat, items_per_step=4) for seat in (0, 3)]
    done = 0
    while not (step := await leader.index_step()).idle:
        done += step.vectors

    assert min(made) > 0
    assert done <= len(LINES) - sum(made), "the first one has less to do"
    texts = world.embedders[384].texts
    assert len(texts) == len(set(texts)), "no passage was embedded twice"
    alone = FolderVectors(world.folder / "alone")
    await index_all(world.open_recall(vectors=alone))
    assert await kept_passages(world, vectors) == await kept_passages(world, alone)


async def test_upcoming_passages_are_embedded_completely(
    world: Scenario,
) -> None:
    vectors = FolderVectors(world.folder / "shared")
    leader = PassageIndexer(world.open_recall(vectors=vectors), items_per_step=4)
    await leader.index_step()
    helper = world.open_recall(vectors=vectors)

    while await index_ahead(helper, items_per_step=4):
        pass
    steps = [await leader.index_step() for _ in range(4)]

    assert sum(step.vectors for step in steps) <= 4, "only the step that was being made is left"


async def test_a_moving_first_indexer_causes_no_second_embedding(
    world: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = FolderVectors(world.folder / "shared")
    leader = PassageIndexer(world.open_recall(vectors=vectors), items_per_step=4)
    await leader.index_step()
    helper = world.open_recall(vectors=vectors)
    embedder = world.embedders[384]
    embed = embedder.embed

    async def slowly(*given: Any) -> Any:
        made = await embed(*given)
        monkeypatch.setattr(embedder, "embed", embed)
        await leader.index_step()
        return made

    monkeypatch.setattr(embedder, "embed", slowly)
    assert await index_ahead(helper, seat=3, items_per_step=4) == 4

    assert len(embedder.texts) == len(set(embedder.texts))


async def test_text_erased_while_embedded_ahead_is_not_kept(
    world: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = FolderVectors(world.folder / "shared")
    leader = PassageIndexer(world.open_recall(vectors=vectors), items_per_step=4)
    await leader.index_step()
    helper = world.open_recall(vectors=vectors)
    embedder, gone = world.embedders[384], tuple(uuid_of(line) for line in LINES[-4:])
    embed = embedder.embed

    async def meanwhile(*given: Any) -> Any:
        made = await embed(*given)
        monkeypatch.setattr(embedder, "embed", embed)
        await world.stage.scribe.write_entries(Erased(targets=gone, reason="asked"))
        while not (await leader.index_step()).idle:
            pass
        return made

    monkeypatch.setattr(embedder, "embed", meanwhile)
    await index_ahead(helper, items_per_step=4)

    assert not set(gone) & set(await vectors.vector_digests(embedder.model, gone))


async def kept_passages(world: Scenario, vectors: FolderVectors) -> object:
    """Return the passages with their digests, and how near each is to a question."""
    model = world.embedders[384].model
    digests = await vectors.vector_digests(model, [uuid_of(line) for line in LINES])
    recall = world.open_recall(vectors=vectors)
    return digests, await recall.find_nearest("the 7th ship", replace(SCENES, limit=len(LINES)))
