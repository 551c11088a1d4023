"""Numbers: marks of several countries, signs, currencies, exactness, and never a guess."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.records.notation.numbers import currency_in, dollar_in, mark_in, number_in


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$5,000.00 USD", "5000.00"),
        ("1.234,56 \u20ac", "1234.56"),
        ("1'234.50 CHF", "1234.50"),
        ("1 234,56", "1234.56"),
        ("1\xa0234\xa0567", "1234567"),
        ("1.234.567", "1234567"),
        ("(123.45)", "-123.45"),
        ("-50.00", "-50.00"),
        ("\u221250", "-50"),
        ("\u20ac -3,50", "-3.50"),
        ("12,50-", "-12.50"),
        ("0.125", "0.125"),
        ("15%", "15"),
        ("1234.567", "1234.567"),
        ("12345678901234567890", "12345678901234567890"),
    ],
)
def test_a_number_is_read_in_the_notations_of_several_countries(text: str, value: str) -> None:
    seen = number_in(text)

    assert seen is not None
    assert seen.value == Decimal(value)


@pytest.mark.parametrize("text", ["1,234", "1.234", "USD 5,000", "1,234,56"])
def test_an_ambiguous_mark_is_left_unclear(text: str) -> None:
    seen = number_in(text)

    assert seen is not None
    assert seen.value is None
    assert seen.json_number is None
    assert "mark" in seen.reason


def test_evidence_settles_an_unclear_mark() -> None:
    assert mark_in("5.50 and 1,200") == "."
    assert mark_in("5,50 and 1.200") == ","
    assert mark_in("5.50 and 5,50") is None
    said = [number_in("1,200", "."), number_in("1.200", "."), number_in("1.200", None, ".")]
    assert [None if seen is None else seen.json_number for seen in said] == [1200, 1.2, 1200]


def test_a_thousands_separator_does_not_decide_the_other_mark() -> None:
    seen = number_in("1.250", None, ",")

    assert seen is not None
    assert seen.value is None


def test_whole_numbers_stay_whole_and_large_ones_exact() -> None:
    large, plain = number_in("9007199254740993"), number_in("9.50")

    assert large is not None
    assert plain is not None
    assert (large.json_number, plain.json_number) == (9007199254740993, 9.5)


@pytest.mark.parametrize(
    ("text", "currency"),
    [
        ("5,000 USD", "USD"),
        ("EUR 5", "EUR"),
        ("5 \u20ac", "EUR"),
        ("\xa35", "GBP"),
        ("CA$5", "CAD"),
        ("5 THE", None),
        ("$5", None),
        ("5", None),
    ],
)
def test_a_currency_is_named_by_code_or_sign(text: str, currency: str | None) -> None:
    assert currency_in(text) == currency


def test_a_bare_dollar_sign_takes_the_currency_of_the_document() -> None:
    assert dollar_in("all prices in CAD") == "CAD"
    assert dollar_in("CAD or USD") is None
    assert currency_in("$5", "CAD") == "CAD"


AMOUNTS = st.decimals(min_value=0, max_value=10**9, places=2, allow_nan=False)


@given(AMOUNTS)
def test_an_amount_with_cents_is_read_alike_in_every_notation(amount: Decimal) -> None:
    english = f"{amount:,.2f}"
    german = english.replace(",", "_").replace(".", ",").replace("_", ".")
    swiss = english.replace(",", "'")

    for written in (english, german, swiss, f"{amount:.2f}"):
        seen = number_in(f"Total: {written}")
        assert seen is not None
        assert seen.value == amount
