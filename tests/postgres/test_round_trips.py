"""One question or one write waits for the server only a few times, counted on the wire.

A round trip is a wait for an answer: a pipeline counts as one.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from canonry.canon.session.canon import Canon
from canonry.gateway.limits import run_within
from canonry.log.commits import ORIGIN, Appended
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.text import TextQuery
from canonry.stores.projections.projector import Projector
from canonry.testing.clocks import Scribe
from canonry.testing.conformance import Backend
from canonry.testing.conformance.chronicle import write_chronicle
from canonry.testing.example_items import MIDDLE_EARTH, a_fact, creation_entries, uuid_of
from canonry.values.ids import EntityId
from tests.conformance.postgres_store import URL, open_schemas
from tests.faults.relay import Relay, relayed_url
from tests.postgres.test_predicted_appends import wait_forever

pytestmark = pytest.mark.anyio
HERE = frozenset((MIDDLE_EARTH,))
WORDS = TextQuery(collection=Collection.FACTS, text="small", spaces=HERE)
FRODO = EntityId(uuid_of("frodo"))
QUESTIONS: dict[str, tuple[int, Callable[[Canon], Awaitable[object]]]] = {
    "head": (1, lambda c: c.ledger.head_position(MIDDLE_EARTH)),
    "read": (1, lambda c: c.ledger.read_commits(MIDDLE_EARTH, after=ORIGIN, limit=10)),
    "touched": (2, lambda c: c.ledger.touched_since(1, limit=10)),
    "things": (0, lambda c: c.state.items_by_id([uuid_of("frodo")])),
    "words": (0, lambda c: c.text.search(WORDS)),
}
"""The most that each may wait: the copy answers what is not asked of the log."""
ASKED = 12
"""A statement is prepared when it comes again and again, which takes one more trip once."""


@pytest.fixture
async def relayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Backend, Relay]]:
    monkeypatch.setattr(Projector, "keep_up", wait_forever)
    async with open_schemas(tmp_path) as opened, relayed_url(URL) as (relay, opened.url):
        backend = await opened.fresh()
        await write_chronicle(backend)
        yield backend, relay
        assert backend.close is not None
        await backend.close()


async def test_no_query_waits_more_often_than_documented(relayed: tuple[Backend, Relay]) -> None:
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
    await scribe.append_batch([scribe.next_append(creation_entries(a_fact("first", "frodo")))])
    head = await backend.canon.ledger.head_position(MIDDLE_EARTH)
    draft = scribe.next_append(creation_entries(a_fact("second", "frodo")), judged_at=head)
    before = relay.trips

    (outcome,) = await scribe.append_batch([draft])

    assert isinstance(outcome, Appended)
    assert relay.trips - before <= 3


async def test_a_call_reads_its_own_writes(relayed: tuple[Backend, Relay]) -> None:
    backend, _ = relayed

    async def call() -> None:
        assert await backend.canon.state.items_by_id([uuid_of("new")]) == {}
        await Scribe(backend.canon, "reads").make_items(a_fact("new", "frodo"))
        assert uuid_of("new") in await backend.canon.state.items_by_id([uuid_of("new")])

    await run_within(60, call())
