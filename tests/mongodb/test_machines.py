"""Machines that share records: what one writes the others show, and what it erases they erase."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from uuid import uuid4

import pytest

from canonry.app.backends.mongodb import open_mongodb
from canonry.app.backends.postgres import open_postgres
from canonry.app.backends.servers import ViewServers
from canonry.app.doctor import report_nothing
from canonry.app.stores import KeptStore
from canonry.log.commits import ORIGIN
from canonry.log.entries import Erased, Tombstone
from canonry.stores.qdrant import QdrantVectors
from canonry.testing.clocks import Scribe
from canonry.testing.conformance.kit import Backend, require_part
from canonry.testing.example_items import (
    MIDDLE_EARTH,
    a_fact,
    a_scene,
    a_turn,
    creation_entries,
    uuid_of,
)
from canonry.values.errors import Unavailable
from tests.conformance import mongodb_store, postgres_store
from tests.conformance.mongodb_store import Databases, open_databases
from tests.conformance.postgres_store import BOTH, Schemas, open_schemas

pytestmark = pytest.mark.anyio
LOOKS = 1200


@pytest.fixture(params=["mongodb", "postgres", "shards"])
async def opened(
    tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[Databases | Schemas]:
    if request.param == "mongodb":
        async with open_databases(tmp_path) as documents:
            yield documents
    else:
        async with open_schemas(tmp_path, BOTH if request.param == "shards" else ()) as found:
            yield found


async def becomes_true(holds: Callable[[], Awaitable[bool]]) -> bool:
    """Return whether a condition comes true within a fixed number of checks."""
    for _ in range(LOOKS):
        if await holds():
            return True
        await asyncio.sleep(0.05)
    return False


async def test_a_read_only_machine_follows_by_itself(opened: Databases | Schemas) -> None:
    writer = await opened.fresh()
    reader = await require_part(writer.second)()

    await Scribe(writer.canon).make_items(a_fact("news"))

    async def is_there() -> bool:
        return bool(await reader.canon.state.items_by_id([uuid_of("news")]))

    assert await becomes_true(is_there)


async def test_a_machine_shows_reported_commits(opened: Databases | Schemas) -> None:
    writer = await opened.fresh()
    reader = (await require_part(writer.second)()).canon
    cursor = (await reader.ledger.touched_since(0, limit=100)).cursor
    scribe = Scribe(writer.canon)

    for name in map(str, range(20)):
        await scribe.make_items(a_fact(name))

        touched = await reader.ledger.touched_since(cursor, limit=100)
        assert touched.keys
        assert await reader.state.items_by_id([uuid_of(name)])
        cursor = touched.cursor


async def test_erased_data_is_erased_from_replicas_of_other_machines(
    opened: Databases | Schemas,
) -> None:
    here = await opened.fresh()
    there = await require_part(here.second)()
    scribe = Scribe(here.canon)
    await scribe.make_items(a_scene())
    await scribe.make_items(a_turn("secret", text="a personal word"))
    assert await there.canon.ledger.head_position(MIDDLE_EARTH) == 2

    await scribe.write_entries(Erased(targets=(uuid_of("secret"),), reason="a right"))
    await require_part(here.maintenance).purge(MIDDLE_EARTH, [uuid_of("secret")])

    async def is_gone() -> bool:
        return not any(
            b"a personal word" in path.read_bytes() for path in require_part(there.files)()
        )

    assert await becomes_true(is_gone)
    found = await there.canon.state.items_by_id([uuid_of("secret")])
    assert isinstance(found[uuid_of("secret")], Tombstone)
    for machine in (here, there):
        assert (await require_part(machine.maintenance).verify(report_nothing)).findings == ()
    sealed = await there.canon.ledger.read_sealed(MIDDLE_EARTH, after=ORIGIN, limit=9)
    assert None in sealed[1].parts


async def test_a_machine_without_a_replica_makes_one_while_answering(
    opened: Databases | Schemas,
) -> None:
    first = await opened.fresh()
    scribe = Scribe(first.canon)
    for n in range(5):
        await scribe.write_entries(*creation_entries(a_fact(f"fact {n}")))
    await require_part(first.close)()

    late: Backend = await require_part(first.second)()

    assert await late.canon.ledger.head_position(MIDDLE_EARTH) == 5
    assert len(await late.canon.state.items_by_id(uuid_of(f"fact {n}") for n in range(5))) == 5


async def test_meaning_is_indexed_on_the_named_server(
    opened: Databases | Schemas, tmp_path: Path
) -> None:
    await opened.fresh()
    name, folder, beside = f"test_{uuid4().hex}", tmp_path / "x", ViewServers(meaning=":memory:")
    store: KeptStore
    if isinstance(opened, Databases):
        opened.closing.push_async_callback(mongodb_store.drop_data, name)
        url = mongodb_store.URL
        store = await open_mongodb(url, database=name, folder=folder, view_servers=beside)
    else:
        opened.closing.push_async_callback(
            postgres_store.drop_data, name, opened.shards or BOTH[:1]
        )
        store = await open_postgres(
            BOTH[0],
            shards=opened.shards,
            schema=name,
            folder=folder,
            connections=3,
            view_servers=beside,
        )
    opened.closing.push_async_callback(store.close)

    vectors = require_part(store.vectors)()
    opened.closing.push_async_callback(vectors.close)

    assert isinstance(vectors, QdrantVectors)
    assert list(await vectors.status()) == []


async def test_a_closed_store_writes_nothing_more(opened: Databases | Schemas) -> None:
    store = await opened.fresh()
    await require_part(store.close)()

    with pytest.raises(Unavailable) as refused:
        await store.canon.ledger.head_position(MIDDLE_EARTH)
    assert refused.value.code == "ledger.closed"
