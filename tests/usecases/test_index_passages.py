"""Indexing by meaning: what was written is found at once, and the index follows the log."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from canonry.log.entries import Erased
from canonry.log.items.scenes import Speaker
from canonry.log.schemas.narrative import EntityType
from canonry.readmodels.passages import Collection
from canonry.recall.usecases.index_passages import PassageIndexer, drop_index
from canonry.recall.usecases.search_by_meaning import FRESH
from canonry.testing.example_items import a_memory, a_snippet, a_turn, uuid_of
from canonry.values.errors import Unavailable
from tests.usecases.recall_scenario import SCENES, Scenario, a_scenario, index_all, search_ids
from tests.usecases.stage import id_of

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Scenario]:
    async with a_scenario(tmp_path) as made:
        yield made


async def test_indexed_passages_are_found_by_another_process(world: Scenario) -> None:
    await world.say_turns("The dragon sleeps on gold.", "We sail at dawn.")
    assert await index_all(world.open_recall()) == 3

    other = world.open_recall()
    ids = await search_ids(other, "a dragon that sleeps")

    assert ids[0] == uuid_of("The dragon sleeps on gold.")
    assert other.commits_behind == 0


async def test_new_passages_are_found_before_they_are_indexed(world: Scenario) -> None:
    recall = world.open_recall()
    await index_all(recall)
    await world.say_turns("The dragon sleeps on gold.", "We sail at dawn.")

    ids = await search_ids(recall, "a dragon that sleeps")

    assert ids[0] == uuid_of("The dragon sleeps on gold.")
    assert recall.commits_behind == 0
    made = len(world.embedders[384].texts)
    await search_ids(recall, "sailing")
    assert len(world.embedders[384].texts) == made


async def test_among_too_many_new_passages_the_newest_are_found(
    world: Scenario,
) -> None:
    recall = world.open_recall()
    await index_all(recall)
    texts = [f"line number {n}" for n in range(FRESH + 40)]
    for low in range(0, len(texts), 8):
        await world.say_turns(*texts[low : low + 8], start=1 + low)

    everything = replace(SCENES, limit=2 * len(texts))
    ids = await search_ids(recall, "line", everything)

    assert uuid_of(texts[-1]) in ids
    assert uuid_of(texts[0]) not in ids
    assert recall.commits_behind > 0
    await index_all(recall)
    assert uuid_of(texts[0]) in await search_ids(recall, "line", everything)
    assert recall.commits_behind == 0


async def test_a_turn_is_embedded_with_its_speaker_and_the_previous_turn(world: Scenario) -> None:
    frodo = await world.stage.entity("Frodo", EntityType.CHARACTER)
    await world.stage.make(
        a_turn("one", index=1, text="Who goes there?"),
        a_turn("two", index=2, text="A friend.", speaker=Speaker.ENTITY, entity_id=frodo),
    )
    await world.stage.make(a_turn("three", index=3, text="Pass.", speaker=Speaker.USER))
    await world.stage.make(a_memory("mind", entity="x", entity_id=frodo, text="I was afraid."))

    await index_all(world.open_recall())

    texts = world.embedders[384].texts
    assert "GM: Who goes there?\nFrodo: A friend." in texts
    assert "Frodo: A friend.\nPlayer: Pass." in texts
    assert "Frodo: I was afraid." in texts


async def test_filters_apply_to_indexed_and_new_passages(world: Scenario) -> None:
    frodo = await world.stage.entity("Frodo")
    recall = world.open_recall()
    for name in ("indexed", "new"):
        await world.stage.make(
            a_turn(f"{name}/a", index=1, entity_id=frodo, speaker=Speaker.ENTITY),
            a_turn(f"{name}/b", index=2),
            a_turn(f"{name}/c", "elsewhere", index=0),
            a_snippet(f"{name}/d"),
        )
        if name == "indexed":
            await index_all(recall)

    everywhere = replace(SCENES, limit=50)
    by_entity = await search_ids(
        recall, "a", replace(everywhere, entities=frozenset((id_of("Frodo"),)))
    )
    without = await search_ids(recall, "a", replace(everywhere, without_scene=uuid_of("scene")))
    foreign = await search_ids(recall, "a", replace(everywhere, spaces=frozenset()))
    snippets = replace(everywhere, collection=Collection.SNIPPETS, source_id=uuid_of("source"))

    assert set(by_entity) == {uuid_of("indexed/a"), uuid_of("new/a")}
    assert set(without) == {uuid_of("indexed/c"), uuid_of("new/c")}
    assert foreign == []
    assert set(await search_ids(recall, "a", snippets)) == {uuid_of("indexed/d"), uuid_of("new/d")}


async def test_a_long_passage_is_found_once_by_any_of_its_parts(world: Scenario) -> None:
    filler = "Nothing much happens on this day in the fields of the farmer. " * 80
    await world.stage.make(a_snippet("long", text=f"{filler}Then a comet strikes the mill."))
    recall = world.open_recall()
    assert await index_all(recall) > 2

    snippets = replace(SCENES, collection=Collection.SNIPPETS)
    assert await search_ids(recall, "comet strikes the mill", snippets) == [uuid_of("long")]


async def test_an_interrupted_indexer_continues(world: Scenario) -> None:
    for number in range(6):
        await world.say_turns(f"line {number}", start=1 + number)
    first = PassageIndexer(world.open_recall(), items_per_step=4)
    done = await first.index_step()
    assert done.pending > 0
    before = len(world.embedders[384].texts)

    await index_all(world.open_recall())

    assert len(world.embedders[384].texts) == 7
    assert before > 0


async def test_an_unavailable_model_loses_nothing(world: Scenario) -> None:
    recall = world.open_recall()
    await index_all(recall)
    world.embedders[384].away = True
    await world.say_turns("The dragon sleeps on gold.")

    with pytest.raises(Unavailable, match="away"):
        await search_ids(recall, "dragon")
    with pytest.raises(Unavailable, match="just failed"):
        await search_ids(recall, "dragon")
    with pytest.raises(Unavailable, match="away"):
        await index_all(recall)

    world.embedders[384].away = False
    world.clock.move_by(60_000_000)
    assert await index_all(recall) == 1
    assert uuid_of("The dragon sleeps on gold.") in await search_ids(recall, "dragon")


async def test_the_old_model_serves_until_the_new_one_has_seen_everything(world: Scenario) -> None:
    await world.say_turns("The dragon sleeps on gold.", "We sail at dawn.")
    await index_all(world.open_recall(384))

    recall = world.open_recall(64)
    indexer = PassageIndexer(recall, items_per_step=1)
    await indexer.index_step()
    assert (await search_ids(recall, "dragon sleeps"))[0] == uuid_of("The dragon sleeps on gold.")
    assert len(world.embedders[64].texts) < 3

    await index_all(recall)
    assert (await search_ids(recall, "dragon sleeps"))[0] == uuid_of("The dragon sleeps on gold.")
    assert len(world.embedders[64].texts) == 3
    statuses = await (await recall.open_engines()).vectors.status()
    assert [status.model.dimensions for status in statuses] == [64]


async def test_an_erased_turn_leaves_the_index_and_the_next_turns_vector(world: Scenario) -> None:
    await world.say_turns("Xanthippe took the letter.", "Then she left.")
    recall = world.open_recall()
    await index_all(recall)
    await world.stage.scribe.write_entries(
        Erased(targets=(uuid_of("Xanthippe took the letter."),), reason="asked")
    )

    assert uuid_of("Xanthippe took the letter.") not in await search_ids(recall, "Xanthippe letter")
    world.embedders[384].texts.clear()
    await index_all(recall)
    assert uuid_of("Xanthippe took the letter.") not in await search_ids(recall, "Xanthippe letter")
    assert "GM: Then she left." in world.embedders[384].texts


async def test_a_damaged_index_is_reported_and_recreated(world: Scenario) -> None:
    await world.say_turns("The dragon sleeps on gold.")
    first = world.open_recall()
    await index_all(first)
    await first.close()
    (world.folder / "recall.db").write_bytes(b"no database at all" * 1000)
    for beside in world.folder.glob("recall.db-*"):
        beside.unlink()

    recall = world.open_recall()
    with pytest.raises(Unavailable) as caught:
        await search_ids(recall, "dragon")
    assert caught.value.code == "vectors.corrupt"
    with pytest.raises(Unavailable):
        await index_all(recall)

    await drop_index(recall)
    await index_all(recall)
    assert uuid_of("The dragon sleeps on gold.") in await search_ids(recall, "dragon")
