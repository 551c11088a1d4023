"""Exports of payment services: amounts, directions, states and kinds as each service means them."""

import json
from typing import Any

import pytest

from canonry.canon.ports.files import FileType, Reading
from canonry.documents.extraction.rules import interpret_reading
from canonry.documents.readers.reader import records_of
from canonry.records.domain.interpretations import Interpretation
from tests.domain.extraction.papers import SCHEMAS

MOVED = "balance_transaction"
MORNING = 1_704_153_600  # 2024-01-02T00:00:00Z


def read_answer(value: Any, name: str = "export.json") -> Interpretation:
    records, _, notes = records_of(json.dumps(value), 10_000)
    reading = Reading(kind=FileType.JSON, name=name, records=records, notes=notes)
    return interpret_reading(reading, SCHEMAS)


def select_fields(done: Interpretation, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(each.fields.get(name) for name in names) for each in done.entities]


def plaid_payment(number: int, amount: float, **more: Any) -> dict[str, Any]:
    about = {"account_id": "A", "date": "2024-01-02", "name": "SHOP 7", "pending": False}
    codes = {"iso_currency_code": "USD", "unofficial_currency_code": None}
    return {"transaction_id": f"t{number}", "amount": amount, **about, **codes, **more}


def stripe_object(kind: str, **more: Any) -> dict[str, Any]:
    about = {"id": f"{kind}_1", "object": kind, "created": MORNING, "currency": "eur"}
    return {**about, **more}


def list_answer(*objects: dict[str, Any]) -> dict[str, Any]:
    return {"object": "list", "url": "/v1/x", "has_more": False, "data": list(objects)}


def test_plaid_marks_outgoing_money_with_a_plus() -> None:
    account = {"account_id": "A", "name": "Checking", "balances": {"current": 5}}
    lines = [
        plaid_payment(1, 72.1, merchant_name="Alder"),
        plaid_payment(2, -1200),
        plaid_payment(3, 9, pending=True),
    ]
    reply = {"accounts": [account], "transactions": lines, "total_transactions": 3, "item": {}}
    done = read_answer({**reply, "request_id": "r1"})

    assert select_fields(
        done, "transaction_id", "amount", "currency", "merchant_name", "account_id"
    )[:2] == [
        ("t1", -72.1, "USD", "Alder", "A"),
        ("t2", 1200, "USD", None, "A"),
    ]
    assert done.entities[2].fields["name"] == "Checking"
    assert len(done.entities) == 3
    assert "1 lines that are not booked were left out: pending." in done.warnings


@pytest.mark.parametrize(
    ("code", "minor", "amount"),
    [("eur", 1050, 10.5), ("jpy", 1050, 1050), ("kwd", 1050, 1.05), ("usd", 5, 0.05)],
)
def test_stripe_amounts_are_in_the_smallest_unit(code: str, minor: int, amount: float) -> None:
    done = read_answer(
        list_answer(stripe_object("charge", amount=minor, currency=code, status="succeeded"))
    )

    assert select_fields(done, "amount", "currency") == [(amount, code.upper())]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (stripe_object("charge", amount=1000, status="succeeded", captured=True), (10, None)),
        (stripe_object("charge", amount=1000, status="succeeded", amount_refunded=300), (7, None)),
        (stripe_object("refund", amount=1000, status="succeeded"), (-10, "refund")),
        (stripe_object("payout", amount=1000, status="paid", arrival_date=MORNING), (-10, None)),
        (stripe_object(MOVED, amount=1000, fee=59, net=941, type="charge"), (9.41, None)),
        (stripe_object(MOVED, amount=-1000, fee=0, net=-1000, type="refund"), (-10, "refund")),
        (stripe_object(MOVED, amount=-59, fee=0, net=-59, type="stripe_fee"), (-0.59, "fee")),
    ],
)  # fmt: skip
def test_each_stripe_object_has_a_direction_and_a_kind(
    fields: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    done = read_answer(list_answer(fields))

    assert select_fields(done, "amount", "kind") == [expected]
    assert select_fields(done, "date", "transaction_id") == [("2024-01-02", fields["id"])]


@pytest.mark.parametrize(
    "fields",
    [
        stripe_object("charge", amount=1000, status="succeeded", captured=False),
        stripe_object("charge", amount=1000, status="failed"),
        stripe_object("payout", amount=1000, status="in_transit"),
        stripe_object("payout", amount=1000, status="canceled"),
        stripe_object(MOVED, amount=1000, net=941, status="pending", type="charge"),
    ],
)
def test_unbooked_stripe_objects_are_left_out_with_a_note(fields: dict[str, Any]) -> None:
    done = read_answer(list_answer(fields))

    assert done.entities == ()
    assert any("1 lines that are not booked were left out" in each for each in done.warnings)


def test_a_stripe_invoice_is_an_invoice_with_its_state() -> None:
    sums = {"total": 11900, "subtotal": 10000, "tax": 1900, "amount_due": 11900}
    lines = {"data": [{"description": "Hours", "amount": 10000}]}
    names = {"account_name": "Alder Ltd", "customer_name": "Ann Lee", "number": "A-7"}
    about = {"status": "paid", "due_date": MORNING + 86_400, "lines": lines}
    done = read_answer(
        list_answer(stripe_object("invoice", **sums, **names, **about)), "invoices.json"
    )
    (found,) = done.entities

    assert found.entity_type == "invoice"
    assert select_fields(
        done, "invoice_number", "invoice_date", "date_due", "amount_due", "currency"
    ) == [("A-7", "2024-01-02", "2024-01-03", 119, "EUR")]
    assert select_fields(done, "vendor_name", "customer_name", "status", "tax_amount") == [
        ("Alder Ltd", "Ann Lee", "paid", 19)
    ]
    assert found.fields["lines_data_description"] == "Hours"


def test_other_objects_with_such_members_are_no_payments() -> None:
    done = read_answer(
        [{"object": "charge", "name": "Cavalry"}, {"object": "lamp", "name": "Desk"}]
    )

    assert "transaction" not in {each.entity_type for each in done.entities}


@pytest.mark.parametrize("amount", [None, "a lot", True, [5], 10**40])
def test_an_amount_that_is_no_number_is_no_payment(amount: Any) -> None:
    done = read_answer(
        list_answer(stripe_object("charge", amount=amount, status="succeeded", description="Lamp"))
    )

    assert "amount" not in {name for each in done.entities for name in each.fields}
