"""Finding passages: words and meaning together, and what is said where one of them is away."""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from typing_extensions import override

from canonry.canon.session.canon import Canon
from canonry.log.entries import Erased
from canonry.log.items.scenes import Speaker
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.text import (
    Embedder,
    EmbeddingModel,
    Hit,
    Purpose,
    TextFound,
    TextQuery,
    Vector,
)
from canonry.readmodels.ranking import Figures
from canonry.recall.embedders import HashingEmbedder
from canonry.recall.usecases.find_passages import FoundPassages, find_passages
from canonry.recall.usecases.search_by_meaning import FRESH, Engines, Recall, RecallServices
from canonry.recall.vectors import FolderVectors
from canonry.stores.memory import MemoryStore, MemoryText
from canonry.testing.clocks import HandClock, Scribe
from canonry.testing.example_items import MIDDLE_EARTH, a_memory, a_turn, uuid_of
from canonry.values.errors import Unavailable
from canonry.values.ids import EntityId, SceneId, SpaceId
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
    async def figures(self, stems: Iterable[str], query: TextQuery) -> Figures:
        raise Unavailable("text.unavailable", "the text view does not answer")

    @override
    async def hits_of_items(self, ids: Iterable[str], query: TextQuery) -> Sequence[Hit]:
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


async def find_text(canon: Canon, text: str, **asked: object) -> FoundPassages:
    query = TextQuery(collection=Collection.SCENES, text=text, spaces=frozenset((MIDDLE_EARTH,)))
    return await find_passages(canon, replace(query, **asked))  # type: ignore[arg-type]


def hit_ids(found: FoundPassages) -> list[str]:
    return [hit.passage.id for hit in found.hits]


async def test_word_search_works_alone_and_missing_meaning_is_reported(stage: Stage) -> None:
    await stage.make(a_turn("one", text="The dragon sleeps"), a_turn("two", text="Good night"))

    found = await find_text(stage.canon, "sleeping dragons")

    assert hit_ids(found) == [uuid_of("one")]
    assert found.degraded == ("vectors",)
    assert set(found.hits[0].terms) == {"dragon", "sleep"}
    assert found.hits[0].why.similarity == 0


async def test_meaning_search_joins_in_and_reports_similarity(stage: Stage, recall: Recall) -> None:
    await stage.make(a_turn("one", text="The dragon sleeps"), a_turn("two", text="Good night"))
    canon = stage.canon.revise_service(RecallServices, recall=recall)

    found = await find_text(canon, "the dragon sleeps")

    assert found.degraded == ()
    assert hit_ids(found)[0] == uuid_of("one")
    why = found.hits[0].why
    assert why.similarity > 0
    assert why.meaning > 0
    assert why.keywords > 0
    assert found.hits[0].strength == pytest.approx(why.strength / (1 + why.strength))


async def test_meaning_search_works_alone_if_words_are_unavailable(
    stage: Stage, recall: Recall
) -> None:
    await stage.make(a_turn("one", text="The dragon sleeps"), a_turn("two", text="Good night"))
    canon = replace(stage.canon, text=Silent(MemoryStore())).revise_service(
        RecallServices, recall=recall
    )

    found = await find_text(canon, "the dragon sleeps")

    hits = {hit.passage.id: hit for hit in found.hits}
    assert hits[uuid_of("one")].why.similarity > 0
    assert found.degraded == ("text",)
    assert all(hit.terms == () and hit.strength > 0 for hit in found.hits)


async def test_without_both_nothing_is_found_and_both_are_reported(
    stage: Stage, tmp_path: Path
) -> None:
    await stage.make(a_turn("one", text="The dragon sleeps"))
    recall = recall_over(stage.canon, tmp_path, Absent())

    silent = replace(stage.canon, text=Silent(MemoryStore())).revise_service(
        RecallServices, recall=recall
    )
    found = await find_text(silent, "the dragon sleeps")
    await recall.close()

    assert not found.hits
    assert found.degraded == ("vectors", "text")


async def test_meaning_search_respects_the_filters(stage: Stage, recall: Recall) -> None:
    elsewhere = SpaceId(uuid_of("elsewhere"))
    await stage.make(
        a_turn("here", text="The dragon sleeps"),
        a_turn("there", "other scene", text="The dragon sleeps"),
        a_memory(text="The dragon sleeps"),
    )
    far = a_turn("far", "far", text="The dragon sleeps", space=elsewhere)
    await Scribe(stage.canon, "far", elsewhere).make_items(far)
    canon = stage.canon.revise_service(RecallServices, recall=recall)

    found = await find_text(
        canon, "the dragon sleeps", without_scene=SceneId(uuid_of("other scene"))
    )

    assert uuid_of("here") in hit_ids(found)
    assert not {uuid_of("there"), uuid_of("far"), uuid_of("memory")}.intersection(hit_ids(found))


