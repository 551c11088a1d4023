"""A second look at what was found: a real endpoint reorders the first passages, or is left out."""

import json
from collections.abc import AsyncIterator, Iterator

import pytest

from canonry.canon.session.canon import Canon
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.text import TextQuery
from canonry.recall.embedders import EndpointReranker, RerankingEndpoint
from canonry.recall.usecases.find_passages import RERANKED_MAX, FoundPassages, find_passages
from canonry.recall.usecases.search import degraded_of
from canonry.recall.usecases.search_by_meaning import RecallServices
from canonry.testing.example_items import MIDDLE_EARTH, a_turn, uuid_of
from tests.adapters.embedders.endpoint import Said, an_endpoint, ranking_of
from tests.usecases.stage import Stage, a_stage

pytestmark = pytest.mark.anyio


@pytest.fixture
def server() -> Iterator[Said]:
    with an_endpoint(answer=ranking_of) as said:
        yield said


@pytest.fixture
async def stage() -> Stage:
    stage = await a_stage()
    await stage.make(
        a_turn("short", text="The dragon sleeps"),
        a_turn("long", text="The dragon sleeps in the old tower, or so they say in the village"),
        a_turn("other", text="Good night"),
    )
    return stage


@pytest.fixture
async def looking(stage: Stage, server: Said) -> AsyncIterator[Canon]:
    """A canon whose reranker holds the longer text for the better answer."""
    reranking = EndpointReranker(RerankingEndpoint(base_url=server.url))
    yield stage.canon.revise_service(RecallServices, reranking=reranking)
    await reranking.close()


async def find_text(canon: Canon, text: str, limit: int = 10) -> FoundPassages:
    query = TextQuery(
        collection=Collection.SCENES, text=text, spaces=frozenset((MIDDLE_EARTH,)), limit=limit
    )
    return await find_passages(canon, query)


def hit_ids(found: FoundPassages) -> list[str]:
    return [hit.passage.id for hit in found.hits]


async def test_the_first_passages_are_reordered_and_scores_keep_their_ranks(
    stage: Stage, looking: Canon, server: Said
) -> None:
    before = await find_text(stage.canon, "The dragon sleeps")
    after = await find_text(looking, "The dragon sleeps")

    assert hit_ids(before)[0] == uuid_of("short")
    assert hit_ids(after)[0] == uuid_of("long")
    assert after.degraded == before.degraded
    assert [hit.strength for hit in after.hits] == [hit.strength for hit in before.hits]
    assert server.asked[0]["query"] == "The dragon sleeps"


async def test_a_limit_stays_a_prefix(stage: Stage, looking: Canon, server: Said) -> None:
    await stage.make(
        *(a_turn(f"n{n}", text=f"A dragon {'and a dragon ' * (n % 7)}here") for n in range(40))
    )

    most = hit_ids(await find_text(looking, "which dragon?", limit=RERANKED_MAX + 9))

    assert len(most) == RERANKED_MAX + 9
    for limit in (1, 5, RERANKED_MAX, RERANKED_MAX + 3):
        assert hit_ids(await find_text(looking, "which dragon?", limit=limit)) == most[:limit]
    assert {len(asked["documents"]) for asked in server.asked} == {RERANKED_MAX}


async def test_one_passage_needs_no_reranking(looking: Canon, server: Said) -> None:
    assert hit_ids(await find_text(looking, '"good night"')) == [uuid_of("other")]
    assert not server.asked


@pytest.mark.parametrize("broken", [b"<html>", json.dumps({"results": []}).encode()])
async def test_a_failing_reranker_keeps_the_order_and_is_paused(
    stage: Stage, looking: Canon, server: Said, broken: bytes
) -> None:
    plain = await find_text(stage.canon, "the dragon sleeps")
    server.body = broken

    for _ in range(3):
        found = await find_text(looking, "the dragon sleeps")
        assert hit_ids(found) == hit_ids(plain)
        assert "reranker" in found.degraded
    assert len(server.asked) == 1


async def test_a_slow_reranker_delays_nobody(stage: Stage, server: Said) -> None:
    server.open.clear()
    reranking = EndpointReranker(RerankingEndpoint(base_url=server.url, timeout=0.05))

    found = await find_text(
        stage.canon.revise_service(RecallServices, reranking=reranking), "the dragon sleeps"
    )
    await reranking.close()

    assert hit_ids(found)[0] == uuid_of("short")
    assert "reranker" in found.degraded


def test_a_failure_shared_by_several_searches_is_reported_once() -> None:
    assert degraded_of(("reranker",), ("vectors", "reranker")) == ("vectors", "reranker")
