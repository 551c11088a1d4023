"""An endpoint for embeddings: batches, bounded attempts, and errors that tell nothing private."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from canonry.readmodels.ports.text import Purpose
from canonry.recall.embedders import Endpoint, OpenAICompatibleEmbedder, Prefixes
from canonry.values.errors import Unavailable
from tests.adapters.embedders.endpoint import Said, an_endpoint, embedding_of
from tests.adapters.embedders.likeness import vector_length, vector_numbers

pytestmark = pytest.mark.anyio

SECRET = "sk-not-to-be-seen"


@pytest.fixture
def server() -> Iterator[Said]:
    with an_endpoint() as said:
        yield said


@asynccontextmanager
async def open_embedder(url: str, **settings: Any) -> AsyncIterator[OpenAICompatibleEmbedder]:
    given: dict[str, Any] = {"model": "m", "dimensions": 3, "patience": 0.01, "key": SECRET}
    embedder = OpenAICompatibleEmbedder(Endpoint(base_url=url, **{**given, **settings}))
    try:
        yield embedder
    finally:
        await embedder.close()
        await embedder.close()


async def embedding_error(url: str, **settings: Any) -> Unavailable:
    """The error of asking for one text, which must not show the key or the text."""
    async with open_embedder(url, **settings) as embedder:
        with pytest.raises(Unavailable) as caught:
            await embedder.embed(["private words"], Purpose.QUERY)
    shown = f"{caught.value} {caught.value.details}"
    assert SECRET not in shown
    assert "private" not in shown
    assert caught.value.code == "embedder.unavailable"
    return caught.value


async def test_texts_are_sent_in_batches_and_results_keep_their_order(server: Said) -> None:
    texts = ["a", "bbbb", "aa", "cc", "aaaaaa"]
    async with open_embedder(server.url, batch=2) as embedder:
        vectors = await embedder.embed(texts, Purpose.PASSAGE)

    assert [len(asked["input"]) for asked in server.asked] == [2, 2, 1]
    assert {asked["path"] for asked in server.asked} == {"/v1/embeddings"}
    assert all(vector_length(vector) == pytest.approx(1.0, abs=1e-6) for vector in vectors)
    for text, vector in zip(texts, vectors, strict=True):
        first, second, third = vector_numbers(vector)
        assert [first / third, second / third] == pytest.approx(embedding_of(text)[:2])


async def test_the_key_is_sent_in_the_header_and_prefixes_before_texts(server: Said) -> None:
    async with open_embedder(server.url, prefixes=Prefixes(query="query: ")) as embedder:
        await embedder.embed(["a"], Purpose.QUERY)
        await embedder.embed(["a"], Purpose.PASSAGE)

    assert [asked["input"] for asked in server.asked] == [["query: a"], ["a"]]
    assert set(server.keys) == {f"Bearer {SECRET}"}


async def test_no_key_is_sent_if_none_is_set(server: Said) -> None:
    async with open_embedder(server.url, key=None) as embedder:
        await embedder.embed(["a"], Purpose.QUERY)

    assert server.keys == [None]
    assert "dimensions" not in server.asked[0]


async def test_a_busy_endpoint_is_asked_again(server: Said) -> None:
    server.statuses = [503, 429]
    async with open_embedder(server.url) as embedder:
        vectors = await embedder.embed(["a"], Purpose.QUERY)

    assert len(vectors) == 1
    assert len(server.asked) == 3


async def test_attempts_are_bounded(server: Said) -> None:
    server.statuses = [500] * 9

    assert (await embedding_error(server.url)).details["status"] == 500
    assert len(server.asked) == 3


@pytest.mark.parametrize(("status", "advice"), [(401, "key"), (400, "HTTP 400")])
async def test_a_refusal_is_not_repeated(server: Said, status: int, advice: str) -> None:
    server.statuses = [status]

    assert advice in (await embedding_error(server.url)).message
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"<html>private words</html>",
        b"[]",
        b'{"data": 7}',
        b'{"data": []}',
        json.dumps({"data": [{"index": 0, "embedding": ["x", 1, 2]}]}).encode(),
        json.dumps({"data": [{"index": 1, "embedding": [1, 1, 2]}]}).encode(),
        b'{"data": [{"index": 0, "embedding": [1e400, 1, 2]}]}',
        json.dumps({"data": [{"index": 0, "embedding": [10**400, 1, 2]}]}).encode(),
        b"[" * 1_000_000,
        b"\xff\xfe",
        b"",
    ],
)
async def test_a_malformed_answer_is_unavailable(server: Said, body: bytes) -> None:
    server.body = body

    await embedding_error(server.url)


async def test_an_endless_answer_is_abandoned(server: Said) -> None:
    server.body = b" " * 100_000

    assert "more than 50000 bytes" in (await embedding_error(server.url, most_bytes=50_000)).message


async def test_an_error_about_vector_size_names_the_setting(server: Said) -> None:
    assert "dimensions" in (await embedding_error(server.url, dimensions=4)).message


async def test_an_endpoint_that_is_down_is_unavailable(server: Said) -> None:
    with an_endpoint() as gone:
        url = gone.url

    assert "does not answer" in (await embedding_error(url, attempts=2)).message


async def test_an_endpoint_that_answers_too_slowly_is_abandoned(server: Said) -> None:
    server.open.clear()

    assert (
        "does not answer" in (await embedding_error(server.url, attempts=2, timeout=0.05)).message
    )


@pytest.mark.parametrize("url", ["http://[", "not-an-address"])
async def test_an_invalid_address_error_names_the_setting(url: str) -> None:
    refused = await embedding_error(url, attempts=1)

    assert any(each in refused.message for each in ("does not answer", "Correct its URL"))


async def test_no_request_is_sent_without_texts(server: Said) -> None:
    async with open_embedder(server.url) as embedder:
        assert await embedder.embed([], Purpose.QUERY) == []

    assert server.asked == []
    assert SECRET not in repr(Endpoint(base_url="u", model="m", dimensions=3, key=SECRET))
