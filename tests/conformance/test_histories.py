"""The checker of histories finds what it is for, and the clients bring it about in a bad store."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from typing_extensions import override

from canonry.app.compose import compose_memory
from canonry.log.commits import Append, Outcome
from canonry.stores.memory import MemoryLedger
from canonry.testing.conformance.histories import Fate, Lists, Transaction, find_anomalies, found_in
from tests.simulation.loops import Faults, FaultyLedger

pytestmark = pytest.mark.anyio


def make_transaction(
    name: str, when: int, wrote: Lists | None = None, read: Lists | None = None
) -> Transaction:
    """A transaction that takes three units of time from `when` on."""
    return Transaction(name=name, began=when, ended=when + 2.5, read=read or {}, wrote=wrote or {})


ONE = make_transaction("one", 0, {"x": ["1"]})
TWO = make_transaction("two", 1, {"x": ["2"]}, {"x": ["1"]})
GONE = replace(make_transaction("gone", 0, {"x": ["0"]}), fate=Fate.REFUSED)


def test_a_history_with_an_order_is_in_order() -> None:
    late = make_transaction("late", 9, read={"x": ["1", "2"], "y": []})

    assert find_anomalies([TWO, late, ONE], {"x": ["1", "2"], "y": []}) == []


@pytest.mark.parametrize(
    ("history", "last", "what"),
    [
        ([ONE, TWO], {"x": ["1"]}, "two was acknowledged, but the final state lacks a part of it"),
        ([ONE, TWO], {"x": ["1", "2", "1"]}, "x has elements twice: ['1', '2', '1']"),
        (
            [replace(ONE, fate=Fate.REFUSED)],
            {"x": ["1"]},
            "one was refused, but the final state contains it",
        ),
        (
            [replace(make_transaction("both", 0, {"x": ["1"], "y": ["2"]}), fate=Fate.UNKNOWN)],
            {"x": ["1"], "y": []},
            "the final state contains only a part of both",
        ),
        (
            [ONE, GONE, make_transaction("r", 1, read={"x": ["0"]})],
            {"x": ["1"]},
            "r read a value that x never had: ['0']",
        ),
        (
            [
                make_transaction("pair", 0, {"x": ["1", "2"]}),
                make_transaction("r", 1, read={"x": ["1"]}),
            ],
            {"x": ["1", "2"]},
            "r read only a part of a transaction on x: ['1']",
        ),
    ],
)
def test_lost_dirty_and_partial_reads_are_found(
    history: list[Transaction], last: Lists, what: str
) -> None:
    assert what in find_anomalies(history, last)


@pytest.mark.parametrize(
    ("history", "last"),
    [
        pytest.param(
            [ONE, TWO, make_transaction("three", 1, {"x": ["3"]}, {"x": ["1"]})],
            {"x": ["1", "2", "3"]},
            id="an update is lost: two rest on the same state",
        ),
        pytest.param(
            [ONE, make_transaction("r", 5, read={"x": []})],
            {"x": ["1"]},
            id="a read is out of date",
        ),
        pytest.param(
            [
                make_transaction("left", 0, {"x": ["1"]}, {"x": [], "y": []}),
                make_transaction("right", 0, {"y": ["2"]}, {"x": [], "y": []}),
            ],
            {"x": ["1"], "y": ["2"]},
            id="each of two rests on what the other one changed",
        ),
        pytest.param(
            [
                make_transaction("x", 0, {"x": ["1"]}),
                make_transaction("y", 0, {"y": ["2"]}),
                make_transaction("first", 1, read={"x": ["1"], "y": []}),
                make_transaction("other", 1, read={"x": [], "y": ["2"]}),
            ],
            {"x": ["1"], "y": ["2"]},
            id="two readers see two orders",
        ),
    ],
)
def test_an_inconsistent_history_is_found(history: list[Transaction], last: Lists) -> None:
    (found,) = find_anomalies(history, last)

    assert found.startswith("each of these comes before the next: ")


class Careless(FaultyLedger):
    """A ledger that does not look at what a verdict rests on."""

    @override
    async def append_drafts(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        return await super().append_drafts([replace(each, reads=frozenset()) for each in batch])


async def test_clients_detect_a_careless_store() -> None:
    canon = compose_memory()
    assert isinstance(canon.ledger, MemoryLedger)
    careless = Careless(canon.ledger, random.Random(1), Faults(delay=0.001))

    assert await found_in((replace(canon, ledger=careless),)) != []
