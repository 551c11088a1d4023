"""Finding passages: words and meaning together, and what is said where one of them is away."""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from typing_extensions import override

from canonry.adapters.embedders import HashingEmbedder
from canonry.adapters.memory import MemoryStore, MemoryText
from canonry.adapters.vectors import FolderVectors
from canonry.domain.errors import Unavailable
from canonry.domain.ids import EntityId, SceneId, SpaceId
from canonry.domain.log.entries import Erased
from canonry.domain.recall.passages import Collection
from canonry.domain.things.scenes import Speaker
from canonry.ports.embedder import Embedder, EmbeddingModel, Purpose, Vector
from canonry.ports.views.text import Hit, TextFound, TextQuery
from canonry.testing.scribe import Scribe
from canonry.testing.things import MIDDLE_EARTH, a_memory, a_turn, ident
from canonry.testing.worlds import HandClock
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.fresh_passages import FRESH
from canonry.usecases.kernel.recall import Engines, Recall
from canonry.usecases.recall.find_passages import FoundPassages, find_passages
from tests.usecases.stage import Stage, a_stage, id_of

pytestmark = pytest.mark.anyio


class Absent(Embedder):
    """A model that is not there."""

    @property
    @override
    def model(self) -> EmbeddingModel:
        return HashingEmbedder().model

    @override
    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[Vector]:
        raise Unavailable("embedder.unavailable", "the model is away")

    @override
    async def close(self) -> None:
        return


class Silent(MemoryText):
    """A text view that does not answer."""

    @override
    async def search(self, query: TextQuery) -> TextFound:
        raise Unavailable("text.unavailable", "the text view does not answer")

    @override
    async def placed(self, ids: Iterable[str], query: TextQuery) -> Sequence[Hit]:
        raise Unavailable("text.unavailable", "the text view does not answer")


@pytest.fixture
async def stage() -> Stage:
    return await a_stage()


@pytest.fixture
async def recall(stage: Stage, tmp_path: Path) -> AsyncIterator[Recall]:
    made = recall_over(stage.canon, tmp_path, HashingEmbedder())
    yield made
    await made.close()


def recall_over(canon: Canon, folder: Path, embedder: Embedder) -> Recall:
    return Recall(
        Engines(embedder=lambda _: embedder, vectors=lambda: FolderVectors(folder)),
        ledger=canon.ledger,
        state=canon.state,
        documents=canon.documents,
        clock=HandClock(),
    )


async def find(canon: Canon, text: str, **asked: object) -> FoundPassages:
    query = TextQuery(collection=Collection.SCENES, text=text, spaces=frozenset((MIDDLE_EARTH,)))
    return await find_passages(canon, replace(query, **asked))  # type: ignore[arg-type]


def ids(found: FoundPassages) -> list[str]:
    return [hit.passage.id for hit in found.hits]


async def test_words_alone_find_and_the_lack_of_meaning_is_told(stage: Stage) -> None:
    await stage.make(a_turn("one", text="The dragon sleeps"), a_turn("two", text="Good night"))

    found = await find(stage.canon, "sleeping dragons")

    assert ids(found) == [ident("one")]
    assert found.degraded == ("vectors",)
    assert set(found.hits[0].terms) == {"dragon", "sleep"}
    assert found.hits[0].why.similarity == 0


async def test_meaning_joins_in_and_says_how_near(stage: Stage, recall: Recall) -> None:
    await stage.make(a_turn("one", text="The dragon sleeps"), a_turn("two", text="Good night"))
    canon = replace(stage.canon, recall=recall)

    found = await find(canon, "the dragon sleeps")

    assert found.degraded == ()
    assert ids(found)[0] == ident("one")
    why = found.hits[0].why
    assert why.similarity > 0
    assert why.meaning > 0
    assert why.keywords > 0
    assert found.hits[0].strength == pytest.approx(why.strength / (1 + why.strength))


