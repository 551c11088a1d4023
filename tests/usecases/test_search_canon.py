"""Canon by meaning: the index follows what is retconned, merged and erased, and begins anew."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from canonry.log.entries import EntitiesMerged, Erased, FactRetconned
from canonry.readmodels.follow_log import LogCursor
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.text import TextQuery, VectorBatch
from canonry.recall.embedders import HashingEmbedder
from canonry.recall.usecases.index_passages import PassageIndexer
from canonry.recall.usecases.search import CanonKind, search_canon
from canonry.recall.usecases.search_by_meaning import Engines, Recall, RecallServices
from canonry.recall.vectors import FolderVectors
from canonry.testing.clocks import HandClock, a_caller
from canonry.testing.example_items import MIDDLE_EARTH, a_fact, an_axiom, an_event, uuid_of
from canonry.values.ids import EntityId, FactId
from canonry.values.json_values import decode_json, encode_json
from tests.usecases.stage import Stage, a_stage, id_of

pytestmark = pytest.mark.anyio

HERE = frozenset((MIDDLE_EARTH,))
KINDS = frozenset(CanonKind)


@pytest.fixture
async def stage() -> Stage:
    return await a_stage()


@pytest.fixture
async def recall(stage: Stage, tmp_path: Path) -> AsyncIterator[Recall]:
    canon, embedder = stage.canon, HashingEmbedder()
    made = Recall(
        Engines(embedder=lambda _: embedder, vectors=lambda: FolderVectors(tmp_path)),
        ledger=canon.ledger,
        state=canon.state,
        documents=canon.documents,
        clock=HandClock(),
    )
    yield made
    await made.close()


async def index_all(recall: Recall) -> int:
    """Index all that there is; the number of vectors made."""
    indexer, made = PassageIndexer(recall), 0
    while True:
        done = await indexer.index_step()
        made += done.vectors
        if done.commits == 0:
            return made


async def find_near(recall: Recall, text: str, collection: Collection) -> set[str]:
    query = TextQuery(collection=collection, text="", spaces=HERE, limit=50)
    return {item_id for item_id, _ in await recall.find_nearest(text, query)}


async def test_entities_facts_and_lore_are_found_by_meaning(stage: Stage, recall: Recall) -> None:
    frodo = await stage.entity("Frodo")
    await stage.make(
        a_fact("f", statement="The beacon is lit"),
        an_event("e", title="The beacon falls"),
        an_axiom("a", statement="A beacon answers a beacon"),
    )
    await index_all(recall)
    canon = stage.canon.revise_service(RecallServices, recall=recall)

    found = await search_canon(
        canon, a_caller(), MIDDLE_EARTH, "the beacons are lit", KINDS, limit=10
    )

    ids = {hit.passage.id for hit in found.hits}
    assert {uuid_of("f"), uuid_of("e"), uuid_of("a")} <= ids
    assert found.degraded == ()
    assert all(hit.why.similarity > 0 for hit in found.hits if hit.passage.id == uuid_of("f"))
    assert await find_near(recall, "Frodo", Collection.ENTITIES) == {frodo}


async def test_retconned_and_erased_items_leave_the_index(stage: Stage, recall: Recall) -> None:
    await stage.make(a_fact("wrong", statement="The beacon is lit"), a_fact("gone"))
    await index_all(recall)
    assert await find_near(recall, "beacon", Collection.FACTS) == {
        uuid_of("wrong"),
        uuid_of("gone"),
    }

    await stage.scribe.write_entries(
        FactRetconned(fact_id=FactId(uuid_of("wrong")), replaced_by=None, reason="a slip"),
        Erased(targets=(uuid_of("gone"),), reason="a right"),
    )

    assert await find_near(recall, "beacon", Collection.FACTS) == set()
    await index_all(recall)
    assert await find_near(recall, "beacon", Collection.FACTS) == set()
    (status,) = await (await recall.open_engines()).vectors.status()
    assert status.count == await index_all(recall) + 1  # the turn that the stage begins with


async def test_a_merge_shows_the_surviving_entity(stage: Stage, recall: Recall) -> None:
    await stage.entity("Frodo")
    await stage.entity("Underhill")
    await index_all(recall)
    kept, merged = EntityId(id_of("Frodo")), EntityId(id_of("Underhill"))
    await stage.scribe.write_entries(
        EntitiesMerged(kept=kept, merged=merged, members=(), reason="same")
    )
    canon = stage.canon.revise_service(RecallServices, recall=recall)

    for name in ("Underhill", "Frodo"):
        found = await search_canon(canon, a_caller(), MIDDLE_EARTH, name, KINDS, limit=10)
        assert [hit.passage.id for hit in found.hits] == [kept]


async def test_an_index_of_another_format_is_reread_and_keeps_equal_parts(
    stage: Stage, recall: Recall
) -> None:
    await stage.make(a_fact("f", statement="The beacon is lit"), a_fact("g", statement="It falls"))
    await index_all(recall)
    opened = await recall.open_engines()
    (status,) = await opened.vectors.status()
    older = {**decode_json(status.cursor.encode()), "passages": 1}
    cursor = encode_json(older).decode()
    model = opened.embedder.model
    await opened.vectors.apply(VectorBatch(model=model, removed=(uuid_of("f"),), cursor=cursor))

    assert LogCursor.parse_cursor(cursor) == LogCursor()
    assert await index_all(recall) == 1
    assert await find_near(recall, "beacon lit", Collection.FACTS) == {uuid_of("f"), uuid_of("g")}
