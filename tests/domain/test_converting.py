"""Converting: values become what their field holds, exactly, or are kept as they came."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.log.schemas.schemas import FieldSpec, FieldType
from canonry.log.schemas.typed_records import Converted, Unconvertible, convert_value
from canonry.values.calendar_dates import read_date
from canonry.values.moments import render_instant


def converted_value(value: Any, field_type: FieldType, choices: tuple[str, ...] = ()) -> Any:
    spec = FieldSpec(name="f", type=field_type, choices=choices)
    found = convert_value(value, spec)
    return found.value if isinstance(found, Converted) else found.reason


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,234.50", "1234.50"),
        ("1.234,50", "1234.50"),
        ("\u20ac 1.500,00", "1500.00"),
        ("1 500.50", "1500.50"),
        ("1'000", "1000"),
        ("$1,500.50", "1500.50"),
        ("-$5", "-5"),
        ("$-5", "-5"),
        ("(12.50)", "-12.50"),
        ("5-", "-5"),
        ("USD 12", "12"),
        ("12 EUR", "12"),
        ("1234,567", "1234.567"),
        ("1234.567", "1234.567"),
        ("1,2345", "1.2345"),
        ("0,125", "0.125"),
        ("0.125", "0.125"),
        ("1 234", "1234"),
        ("1,234,567", "1234567"),
        ("12,5", "12.5"),
        ("1.234.567", "1234567"),
        ("12345678901234567890", "12345678901234567890"),
    ],
)
def test_numbers_are_read_in_their_notations(text: str, number: str) -> None:
    read = converted_value(text, FieldType.NUMBER)
    assert Decimal(str(read)) == Decimal(number)
    assert isinstance(read, int | float)


@pytest.mark.parametrize(
    "text", ["", "abc", "$", "1,23,4", "15%", "nan", "inf", "12 apples", "1-2", "0x10", "9" * 300]
)
def test_text_that_is_no_number_stays_unchanged(text: str) -> None:
    assert converted_value(text, FieldType.NUMBER) == "not_a_number"


@pytest.mark.parametrize(
    "text", ["1.250", "1,250", "-1.250", "(12,500)", "1.250 EUR", "EUR 125.000", "$1,250", "9.999-"]
)
def test_an_ambiguous_number_is_none(text: str) -> None:
    assert converted_value(text, FieldType.NUMBER) == "unclear_number"


def test_numbers_stay_exact() -> None:
    assert converted_value("12345678901234567890", FieldType.NUMBER) == 12345678901234567890
    assert converted_value(12345678901234567890, FieldType.NUMBER) == 12345678901234567890
    assert converted_value("1500.50", FieldType.NUMBER) == 1500.5
    assert converted_value("0.12345678901234567890123", FieldType.NUMBER) == "not_exact"
    assert converted_value(True, FieldType.NUMBER) == "not_a_number"


@given(number=st.integers())
def test_every_whole_number_is_read_back_unless_ambiguous(number: int) -> None:
    if len(str(number)) < 200:
        unclear = 1_000 <= abs(number) < 1_000_000
        expected = "unclear_number" if unclear else number
        assert converted_value(f"{number:,}", FieldType.NUMBER) == expected
        assert converted_value(str(number), FieldType.NUMBER) == number


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2025-01-15", "2025-01-15"),
        ("2025/1/5", "2025-01-05"),
        ("15.01.2025", "2025-01-15"),
        ("13/04/2025", "2025-04-13"),
        ("04/13/2025", "2025-04-13"),
        ("05/05/2025", "2025-05-05"),
        ("January 15, 2025", "2025-01-15"),
        ("Wednesday, January 15th, 2025", "2025-01-15"),
        ("15 Jan 2025", "2025-01-15"),
        ("15. Januar 2025", "2025-01-15"),
        ("15 de enero de 2025", "2025-01-15"),
        ("20250115", "2025-01-15"),
        ("2025-01-15T10:00:00+02:00", "2025-01-15T10:00:00+02:00"),
        ("2025-01-15 10:00", "2025-01-15T10:00:00Z"),
        ("Wed, 15 Jan 2025 10:00:00 +0100", "2025-01-15T10:00:00+01:00"),
        (1736899200, "2025-01-15T00:00:00Z"),
        (1736899200000, "2025-01-15T00:00:00Z"),
        (1736899200000000000, "2025-01-15T00:00:00Z"),
    ],
)
def test_dates_are_read_in_their_notations(text: str | int, iso: str) -> None:
    assert converted_value(text, FieldType.DATE) == iso


@pytest.mark.parametrize(
    "text",
    [
        "2025-02-30",
        "2025-13-01",
        "03/04/2025",
        "2025",
        "banana",
        "",
        "January 32, 2025",
        "2025-01-15T25:00:00Z",
        "0000-01-01",
        12,
        10**30,
        True,
        [],
    ],
)
def test_an_impossible_day_is_not_rolled_over(text: object) -> None:
    assert converted_value(text, FieldType.DATE) == "not_a_date"


def test_one_instant_in_two_notations_is_one_instant() -> None:
    east, west = read_date("2025-01-15T10:00:00+02:00"), read_date("2025-01-15T00:00:00-08:00")

    assert east is not None
    assert west is not None
    assert east.instant == west.instant
    assert render_instant(east.instant) == "2025-01-15T08:00:00Z"


@given(day=st.dates())
def test_every_day_of_the_calendar_is_read(day: Any) -> None:
    read = read_date(day.isoformat())

    assert read is not None
    assert read.text == day.isoformat()
    assert render_instant(read.instant) == f"{day.isoformat()}T00:00:00Z"


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ("Yes", FieldType.BOOLEAN, True),
        (0, FieldType.BOOLEAN, False),
        ("maybe", FieldType.BOOLEAN, "not_a_boolean"),
        (7, FieldType.STRING, "7"),
        (True, FieldType.STRING, "true"),
        ({}, FieldType.STRING, "not_a_string"),
        ("a", FieldType.ARRAY, ["a"]),
        (["a", 1], FieldType.ARRAY, ["a", 1]),
        ({}, FieldType.ARRAY, "not_an_array"),
        ({"a": 1}, FieldType.OBJECT, {"a": 1}),
        ([], FieldType.OBJECT, "not_an_object"),
    ],
)
def test_other_values_are_converted_to_the_type_of_the_field(
    value: Any, kind: FieldType, expected: Any
) -> None:
    assert converted_value(value, kind) == expected


def test_a_choice_is_one_of_the_offered_ones() -> None:
    assert converted_value("PASSED", FieldType.STRING, ("passed", "failed")) == "passed"
    assert converted_value("meh", FieldType.STRING, ("passed", "failed")) == "not_a_choice"
    unfit = convert_value({}, FieldSpec(name="f", choices=("a",)))
    assert unfit == Unconvertible(reason="not_a_string")
