"""Records in MongoDB with words in OpenSearch: slow, cut off or full, writes and searches go on."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from opensearchpy import AsyncOpenSearch

from canonry.app.backends.mongodb import SplitStore, open_mongodb
from canonry.app.backends.servers import ViewServers
from canonry.app.doctor import report_nothing
from canonry.gateway.limits import run_within
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.text import TextQuery
from canonry.stores.opensearch import open_text
from canonry.stores.projections import projector as shared_text
from canonry.testing.clocks import Scribe
from canonry.testing.example_items import MIDDLE_EARTH, a_fact, uuid_of
from canonry.values.errors import Unavailable
from tests.conformance import opensearch_text
from tests.conformance.mongodb_store import URL, drop_data, require_server
from tests.faults.relay import Relay, relayed_url
from tests.mongodb.test_machines import becomes_true

pytestmark = pytest.mark.anyio
SWORD = TextQuery(
    collection=Collection.FACTS, text="sword", spaces=frozenset((MIDDLE_EARTH,)), limit=100
)
FLOOD = "index.blocks.read_only_allow_delete"
"""The setting that the server makes and takes back itself when its disk is over the limit."""


@asynccontextmanager
async def open_store(words: str, folder: Path) -> AsyncIterator[tuple[SplitStore, str]]:
    require_server()
    name = f"test_{uuid4().hex}"
    store = await open_mongodb(
        URL, database=name, folder=folder, view_servers=ViewServers(words=words)
    )
    try:
        yield store, name
    finally:
        await store.close()
        await drop_data(name)
        text = open_text(opensearch_text.URL, name=name)
        await text.drop_index()
        await text.close()


@pytest.fixture
async def relayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Relay, SplitStore, str]]:
    if not opensearch_text.URL:
        pytest.skip("no OpenSearch server: `make servers` starts one")
    monkeypatch.setattr(shared_text, "PATIENCE", 1.0)
    monkeypatch.setattr(shared_text, "PAUSE", 0.5)
    async with (
        relayed_url(opensearch_text.URL) as (relay, url),
        open_store(url, tmp_path) as (store, name),
    ):
        yield relay, store, name


async def write_facts(store: SplitStore, names: list[str]) -> None:
    """Write facts one after the other, none of which may be refused."""
    for name in names:
        await Scribe(store.canon, name).make_items(a_fact(name))


async def find_ids(store: SplitStore) -> list[str]:
    return sorted(hit.id for hit in (await store.canon.text.search(SWORD)).hits)


async def catches_up(store: SplitStore, name: str, wanted: list[str]) -> None:
    """The server comes to show these by itself, as anybody finds who asks it alone."""
    text = open_text(opensearch_text.URL, name=name)

    async def shows() -> bool:
        try:
            return sorted(hit.id for hit in (await text.search(SWORD)).hits) == wanted
        except Unavailable:
            return False

    assert await becomes_true(shows)
    await text.close()
    assert (await store.maintenance.verify(report_nothing)).findings == ()


@pytest.mark.parametrize("harm", ["slow", "away"])
async def test_writes_and_searches_continue_while_the_server_is_away(
    relayed: tuple[Relay, SplitStore, str], harm: str
) -> None:
    relay, store, name = relayed
    await write_facts(store, ["sword before"])
    assert await find_ids(store) == [uuid_of("sword before")]
    relay.delay, relay.away = (2.0, False) if harm == "slow" else (0.0, True)
    await relay.cut_lines()

    names = [f"sword {n}" for n in range(10)]
    began = asyncio.get_running_loop().time()
    await write_facts(store, names)
    wanted = sorted(uuid_of(each) for each in ("sword before", *names))
    assert await find_ids(store) == wanted
    assert asyncio.get_running_loop().time() - began < 10 * 2.0
    relay.delay, relay.away = 0.0, False

    await catches_up(store, name, wanted)


async def test_cut_connections_leave_each_passage_once(
    relayed: tuple[Relay, SplitStore, str],
) -> None:
    relay, store, name = relayed
    names = [f"sword {n}" for n in range(30)]

    async def cut() -> None:
        for _ in range(8):
            await asyncio.sleep(0.1)
            await relay.cut_lines()

    await asyncio.gather(cut(), write_facts(store, names))

    await catches_up(store, name, sorted(map(uuid_of, names)))


async def test_a_silent_server_is_reported_in_time() -> None:
    if not opensearch_text.URL:
        pytest.skip("no OpenSearch server: `make servers` starts one")
    async with relayed_url(opensearch_text.URL) as (relay, url):
        relay.delay = 30.0
        text = open_text(url, name="nobody")
        began = asyncio.get_running_loop().time()

        with pytest.raises(Unavailable) as raised:
            await run_within(0.5, text.search(SWORD))

        assert raised.value.code in {"call.deadline", "text.unavailable"}
        assert asyncio.get_running_loop().time() - began < 3
        await text.close()


async def test_a_full_server_stops_nobody_and_catches_up(
    relayed: tuple[Relay, SplitStore, str],
) -> None:
    _, store, name = relayed
    await write_facts(store, ["sword before"])
    assert await find_ids(store) == [uuid_of("sword before")]
    about = {"index": f"{name}-passages"}
    async with AsyncOpenSearch(hosts=[opensearch_text.URL]) as server:
        await server.indices.put_settings(body={FLOOD: True}, **about)

        await write_facts(store, ["sword after"])
        wanted = sorted(map(uuid_of, ("sword before", "sword after")))
        assert await find_ids(store) == wanted
        assert [
            each.where for each in (await store.maintenance.verify(report_nothing)).findings
        ] == ["words"]
        await server.indices.put_settings(body={FLOOD: None}, **about)

    await catches_up(store, name, wanted)
