"""The server is killed, cut off or slow: nothing applied is lost, and nobody waits without end."""

import asyncio
import shutil
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from neo4j import AsyncGraphDatabase

from canonry.app.doctor import report_nothing
from canonry.gateway.limits import run_within
from canonry.readmodels.ports.view import Folded
from canonry.stores.neo4j import Neo4jDatabase, Neo4jGraph
from canonry.testing.clocks import Scribe
from canonry.testing.conformance.kit import require_part
from canonry.testing.conformance.view import folded_commits
from canonry.testing.example_items import MIDDLE_EARTH, a_fact
from canonry.values.errors import Unavailable
from tests.conformance.neo4j_store import URL, open_graphs, read_kinds
from tests.conformance.test_memory import open_memory
from tests.faults.disks import limit_files
from tests.faults.relay import relayed_url
from tests.faults.test_neo4j_view import graph_beside, shows_all, write_facts
from tests.mongodb.test_machines import becomes_true
from tests.servers.graph import Graph
from tests.servers.processes import PASSWORD, PORT

pytestmark = pytest.mark.anyio
WORDS = " ".join(f"{n * 7919:x}" for n in range(2_000))
ROOM = 600_000
MANY, WRITERS, EACH = 30, 3, 10
ENDLESS = "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN count(a + b)"
RUNNING = (
    "SHOW TRANSACTIONS YIELD currentQuery WHERE currentQuery STARTS WITH 'UNWIND range'"
    " RETURN count(*)"
)

HALF_APPLIED = "MATCH (c:_Cursor {store: $store, space: $space}) SET c.turn = true, c.position = 2"
WAITING = (
    "SHOW TRANSACTIONS YIELD currentQuery, status"
    " WHERE currentQuery CONTAINS '_Cursor' AND status STARTS WITH 'Blocked' RETURN count(*)"
)


@pytest.fixture(scope="module")
def server() -> Iterator[Graph]:
    if not URL or shutil.which("javac") is None:
        pytest.skip("no Neo4j server of our own: `make servers` starts one")
    own = Graph(name=f"killed-graph-{uuid4().hex}", port=PORT + 100)
    own.start()
    yield own
    own.stop(signal.SIGKILL)


@asynccontextmanager
async def open_graph(url: str, name: str, deadline: float = 30.0) -> AsyncIterator[Neo4jDatabase]:
    database = Neo4jDatabase(url, name, deadline=deadline)
    await database.open()
    try:
        yield database
    finally:
        await database.close()


async def some_facts(n: int) -> list[Folded]:
    log = await open_memory()
    for each in range(n):
        await Scribe(log.canon, f"{each}").make_items(a_fact(f"fact {each}"))
    return list(await folded_commits(log.canon, MIDDLE_EARTH))


async def apply_commits(
    graph: Neo4jGraph, made: list[Folded], half: asyncio.Event | None = None
) -> None:
    """Apply commits one by one as the projector does, again where the view is not there."""
    while (cursor := await apply_soon(graph)) < len(made):
        if half is not None and cursor >= len(made) // 2:
            half.set()
        try:
            await graph.apply(made[cursor : cursor + 1])
        except Unavailable:
            await asyncio.sleep(0.1)


async def apply_soon(graph: Neo4jGraph) -> int:
    while True:
        try:
            return await graph.cursor(MIDDLE_EARTH)
        except Unavailable:
            await asyncio.sleep(0.1)


async def test_a_killed_and_restarted_server_shows_each_commit_once(
    server: Graph,
) -> None:
    made = await some_facts(30)
    async with open_graph(server.url, f"test_{uuid4().hex}") as database:
        shown, half = Neo4jGraph(database), asyncio.Event()

        async def kill() -> None:
            await half.wait()
            await asyncio.to_thread(server.stop, signal.SIGKILL)
            await asyncio.to_thread(server.start)

        await asyncio.gather(kill(), apply_commits(shown, made, half), apply_commits(shown, made))

        counted = "MATCH (t:Fact) WHERE t.store = $store RETURN count(t)"
        assert await database.fetch_rows(counted) == [[len(made)]]
        assert await shown.find_differing({each.items[0].id: each.items[0] for each in made}) == []


