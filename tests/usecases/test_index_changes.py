"""An index survives changes of the model, of the speakers' names, and of the index itself."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from typing_extensions import override

from canonry.log.commits import Position
from canonry.log.entries import EntitiesMerged, EntitiesUnmerged, Erased
from canonry.log.items.scenes import Speaker
from canonry.log.schemas.narrative import NAME
from canonry.readmodels.follow_log import LogCursor
from canonry.readmodels.ports.text import Purpose, Vector
from canonry.recall.usecases.index_passages import PassageIndexer, drop_index, forget_passages
from canonry.recall.usecases.search_by_meaning import Recall
from canonry.testing.example_items import MIDDLE_EARTH, a_memory, a_turn, an_observation, uuid_of
from canonry.values.errors import Unavailable
from canonry.values.ids import EntityId
from tests.usecases.recall_scenario import Noting, Scenario, a_scenario, index_all, search_ids
from tests.usecases.stage import id_of

pytestmark = pytest.mark.anyio

DRAGON, DAWN = "The dragon sleeps on gold.", "We sail at dawn."


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Scenario]:
    async with a_scenario(tmp_path) as made:
        yield made


async def index_positions(recall: Recall) -> dict[int, int]:
    """Return the position of the index of each model, by its dimensions."""
    cursors = await (await recall.open_engines()).vectors.cursors()
    return {
        model.dimensions: LogCursor.parse_cursor(cursor).position_in(MIDDLE_EARTH)
        for model, cursor in cursors.items()
    }


async def head_of(world: Scenario) -> int:
    return await world.stage.canon.ledger.head_position(MIDDLE_EARTH)


async def test_the_old_index_follows_while_another_model_embeds_everything(
    world: Scenario,
) -> None:
    await world.say_turns(DRAGON)
    await index_all(world.open_recall(384))
    indexer = PassageIndexer(world.open_recall(64), items_per_step=1)
    await indexer.index_step()

    await world.say_turns(DAWN, start=2)
    await indexer.index_step()

    reader = world.open_recall(64)
    assert await index_positions(reader) == {384: await head_of(world), 64: 2}
    made = len(world.embedders[384].texts)
    assert (await search_ids(reader, "we sail at dawn"))[0] == uuid_of(DAWN)
    assert reader.commits_behind == 0
    assert len(world.embedders[384].texts) == made, "it was in the index already"


class Hanging(Noting):
    """Notes that it was asked, and answers when it is let."""

    def __init__(self, dimensions: int) -> None:
        super().__init__(dimensions)
        self.asked, self.let = asyncio.Event(), asyncio.Event()

    @override
    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[Vector]:
        self.asked.set()
        await self.let.wait()
        return await super().embed(texts, purpose)


class Indexed(Noting):
    """Notes when it was given a text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text, self.given = text, asyncio.Event()

    @override
    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[Vector]:
        if any(self.text in text for text in texts):
            self.given.set()
        return await super().embed(texts, purpose)


async def test_the_old_index_follows_while_the_other_model_does_not_answer(
    world: Scenario,
) -> None:
    world.embedders[384] = older = Indexed(DAWN)
    world.embedders[64] = hanging = Hanging(64)
    await world.say_turns(DRAGON)
    await index_all(world.open_recall(384))
    indexer = PassageIndexer(world.open_recall(64), poll_seconds=0.001)
    step = asyncio.create_task(indexer.index_step())
    await hanging.asked.wait()

    await world.say_turns(DAWN, start=2)

    async with asyncio.timeout(60):
        await older.given.wait()
    assert not step.done()
    hanging.let.set()
    await step


async def test_a_cancelled_step_leaves_no_model_running(world: Scenario) -> None:
    world.embedders[64] = hanging = Hanging(64)
    await world.say_turns(DRAGON)
    await index_all(world.open_recall(384))
    step = asyncio.create_task(PassageIndexer(world.open_recall(64)).index_step())
    await hanging.asked.wait()

    step.cancel()
    await asyncio.gather(step, return_exceptions=True)

    assert step.cancelled()
    assert not [each for each in asyncio.all_tasks() if "_follow" in repr(each.get_coro())]


async def test_after_a_kill_both_models_continue(world: Scenario) -> None:
    await world.say_turns(DRAGON)
    await index_all(world.open_recall(384))
    await PassageIndexer(world.open_recall(64), items_per_step=1).index_step()
    await world.say_turns(DAWN, start=2)

    killed, recall = world.open_recall(64), world.open_recall(64)
    await PassageIndexer(killed, items_per_step=1).index_step()
    await index_all(recall)

    assert world.embedders[384].texts.count(f"GM: {DRAGON}\nGM: {DAWN}") == 1
    assert world.embedders[64].texts.count(f"GM: {DRAGON}\nGM: {DAWN}") == 1
    assert await index_positions(recall) == {64: await head_of(world)}
    assert (await search_ids(recall, "we sail at dawn"))[0] == uuid_of(DAWN)


