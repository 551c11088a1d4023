"""Sums: exact, apart for each currency, with the ids behind them and what was left out."""

import asyncio
from collections import defaultdict
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canonry.records.domain.queries import Period
from canonry.records.usecases.files import RecordServices
from tests.toolsets.truth.kit import BOB, Desk, a_desk, an_invoice

TRANSACTION = {"entity_type": "transaction"}


def a_payment(number: int, amount: Any, date: str | None = None, **more: Any) -> dict[str, Any]:
    dated = {} if date is None else {"date": date}
    return {**TRANSACTION, "transaction_id": f"T{number}", "amount": amount, **dated, **more}


async def summed(desk: Desk, **arguments: Any) -> dict[str, Any]:
    return await desk.call("summarise_records", **{**TRANSACTION, **arguments})


def sums(reply: dict[str, Any], which: str = "groups") -> dict[tuple[Any, ...], str]:
    return {tuple(each["group"].values()): each["sum"] for each in reply[which]}


@pytest.mark.anyio
async def test_sums_by_month_and_merchant_are_exact_and_name_their_records() -> None:
    desk = a_desk()
    payments = [
        a_payment(1, 0.1, "2025-01-05", currency="EUR", merchant_name="Rewe"),
        a_payment(2, 0.2, "2025-01-31", currency="eur", merchant_name="REWE"),
        a_payment(3, 5, "2025-02-01", currency="EUR", merchant_name="Rewe"),
        a_payment(4, 7, "2025-02-01", currency="USD", merchant_name="Rewe"),
        a_payment(5, -2.25, "2025-02-03", currency="EUR", merchant_name="Shell"),
    ]
    reply = await desk.ingest(*payments)
    ids = [each["entity_id"] for each in reply["entities"]]

    by_month = await summed(desk, field="amount", period="month", group_by=["payee"])

    assert sums(by_month) == {
        ("2025-01", "Rewe", "EUR"): "0.3",
        ("2025-02", "Rewe", "EUR"): "5",
        ("2025-02", "Rewe", "USD"): "7",
        ("2025-02", "Shell", "EUR"): "-2.25",
    }
    assert by_month["groups"][0]["entity_ids"] == ids[:2]
    assert sums(by_month, "totals") == {("EUR",): "3.05", ("USD",): "7"}
    assert by_month["left_out"] == []
    assert (by_month["field"], by_month["date_field"]) == ("amount", "date")


@pytest.mark.anyio
async def test_what_is_no_value_is_left_out_and_told() -> None:
    desk = a_desk()
    reply = await desk.ingest(
        a_payment(1, 10, "2025-01-05", currency="EUR"),
        a_payment(2, "1.250", "2025-01-05", currency="EUR"),
        a_payment(3, None, "2025-01-06", currency="EUR"),
        a_payment(4, 4, "03/04/2025", currency="EUR"),
        a_payment(5, 3, currency="EUR"),
        a_payment(6, 2, "2025-01-07"),
    )
    ids = [each["entity_id"] for each in reply["entities"]]
    told = await summed(desk, field="amount", period="year")
    left = {(e["field"], e["reason"]): e["entity_ids"] for e in told["left_out"]}
    assert left == {
        ("amount", "missing"): [ids[2]],
        ("amount", "unclear_number"): [ids[1]],
        ("date", "not_a_date"): [ids[3]],
    }
    assert sums(told) == {("2025", "EUR"): "10", ("2025", None): "2", (None, "EUR"): "3"}

    january = await summed(desk, field="amount", after_date="2025-01", before_date="2025-01")
    assert {(e["field"], e["reason"]) for e in january["left_out"]} >= {("date", "not_a_date")}
    large = await summed(desk, field="amount", min_amount=5)
    assert sums(large) == {("EUR",): "10"}
    assert {(e["field"], e["reason"]) for e in large["left_out"]} == {("amount", "unclear_number")}
    one = await summed(desk, filters=[{"field": "amount", "equals": 10}])
    assert [(e["field"], e["count"]) for e in one["left_out"]] == [("amount", 1)]


@pytest.mark.anyio
async def test_records_are_counted_where_nothing_is_added_up() -> None:
    desk = a_desk()
    await desk.ingest(*(a_payment(n, n, f"2025-0{n % 3 + 1}-01") for n in range(9)))
    counted = await summed(desk, period="quarter", max_ids=2)
    (group,) = counted["groups"]
    assert (group["group"], group["count"], group["more_ids"]) == ({"quarter": "2025-Q1"}, 9, 7)
    assert "sum" not in group
    paged = await summed(desk, period="day", limit=2)
    rest = await summed(desk, period="day", limit=2, offset=paged["next_offset"])
    assert [e["group"]["day"] for e in (*paged["groups"], *rest["groups"])] == [
        "2025-01-01",
        "2025-02-01",
        "2025-03-01",
    ]
    assert "next_offset" not in rest


@pytest.mark.anyio
async def test_an_original_amount_goes_with_the_original_currency() -> None:
    desk = a_desk()
    await desk.ingest(
        a_payment(1, 9, currency="EUR", amount_original=10, currency_original="USD"),
        a_payment(2, 9, currency="EUR", amount_original=8, currency_original="GBP"),
    )
    told = await summed(desk, field="amount_original")
    assert sums(told) == {("GBP",): "8", ("USD",): "10"}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        ({"entity_type": "gizmo"}, "ENTITY_NOT_FOUND", "type.unknown"),
        ({"field": "colour"}, "FIELD_NOT_FOUND", "field.unknown"),
        ({"field": "merchant_name"}, "VALIDATION_ERROR", "sum.not-a-number"),
        ({"group_by": ["colour"]}, "FIELD_NOT_FOUND", "field.unknown"),
        ({"period": "month", "date_field": "colour"}, "FIELD_NOT_FOUND", "field.unknown"),
        ({"period": "month", "date_field": "amount"}, "VALIDATION_ERROR", "sum.not-a-date"),
    ],
)
async def test_what_cannot_be_summed_is_refused_with_what_can(
    arguments: dict[str, Any], code: str, reason: str
) -> None:
    error = await a_desk().refused("summarise_records", code, **{**TRANSACTION, **arguments})
    assert error["details"]["reason"] == reason


