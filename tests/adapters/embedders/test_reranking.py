"""An endpoint for reranking: both dialects, within a time, and errors that tell nothing private."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from canonry.recall.embedders import EndpointReranker, RerankingDialect, RerankingEndpoint
from canonry.values.errors import Unavailable
from tests.adapters.embedders.endpoint import Said, an_endpoint, ranking_of

pytestmark = pytest.mark.anyio

SECRET = "sk-not-to-be-seen"
TEXTS = ("a long answer", "none", "an answer")


@pytest.fixture
def server() -> Iterator[Said]:
    with an_endpoint(answer=ranking_of) as said:
        yield said


async def score_passages(url: str, **settings: Any) -> list[float]:
    reranker = EndpointReranker(RerankingEndpoint(base_url=url, key=SECRET, **settings))
    try:
        return list(await reranker.score_texts("who answers?", TEXTS))
    finally:
        await reranker.close()
        await reranker.close()


async def reranking_error(url: str, **settings: Any) -> Unavailable:
    with pytest.raises(Unavailable) as caught:
        await score_passages(url, **settings)
    shown = f"{caught.value} {caught.value.details}"
    assert SECRET not in shown
    assert "answers?" not in shown
    assert caught.value.code == "reranker.unavailable"
    return caught.value


async def test_documents_are_sent_and_scored_in_order(server: Said) -> None:
    assert await score_passages(server.url, model="m") == [13.0, 4.0, 9.0]

    (asked,) = server.asked
    assert asked == {
        "path": "/v1/rerank",
        "model": "m",
        "query": "who answers?",
        "documents": list(TEXTS),
        "top_n": 3,
    }
    assert server.keys == [f"Bearer {SECRET}"]


async def test_the_protocol_of_text_embeddings_inference_is_used(server: Said) -> None:
    assert await score_passages(server.url, dialect=RerankingDialect.TEI) == [13.0, 4.0, 9.0]

    (asked,) = server.asked
    assert asked["texts"] == list(TEXTS)
    assert "documents" not in asked


async def test_a_model_is_named_only_if_one_is_set(server: Said) -> None:
    await score_passages(server.url)

    assert "model" not in server.asked[0]


@pytest.mark.parametrize("status", [401, 422, 429, 500])
async def test_a_waiting_search_asks_once(server: Said, status: int) -> None:
    server.statuses = [status] * 3

    assert (await reranking_error(server.url)).details["status"] == status
    assert len(server.asked) == 1


def answer_rows(*pairs: tuple[Any, Any]) -> bytes:
    return json.dumps(
        {"results": [{"index": n, "relevance_score": score} for n, score in pairs]}
    ).encode()


@pytest.mark.parametrize(
    "body",
    [
        b"<html>who answers?</html>",
        b"[]",
        b"7",
        b'{"results": 7}',
        b'[{"index": 0}]',
        answer_rows((0, 1.0), (1, 0.5)),
        answer_rows((0, 1.0), (1, 0.5), (1, 0.5)),
        answer_rows((0, 1.0), (1, 0.5), (7, 0.5)),
        answer_rows((0, 1.0), (1, 0.5), (2, 0.5), (2, 0.7)),
        answer_rows((0, 1.0), (1, "much"), (2, 0.5)),
        answer_rows((0, 1.0), (1, float("nan")), (2, 0.5)),
        answer_rows((0, 1.0), (1, 10**400), (2, 0.5)),
        b"[" * 1_000_000,
        b"\xff\xfe",
        b"",
    ],
)
async def test_a_malformed_answer_is_unavailable(server: Said, body: bytes) -> None:
    server.body = body

    await reranking_error(server.url)


async def test_an_endless_answer_is_abandoned(server: Said) -> None:
    server.body = b" " * 100_000

    assert "more than 50000 bytes" in (await reranking_error(server.url, most_bytes=50_000)).message


async def test_a_slow_endpoint_is_abandoned(server: Said) -> None:
    server.open.clear()
    began = time.perf_counter()

    assert "does not answer" in (await reranking_error(server.url, timeout=0.1)).message
    assert time.perf_counter() - began < 5


async def test_an_endpoint_that_is_down_is_unavailable() -> None:
    with an_endpoint() as gone:
        url = gone.url

    assert "does not answer" in (await reranking_error(url)).message