async def test_an_unavailable_old_model_blocks_no_new_one(world: Scenario) -> None:
    await world.say_turns(DRAGON)
    await index_all(world.open_recall(384))
    world.embedders[384].away = True
    await world.say_turns(DAWN, start=2)

    recall = world.open_recall(64)
    await index_all(recall)

    assert (await search_ids(recall, "we sail at dawn"))[0] == uuid_of(DAWN)
    assert await index_positions(recall) == {64: await head_of(world)}


async def hold_conversation(world: Scenario) -> None:
    """Strider speaks, somebody answers, and Strider remembers it; Aragorn is somebody else."""
    strider = await world.stage.entity("Strider")
    await world.stage.entity("Aragorn")
    await world.stage.make(
        a_turn("one", index=1, text="Follow me.", speaker=Speaker.ENTITY, entity_id=strider),
        a_turn("two", index=2, text="Where to?"),
        a_turn("three", index=3, text="Wait."),
        a_memory("mind", entity="x", entity_id=strider, text="They followed."),
    )


BEARING = {"GM: scene/turn\n{}: Follow me.", "{}: Follow me.\nGM: Where to?", "{}: They followed."}


def texts_naming(name: str, texts: list[str]) -> set[str]:
    """Those of the texts that bear the name as that of the speaker or the owner."""
    return {text.replace(name, "{}") for text in texts if f"{name}: " in text}


async def test_a_renamed_entity_has_its_passages_reembedded(
    world: Scenario,
) -> None:
    await hold_conversation(world)
    recall = world.open_recall()
    await index_all(recall)
    texts = world.embedders[384].texts
    assert texts_naming("Strider", texts) >= BEARING
    texts.clear()

    await world.stage.make(
        an_observation(
            "Strider",
            "crowned",
            entity_id=EntityId(id_of("Strider")),
            fields={NAME: "Elessar"},
            correction=True,
        )
    )
    for _ in range(30):  # as many lives as steps: each goes on where the one before was killed
        await PassageIndexer(world.open_recall(), items_per_step=1).index_step()

    assert texts_naming("Elessar", texts) >= BEARING
    assert not any("GM: Wait." in text for text in texts)
    assert uuid_of("one") in (await search_ids(recall, "Elessar: Follow me."))[:2]


async def test_a_merge_uses_the_survivors_name_until_undone(
    world: Scenario,
) -> None:
    await hold_conversation(world)
    await index_all(world.open_recall())
    texts = world.embedders[384].texts
    texts.clear()
    kept, merged = EntityId(id_of("Aragorn")), EntityId(id_of("Strider"))

    await world.stage.scribe.write_entries(
        EntitiesMerged(kept=kept, merged=merged, members=(), reason="the same")
    )
    await index_all(world.open_recall())
    assert texts_naming("Aragorn", texts) >= BEARING
    texts.clear()

    await world.stage.scribe.write_entries(
        EntitiesUnmerged(kept=kept, separated=merged, remaining=(), reason="not the same")
    )
    await index_all(world.open_recall())
    assert texts_naming("Strider", texts) >= BEARING


async def test_a_restarted_index_embeds_nothing_twice_for_an_old_rename(
    world: Scenario,
) -> None:
    await hold_conversation(world)
    kept, merged = EntityId(id_of("Aragorn")), EntityId(id_of("Strider"))
    await world.stage.scribe.write_entries(
        EntitiesMerged(kept=kept, merged=merged, members=(), reason="the same")
    )

    await index_all(world.open_recall(), items=2)

    assert world.embedders[384].texts.count("GM: scene/turn\nAragorn: Follow me.") == 1


async def test_an_index_dropped_meanwhile_is_recreated_completely(
    world: Scenario,
) -> None:
    await world.say_turns(DRAGON)
    indexer = PassageIndexer(world.open_recall())
    while not (await indexer.index_step()).idle:
        pass
    await drop_index(world.open_recall())
    await world.say_turns(DAWN, start=2)

    with pytest.raises(Unavailable) as caught:
        await indexer.index_step()
    assert caught.value.code == "vectors.moved"
    while not (await indexer.index_step()).idle:
        pass

    recall = world.open_recall()
    assert set(await search_ids(recall, "dragon dawn")) >= {uuid_of(DRAGON), uuid_of(DAWN)}
    assert recall.commits_behind == 0
    assert await index_positions(recall) == {384: await head_of(world)}


async def test_forgetting_a_turn_reembeds_the_next_one(
    world: Scenario,
) -> None:
    await world.say_turns("Xanthippe took the letter.", "Then she left.", "And so on.")
    recall = world.open_recall()
    await index_all(recall)
    gone = uuid_of("Xanthippe took the letter.")
    await world.stage.scribe.write_entries(Erased(targets=(gone,), reason="asked"))

    vectors, position = (await recall.open_engines()).vectors, Position(await head_of(world))
    await forget_passages(vectors, recall.documents, MIDDLE_EARTH, (gone,), erased_at=position)

    (status,) = await vectors.status()
    assert status.count == 2  # the scene's first turn and the last one
    await index_all(recall)
    (status,) = await vectors.status()
    assert status.count == 3
    assert "GM: Then she left." in world.embedders[384].texts

    await forget_passages(vectors, recall.documents, MIDDLE_EARTH, (gone,), erased_at=position)
    (status,) = await vectors.status()
    assert status.count == 3, "the indexer knows already, and would not do it again"
