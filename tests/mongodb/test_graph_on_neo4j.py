"""Records in MongoDB with the state as a graph: written, verified, mended and erased."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest

from canonry.app.backends.mongodb import SplitStore, open_mongodb
from canonry.app.backends.servers import ViewServers
from canonry.app.doctor import report_nothing
from canonry.log.entries import Erased
from canonry.testing.clocks import CountingIdentities, HandClock, Scribe
from canonry.testing.conformance.chronicle import write_chronicle
from canonry.testing.conformance.kit import Backend, require_part
from canonry.testing.example_items import MIDDLE_EARTH, a_fact, uuid_of
from tests.conformance import neo4j_store
from tests.conformance.mongodb_store import URL, drop_data, require_server
from tests.conformance.test_memory import open_memory

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SplitStore]:
    require_server()
    if not neo4j_store.URL:
        pytest.skip("no Neo4j server: `make servers` starts one")
    name = f"test_{uuid4().hex}"
    opened = await open_mongodb(
        URL,
        database=name,
        folder=tmp_path,
        clock=HandClock(),
        identities=CountingIdentities(),
        view_servers=ViewServers(graph=neo4j_store.URL),
    )
    yield opened
    await opened.close()
    await drop_data(name)
    async with neo4j_store.open_graph(name) as graph:
        await neo4j_store.empty_database(graph)


async def shown_kinds(store: SplitStore) -> dict[str, str]:
    """The kind of each item that the graph shows."""
    async with neo4j_store.open_graph(store.store.database.name) as graph:
        return await neo4j_store.read_kinds(graph)


def as_backend(store: SplitStore) -> Backend:
    clock = store.canon.clock
    assert isinstance(clock, HandClock)
    return Backend(canon=store.canon, blobs=store.copy.blobs, clock=clock, another=open_memory)


async def test_the_graph_shows_the_same_as_the_replica(store: SplitStore) -> None:
    await write_chronicle(as_backend(store))

    assert (await store.maintenance.verify(report_nothing)).findings == ()
    assert "graph" in await store.maintenance.facts_about_store()


async def test_concurrent_machines_produce_the_same_graph_as_one(
    store: SplitStore, tmp_path: Path
) -> None:
    other = await open_mongodb(
        URL,
        database=store.store.database.name,
        folder=tmp_path / "other",
        clock=store.canon.clock,
        view_servers=ViewServers(graph=neo4j_store.URL),
    )
    try:
        await asyncio.gather(
            write_chronicle(as_backend(store)),
            *(Scribe(other.canon, f"{n}").make_items(a_fact(f"late fact {n}")) for n in range(10)),
        )
        await asyncio.gather(*(require_part(each.graph).catch_up() for each in (store, other)))

        for each in (store, other):
            assert (await each.maintenance.verify(report_nothing)).findings == ()
    finally:
        await other.close()


async def test_a_graph_with_lost_data_is_found_and_refilled(store: SplitStore) -> None:
    await Scribe(store.canon).make_items(a_fact("ring"), a_fact("sword"))
    await require_part(store.graph).catch_up()
    async with neo4j_store.open_graph(store.store.database.name) as graph:
        await graph.fetch_rows(
            "MATCH (t:Fact {store: $store, id: $id}) DETACH DELETE t", {"id": uuid_of("ring")}
        )

    found = (await store.maintenance.verify(report_nothing)).findings
    await store.maintenance.rebuild(report_nothing)

    assert [each.where for each in found] != []
    assert (await store.maintenance.verify(report_nothing)).findings == ()
    assert await shown_kinds(store) == dict.fromkeys((uuid_of("ring"), uuid_of("sword")), "fact")
    assert await store.canon.ledger.head_position(MIDDLE_EARTH) == 1


async def test_erased_data_is_in_no_past_of_the_graph(store: SplitStore) -> None:
    scribe = Scribe(store.canon)
    await scribe.make_items(a_fact("secret"), a_fact("kept"))
    await scribe.write_entries(Erased(targets=(uuid_of("secret"),), reason="a right"))

    dropped_parts = await store.maintenance.purge(MIDDLE_EARTH, [uuid_of("secret")])

    assert dropped_parts == 1
    assert await shown_kinds(store) == {uuid_of("secret"): "tombstone", uuid_of("kept"): "fact"}
    assert (await store.maintenance.verify(report_nothing)).findings == ()


async def test_writes_soon_appear_in_the_graph(store: SplitStore) -> None:
    await Scribe(store.canon).make_items(a_fact("ring"))

    async with asyncio.timeout(60):
        while True:
            if await shown_kinds(store):
                break
            await asyncio.sleep(0.05)


async def test_writes_continue_without_the_graph_and_maintenance_reports_it(tmp_path: Path) -> None:
    require_server()
    name = f"test_{uuid4().hex}"
    store = await open_mongodb(
        URL,
        database=name,
        folder=tmp_path,
        clock=HandClock(),
        identities=CountingIdentities(),
        view_servers=ViewServers(graph="bolt://neo4j@127.0.0.1:9"),
    )
    try:
        await Scribe(store.canon).make_items(a_fact("ring"))

        assert uuid_of("ring") in await store.canon.state.items_by_id([uuid_of("ring")])
        (finding,) = (await store.maintenance.verify(report_nothing)).findings
        assert finding.where == "graph"
        assert "away" in str((await store.maintenance.facts_about_store())["graph"])
    finally:
        await store.close()
        await drop_data(name)
