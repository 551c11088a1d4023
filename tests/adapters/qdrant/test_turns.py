"""Batches of several processes in Qdrant, which has no transactions; and what is not there."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from qdrant_client import AsyncQdrantClient
from typing_extensions import override

from canonry.app.system import SystemIdentities
from canonry.readmodels.ports.text import VectorBatch
from canonry.stores.qdrant import QdrantVectors, open_vectors
from canonry.stores.qdrant.vectors import rank_of
from canonry.testing.conformance.view import MODEL, found_ids, take_in, vector_entry
from canonry.values.errors import Unavailable

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect"),
]
MANY = 1_300


class Held(AsyncQdrantClient):
    """A client on whose line the next points are held up, until they may go on."""

    def __init__(self) -> None:
        super().__init__(":memory:")
        self.holds = False
        self.held = asyncio.Event()
        self.may_go = asyncio.Event()

    @override
    async def upsert(self, collection_name: str, *args: Any, **kwargs: Any) -> Any:
        if self.holds and not collection_name.endswith("-models"):
            self.holds = False
            self.held.set()
            await self.may_go.wait()
        return await super().upsert(collection_name, *args, **kwargs)


def make_vectors(client: Held) -> QdrantVectors:
    return QdrantVectors(client, identities=SystemIdentities())


@pytest.fixture
async def client() -> AsyncIterator[Held]:
    opened = Held()
    yield opened
    await opened.close()


async def test_an_overtaken_batch_undoes_nothing(client: Held) -> None:
    slow, quick = make_vectors(client), make_vectors(client)
    await take_in(slow, vector_entry("a", 1.0), cursor="1")
    client.holds = True
    late = VectorBatch(model=MODEL, entries=[vector_entry("a", 0.0, 1.0)], cursor="2", follows="1")
    held = asyncio.ensure_future(slow.apply(late))
    await client.held.wait()

    await take_in(
        quick,
        vector_entry("a", 1.0, part=1),
        vector_entry("a", 1.0, part=0),
        cursor="3",
        follows="1",
    )
    client.may_go.set()

    with pytest.raises(Unavailable) as refused:
        await held
    assert refused.value.code == "vectors.moved"
    assert await quick.cursors() == {MODEL: "3"}
    assert await found_ids(quick, 1.0) == ["a", "a"]
    assert [status.count for status in await quick.status()] == [2]


async def test_one_of_two_concurrent_starters_is_first(client: Held) -> None:
    both = [make_vectors(client), make_vectors(client)]
    batch = VectorBatch(model=MODEL, entries=[vector_entry("a", 1.0)], cursor="1", follows="")

    done = await asyncio.gather(*(each.apply(batch) for each in both), return_exceptions=True)

    assert await both[0].cursors() == {MODEL: "1"}
    assert [status.count for status in await both[1].status()] == [1]
    assert {getattr(each, "code", None) for each in done} <= {None, "vectors.moved"}
    assert None in done


async def test_an_index_recreated_by_another_process_is_found(client: Held) -> None:
    mine, theirs = make_vectors(client), make_vectors(client)
    await take_in(mine, vector_entry("old", 1.0))
    await theirs.drop(MODEL)

    assert await found_ids(mine, 1.0) == []
    await take_in(theirs, vector_entry("new", 1.0), follows="")
    assert await found_ids(mine, 1.0) == ["new"]
    assert await mine.vector_digests(MODEL, ["new"]) == {"new": (b"",)}


async def test_a_batch_does_not_write_into_a_dropped_index(client: Held) -> None:
    slow, other = make_vectors(client), make_vectors(client)
    await take_in(slow, vector_entry("a", 1.0), cursor="1")
    client.holds = True
    late = VectorBatch(model=MODEL, entries=[vector_entry("b", 1.0)], cursor="2", follows="1")
    held = asyncio.ensure_future(slow.apply(late))
    await client.held.wait()

    await other.drop(MODEL)
    client.may_go.set()

    with pytest.raises(Unavailable) as refused:
        await held
    assert refused.value.code == "vectors.moved"
    assert await other.cursors() == {}


async def test_ids_with_a_common_prefix_are_paged(client: Held) -> None:
    vectors = make_vectors(client)
    ids = [f"01970f3c-aaaa-{n:04}" for n in range(MANY)]
    await take_in(vectors, *(vector_entry(each, 1.0, entities=("ann",)) for each in ids))

    assert await vectors.passages_about(MODEL, "ann", limit=3) == ids[:3]
    assert await vectors.passages_about(MODEL, "ann", after=ids[700], limit=2) == ids[701:703]
    assert await vectors.passages_about(MODEL, "ann", after=ids[-1], limit=2) == []


@given(st.lists(st.text(alphabet="\x00+-/059:AZ_`afgz\xe9\U0001f409", max_size=14), min_size=2))
def test_ranks_follow_the_order_of_ids(ids: list[str]) -> None:
    ranks = [rank_of(each) for each in sorted(ids)]

    assert ranks == sorted(ranks)
    assert all(0 <= rank < 2**63 for rank in ranks)


async def test_meaning_search_is_unavailable_if_the_server_does_not_answer() -> None:
    vectors = open_vectors("http://127.0.0.1:9", identities=SystemIdentities(), deadline=2.0)

    for asked in (
        found_ids(vectors, 1.0),
        take_in(vectors, vector_entry("a", 1.0)),
        vectors.status(),
    ):
        with pytest.raises(Unavailable) as refused:
            await asked
        assert refused.value.code == "vectors.unavailable"
    await vectors.close()


async def test_meaning_search_is_unavailable_after_closing() -> None:
    vectors = open_vectors(":memory:", identities=SystemIdentities())
    await vectors.close()
    await vectors.close()

    with pytest.raises(Unavailable) as refused:
        await vectors.cursors()
    assert refused.value.code == "vectors.unavailable"
