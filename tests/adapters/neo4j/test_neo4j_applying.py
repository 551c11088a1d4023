"""The graph is what the records lead to, however they reach it; whatever else it shows is found."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from canonry.log.commits import ORIGIN, Position
from canonry.log.entries import StoredItem
from canonry.log.fold_commit import ids_needed
from canonry.stores.neo4j import Neo4jDatabase, Neo4jGraph
from canonry.stores.projections.projector import Projector
from canonry.testing.clocks import Scribe
from canonry.testing.conformance import Backend
from canonry.testing.conformance.chronicle import write_chronicle
from canonry.testing.conformance.view import folded_commits
from canonry.testing.example_items import MIDDLE_EARTH, a_fact
from canonry.values.errors import BrokenInvariant, Conflict
from canonry.values.ids import SpaceId
from tests.conformance.neo4j_store import URL, open_graphs, read_kinds
from tests.conformance.test_memory import open_memory
from tests.faults.relay import relayed_url

pytestmark = pytest.mark.anyio
HARMS = {
    "a fact says something else": (
        "MATCH (t:Fact) WHERE t.store = $store SET t.body = replace(t.body, 'is small', 'is large')"
    ),
    "a thing has another name on the screen": (
        "MATCH (t:Entity) WHERE t.store = $store SET t.name = 'Sauron'"
    ),
    "a thing is missing": "MATCH (t:Axiom) WHERE t.store = $store DETACH DELETE t",
    "a thing has another label": "MATCH (t:Event) WHERE t.store = $store SET t:Fact",
    "edges are missing": "MATCH (t:Fact)-[r]->() WHERE t.store = $store DELETE r",
    "an edge says something else": (
        "MATCH (t:Entity)-[r]->() WHERE t.store = $store AND r.rel_type IS NOT NULL"
        " SET r.rel_type = 'HATES'"
    ),
}
STRAY = "CREATE (t:Thing:Fact {store: $store, id: 'stray', kind: 'fact', body: '{}'})"
BESIDE = """
UNWIND ['_Date', '_Row', '_Run', '_Text', '_Version'] AS label
CREATE (n:$(label) {store: $store, key: $store, run: $store, rank: 1, later: 1, id: 'x', since: 1})
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """A log in memory, the graph that shows it, and the spaces that were written."""

    log: Backend
    database: Neo4jDatabase
    spaces: list[SpaceId]

    @property
    def graph(self) -> Neo4jGraph:
        return Neo4jGraph(self.database)

    def make_projector(self) -> Projector:
        canon = self.log.canon
        return Projector(ledger=canon.ledger, state=canon.state, others=(self.graph,))

    async def current_items(self) -> dict[str, StoredItem]:
        """Everything that the log is about, as it is now."""
        found: dict[str, StoredItem] = {}
        for space in self.spaces:
            log = await self.log.canon.ledger.read_commits(space, after=ORIGIN, limit=1_000)
            found |= await self.log.canon.state.items_by_id(
                ids_needed(e for c in log for e in c.entries)
            )
        return found

    async def find_differences(self) -> set[str]:
        """Return the parts of the graph that do not follow from the log."""
        items = await self.current_items()
        shown = {i async for page in self.graph.list_ids() for i in page}
        return set(await self.graph.find_differing(items, sorted(shown | items.keys())))


@pytest.fixture
async def followed() -> AsyncIterator[Followed]:
    async with open_graphs() as opened:
        log = await open_memory()
        spaces = list(await write_chronicle(log))
        yield Followed(log=log, database=await opened.open_database(), spaces=spaces)


async def test_a_caught_up_graph_equals_the_records(followed: Followed) -> None:
    assert await followed.find_differences() == set(await followed.current_items())

    await followed.make_projector().catch_up()

    assert await followed.find_differences() == set()
    assert (await read_kinds(followed.database)).keys() == (await followed.current_items()).keys()


async def test_applying_again_changes_nothing(followed: Followed) -> None:
    for space in followed.spaces:
        made = await folded_commits(followed.log.canon, space)
        for each in made:
            await followed.graph.apply([each])
            await followed.graph.apply([each])
        await followed.graph.apply(made)
        assert await followed.graph.cursor(space) == made[-1].position

    assert await followed.find_differences() == set()


async def test_projectors_side_by_side_leave_what_one_leaves(followed: Followed) -> None:
    scribe = Scribe(followed.log.canon)

    async def write() -> None:
        for n in range(10):
            await scribe.make_items(a_fact(f"late fact {n}"))

    await asyncio.gather(write(), *(followed.make_projector().catch_up() for _ in range(3)))
    await followed.make_projector().catch_up()

    assert await followed.find_differences() == set()


async def test_a_gap_is_refused_and_changes_nothing(followed: Followed) -> None:
    made = await folded_commits(followed.log.canon, MIDDLE_EARTH)

    with pytest.raises(Conflict) as refused:
        await followed.graph.apply(made[1:])

    assert refused.value.code == "view.gap"
    assert await followed.graph.cursor(MIDDLE_EARTH) == ORIGIN
    assert await read_kinds(followed.database) == {}
    await followed.make_projector().advance_to(MIDDLE_EARTH, Position(2))
    assert await followed.graph.cursor(MIDDLE_EARTH) >= 2


async def test_each_kind_of_damage_is_found_and_refilling_repairs_it(
    followed: Followed,
) -> None:
    await followed.make_projector().catch_up()
    for harm, statement in HARMS.items():
        await followed.database.fetch_rows(statement)
        assert await followed.find_differences() != set(), harm

        await followed.graph.delete_nodes()
        await followed.make_projector().catch_up()

        assert await followed.find_differences() == set(), harm
    await followed.database.fetch_rows(STRAY)
    assert await followed.find_differences() == {"stray"}


async def test_the_graph_names_its_engine(followed: Followed) -> None:
    await followed.make_projector().catch_up()

    answer = await followed.graph.graph_facts()

    assert str(answer["graph"]).startswith("Neo4j Kernel 5.26")
    assert answer["graph things"] == len(await followed.current_items())


async def test_applying_takes_two_round_trips_whatever_the_number_of_changes(
    followed: Followed,
) -> None:
    made = await folded_commits(followed.log.canon, MIDDLE_EARTH)
    async with relayed_url(URL) as (relay, url):
        database = Neo4jDatabase(url, followed.database.name)
        await database.open()
        before = relay.trips
        await Neo4jGraph(database).apply(made)
        assert relay.trips - before == 2
        await database.close()


async def test_a_graph_of_an_earlier_version_keeps_items_and_drops_statistics(
    followed: Followed,
) -> None:
    await followed.make_projector().catch_up()
    await followed.database.fetch_rows(BESIDE)
    await followed.database.fetch_rows("MATCH (s:_Store {store: $store}) SET s.format = 1")

    again = Neo4jDatabase(URL, followed.database.name)
    await again.open()

    left = "MATCH (n) WHERE n.store = $store AND NOT n:Thing RETURN DISTINCT labels(n)"
    assert sorted(await again.fetch_rows(left)) == [[["_Cursor"]], [["_Store"]]]
    assert await again.fetch_rows("MATCH (s:_Store {store: $store}) RETURN s.format") == [[2]]
    await again.close()
    assert await followed.find_differences() == set()


async def test_a_graph_of_a_later_version_is_refused(followed: Followed) -> None:
    await followed.database.fetch_rows("MATCH (s:_Store {store: $store}) SET s.format = 3")
    again = Neo4jDatabase(URL, followed.database.name)

    with pytest.raises(BrokenInvariant) as refused:
        await again.open()

    assert refused.value.code == "store.newer"
