"""How often the talk with the graph turns round: once for a question, twice to apply."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import pytest

from canonry.log.commits import ORIGIN
from canonry.readmodels.ports.state import EntityQuery, FactQuery, IdentifierQuery, TimelineQuery
from canonry.stores.following.following import folded
from canonry.stores.neo4j import Neo4jDatabase, Neo4jState
from canonry.testing.things import MIDDLE_EARTH, a_fact, a_named, ident
from canonry.testing.worlds import Scribe
from canonry.values.ids import EntityId
from canonry.values.moments import Instant
from tests.conformance.neo4j_store import URL, graphs
from tests.conformance.test_memory import open_memory
from tests.faults.relay import Relay, relayed_url

pytestmark = pytest.mark.anyio
FRODO = EntityId(ident("Frodo"))
QUESTIONS: dict[str, Callable[[Neo4jState], Awaitable[object]]] = {
    "cursor": lambda state: state.cursor(MIDDLE_EARTH),
    "things": lambda state: state.things([FRODO]),
    "entities": lambda state: state.entities(EntityQuery(name_pattern="fro*")),
    "facts": lambda state: state.facts(FactQuery(entities=frozenset((FRODO,)))),
    "identified": lambda state: state.entities_identified(IdentifierQuery(keys=("frodo",))),
    "timeline": lambda state: state.timeline(TimelineQuery()),
    "seen": lambda state: state.observations_newest([FRODO], limit=5, offset=0),
    "as seen": lambda state: state.entities_seen_until([FRODO], Instant(2**50)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    state: Neo4jState
    relay: Relay

    async def trips(self, ask: Callable[[Neo4jState], Awaitable[object]]) -> int:
        before = self.relay.trips
        await ask(self.state)
        return self.relay.trips - before


@pytest.fixture
async def counted() -> AsyncIterator[Counted]:
    async with graphs() as opened, relayed_url(URL) as (relay, url):
        database = Neo4jDatabase(url, (await opened.database()).name)
        await database.open()
        yield Counted(state=Neo4jState(database), relay=relay)
        await database.close()


async def test_a_question_is_one_round_trip_and_applying_is_two(counted: Counted) -> None:
    log = await open_memory()
    await Scribe(log.canon).write(*a_named("Frodo"))
    await Scribe(log.canon, "many").make(*(a_fact(f"fact {n}", "Frodo") for n in range(50)))
    made = folded(await log.canon.ledger.read(MIDDLE_EARTH, after=ORIGIN, limit=10), {})

    assert await counted.trips(lambda state: state.apply(made)) == 2
    asked = {name: await counted.trips(ask) for name, ask in QUESTIONS.items()}
    assert asked == dict.fromkeys(QUESTIONS, 1) | {"as seen": 2}
