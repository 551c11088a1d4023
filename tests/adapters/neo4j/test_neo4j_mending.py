"""Whatever somebody does to a graph behind its back is found, and mended without emptying it."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import pytest

from canonry.log.canon import needs
from canonry.log.commits import ORIGIN, Position
from canonry.log.entries import Thing
from canonry.stores.following.following import Projector
from canonry.stores.neo4j import Neo4jDatabase, Neo4jMending, Neo4jState, empty
from canonry.testing.conformance import Backend
from canonry.testing.conformance.chronicle import write_chronicle
from tests.conformance.neo4j_store import graphs
from tests.conformance.test_memory import open_memory

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
    "rows are missing": "MATCH (l:_Row) WHERE l.store = $store AND l.run STARTS WITH '5 ' DELETE l",
    "a row has another name": (
        "MATCH (l:_Row) WHERE l.store = $store AND l.run STARTS WITH '1 ' SET l.name = 'zz'"
    ),
    "a text leads elsewhere": "MATCH (i:_Text) WHERE i.store = $store SET i.root = 'nobody'",
    "a date is missing": "MATCH (d:_Date) WHERE d.store = $store AND d.current DELETE d",
    "a count is wrong": "MATCH (u:_Run) WHERE u.store = $store AND u.list = 3 SET u.n = u.n + 1",
    "a count is missing": "MATCH (u:_Run) WHERE u.store = $store AND u.list = 6 DELETE u",
    "the past is missing": "MATCH (v:_Version) WHERE v.store = $store DELETE v",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    log: Backend
    database: Neo4jDatabase
    mending: Neo4jMending
    projector: Projector
    things: dict[str, Thing]
    past: Sequence[Thing]


@pytest.fixture
async def kept() -> AsyncIterator[Kept]:
    async with graphs() as opened:
        database, log = await opened.database(), await open_memory()
        projector = Projector(ledger=log.canon.ledger, state=Neo4jState(database), others=())
        things: dict[str, Thing] = {}
        past: dict[tuple[str, int], Thing] = {}
        for space in await write_chronicle(log):
            for commit in await log.canon.ledger.read(space, after=ORIGIN, limit=1_000):
                ids = needs(commit.entries)
                things |= await log.canon.state.things(ids)
                before = Position(commit.position - 1)
                known = await log.canon.state.things_as_known_at(ids, before)
                past |= {(i, each.changed_at): each for i, each in known.items()}
        await projector.catch_up()
        left = [
            each
            for (i, at), each in past.items()
            if hasattr(things[i], "created_at") and at < things[i].changed_at
        ]
        yield Kept(
            log=log,
            database=database,
            mending=Neo4jMending(database),
            projector=projector,
            things=things,
            past=left,
        )


async def wrong(kept: Kept) -> list[object]:
    return [
        *await kept.mending.differing(kept.things),
        *await kept.mending.differing_past(kept.past),
        *await kept.mending.miscounted(),
    ]


async def test_each_harm_is_found_and_mended(kept: Kept) -> None:
    state = Neo4jState(kept.database)
    assert await wrong(kept) == []
    for harm, statement in HARMS.items():
        await kept.database.rows(statement)
        assert await wrong(kept) != [], harm

        differing = await kept.mending.differing(kept.things)
        past = await kept.mending.differing_past(kept.past)
        await kept.mending.put({i: kept.things[i] for i in differing}, past)
        await kept.mending.recount()

        assert await wrong(kept) == [], harm
    facts = [each for each in kept.things.values() if type(each).__name__ == "Fact"]
    assert await state.things([each.id for each in facts]) == {each.id: each for each in facts}


async def test_what_no_record_leads_to_is_removed(kept: Kept) -> None:
    known = {i async for page in kept.mending.ids() for i in page}
    assert known == kept.things.keys()
    strange = min(known)

    await kept.mending.remove([strange])
    await kept.mending.recount()

    assert {i async for page in kept.mending.ids() for i in page} == known - {strange}
    assert await kept.mending.miscounted() == {}


async def test_an_emptied_graph_is_filled_from_the_log(kept: Kept) -> None:
    await empty(kept.database)
    assert await wrong(kept) != []

    await kept.projector.catch_up()

    assert await wrong(kept) == []


async def test_the_graph_tells_what_it_runs_on(kept: Kept) -> None:
    told = await kept.mending.facts()

    assert str(told["graph"]).startswith("Neo4j Kernel 5.26")
    assert told["graph things"] == len(kept.things)
