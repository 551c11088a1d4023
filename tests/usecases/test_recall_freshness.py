"""The next search already sees changes by erasing, retconning, merging and renaming.

No indexer runs in between, so that the index says what was true before.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from typing_extensions import override

from canonry.canon.session.canon import Canon
from canonry.log.entries import EntitiesMerged, Erased, FactRetconned
from canonry.log.items.scenes import Speaker
from canonry.log.schemas.narrative import NAME
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.text import VectorHit, VectorQuery
from canonry.recall.usecases.index_passages import forget_passages
from canonry.recall.usecases.search import CanonKind, SearchRequest, search_canon, search_passages
from canonry.recall.usecases.search_by_meaning import Engines, Recall, RecallServices
from canonry.recall.vectors import FolderVectors
from canonry.testing.clocks import a_caller
from canonry.testing.example_items import MIDDLE_EARTH, a_fact, a_turn, an_observation, uuid_of
from canonry.values.errors import Unavailable
from canonry.values.ids import EntityId, FactId
from tests.usecases.recall_scenario import SCENES, Scenario, a_scenario, index_all, search_ids
from tests.usecases.stage import id_of

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Scenario]:
    """Strider has spoken, there is a fact, and all of it is indexed."""
    async with a_scenario(tmp_path) as made:
        strider = await made.stage.entity("Strider")
        await made.stage.entity("Aragorn")
        await made.stage.make(
            a_turn("said", index=1, text="Follow me.", speaker=Speaker.ENTITY, entity_id=strider),
            a_turn("answered", index=2, text="Follow him where?"),
            a_fact("the fact", statement="The sword was broken.", involved=()),
        )
        await index_all(made.open_recall())
        yield made


def canon_of(world: Scenario) -> Canon:
    """The canon as a server sees it that finds by meaning."""
    return world.stage.canon.revise_service(RecallServices, recall=world.open_recall())


async def find_turns(canon: Canon, text: str, entity: str | None = None) -> list[str]:
    request = SearchRequest(collection=Collection.SCENES, text=text, entity_id=entity, limit=50)
    found = await search_passages(canon, a_caller(), request)
    assert found.degraded == ()
    return [hit.passage.id for hit in found.hits]


async def find_facts(canon: Canon, text: str) -> list[str]:
    kinds = frozenset((CanonKind.FACT,))
    found = await search_canon(canon, a_caller(), None, text, kinds, limit=50)
    return [hit.passage.id for hit in found.hits]


async def test_erased_text_is_not_found(world: Scenario) -> None:
    canon = canon_of(world)
    assert uuid_of("said") in await find_turns(canon, "follow me")

    await world.stage.scribe.write_entries(Erased(targets=(uuid_of("said"),), reason="asked"))

    assert uuid_of("said") not in await find_turns(canon, "follow me")
    recall = canon.find_service(RecallServices).recall
    assert recall is not None
    vectors = (await recall.open_engines()).vectors
    head = await canon.ledger.head_position(MIDDLE_EARTH)
    ids = (uuid_of("said"),)
    await forget_passages(vectors, canon.documents, MIDDLE_EARTH, ids, erased_at=head)
    left = await find_turns(canon, "follow me")
    assert left[0] == uuid_of("answered")
    assert uuid_of("said") not in left


async def test_retconned_text_is_not_found(world: Scenario) -> None:
    canon = canon_of(world)
    assert await find_facts(canon, "broken sword") == [uuid_of("the fact")]

    await world.stage.scribe.write_entries(
        FactRetconned(fact_id=FactId(uuid_of("the fact")), replaced_by=None, reason="never")
    )

    assert await find_facts(canon, "broken sword") == []


async def test_a_merged_entity_is_found_under_its_survivor(world: Scenario) -> None:
    canon, kept = canon_of(world), EntityId(id_of("Aragorn"))
    assert await find_turns(canon, "follow", kept) == []

    await world.stage.scribe.write_entries(
        EntitiesMerged(kept=kept, merged=EntityId(id_of("Strider")), members=(), reason="one")
    )

    assert await find_turns(canon, "follow", kept) == [uuid_of("said")]
    await index_all(world.open_recall())
    assert await find_turns(canon, "follow", kept) == [uuid_of("said")]


async def test_a_renamed_entity_is_found_by_its_new_name(world: Scenario) -> None:
    canon, entity = canon_of(world), EntityId(id_of("Strider"))
    named = an_observation(
        "Strider", "crowned", entity_id=entity, fields={NAME: "Elessar"}, correction=True
    )
    await world.stage.make(named)

    assert (await find_turns(canon, "Elessar follow"))[0] == uuid_of("said")


class Overtaken(FolderVectors):
    """An index that answers from what it had, while something happens before the answer is read."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.meanwhile: Callable[[], Awaitable[object]] | None = None

    @override
    async def search(self, query: VectorQuery) -> Sequence[VectorHit]:
        found = await super().search(query)
        if self.meanwhile is not None:
            await self.meanwhile()
        return found


async def test_passages_indexed_during_a_search_are_found_by_it(
    world: Scenario,
) -> None:
    vectors = Overtaken(world.folder)
    recall = world.open_recall(vectors=vectors)
    await world.say_turns("A comet strikes the mill.", start=3)
    vectors.meanwhile = lambda: index_all(recall)

    nearest = await search_ids(recall, "the comet strikes a mill")

    assert nearest[0] == uuid_of("A comet strikes the mill.")


async def test_an_empty_search_asks_no_model(world: Scenario) -> None:
    recall = world.open_recall()
    world.embedders[384].away = True

    assert await recall.find_nearest("follow me", replace(SCENES, limit=0)) == ()


async def test_a_long_ago_question_is_embedded_again_and_finds_the_same(
    world: Scenario,
) -> None:
    """Only so many questions are remembered; which ones changes nothing of the answers."""
    recall = world.open_recall()
    first = await recall.find_nearest("follow me", SCENES)

    for number in range(40):
        await recall.find_nearest(f"question {number}", SCENES)

    assert await recall.find_nearest("follow me", SCENES) == first


async def test_without_an_embedder_the_reply_explains_how_to_set_one(world: Scenario) -> None:
    canon = world.stage.canon
    nothing = Engines(embedder=lambda _: None, vectors=lambda: FolderVectors(world.folder))
    recall = Recall(
        nothing,
        ledger=canon.ledger,
        state=canon.state,
        documents=canon.documents,
        clock=world.clock,
    )

    with pytest.raises(Unavailable, match=r"Set recall\.embedder") as refused:
        await recall.find_nearest("follow me", SCENES)

    assert refused.value.code == "embedder.unavailable"
    await recall.close()