async def test_meaning_alone_finds_where_the_words_are_away(stage: Stage, recall: Recall) -> None:
    await stage.make(a_turn("one", text="The dragon sleeps"), a_turn("two", text="Good night"))
    canon = replace(stage.canon, recall=recall, text=Silent(MemoryStore()))

    found = await find(canon, "the dragon sleeps")

    hits = {hit.passage.id: hit for hit in found.hits}
    assert hits[ident("one")].why.similarity > 0
    assert found.degraded == ("text",)
    assert all(hit.terms == () and hit.strength > 0 for hit in found.hits)


async def test_without_both_nothing_is_found_and_both_are_told(
    stage: Stage, tmp_path: Path
) -> None:
    await stage.make(a_turn("one", text="The dragon sleeps"))
    recall = recall_over(stage.canon, tmp_path, Absent())

    silent = replace(stage.canon, recall=recall, text=Silent(MemoryStore()))
    found = await find(silent, "the dragon sleeps")
    await recall.close()

    assert not found.hits
    assert found.degraded == ("vectors", "text")


async def test_what_meaning_finds_keeps_to_the_filters(stage: Stage, recall: Recall) -> None:
    elsewhere = SpaceId(ident("elsewhere"))
    await stage.make(
        a_turn("here", text="The dragon sleeps"),
        a_turn("there", "other scene", text="The dragon sleeps"),
        a_memory(text="The dragon sleeps"),
    )
    far = a_turn("far", "far", text="The dragon sleeps", space=elsewhere)
    await Scribe(stage.canon, "far", elsewhere).make(far)
    canon = replace(stage.canon, recall=recall)

    found = await find(canon, "the dragon sleeps", without_scene=SceneId(ident("other scene")))

    assert ident("here") in ids(found)
    assert not {ident("there"), ident("far"), ident("memory")}.intersection(ids(found))


async def test_a_passage_that_the_index_lacks_is_not_ranked_as_if_it_meant_nothing(
    stage: Stage, recall: Recall
) -> None:
    for n in range(FRESH + 40):
        await stage.make(a_turn(f"t{n}", text=f"The bell tolls {n} times."))
    canon = replace(stage.canon, recall=recall)

    found = await find(canon, "the bell tolls 7 times")

    assert found.degraded == ("vectors-behind",)
    assert recall.behind
    assert ids(found)[0] == ident("t7")


async def test_what_was_erased_is_not_found_by_its_meaning(stage: Stage, recall: Recall) -> None:
    await stage.make(a_turn("one", text="The dragon sleeps"), a_turn("two", text="Dragons!"))
    canon = replace(stage.canon, recall=recall)
    assert ident("one") in ids(await find(canon, "the dragon sleeps"))

    await stage.scribe.write(Erased(targets=(ident("one"),), reason="a right"))

    assert ident("one") not in ids(await find(canon, "the dragon sleeps"))


async def test_a_turn_lifts_the_turns_around_it(stage: Stage) -> None:
    await stage.make(
        *(a_turn(f"far {n}", "far", text=f"the key of room {n}") for n in range(30)),
        a_turn("question", text="Where is the silver goblet?"),
        a_turn("answer", text="I have the key of it"),
    )

    found = await find(stage.canon, "who has the key to the silver goblet", limit=3)

    assert ids(found)[:2] == [ident("question"), ident("answer")]
    assert found.hits[1].why.nearby > 0


async def test_who_is_named_by_the_query_is_preferred_as_speaker(stage: Stage) -> None:
    for name in ("ann", "bob"):
        await stage.entity(name)
    await stage.make(
        *(
            a_turn(
                name,
                f"scene of {name}",
                text="I like the sea",
                speaker=Speaker.ENTITY,
                entity_id=EntityId(id_of(name)),
            )
            for name in ("ann", "bob")
        )
    )

    found = await find(stage.canon, "What does Bob like?")

    assert ids(found) == [ident("bob"), ident("ann")]
    assert [hit.why.named > 0 for hit in found.hits] == [True, False]


async def test_a_smaller_limit_gives_the_first_of_more(stage: Stage, recall: Recall) -> None:
    await stage.make(*(a_turn(f"t{n}", text=f"dragon number {n}") for n in range(12)))
    canon = replace(stage.canon, recall=recall)

    many = ids(await find(canon, "dragon number", limit=12))

    assert len(many) == 12
    assert ids(await find(canon, "dragon number", limit=5)) == many[:5]