async def test_a_full_then_killed_server_stops_no_writer(server: Graph, tmp_path: Path) -> None:
    async with graph_beside(server.url, tmp_path) as store:
        await shows_all(store, await write_facts(store, ["before"]))
        with limit_files(server.process(), ROOM):
            await write_facts(store, [f"{n} {WORDS}" for n in range(MANY)])
            with pytest.raises(Unavailable) as refused:
                await require_part(store.graph).catch_up()
            assert refused.value.code in {"view.full", "view.behind", "store.failing"}
            (finding,) = (await store.maintenance.verify(report_nothing)).findings
            assert finding.where == "graph"

        # Neo4j says itself that it has to be restarted; whoever keeps it running does that.
        async def restart() -> None:
            await asyncio.to_thread(server.stop, signal.SIGKILL)
            await asyncio.to_thread(server.start)

        async def write(writer: int) -> None:
            await write_facts(store, [f"killed {writer}/{n}" for n in range(EACH)])

        await asyncio.gather(restart(), *(write(each) for each in range(WRITERS)))

        count = 1 + MANY + WRITERS * EACH
        assert await store.canon.ledger.head_position(MIDDLE_EARTH) == count
        await shows_all(store, count)


async def test_a_cut_connection_leaves_whole_commits() -> None:
    made = await some_facts(40)
    async with open_graphs() as graph:
        whole = await graph.open_database()
        await Neo4jGraph(whole).apply(made[:1])  # a first statement is planned for long
        async with relayed_url(URL) as (relay, url), open_graph(url, whole.name) as database:
            work = asyncio.ensure_future(apply_commits(Neo4jGraph(database), made))
            left_alone = 0.3
            while not work.done():
                await asyncio.sleep(0.05)
                await relay.cut_lines()
                await asyncio.sleep(left_alone)
                left_alone *= 1.1  # at some time a slow machine gets through, too
            await work

        items = {each.items[0].id: each.items[0] for each in made}
        assert await read_kinds(whole) == dict.fromkeys(items, "fact")
        assert await Neo4jGraph(whole).find_differing(items) == []


async def test_a_query_and_its_statement_end_at_the_deadline() -> None:
    async with open_graphs() as graph:
        name = (await graph.open_database()).name
        async with open_graph(URL, name, deadline=0.5) as database:
            with pytest.raises(Unavailable) as late:
                await database.fetch_rows(ENDLESS)
            with pytest.raises(Unavailable) as ended:
                await run_within(0.3, database.fetch_rows(ENDLESS))

            assert (late.value.code, ended.value.code) == ("store.deadline", "call.deadline")
            for _ in range(1200):
                if await database.fetch_rows(RUNNING) == [[0]]:
                    break
                await asyncio.sleep(0.05)
            assert await database.fetch_rows(RUNNING) == [[0]]


async def test_an_uncertain_cursor_waits_until_its_commits_show() -> None:
    """The server shows a commit piece by piece; with a cursor ahead of it, `verify` tells of it."""
    made = await some_facts(1)
    async with open_graphs() as graph:
        database = await graph.open_database()
        shown = Neo4jGraph(database)
        await shown.apply(made)
        result = urlsplit(URL)
        driver = AsyncGraphDatabase.driver(
            f"bolt://{result.hostname}:{result.port}",
            auth=(result.username or "", result.password or ""),
        )
        async with driver, driver.session() as session:
            half = await session.begin_transaction()
            await half.run(HALF_APPLIED, {"store": database.name, "space": MIDDLE_EARTH})
            asked = asyncio.create_task(shown.cursor(MIDDLE_EARTH))

            async def answered_or_waits() -> bool:
                waiting = await database.fetch_rows(WAITING)
                return asked.done() or waiting[0][0] > 0

            assert await becomes_true(answered_or_waits)
            assert not asked.done()
            await half.commit()

            assert await asked == 2


async def test_an_unreachable_server_error_gives_the_reason() -> None:
    if not URL:
        pytest.skip("no Neo4j server: `make servers` starts one")
    nobody = Neo4jDatabase(f"bolt://neo4j:{PASSWORD}@127.0.0.1:1", "nobody")
    with pytest.raises(Unavailable) as unreachable:
        await nobody.open()
    stranger = Neo4jDatabase(URL.replace(PASSWORD, "another"), "nobody")
    with pytest.raises(Unavailable) as refused:
        await stranger.open()
    with pytest.raises(Unavailable) as closed:
        await stranger.fetch_rows("RETURN 1")

    codes = [each.value.code for each in (unreachable, refused, closed)]
    assert codes == ["store.unreachable", "store.refused", "ledger.closed"]
