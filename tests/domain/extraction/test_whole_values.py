"""Whole values: a number or a day is the whole text or nothing, and never its first digits."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from canonry.log.schemas.schemas import FieldSpec, FieldType
from canonry.log.schemas.typed_records import Converted, convert_value
from canonry.records.notation.numbers import SeenNumber, currency_in, mark_in, number_in
from canonry.values.calendar_dates import first_date, read_date, read_day
from tests.domain.extraction.papers import from_rows, from_text

PARTS = [
    "\u20ac1.47.000,00",
    "1,47,00.00",
    "1,234.567.89",
    "1234,567.00",
    "1'47'000",
    "1,2,3",
    "5.5.5",
    "10 000 00",
    "$1.5k",
    "\xa31m",
    "\u20ac 3.4bn",
    "2 million",
    "1,5 Mio. EUR",
    "3 Tsd. EUR",
    "5 lakh",
    "2 crore",
    "3 dozen",
    "100 - 200",
    "100-200",
    "100\u2013200",
    "EUR 100\u2013200",
    "100 to 200",
    "100 bis 200 EUR",
    "100 or 200",
    "50 / 60 EUR",
    "2 x 50.00",
    "2x50",
    "99 cents",
    "99 ct",
    "99\xa2",
    "50p",
    "20 gr",
    "1/2",
    "1\xbd",
    "3 1/2",
    "1.2e5",
    "1_000",
    "0x10",
    "12:30",
    "--5.00",
    "-5.00-",
    "~500",
    "> 500",
    "500+",
    "500?",
    "5\u20ac20",
    "5 items",
    "12 months at 50.00 EUR",
    "approx. 500 EUR",
    "up to 500 EUR",
    "ab 500 EUR",
    "minus 50.00",
    "10% of 500.00",
    "50.00 EUR CR",
    "100.O0",
    "1O0.00",
]
"""Texts whose first digits are another value than the whole."""


@pytest.mark.parametrize("text", PARTS)
def test_the_first_digits_of_an_amount_are_never_its_value(text: str) -> None:
    (row,) = from_rows(
        ("Date", "Payee", "Amount", "Currency"), ("2024-01-30", "Alder", text, "EUR")
    )
    bills = from_text(f"INVOICE\nInvoice number: R-1\nInvoice date: 2024-05-13\nTotal: {text}\n")

    assert row.fields.get("amount", text) == text, "the schema keeps such a text as a fragment"
    assert not any(isinstance(each, int | float) for each in bills[0].fields.values())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("\u20b9 1,47,000.00", "147000.00"),
        ("1,00,000", "100000"),
        ("12,34,567", "1234567"),
        ("CHF 1'978", "1978"),
        ("CHF 5.-", "5"),
        ("5 000:- kr", "5000"),
        ("$-5.00", "-5.00"),
        ("-$5.00", "-5.00"),
        ("$(5.00)", "-5.00"),
        ("\u201350.00", "-50.00"),
        ("\u096b\u0966\u0966", "500"),
        ("- 50.00", "-50.00"),
        ("\u2212 50.00 EUR", "-50.00"),
        ("\u2212\xa0EUR 50.00", "-50.00"),
        ("\u2013 50.00", "-50.00"),
        ("( 50.00 )", "-50.00"),
        ("\uff11\uff12\uff13", "123"),
        ("\u0661\u066b\u0665\u0660", "1.50"),
        ("USD1,000.50", "1000.50"),
        ("1\u2009000.50 EUR", "1000.50"),
    ],
)
def test_a_whole_number_is_read_in_every_notation(text: str, value: str) -> None:
    for seen in (number_in(text), number_in(text, whole=True)):
        assert seen == SeenNumber(value=Decimal(value))


@pytest.mark.parametrize("text", ["INV-77", "A4", "Nr.5", "5 USD 6 EUR", "500 (paid)", "(5", "5)"])
def test_a_text_with_more_than_a_number_is_no_number(text: str) -> None:
    assert number_in(text, whole=True) is None


@pytest.mark.parametrize("text", ["EUR - 50.00", "$ \u2212 5", "USD \u2013 5.00"])
def test_a_dash_between_a_currency_and_a_number_may_be_a_sign(text: str) -> None:
    for seen in (number_in(text), number_in(text, whole=True)):
        assert seen is not None
        assert seen.value is None


def test_digits_in_a_name_are_not_the_number_after_it() -> None:
    assert number_in("INV-77 500.00") == SeenNumber(value=Decimal("500.00"))


def test_groups_of_two_digits_are_no_decimals() -> None:
    assert mark_in("1,47,500.00") == "."
    assert mark_in("2,50,000") == "."


@pytest.mark.parametrize(
    "text", ["NT$5", "TT$5", "Fr. 12.05.2024", "Eurostar", "European", "PAPER"]
)
def test_letters_of_another_word_are_no_currency(text: str) -> None:
    assert currency_in(text, "USD") is None


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("13 May 24", "2024-05-13"),
        ("13-May-24", "2024-05-13"),
        ("13 May '24", "2024-05-13"),
        ("Mon 13 May 2024", "2024-05-13"),
        ("13/05/2024 10:00:00", "2024-05-13"),
        ("05/13/2024 1:00 PM", "2024-05-13"),
        ("13.05.24 10:00 Uhr", "2024-05-13"),
        ("20240513101500", "2024-05-13"),
    ],
)
def test_a_day_may_have_a_weekday_and_a_time_beside_it(text: str, day: str) -> None:
    seen = read_day(text)

    assert seen is not None
    assert seen.value == day


@pytest.mark.parametrize(
    "text",
    [
        "1 May 2024 - 5 May 2024",
        "5\u20137 May 2024",
        "13/05/24 - 14/05/24",
        "13 May 2024 or later",
        "before 13 May 2024",
        "INV 2024-05-13-7",
        "20241332",
    ],
)
def test_one_of_several_days_is_never_the_value(text: str) -> None:
    seen = read_day(text)
    (row,) = from_rows(("Date", "Payee", "Amount"), (text, "Alder", "5.00"))
    days = {name: value for name, value in row.fields.items() if "date" in name}

    assert seen is None or seen.value is None
    assert not any(read_date(str(each)) for each in days.values())


def test_a_two_digit_year_is_not_left_out() -> None:
    seen: Any = first_date("13 May 24", near=date(2024, 6, 1))

    assert seen.value == "2024-05-13"


@pytest.mark.parametrize("text", ["5\u20137 May 2024", "30.04.\u201305.05.2024", "5-7 May 2024"])
def test_the_last_of_several_days_is_not_the_first(text: str) -> None:
    assert first_date(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "within 30 days of 1 May 2024",
        "1 May 2024 or 1 June 2024",
        "between 1 May 2024 and 5 May 2024",
        "not before 1 May 2024",
    ],
)
def test_a_relative_day_is_left_open(text: str) -> None:
    (bill,) = from_text(
        "INVOICE\nInvoice number: R-1\nInvoice date: 2024-05-01\n"
        f"Due date: {text}\nTotal: 5.00 EUR\n"
    )

    assert "date_due" not in bill.fields
    assert "changes it" in bill.unread["date_due"].reason


@pytest.mark.parametrize("text", ["--5", "-5-", "(-5)", "-$-5", *PARTS])
def test_a_record_without_a_number_in_its_file_has_none(text: str) -> None:
    read = convert_value(text, FieldSpec(name="amount", type=FieldType.NUMBER))

    # A power of ten is written whole by programs.
    assert not isinstance(read, Converted) or text == "1.2e5"
