"""Receipts of tills label nothing: the sum is read where prices or a payment prove it."""

from typing import Any

import pytest

from canonry.canon.ports.files import FileType, Reading
from canonry.documents.extraction.rules import interpret_reading
from canonry.language.texts.sentences import Part
from canonry.log.schemas.truth_types import TRUTH_TYPES


def read_receipt(text: str) -> tuple[str, dict[str, Any]]:
    """The type and the fields of the only entity in a text."""
    reading = Reading(kind=FileType.PLAIN, name="scan.txt", parts=(Part(text=text),))
    (found,) = interpret_reading(reading, tuple(TRUTH_TYPES.values())).entities
    return found.entity_type, dict(found.fields)


TOP = "CORNER SHOP\n12 High St\n14.03.2024 09:41\n"
GOODS = "BREAD 2.50 A\nMILK 1.15 B\n2 x 0.40 0.80\n"


@pytest.mark.parametrize(
    "rest",
    [
        "TOTAL EUR 4.45\nCASH 5.00\nCHANGE 0.55",
        "SUBTOTAL 4.45\nTAX 0.36\nTOTAL 4.81 EUR\nVISA 4.81",
        "TOTAL \u20ac4.45\nThank you",
        "Summe 4.45 EUR\nMwSt 7% 0.29\nBAR 10.00\nR\u00fcckgeld 5.55",
    ],
)
def test_a_sum_matching_its_prices_is_a_receipt(rest: str) -> None:
    kind, fields = read_receipt(f"{TOP}{GOODS}{rest}")

    assert kind == "receipt"
    assert fields["merchant_name"] == "CORNER SHOP"
    assert fields["date_purchased"] == "2024-03-14"
    assert fields["amount_total"] in {4.45, 4.81}
    assert fields["currency"] == "EUR"
    assert [each["amount"] for each in fields["items"]] == [2.5, 1.15, 0.8]


def test_a_payment_proves_the_sum_if_a_price_is_unread() -> None:
    kind, fields = read_receipt(
        f"{TOP}BREAD 2.S0\nMILK 1.15\nTOTAL 3.65 EUR\nCASH 5.00\nCHANGE 1.35"
    )

    assert (kind, fields["amount_total"]) == ("receipt", 3.65)
    assert "items" not in fields


def test_a_misread_price_leaves_the_sum_unread() -> None:
    kind, fields = read_receipt(f"{TOP}BREAD 7.50\nMILK 1.15\nTOTAL 3.65 EUR\nThank you")

    assert kind == "note"
    assert "amount_total" not in fields


@pytest.mark.parametrize(
    "text",
    [
        "Budget\nRent 700.00\nFood 200.00\nTotal 900.00",
        "Hi Ann,\nat 10:30 we paid\nBread 2.50\nTotal 2.50",
        "Trip\n14.03.2024 09:41\nHotel 120.00\nTrain 40.00\nTotal 150.00",
    ],
)
def test_a_list_of_expenses_is_no_receipt(text: str) -> None:
    assert read_receipt(text)[0] == "note"


def test_an_ambiguous_day_stays_open() -> None:
    text = f"CORNER SHOP\n03/04/2024 09:41\n{GOODS}TOTAL 4.45\nCASH 5.00\nCHANGE 0.55"
    kind, fields = read_receipt(text)

    assert kind == "receipt"
    assert "date_purchased" not in fields


def test_a_tip_is_part_of_the_paid_sum() -> None:
    text = f"{TOP}{GOODS}TOTAL 4.45 EUR\nTip 0.55\nTOTAL 5.00 EUR\nVISA 5.00"

    assert read_receipt(text)[1]["amount_total"] == 5.0
