"""OpenSearch and the executable specification rank alike; and what only a server can be or do."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

import pytest

from canonry.gateway.limits import run_within
from canonry.log.commits import ORIGIN
from canonry.log.entries import Erased
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.text import TextQuery
from canonry.stores.opensearch import OpenSearchText, open_text
from canonry.stores.opensearch.text import bulks_of
from canonry.stores.projections.projector import Projector
from canonry.testing.clocks import Scribe
from canonry.testing.conformance import Backend
from canonry.testing.example_items import ELSEWHERE, HERE, MIDDLE_EARTH, a_turn, uuid_of
from canonry.values.errors import Unavailable
from tests.conformance.opensearch_text import URL, an_index
from tests.conformance.test_memory import open_memory
from tests.faults.relay import relayed_url

pytestmark = pytest.mark.anyio
VOCABULARY = (
    "dragon dragons dragoon wagon gold golden goldsmith silver sliver key keys keyhole tower"
    " towers towering Kragholm Kraghelm Cragholm krahgolm fire firing fireside the of and is in"
    " \u00c9owyn Stra\u00dfe Drachen schliefen Bergen montagne zebra 007 x2 \u6c49\u5b57"
    " donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunter"
)
LONG = VOCABULARY.rsplit(maxsplit=1)[-1]
WORDS = VOCABULARY.split()
ASKED = (
    *("dragon", "the dragon of gold", "dragno", "drgaon gold", '"silver key"', '"the key" tower'),
    *("krahgolm", "gragholm", "ragholm", "rkagholm", "akragholm", "kraghXolm", "krghaXolm"),
    *("karxgholm", "hraghkolm", "kragohlm", "krghlom", "drag*", "gold* key*", "ke*", "tow* towerz"),
    *("eowyn strasse", "drachen in den bergen", "the", "the of and", "zebbra 007 x2"),
    *("\u6c49\u5b57", "goldsmitth towerings firesidde silverr", VOCABULARY, "nothing-of-it"),
    *(
        LONG[1:],
        f"{LONG[:20]}{LONG[21]}x{LONG[20]}{LONG[22:]}",
        f"{LONG[:9]}{LONG[11]}{LONG[9]}{LONG[12:]}",
    ),
)

QUERY = TextQuery(collection=Collection.SCENES, text="fire", spaces=HERE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """The items in memory, and the same passages in OpenSearch."""

    memory: Backend
    text: OpenSearchText

    @property
    def projector(self) -> Projector:
        canon = self.memory.canon
        return Projector(ledger=canon.ledger, state=canon.state, others=(self.text,))

    async def find_there(self, text: str) -> set[str]:
        query = TextQuery(collection=Collection.SCENES, text=text, spaces=HERE)
        return {hit.id for hit in (await self.text.search(query)).hits}


@pytest.fixture
async def beside() -> AsyncIterator[Beside]:
    async with AsyncExitStack() as closing:
        text = await closing.enter_async_context(an_index())
        yield Beside(memory=await open_memory(), text=text)


async def test_every_query_is_answered_as_in_memory(beside: Beside) -> None:
    lots, canon = random.Random(16), beside.memory.canon
    for space in (MIDDLE_EARTH, ELSEWHERE):
        texts = [" ".join(lots.choices(WORDS, k=lots.randint(1, 40))) for _ in range(80)]
        turns = (a_turn(f"{space} {n}", text=each, space=space) for n, each in enumerate(texts))
        await Scribe(canon, space, space).make_items(*turns)
    await beside.projector.catch_up()

    for spaces in (HERE, None):
        query = TextQuery(collection=Collection.SCENES, text="", spaces=spaces, limit=30)
        for text in ASKED:
            asked = replace(query, text=text)
            assert await beside.text.search(asked) == await canon.text.search(asked), text
        stems = ("dragon", "gold", "key", "the", "never")
        answer = await beside.text.figures(stems, query)
        assert answer == await canon.text.figures(stems, query)


async def test_a_lost_index_is_filled_again(beside: Beside) -> None:
    scribe = Scribe(beside.memory.canon)
    await scribe.make_items(a_turn("one", text="fire"))
    await beside.projector.catch_up()
    assert await beside.find_there("fire") == {uuid_of("one")}

    await beside.text.drop_index()
    assert await beside.find_there("fire") == set()
    assert await beside.text.hits_of_items([uuid_of("one")], QUERY) == []
    assert await beside.text.cursor(MIDDLE_EARTH) == ORIGIN
    await scribe.make_items(a_turn("two", text="fire"))
    await beside.projector.catch_up()

    assert await beside.find_there("fire") == {uuid_of("one"), uuid_of("two")}


async def test_a_late_writer_restores_nothing(beside: Beside) -> None:
    canon = beside.memory.canon
    scribe = Scribe(canon)
    await scribe.make_items(a_turn("told", text="a secret name"))
    old = await canon.state.items_by_id([uuid_of("told")])
    await beside.projector.catch_up()
    await scribe.write_entries(Erased(targets=(uuid_of("told"),), reason="a right"))
    await beside.projector.catch_up()

    for lines in bulks_of(MIDDLE_EARTH, old.values()):
        await beside.text._index.write_documents(lines, shows=True)

    assert await beside.find_there("secret") == set()


async def test_purging_says_whether_removed_data_is_left(beside: Beside) -> None:
    scribe = Scribe(beside.memory.canon)
    await scribe.make_items(*(a_turn(f"turn {n}", text=f"word{n}") for n in range(50)))
    await beside.projector.catch_up()
    assert await beside.text.purge_deleted()
    await scribe.write_entries(Erased(targets=(uuid_of("turn 7"),), reason="a right"))
    await beside.projector.catch_up()
    assert await beside.text._index.count_deleted() > 0

    # The server keeps what is gone for its own recovery, for half a minute or so.
    assert await beside.text.purge_deleted() == (await beside.text._index.count_deleted() == 0)

    assert await beside.find_there("word8") == {uuid_of("turn 8")}
    assert await beside.find_there("word7*") == set()


async def test_a_query_waits_twice_and_three_times_for_typing_errors(
    beside: Beside,
) -> None:
    await Scribe(beside.memory.canon).make_items(
        a_turn("one", text="the dragon of Kragholm sleeps")
    )
    await beside.projector.catch_up()
    name = beside.text._index.name.removesuffix("-passages")
    async with relayed_url(URL) as (relay, url):
        text = open_text(url, name=name)
        for asked, most in (("dragon", 2), ("drag* sleeps", 2), ("krahgolm dragno", 3)):
            relay.trips = 0
            query = TextQuery(collection=Collection.SCENES, text=asked, spaces=HERE)
            assert (await text.search(query)).hits
            assert relay.trips <= most
        relay.trips = 0
        assert await text.hits_of_items([uuid_of("one")], query)
        assert relay.trips == 1
        await text.close()


async def test_two_concurrent_projectors_produce_the_same_index_as_one(beside: Beside) -> None:
    scribe = Scribe(beside.memory.canon)
    for n in range(20):
        await scribe.make_items(a_turn(f"turn {n}", text=f"fire {n}"))

    await asyncio.gather(*(beside.projector.catch_up() for _ in range(3)))

    assert len(await beside.find_there("fire")) == 10
    assert await beside.text.cursor(MIDDLE_EARTH) == 20


QUESTIONS: tuple[Callable[[OpenSearchText], Awaitable[object]], ...] = (
    lambda text: text.search(QUERY),
    lambda text: text.figures(["fire"], QUERY),
    lambda text: text.hits_of_items(["any"], QUERY),
    lambda text: text.cursor(MIDDLE_EARTH),
    lambda text: text.purge_deleted(),
)


async def test_word_search_is_unavailable_if_the_server_is_down() -> None:
    text = open_text("http://127.0.0.1:9", deadline=2.0)

    for ask in QUESTIONS:
        with pytest.raises(Unavailable) as refused:
            await ask(text)
        assert refused.value.code == "text.unavailable"
    await text.close()
    await text.close()


async def test_a_silent_server_is_waited_for_until_the_call_ends() -> None:
    async def be_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1_000):
            pass
        writer.close()

    server = await asyncio.start_server(be_silent, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        text = open_text(f"http://127.0.0.1:{port}", deadline=0.2)
        with pytest.raises(Unavailable) as refused:
            await text.search(QUERY)
        assert refused.value.code == "text.unavailable"
        patient = open_text(f"http://127.0.0.1:{port}", deadline=60)
        with pytest.raises(Unavailable):
            await run_within(0.2, patient.search(QUERY))
        await text.close()
        await patient.close()
