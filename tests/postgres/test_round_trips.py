"""How often one question or one write waits for the server, counted on the wire.

A round trip is a wait for an answer: what travels in one pipeline is one.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from canonry.canon.session.canon import Canon
from canonry.gateway.limits import within
from canonry.log.commits import ORIGIN
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.documents import ProposalQuery, SceneQuery
from canonry.readmodels.ports.state import (
    EntityQuery,
    EventQuery,
    FactQuery,
    IdentifierQuery,
    RelationQuery,
    TimelineQuery,
)
from canonry.readmodels.ports.text import TextQuery
from canonry.testing.conformance import Backend
from canonry.testing.conformance.chronicle import write_chronicle
from canonry.testing.things import MIDDLE_EARTH, a_fact, ident, made
from canonry.testing.worlds import Scribe
from canonry.values.ids import EntityId, SceneId
from canonry.values.moments import Instant
from tests.conformance.postgres_store import URL, schemas
from tests.faults.relay import Relay, relayed_url

pytestmark = pytest.mark.anyio
HERE = frozenset((MIDDLE_EARTH,))
WORDS = TextQuery(collection=Collection.FACTS, text="small", spaces=HERE)
FRODO = EntityId(ident("frodo"))
QUESTIONS: dict[str, tuple[int, Callable[[Canon], Awaitable[object]]]] = {
    "head": (1, lambda c: c.ledger.head(MIDDLE_EARTH)),
    "read": (1, lambda c: c.ledger.read(MIDDLE_EARTH, after=ORIGIN, limit=10)),
    "touched": (2, lambda c: c.ledger.touched_since(1, limit=10)),
    "things": (1, lambda c: c.state.things([ident("frodo")])),
    "entities": (1, lambda c: c.state.entities(EntityQuery(spaces=HERE))),
    "facts": (1, lambda c: c.state.facts(FactQuery(spaces=HERE, entities=frozenset((FRODO,))))),
    "events": (1, lambda c: c.state.events(EventQuery(spaces=HERE))),
    "relations": (1, lambda c: c.state.relations(RelationQuery(spaces=HERE))),
    "identified": (1, lambda c: c.state.bearers(IdentifierQuery(keys=("frodo",), begins=True))),
    "timeline": (1, lambda c: c.state.timeline(TimelineQuery())),
    "seen until": (3, lambda c: c.state.entities_seen_until([FRODO], Instant(10**15))),
    "scenes": (1, lambda c: c.documents.scenes(SceneQuery(spaces=HERE))),
    "turns": (1, lambda c: c.documents.turns(SceneId(ident("scene")))),
    "proposals": (1, lambda c: c.documents.proposals(ProposalQuery(spaces=HERE))),
    "words": (3, lambda c: c.text.search(WORDS)),
    "a misspelled word": (4, lambda c: c.text.search(replace(WORDS, text="small hobbbit"))),
}
"""The most that each may wait."""
ASKED = 12
"""A statement is prepared when it comes again and again, which takes one more trip once."""


@pytest.fixture
async def relayed(tmp_path: Path) -> AsyncIterator[tuple[Backend, Relay]]:
    async with schemas(tmp_path) as opened, relayed_url(URL) as (relay, opened.url):
        backend = await opened.fresh()
        await write_chronicle(backend)
        yield backend, relay
        assert backend.close is not None
        await backend.close()


async def test_no_question_waits_more_often_than_is_said(relayed: tuple[Backend, Relay]) -> None:
    backend, relay = relayed
    too_often: dict[str, int] = {}
    for name, (most, ask) in QUESTIONS.items():
        waited: list[int] = []
        for _ in range(ASKED):
            before = relay.trips
            await ask(backend.canon)
            waited.append(relay.trips - before)
        if min(waited) > most:
            too_often[name] = min(waited)

    assert too_often == {}


async def test_an_append_waits_at_most_three_times(relayed: tuple[Backend, Relay]) -> None:
    backend, relay = relayed
    scribe = Scribe(backend.canon, "counted")
    await scribe.append([scribe.next(made(a_fact("first", "frodo")))])
    draft = scribe.next(made(a_fact("second", "frodo")))
    before = relay.trips

    await scribe.append([draft])

    assert relay.trips - before <= 3


async def test_a_call_that_asks_again_is_answered_from_what_it_knows(
    relayed: tuple[Backend, Relay],
) -> None:
    backend, relay = relayed
    state, ledger = backend.canon.state, backend.canon.ledger

    async def call() -> None:
        first = await state.things([ident("frodo"), "nobody"])
        before = relay.trips
        assert await state.things(["nobody", ident("frodo")]) == first
        assert relay.trips == before
        await ledger.head(MIDDLE_EARTH)
        await state.things([ident("frodo")])
        assert relay.trips >= before + 2

    await within(60, call())


async def test_what_a_call_writes_it_reads(relayed: tuple[Backend, Relay]) -> None:
    backend, _ = relayed

    async def call() -> None:
        assert await backend.canon.state.things([ident("new")]) == {}
        await Scribe(backend.canon, "reads").make(a_fact("new", "frodo"))
        assert ident("new") in await backend.canon.state.things([ident("new")])

    await within(60, call())
