"""Calendars: every day has one name, and the order of dates is the order of instants."""

from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.values.calendars.declaring import read_calendar
from canonry.values.calendars.reckoning import GREGORIAN, Calendar, time_in_words
from canonry.values.errors import InvalidInput
from canonry.values.moments import (
    DAY,
    SECOND,
    Instant,
    StoryPosition,
    parse_instant,
    rank_in_stories,
    render_instant,
)
from tests.domain.calendars.examples import ALDMOOR, ROUNDS, read_time

SECONDS = st.integers(-9 * 10**12, 2 * 10**12)


_names = st.permutations(
    [
        *("Frostmoon", "Days of the Dead", "The Day", "St. Anna's", "The 'Long' Night"),
        *("Élul", "Nacht-Mond", "Day of Day", "Of", "Before", "Æ", "月", "May", "Later than Late"),
    ]
)


@st.composite
def draw_calendar(draw: st.DrawFn) -> Calendar:
    """Any calendar that can be declared, with its leap rule, its eras and its odd days."""
    lengths = draw(st.lists(st.integers(1, 40), min_size=1, max_size=14))
    odd = draw(st.integers(0, len(lengths) - 1))
    backwards = {"name": "B.E.", "first_year": -10, "backwards": True}
    months: list[dict[str, Any]] = [
        {"name": name, "days": days, "intercalary": at == odd}
        for at, (name, days) in enumerate(zip(draw(_names), lengths, strict=False))
    ]
    declared: dict[str, Any] = {"name": "Drawn", "months": months}
    if draw(st.booleans()):
        every = draw(st.integers(1, 8))
        declared["leap"] = {"every": every, "month": months[odd]["name"], "days": 2}
        if draw(st.booleans()):
            declared["leap"] |= {"except": every * 5, "but": every * 20}
    if draw(st.booleans()):
        declared["eras"] = [{"name": "After the End", "first_year": -9}, backwards]
    if draw(st.booleans()):
        declared["week"] = [f"Day {chr(97 + at)}" for at in range(draw(st.integers(1, 9)))]
    return read_calendar(declared)


@given(calendar=draw_calendar() | st.sampled_from([GREGORIAN, ALDMOOR]), seconds=SECONDS)
def test_a_spoken_date_is_read_back_to_the_second(calendar: Calendar, seconds: int) -> None:
    instant = Instant(seconds * SECOND)

    assert read_time(time_in_words(instant, calendar), calendar) == instant


@given(calendar=draw_calendar(), start=st.integers(-1_000_000, 1_000_000))
def test_every_day_of_a_range_has_its_own_name_and_follows_the_previous(
    calendar: Calendar, start: int
) -> None:
    days = [Instant(calendar.begins + (start + at) * DAY) for at in range(400)]
    dates = [calendar.date_of(day) for day in days]

    assert dates == sorted(set(dates))
    assert [calendar.instant_of(*each) for each in dates] == days


@given(
    calendar=draw_calendar() | st.sampled_from([GREGORIAN, ALDMOOR]), first=SECONDS, second=SECONDS
)
def test_the_order_of_dates_is_the_order_of_instants(
    calendar: Calendar, first: int, second: int
) -> None:
    first, second = sorted((first, second))

    earlier, later = (calendar.date_of(Instant(each * SECOND)) for each in (first, second))

    assert earlier <= later


@given(day=st.dates())
def test_the_default_calendar_equals_the_standard_library(day: date) -> None:
    instant = parse_instant(f"{day.isoformat()}T00:00:00Z")

    assert GREGORIAN.date_of(instant) == (day.year, day.month - 1, day.day)
    assert GREGORIAN.weekday_of(instant) == day.strftime("%A")
    assert read_time(f"{day.day} {day:%B} {day.year}") == instant


