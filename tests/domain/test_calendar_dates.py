"""Dates: many notations and languages, no day that does not exist, and never a guess."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.values.calendar_dates import DayOrder, dates_in, find_day_order, first_date

DAYS = st.dates(min_value=date(1971, 1, 1), max_value=date(2069, 12, 31))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2024-12-15", "2024-12-15"),
        ("2024/12/15", "2024-12-15"),
        ("on 2024-12-15.", "2024-12-15"),
        ("2024-12-15T10:00:00+02:00", "2024-12-15T10:00:00+02:00"),
        ("2024-12-15T10:00Z", "2024-12-15T10:00:00Z"),
        ("2024-12-15 10:00", "2024-12-15"),
        ("15/12/2024", "2024-12-15"),
        ("12/15/2024", "2024-12-15"),
        ("5/5/24", "2024-05-05"),
        ("31.12.99", "1999-12-31"),
        ("3.4.2024", "2024-04-03"),
        ("December 15, 2024", "2024-12-15"),
        ("Dec 15th, 2024", "2024-12-15"),
        ("15 December 2024", "2024-12-15"),
        ("the 1st of March 2024", "2024-03-01"),
        ("15-Dec-2024", "2024-12-15"),
        ("15. Dezember 2024", "2024-12-15"),
        ("1. M\xe4rz 2024", "2024-03-01"),
        ("3. J\xe4nner 2024", "2024-01-03"),
        ("5 de enero de 2025", "2025-01-05"),
        ("5 de septiembre del 2025", "2025-09-05"),
        ("1er f\xe9vrier 2024", "2024-02-01"),
        ("29 February 2024", "2024-02-29"),
    ],
)
def test_a_date_is_read_in_the_notations_of_several_countries(text: str, value: str) -> None:
    seen = first_date(text)

    assert seen is not None
    assert (seen.value, seen.reason) == (value, "")


@pytest.mark.parametrize("text", ["2025-02-30", "31.2.2024", "31 June 2024", "29 February 2023"])
def test_an_impossible_day_is_never_rolled_over(text: str) -> None:
    seen = first_date(text)

    assert seen is not None
    assert (seen.value, seen.reason) == (None, "there is no such day")


@pytest.mark.parametrize("text", ["03/04/2024", "1/2/24", "03-04-2024"])
def test_an_ambiguous_date_is_left_unclear(text: str) -> None:
    seen = first_date(text)

    assert seen is not None
    assert seen.value is None
    assert "either way" in seen.reason


def test_evidence_settles_an_ambiguous_date() -> None:
    assert find_day_order("03/04/2024 and 25/12/2024") is DayOrder.DAY
    assert find_day_order("03/04/2024 and 12/25/2024") is DayOrder.MONTH
    assert find_day_order("25/12/2024 and 12/25/2024") is None
    day, month = (first_date("03/04/2024", order) for order in DayOrder)
    assert day is not None
    assert month is not None
    assert (day.value, month.value) == ("2024-04-03", "2024-03-04")


def test_a_date_without_a_year_is_the_next_such_day() -> None:
    near = date(2024, 12, 15)

    assert [seen.value for seen in dates_in("12/20, 5 January, Feb 29", near=near)] == [
        "2024-12-20",
        "2025-01-05",
        "2028-02-29",
    ]
    assert [seen.value for seen in dates_in("12/20, 5 January")] == [None, None]


@pytest.mark.parametrize(
    "text",
    ["Q1 2024", "Net 30", "version 1.2.3", "10-12", "phone 555-0100", "4711", "1234-5678-9012"],
)
def test_text_that_only_looks_like_a_date_is_none(text: str) -> None:
    assert first_date(text) is None


@given(DAYS, st.sampled_from(["%Y-%m-%d", "%d.%m.%Y", "%d %B %Y", "%B %d, %Y", "%d-%b-%Y"]))
def test_every_day_is_read_as_written(day: date, notation: str) -> None:
    seen = first_date(f"Date: {day.strftime(notation)} (confirmed)")

    assert seen is not None
    assert seen.value == day.isoformat()


@given(DAYS)
def test_a_numeric_date_is_read_right_or_left_unclear(day: date) -> None:
    seen = first_date(day.strftime("%d/%m/%Y"))

    assert seen is not None
    assert seen.value in {day.isoformat(), None}
    assert (seen.value is None) == (day.day <= 12 and day.day != day.month)


@given(DAYS, st.integers(min_value=0, max_value=364))
def test_a_day_of_the_coming_year_is_found_without_its_year(near: date, days: int) -> None:
    day = near + timedelta(days=days)

    seen = first_date(day.strftime("%d %B"), near=near)

    assert seen is not None
    if (day.month, day.day) != (2, 29):
        assert seen.value == day.isoformat()
