"""The same text: a change that leaves the text of a passage as it is has nothing embedded."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from canonry.readmodels.passages import Collection
from canonry.testing.example_items import an_observation
from canonry.values.ids import EntityId
from tests.usecases.recall_scenario import SCENES, Scenario, a_scenario, index_all, search_ids

pytestmark = pytest.mark.anyio

ENTITIES = replace(SCENES, collection=Collection.ENTITIES, limit=1)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Scenario]:
    async with a_scenario(tmp_path) as made:
        yield made


def portraits_of(name: str, texts: list[str]) -> list[str]:
    """The portraits among the texts that begin with this name."""
    return [text for text in texts if text.startswith(f"{name}: ")]


async def change_entity(world: Scenario, name: str, entity: str, **fields: Any) -> None:
    await world.stage.make(an_observation("", name, entity_id=EntityId(entity), fields=fields))


async def test_an_entity_with_unchanged_text_is_embedded_once(world: Scenario) -> None:
    strider = await world.stage.entity("Strider")
    recall = world.open_recall()
    await index_all(recall)
    texts = world.embedders[384].texts
    (portrait,) = portraits_of("Strider", texts)

    await change_entity(world, "hurt", strider, state_tags={"wounded": True})
    await search_ids(recall, "a ranger", ENTITIES)
    await index_all(recall)
    assert portraits_of("Strider", texts) == [portrait]

    await change_entity(world, "known", strider, description="A ranger of the north")
    await search_ids(recall, "a ranger", ENTITIES)
    await change_entity(world, "well", strider, state_tags={"wounded": False})
    assert await search_ids(recall, "a ranger of the north", ENTITIES) == [strider]
    assert len(portraits_of("Strider", texts)) == 2, "the search remembers what it has embedded"
    await index_all(recall)
    assert len(portraits_of("Strider", texts)) == 3


async def test_passages_restored_to_their_indexed_text_are_not_reembedded(world: Scenario) -> None:
    strider = await world.stage.entity("Strider")
    await change_entity(world, "first", strider, description="A ranger of the north")
    recall = world.open_recall()
    await index_all(recall)
    texts = world.embedders[384].texts
    made = len(texts)

    await change_entity(world, "other", strider, description="A king in his hall")
    await search_ids(recall, "a ranger of the north", ENTITIES)
    await change_entity(world, "again", strider, description="A ranger of the north")

    (_, likeness), *_ = await recall.find_nearest("A ranger of the north", ENTITIES)
    assert len(texts) == made + 1
    fresh = world.open_recall()
    assert (await fresh.find_nearest("A ranger of the north", ENTITIES))[0][1] == pytest.approx(
        likeness
    )
    assert len(texts) == made + 1