@pytest.mark.anyio
async def test_a_type_without_dates_has_no_periods() -> None:
    desk = a_desk()
    await desk.ingest({"entity_type": "gadget", "name": "Lamp", "tags": ["a", "b"]})
    asked = {"entity_type": "gadget", "period": "month"}
    error = await desk.refused("summarise_records", "FIELD_NOT_FOUND", **asked)
    assert error["details"]["reason"] == "field.unknown"
    by_list = await desk.call("summarise_records", entity_type="gadget", group_by=["tags"])
    assert by_list["groups"][0]["group"] == {"tags": ["a", "b"]}


@pytest.mark.anyio
async def test_another_users_records_are_in_no_sum() -> None:
    desk = a_desk()
    await desk.ingest(an_invoice("A-1", currency="EUR"))
    stranger = desk.of(BOB)
    await stranger.ingest(an_invoice("B-1", currency="EUR", amount_due=1))
    asked = {"entity_type": "invoice", "field": "amount_due"}
    assert sums(await summed(stranger, **asked)) == {("EUR",): "1"}
    assert sums(await summed(desk, **asked)) == {("EUR",): "100"}


@pytest.mark.parametrize(
    ("period", "date", "expected"),
    [
        (Period.DAY, "2024-12-31T23:30:00-05:00", "2024-12-31"),
        (Period.QUARTER, "2024-12-31", "2024-Q4"),
        (Period.YEAR, "about 2024", None),
        (Period.MONTH, 2024, None),
    ],
)
def test_a_period_goes_by_the_day_as_it_was_said(
    period: Period, date: Any, expected: str | None
) -> None:
    assert period.period_of(date) == expected


AMOUNTS = st.one_of(st.integers(-(10**20), 10**20), st.floats(-9e15, 9e15))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(AMOUNTS, st.sampled_from(["EUR", "USD", None])), min_size=1, max_size=8))
def test_sums_are_those_of_exact_arithmetic(payments: list[tuple[Any, str | None]]) -> None:
    async def compare() -> None:
        desk = a_desk()
        await desk.ingest(
            *(a_payment(n, a, currency=c, account=f"A{n}") for n, (a, c) in enumerate(payments))
        )
        expected: dict[str | None, Fraction] = defaultdict(Fraction)
        for amount, currency in payments:
            expected[currency] += Fraction(repr(amount))
        told = sums(await summed(desk, field="amount"))
        assert {key[0]: Fraction(text) for key, text in told.items()} == dict(expected)

    asyncio.run(compare())


STEPS = st.lists(
    st.tuples(st.sampled_from(["ingest", "correct", "merge", "unmerge"]), st.integers(0, 3)),
    max_size=10,
)


@settings(max_examples=25, deadline=None)
@given(STEPS)
def test_a_table_that_is_read_on_is_the_one_that_is_read_anew(steps: list[tuple[str, int]]) -> None:
    async def compare() -> None:
        desk = a_desk()
        reply = await desk.ingest(*(a_payment(n, n, f"2025-01-0{n + 1}") for n in range(4)))
        ids = [each["entity_id"] for each in reply["entities"]]
        for number, (step, which) in enumerate(steps):
            other = ids[(which + 1) % 4]
            user = {"user_id": desk.user}
            match step:
                case "ingest":
                    await desk.ingest(a_payment(which, 100 + number, notes=f"note {number}"))
                case "correct":
                    await desk.correct(ids[which], "amount", number)
                case "merge":
                    ends = {"from_entity_id": ids[which], "to_entity_id": other}
                    await desk.outcome("merge_entities", {**user, **ends})
                case _:
                    await desk.outcome("unmerge_entities", {**user, "entity_id": ids[which]})
            read_on = await told(desk)
            desk.canon.find_service(RecordServices).record_tables.__init__()  # type: ignore[misc] # forgets what it has read
            assert read_on == await told(desk)

    async def told(desk: Desk) -> tuple[Any, Any]:
        found = await desk.call("search_records", **TRANSACTION)
        return found, await summed(desk, field="amount", period="day")

    asyncio.run(compare())


@pytest.mark.anyio
@pytest.mark.parametrize("state", ["Pending", "REVERTED", "declined", "storniert", "en attente"])
async def test_a_payment_that_was_never_booked_is_in_no_sum(state: str) -> None:
    desk = a_desk()
    paid = {"entity_type": "transaction", "currency": "EUR", "date": "2024-03-01"}
    await desk.ingest(
        {**paid, "amount": -10, "merchant_name": "Bakery", "status": "completed"},
        {**paid, "amount": -99, "merchant_name": "Hotel", "status": state},
    )
    asked = {"entity_type": "transaction", "field": "amount"}
    told = await desk.call("summarise_records", **asked)
    by_state = await desk.call("summarise_records", **asked, group_by=["status"])

    assert [each["sum"] for each in told["totals"]] == ["-10"]
    assert [(e["field"], e["reason"], e["count"]) for e in told["left_out"]] == [
        ("status", "not_booked", 1)
    ]
    assert [each["sum"] for each in by_state["totals"]] == ["-109"]
