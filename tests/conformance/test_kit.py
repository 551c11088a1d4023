"""The kit itself: it finds out a backend that lies, and nobody can weaken it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from typing_extensions import override

from canonry.log.commits import Append, Appended, Outcome, Position
from canonry.log.entries import StoredItem
from canonry.log.items.facts import Fact
from canonry.log.ports.ledger import Sealer, Touched
from canonry.readmodels.ports.state import EntityQuery, FactQuery
from canonry.readmodels.ports.text import TextFound, TextQuery
from canonry.readmodels.ports.view import Page
from canonry.stores.memory import MemoryLedger, MemoryState, MemoryText
from canonry.testing.conformance import (
    Backend,
    BlobsContract,
    Contract,
    LedgerContract,
    StateContract,
    TextContract,
    requirement,
)
from tests.conformance.test_memory import open_memory


class DeafLedger(MemoryLedger):
    """Never finds a verdict stale."""

    @override
    async def append_drafts(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        return await super().append_drafts([replace(item, reads=frozenset()) for item in batch])


class StubbornLedger(MemoryLedger):
    """Writes what follows a stale draft."""

    @override
    async def append_drafts(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        outcomes: list[Outcome] = []
        for item in batch:
            outcomes += await super().append_drafts([item])
        return outcomes


class ForgetfulLedger(MemoryLedger):
    """Does not say that an answer is a repeated one."""

    @override
    async def append_drafts(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        return [
            replace(outcome, replayed=False) if isinstance(outcome, Appended) else outcome
            for outcome in await super().append_drafts(batch)
        ]


class QuietLedger(MemoryLedger):
    """Tells no keys."""

    @override
    async def touched_since(self, cursor: int, *, limit: int) -> Touched:
        answer = await super().touched_since(cursor, limit=limit)
        return replace(answer, keys=answer.keys and frozenset())


class LateState(MemoryState):
    """Counts only what it shows, and takes the end of a fact as part of it."""

    @override
    async def facts(self, query: FactQuery) -> Page[Fact]:
        start = query.start and Position(query.start - 1)
        found = await super().facts(replace(query, start=start))  # type: ignore[arg-type]
        return Page(items=found.items, total=len(found.items))

    @override
    async def entities(self, query: EntityQuery) -> Page[Any]:
        return await super().entities(replace(query, none_of=frozenset()))

    @override
    async def items_as_known_at(self, ids: Any, position: Position) -> dict[str, StoredItem]:
        return dict(await super().items_by_id(ids))


class GossipingText(MemoryText):
    """Ignores spaces."""

    @override
    async def search(self, query: TextQuery) -> TextFound:
        return await super().search(replace(query, spaces=None))


def replace_port(backend: Backend, liar: type[Any]) -> Backend:
    """The backend with a liar in place of one of its ports."""
    canon: Any = backend.canon
    store = canon.state._store
    ports: dict[str, Any] = {}
    if issubclass(liar, MemoryLedger):
        ports["ledger"] = liar(store, Sealer(canon.clock, canon.identities))
    elif issubclass(liar, MemoryState):
        ports["state"] = liar(store)
    else:
        ports["text"] = liar(store)
    return replace(backend, canon=replace(canon, **ports))


Proof = Callable[[Backend], Awaitable[None]]


@pytest.mark.parametrize(
    ("liar", "contract", "test"),
    [
        (DeafLedger, LedgerContract, "verdict_on_a_touched_key_is_stale"),
        (DeafLedger, LedgerContract, "any_conflicts_with_everything"),
        (StubbornLedger, LedgerContract, "batch_is_written_up_to_the_first_stale_draft"),
        (ForgetfulLedger, LedgerContract, "same_id_again_is_the_first_answer"),
        (QuietLedger, LedgerContract, "touched_keys_are_returned"),
        (LateState, StateContract, "pages_of_facts_have_no_gap"),
        (LateState, StateContract, "timeless_facts_hold_until_superseded"),
        (LateState, StateContract, "tags_select_all_any_and_none"),
        (LateState, StateContract, "every_past_is_the_fold_of_its_prefix"),
        (GossipingText, TextContract, "no_query_is_syntax"),
        (GossipingText, TextContract, "other_spaces_change_nothing"),
    ],
)
def test_a_lying_backend_is_detected(liar: type[Any], contract: type[Contract], test: str) -> None:
    proof: Proof = getattr(contract(), f"test_{test}")

    async def judge() -> None:
        await proof(await open_memory())
        with pytest.raises(AssertionError):
            await proof(replace_port(await open_memory(), liar))

    asyncio.run(judge())


def test_a_second_proof_of_a_promise_fails_at_import() -> None:
    def another() -> None:
        """Something else is promised under the id of another."""

    proves = requirement("ledger:append:large")
    with pytest.raises(KeyError, match="ledger:append:large"):
        proves(another)


def test_an_overridden_test_is_noticed() -> None:
    class Weakened(BlobsContract):
        async def test_digests_come_in_order_page_by_page(self, backend: Backend) -> None:
            """Nothing is proved here."""

    with pytest.raises(AssertionError, match="test_digests_come_in_order_page_by_page"):
        asyncio.run(Weakened().test_contract_is_not_weakened())