async def test_a_passage_missing_in_the_index_is_not_ranked_as_meaningless(
    stage: Stage, recall: Recall
) -> None:
    for n in range(FRESH + 40):
        await stage.make(a_turn(f"t{n}", text=f"The bell tolls {n} times."))
    canon = stage.canon.revise_service(RecallServices, recall=recall)

    found = await find_text(canon, "the bell tolls 7 times")

    assert found.degraded == ("vectors-behind",)
    assert found.behind == recall.commits_behind > 0
    assert hit_ids(found)[0] == uuid_of("t7")


async def test_erased_text_is_not_found_by_its_meaning(stage: Stage, recall: Recall) -> None:
    await stage.make(a_turn("one", text="The dragon sleeps"), a_turn("two", text="Dragons!"))
    canon = stage.canon.revise_service(RecallServices, recall=recall)
    assert uuid_of("one") in hit_ids(await find_text(canon, "the dragon sleeps"))

    await stage.scribe.write_entries(Erased(targets=(uuid_of("one"),), reason="a right"))

    assert uuid_of("one") not in hit_ids(await find_text(canon, "the dragon sleeps"))


async def test_a_matching_turn_raises_the_turns_around_it(stage: Stage) -> None:
    await stage.make(
        *(a_turn(f"far {n}", "far", text=f"the key of room {n}") for n in range(30)),
        a_turn("question", text="Where is the silver goblet?"),
        a_turn("answer", text="I have the key of it"),
    )

    found = await find_text(stage.canon, "who has the key to the silver goblet", limit=3)

    assert hit_ids(found)[:2] == [uuid_of("question"), uuid_of("answer")]
    assert found.hits[1].why.nearby > 0


async def test_an_entity_named_in_the_query_is_preferred_as_speaker(stage: Stage) -> None:
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

    found = await find_text(stage.canon, "What does Bob like?")

    assert hit_ids(found) == [uuid_of("bob"), uuid_of("ann")]
    assert [hit.why.named > 0 for hit in found.hits] == [True, False]


async def test_a_smaller_limit_gives_the_first_results(stage: Stage, recall: Recall) -> None:
    await stage.make(*(a_turn(f"t{n}", text=f"dragon number {n}") for n in range(12)))
    canon = stage.canon.revise_service(RecallServices, recall=recall)

    many = hit_ids(await find_text(canon, "dragon number", limit=12))

    assert len(many) == 12
    assert hit_ids(await find_text(canon, "dragon number", limit=5)) == many[:5]


