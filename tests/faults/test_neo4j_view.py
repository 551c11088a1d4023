"""Records in MongoDB with a graph whose server is slow or away: writes go on, and it catches up."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from canonry.app.backends.mongodb import SplitStore, open_mongodb
from canonry.app.backends.servers import ViewServers
from canonry.app.doctor import report_nothing
from canonry.testing.clocks import Scribe
from canonry.testing.conformance.kit import require_part
from canonry.testing.example_items import MIDDLE_EARTH, a_fact
from canonry.values.errors import Unavailable
from tests.conformance import neo4j_store
from tests.conformance.mongodb_store import URL, drop_data, require_server
from tests.faults.relay import relayed_url
from tests.mongodb.test_machines import becomes_true

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def graph_beside(graph: str, folder: Path) -> AsyncIterator[SplitStore]:
    require_server()
    name = f"test_{uuid4().hex}"
    store = await open_mongodb(
        URL, database=name, folder=folder, view_servers=ViewServers(graph=graph)
    )
    try:
        yield store
    finally:
        await store.close()
        await drop_data(name)


async def write_facts(store: SplitStore, names: list[str]) -> int:
    """Write facts one after the other, none of which may be refused; how many there are now."""
    for name in names:
        await Scribe(store.canon, name).make_items(a_fact(name))
    return await store.canon.ledger.head_position(MIDDLE_EARTH)


async def shows_all(store: SplitStore, count: int) -> None:
    """The graph comes to show so many facts by itself, each once; all agree then."""
    graph = require_part(store.graph)

    async def is_there() -> bool:
        try:
            return (await graph.shown.graph_facts())["graph things"] == count
        except Unavailable:
            return False

    assert await becomes_true(is_there)
    assert (await store.maintenance.verify(report_nothing)).findings == ()


@pytest.mark.parametrize("harm", ["slow", "away"])
async def test_writes_continue_while_the_graph_is_away_and_it_catches_up(
    tmp_path: Path, harm: str
) -> None:
    if not neo4j_store.URL:
        pytest.skip("no Neo4j server: `make servers` starts one")
    async with (
        relayed_url(neo4j_store.URL) as (relay, url),
        graph_beside(url, tmp_path) as store,
    ):
        await shows_all(store, await write_facts(store, ["before"]))
        relay.delay, relay.away = (2.0, False) if harm == "slow" else (0.0, True)
        await relay.cut_lines()

        began = asyncio.get_running_loop().time()
        count = await write_facts(store, [f"{harm} {n}" for n in range(10)])
        lasted = asyncio.get_running_loop().time() - began
        relay.delay, relay.away = 0.0, False

        assert lasted < 10 * 2.0
        await shows_all(store, count)
        name = store.store.database.name
    async with neo4j_store.open_graph(name) as graph:
        await neo4j_store.empty_database(graph)
