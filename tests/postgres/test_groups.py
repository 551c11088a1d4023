"""Appends that wait for one space are one transaction, and differ for nobody but in time."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from canonry.gateway.limits import run_within
from canonry.log.commits import ORIGIN, Appended, Stale
from canonry.log.folding import item_key
from canonry.stores.postgres.ledger import PostgresLedger
from canonry.testing.clocks import Scribe
from canonry.testing.conformance.kit import Backend, require_part
from canonry.testing.conformance.ledger import whole_log
from canonry.testing.example_items import MIDDLE_EARTH, a_fact, creation_entries, uuid_of
from canonry.values.errors import InvalidInput
from canonry.values.ids import CommitId
from tests.conformance.postgres_store import open_schemas

pytestmark = pytest.mark.anyio
TRANSACTIONS = "SELECT count(DISTINCT transaction::text) FROM commits"


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[Backend]:
    async with open_schemas(tmp_path) as opened:
        yield await opened.fresh()


async def count_transactions(backend: Backend) -> int:
    ledger = cast("Any", backend.canon.ledger)._log
    assert isinstance(ledger, PostgresLedger)
    ((count,),) = await ledger._database.fetch_rows(TRANSACTIONS)
    return int(count)


async def test_waiting_drafts_are_written_in_one_transaction(backend: Backend) -> None:
    scribe = Scribe(backend.canon)
    drafts = [scribe.next_append(creation_entries(a_fact(f"fact {n}"))) for n in range(40)]

    async def call() -> None:
        await backend.canon.ledger.head_position(MIDDLE_EARTH)  # so that none of them asks for it
        await asyncio.gather(*(scribe.append_batch([draft]) for draft in drafts))

    await run_within(60, call())

    assert await backend.canon.ledger.head_position(MIDDLE_EARTH) == 40
    assert await count_transactions(backend) <= 3
    assert (await require_part(backend.maintenance).verify(lambda *_: None)).findings == ()


async def test_one_of_several_drafts_on_the_same_item_is_first(backend: Backend) -> None:
    scribe = Scribe(backend.canon)
    key = item_key(uuid_of("throne"))
    drafts = [
        replace(
            scribe.next_append(creation_entries(a_fact("throne", f"heir {n}"))),
            reads=frozenset((key,)),
        )
        for n in range(8)
    ]
    drafts = [scribe.next_append(creation_entries(a_fact(f"other {n}"))) for n in range(4)] + drafts

    answers = await asyncio.gather(*(scribe.append_batch([draft]) for draft in drafts))

    found = [type(outcome) for (outcome,) in answers]
    assert (found.count(Appended), found.count(Stale)) == (5, 7)


async def test_an_unwritable_draft_stops_no_other(backend: Backend) -> None:
    scribe = Scribe(backend.canon)
    drafts = [scribe.next_append(creation_entries(a_fact(f"fact {n}"))) for n in range(9)]
    bad = replace(drafts[4], draft=replace(drafts[4].draft, id=CommitId("no\0id")))
    drafts[4] = bad

    answers = await asyncio.gather(
        *(scribe.append_batch([draft]) for draft in drafts), return_exceptions=True
    )

    (refused,) = [each for each in answers if isinstance(each, BaseException)]
    assert isinstance(refused, InvalidInput)
    commits = await backend.canon.ledger.read_commits(MIDDLE_EARTH, after=ORIGIN, limit=20)
    assert {each.id for each in commits} == {d.draft.id for d in drafts if d is not bad}


async def test_a_draft_cancelled_before_the_lock_is_not_written(backend: Backend) -> None:
    scribe, other = Scribe(backend.canon), await require_part(backend.second)()
    drafts = [scribe.next_append(creation_entries(a_fact(f"fact {n}"))) for n in range(6)]
    async with other.canon.ledger.lock_appends():
        calls = [asyncio.ensure_future(scribe.append_batch([draft])) for draft in drafts]
        await asyncio.sleep(0)
        for call in calls[::2]:
            call.cancel()
        await asyncio.gather(*calls[::2], return_exceptions=True)
    await asyncio.gather(*calls[1::2])

    log = str(await whole_log(backend))
    assert [draft.draft.id in log for draft in drafts] == [False, True] * 3