class Listening(HashingEmbedder):
    """Remembers what it was asked to embed as a question."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    @override
    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[Vector]:
        if purpose is Purpose.QUERY:
            self.heard += texts
        return await super().embed(texts, purpose)


async def test_a_speaker_name_is_searched_as_a_word_and_not_by_meaning(
    stage: Stage, tmp_path: Path
) -> None:
    await stage.entity("gina")
    said = {"speaker": Speaker.ENTITY, "entity_id": EntityId(id_of("gina"))}
    await stage.make(a_turn("one", text="Hello Gina here, I dance at the studio", **said))
    embedder = Listening()
    recall = recall_over(stage.canon, tmp_path, embedder)
    canon = stage.canon.revise_service(RecallServices, recall=recall)

    found = await find_text(canon, "Where does Gina dance late every week?")
    await find_text(canon, "Where does Gina dance?", collection=Collection.FACTS)
    await recall.close()

    assert hit_ids(found)[0] == uuid_of("one")
    assert "gina" in found.hits[0].terms
    assert embedder.heard == ["Where does dance late every week?", "Where does Gina dance?"]


async def test_farther_passages_count_as_similar_as_the_last_nearest(
    stage: Stage, recall: Recall
) -> None:
    filler = (a_turn(f"t{n}", f"s{n}", text="ravens and crows in a row") for n in range(140))
    await stage.make(*filler, a_turn("word", "apart", text="crows bring ruin " + "oats " * 40))
    canon = stage.canon.revise_service(RecallServices, recall=recall)

    found = await find_text(canon, "ravens and crows in a row ruin", limit=200)

    by_id = {hit.passage.id: hit for hit in found.hits}
    assert by_id[uuid_of("word")].why.similarity > 0


async def test_a_denying_question_is_answered_first_by_denying_passages(stage: Stage) -> None:
    await stage.make(
        a_turn("yes", "s1", text="The puppy! A puppy!"),
        a_turn("no", "s2", text="Pepper grew up and after all these years is not a puppy any more"),
        a_turn("other", "s3", text="We saw a puppy in the market"),
    )

    found = await find_text(stage.canon, "Who is not a puppy any more?")

    assert hit_ids(found)[0] == uuid_of("no")
    assert [hit.score for hit in found.hits] == sorted(
        (hit.score for hit in found.hits), reverse=True
    )
    assert hit_ids(await find_text(stage.canon, "Who is not a puppy any more?", limit=1)) == [
        uuid_of("no")
    ]


async def test_a_question_of_any_length_is_read(stage: Stage) -> None:
    await stage.make(a_turn("one", text="The dragon sleeps"), a_turn("two", text="Good night"))

    found = await find_text(stage.canon, "Where does the dragon sleep? " + "and so on " * 9_000)

    assert hit_ids(found)[0] == uuid_of("one")


async def test_rare_words_of_a_long_text_are_searched_wherever_they_stand(
    stage: Stage,
) -> None:
    await stage.make(
        a_turn("one", text="A dragon sleeps in the old tower"),
        *(a_turn(f"n{n}", text="They went on along the road") for n in range(9)),
    )
    dull = "They went on along the road and talked of nothing, as people do. " * 4_000

    found = await find_text(stage.canon, f"{dull}Then a dragon woke. {dull}What was it?")

    assert hit_ids(found)[0] == uuid_of("one")
    assert "dragon" in found.hits[0].terms


async def test_a_long_text_is_compared_by_its_ends_if_no_words_match(
    stage: Stage, recall: Recall
) -> None:
    await stage.make(a_turn("one", text="The dragon sleeps"))
    silent = replace(stage.canon, text=Silent(MemoryStore())).revise_service(
        RecallServices, recall=recall
    )

    found = await find_text(silent, "The dragon sleeps. " + "On and on it went. " * 900)

    assert hit_ids(found)[0] == uuid_of("one")
    assert found.degraded == ("text",)


async def test_a_second_round_orders_the_first_passages_whatever_the_limit(stage: Stage) -> None:
    await stage.make(
        a_turn("greeting", text="A boat, a boat"),
        a_turn("answer", text="I sold the boat in the harbour last winter"),
        a_turn("echo", text="The harbour was cold in winter, and the boat had ice"),
        *(a_turn(f"n{n}", text=f"Rain again on day{n}") for n in range(30)),
    )

    found = hit_ids(await find_text(stage.canon, "What happened to the boat of Joel?"))

    assert found[0] in {uuid_of("answer"), uuid_of("echo")}
    for limit in range(1, len(found)):
        assert (
            hit_ids(await find_text(stage.canon, "What happened to the boat of Joel?", limit=limit))
            == found[:limit]
        )


async def test_the_first_round_stays_if_no_figures_are_available(stage: Stage) -> None:
    class Figureless(MemoryText):
        @override
        async def figures(self, stems: Iterable[str], query: TextQuery) -> Figures:
            raise Unavailable("text.unavailable", "the text view does not answer")

    await stage.make(a_turn("one", text="The dragon sleeps"), a_turn("two", text="A dragon!"))
    store = stage.canon.store_of_all.text
    assert isinstance(store, MemoryText)
    canon = replace(stage.canon, text=Figureless(store._store))

    assert set(hit_ids(await find_text(canon, "the dragon"))) >= {uuid_of("one"), uuid_of("two")}


class Alike(HashingEmbedder):
    """Makes unlike texts half alike."""

    @property
    @override
    def unrelated_similarity(self) -> float:
        return 0.5


async def test_similarity_counts_from_the_models_value_for_unrelated_texts(
    stage: Stage, tmp_path: Path
) -> None:
    await stage.make(a_turn("one", text="The dragon sleeps in the old tower"))
    plain = recall_over(stage.canon, tmp_path / "plain", HashingEmbedder())
    alike = recall_over(stage.canon, tmp_path / "alike", Alike())
    text = "who sleeps in the tower of old"

    near = (await find_text(stage.canon.revise_service(RecallServices, recall=plain), text)).hits[0]
    spread = (await find_text(stage.canon.revise_service(RecallServices, recall=alike), text)).hits[
        0
    ]
    await plain.close()
    await alike.close()

    assert spread.why.similarity == pytest.approx((near.why.similarity - 0.5) / 0.5)