@given(day=st.dates(), cycles=st.integers(-720, 150))
def test_the_calendar_repeats_beyond_the_library_years(day: date, cycles: int) -> None:
    near = parse_instant(f"{day.isoformat()}T12:30:00Z")
    far = Instant(near + cycles * 146_097 * DAY)

    year, month, of_month = GREGORIAN.date_of(far)

    assert (year, month + 1, of_month) == (day.year + 400 * cycles, day.month, day.day)
    assert parse_instant(render_instant(far)) == far
    assert read_time(render_instant(far)) == far


@given(seconds=st.integers(0, 10**9))
def test_counters_are_read_back(seconds: int) -> None:
    instant = Instant(ROUNDS.begins + seconds // 6 * 6 * SECOND)

    assert read_time(time_in_words(instant, ROUNDS), ROUNDS) == instant


@given(calendar=draw_calendar(), seconds=SECONDS, months=st.integers(-1_000, 1_000))
def test_months_later_are_later(calendar: Calendar, seconds: int, months: int) -> None:
    instant = Instant(seconds * SECOND)
    if sum(not each.intercalary for each in calendar.months) == 0:
        return
    moved = calendar.months_later(instant, months=months)

    if months > 0:
        assert moved > instant
    if months < 0:
        assert moved < instant


def test_leap_years_are_those_of_the_rule() -> None:
    days = [{"name": "All", "days": 365}]
    rule = {"every": 4, "except": 100, "but": 400, "month": "All"}
    calendar = read_calendar({"months": days, "leap": rule, "begins": "0001-01-01T00:00:00Z"})

    start = date(1, 1, 1)
    for year in (1, 4, 5, 100, 101, 400, 401, 1900, 2000, 2001, 2024, 2025):
        expected = (date(year, 1, 1) - start) / timedelta(days=1)
        assert calendar.years.first_day(year) == expected


@pytest.mark.parametrize(
    ("declared", "code", "path"),
    [
        ({}, "calendar.empty", "/calendar"),
        ({"months": [{"name": "M", "days": 3}], "counters": [{"name": "round"}]},
         "calendar.mixed", "/calendar"),
        ({"months": [{"name": "M", "days": 0}]}, "calendar.empty", "/calendar/months"),
        ({"months": [{"name": "M", "days": -1}]},
         "content.out-of-range", "/calendar/months/0/days"),
        ({"months": [{"name": "M 2"}]}, "calendar.name-malformed", "/calendar/months/0/name"),
        ({"months": [{"name": "M"}, {"name": "m"}]}, "calendar.name-repeats", "/calendar"),
        ({"months": [{"name": "M"}, {"name": "N", "short": ["m."]}]},
         "calendar.name-repeats", "/calendar"),
        ({"months": [{"name": "..."}]}, "calendar.name-malformed", "/calendar/months/0/name"),
        ({"months": [{"name": "\u200b"}]}, "calendar.name-malformed", "/calendar/months/0/name"),
        ({"months": [{"name": "M"}], "weeks": ["A"]}, "calendar.unknown-property", "/calendar"),
        ({"months": [{"name": "M"}], "leap": {"every": 4, "month": "N"}},
         "calendar.leap-malformed", "/calendar/leap"),
        ({"months": [{"name": "M"}], "leap": {"every": 4, "except": 6, "month": "M"}},
         "calendar.leap-malformed", "/calendar/leap"),
        ({"months": [{"name": "M"}], "begins": "long ago"}, "time.malformed", "/calendar/begins"),
        ({"counters": [{"name": "round"}], "week": ["A"]}, "calendar.mixed", "/calendar"),
        ({"months": "many"}, "content.wrong-type", "/calendar/months"),
    ],
)  # fmt: skip
def test_an_invalid_calendar_is_refused_at_the_faulty_part(
    declared: dict[str, Any], code: str, path: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_calendar(declared)

    assert (caught.value.code, caught.value.details["path"]) == (code, path)


def test_every_time_sorts_before_a_missing_one() -> None:
    first = parse_instant("-290000-01-01T00:00:00Z")
    last = parse_instant("+070000-12-31T23:59:59Z")

    undated, _ = rank_in_stories(StoryPosition(told=0))

    assert -(2**63) < first < last < undated
