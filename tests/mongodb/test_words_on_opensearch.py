"""Records in MongoDB with words in OpenSearch: found there, and without it in the copy."""

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
from canonry.log.entries import Erased
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.text import TextQuery
from canonry.stores.opensearch import open_text
from canonry.stores.projections import projector as shared_text
from canonry.testing.clocks import CountingIdentities, HandClock, Scribe
from canonry.testing.example_items import MIDDLE_EARTH, a_fact, uuid_of
from tests.conformance import opensearch_text
from tests.conformance.mongodb_store import URL, drop_data, require_server

pytestmark = pytest.mark.anyio

NOBODY = "http://127.0.0.1:9"
SWORD = TextQuery(collection=Collection.FACTS, text="sword", spaces=frozenset((MIDDLE_EARTH,)))


@asynccontextmanager
async def a_store(folder: Path, words: str) -> AsyncIterator[tuple[SplitStore, str]]:
    require_server()
    name = f"test_{uuid4().hex}"
    opened = await open_mongodb(
        URL,
        database=name,
        folder=folder,
        clock=HandClock(),
        identities=CountingIdentities(),
        view_servers=ViewServers(words=words),
    )
    try:
        yield opened, name
    finally:
        await opened.close()
        await drop_data(name)


@pytest.fixture
async def there(tmp_path: Path) -> AsyncIterator[tuple[SplitStore, str]]:
    if not opensearch_text.URL:
        pytest.skip("no OpenSearch server: `make servers` starts one")
    async with a_store(tmp_path, opensearch_text.URL) as (store, name):
        yield store, name
        text = open_text(opensearch_text.URL, name=name)
        await text.drop_index()
        await text.close()


async def found_there(name: str) -> list[str]:
    """Return the names that a search on that server alone finds."""
    text = open_text(opensearch_text.URL, name=name)
    try:
        return [hit.id for hit in (await text.search(SWORD)).hits]
    finally:
        await text.close()


async def find_ids(store: SplitStore) -> list[str]:
    return [hit.id for hit in (await store.canon.text.search(SWORD)).hits]


async def test_writes_are_found_at_once_and_stored_on_the_server(
    there: tuple[SplitStore, str],
) -> None:
    store, name = there

    await Scribe(store.canon).make_items(a_fact("ring"), a_fact("sword"))

    assert await find_ids(store) == [uuid_of("sword")]
    assert await found_there(name) == [uuid_of("sword")]


async def test_a_lost_index_is_refilled_and_erased_data_leaves_it(
    there: tuple[SplitStore, str],
) -> None:
    store, name = there
    scribe = Scribe(store.canon)
    await scribe.make_items(a_fact("sword"))
    await find_ids(store)

    text = open_text(opensearch_text.URL, name=name)
    await text.drop_index()
    await text.close()
    await store.maintenance.rebuild(report_nothing)
    filled = await found_there(name)
    await scribe.write_entries(Erased(targets=(uuid_of("sword"),), reason="a right"))
    await store.maintenance.purge(MIDDLE_EARTH, [uuid_of("sword")])

    assert filled == [uuid_of("sword")]
    assert await found_there(name) == await find_ids(store) == []


async def find_damage(store: SplitStore) -> list[str]:
    """Return the places with damage."""
    return [each.where for each in (await store.maintenance.verify(report_nothing)).findings]


@pytest.mark.parametrize("wrong", ["missing", "altered", "unasked"])
async def test_a_passage_that_differs_from_the_records_is_repaired(
    there: tuple[SplitStore, str], wrong: str
) -> None:
    store, name = there
    await Scribe(store.canon).make_items(a_fact("ring"), a_fact("sword"))
    before = await find_damage(store)
    what = {"space": MIDDLE_EARTH, "collection": "facts", "terms": ["sword"], "words": 1}
    about = {"index": f"{name}-passages", "params": {"routing": MIDDLE_EARTH, "refresh": "true"}}
    async with AsyncOpenSearch(hosts=[opensearch_text.URL]) as server:
        match wrong:
            case "missing":
                await server.delete(id=uuid_of("sword"), **about)
            case "altered":
                await server.index(id=uuid_of("sword"), body=what, **about)
            case _:
                await server.index(id=uuid_of("axe"), body=what, **about)

    answer = await find_damage(store)
    await store.maintenance.rebuild(report_nothing)

    assert before == []
    assert answer == (["words"] if wrong == "unasked" else [f"words: {uuid_of('sword')}"])
    assert await find_damage(store) == []


async def test_verify_reports_an_unreachable_server(tmp_path: Path) -> None:
    async with a_store(tmp_path, NOBODY) as (store, _):
        await Scribe(store.canon).make_items(a_fact("sword"))

        assert await find_damage(store) == ["words"]


async def test_writes_continue_without_the_server_and_the_replica_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_text, "PATIENCE", 0.2)
    async with a_store(tmp_path, NOBODY) as (store, _):
        await Scribe(store.canon).make_items(a_fact("sword"))

        async with asyncio.timeout(60):
            assert await find_ids(store) == [uuid_of("sword")]
            assert await find_ids(store) == [uuid_of("sword")]
