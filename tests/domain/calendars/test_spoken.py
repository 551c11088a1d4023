"""Spoken times: what people write, what it resolves to, and what an error tells them."""

import pytest

from canonry.values.calendars.reckoning import GREGORIAN, Calendar, time_in_words
from canonry.values.errors import InvalidInput
from canonry.values.moments import DAY, SECOND, Instant, parse_instant, render_instant
from tests.domain.calendars.examples import ALDMOOR, ROUNDS, read_time

NOW = read_time("3 Frostmoon 1402 AE 10:00", ALDMOOR)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("3 Frostmoon 1402 AE", "3 Frostmoon 1402 AE"),
        ("the 3rd day of Frostmoon, 1402 AE", "3 Frostmoon 1402 AE"),
        ("Frostmoon 3, 1402 Age of Embers", "3 Frostmoon 1402 AE"),
        ("3 fro. 1402 ae at 14:30", "3 Frostmoon 1402 AE 14:30"),
        ("1402 AE", "1 Frostmoon 1402 AE"),
        ("1402 A.E.", "1 Frostmoon 1402 AE"),
        ("AE 1402", "1 Frostmoon 1402 AE"),
        ("Thaw 12 BE", "1 Thaw 12 BE"),
        ("Day of the Dead 1402 AE", "Day of the Dead 1402 AE"),
        ("7 High Sun 5 Third Age", "7 High Sun 5 Third Age"),
        ("Shieldmeet 1404 AE", "Shieldmeet 1404 AE"),
        ("5 Frostmoon", "5 Frostmoon 1402 AE"),
        ("5 Frostmoon 07:00:05", "5 Frostmoon 1402 AE 07:00:05"),
        ("now", "3 Frostmoon 1402 AE 10:00"),
        ("next day", "4 Frostmoon 1402 AE 10:00"),
        ("the following day", "4 Frostmoon 1402 AE 10:00"),
        ("tomorrow", "4 Frostmoon 1402 AE 10:00"),
        ("two hours later", "3 Frostmoon 1402 AE 12:00"),
        ("in twenty-five minutes", "3 Frostmoon 1402 AE 10:25"),
        ("three days before", "30 Leaffall 1401 AE 10:00"),
        ("a week ago", "28 Leaffall 1401 AE 10:00"),
        ("2 months later", "3 High Sun 1402 AE 10:00"),
        ("a year earlier", "3 Frostmoon 1401 AE 10:00"),
        ("1500 years before that", "3 Frostmoon 99 BE 10:00"),
    ],
)
def test_a_declared_calendar_reads_its_dates(text: str, shown: str) -> None:
    assert time_in_words(read_time(text, ALDMOOR, NOW), ALDMOOR) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2025-01-15T12:00:00Z", "2025-01-15T12:00:00Z"),
        ("2025-01-15T12:00:00+02:00", "2025-01-15T10:00:00Z"),
        ("2025-01-15", "2025-01-15T00:00:00Z"),
        ("15 March 44 BC", "-000043-03-15T00:00:00Z"),
        ("March 15, 44 BCE", "-000043-03-15T00:00:00Z"),
        ("1 BC", "+000000-01-01T00:00:00Z"),
        ("AD 1", "0001-01-01T00:00:00Z"),
        ("1402", "1402-01-01T00:00:00Z"),
        ("12025 AD", "+012025-01-01T00:00:00Z"),
        ("3 February 40000", "+040000-02-03T00:00:00Z"),
        ("-000043-03-15", "-000043-03-15T00:00:00Z"),
        ("+012025-02-28T10:00:00+01:00", "+012025-02-28T09:00:00Z"),
        ("29 Feb 2024", "2024-02-29T00:00:00Z"),
        ("4 juillet 1776", "1776-07-04T00:00:00Z"),
        ("Thursday, 4 July 1776", "1776-07-04T00:00:00Z"),
        ("200000 BC", "-199999-01-01T00:00:00Z"),
    ],
)
def test_the_default_calendar_reads_dates(text: str, shown: str) -> None:
    assert render_instant(read_time(text)) == shown


def test_the_last_day_of_a_month_stays_one() -> None:
    january = parse_instant("2024-01-31T08:00:00Z")

    assert render_instant(read_time("a month later", GREGORIAN, january)) == "2024-02-29T08:00:00Z"
    leap = parse_instant("2024-02-29T00:00:00Z")
    assert render_instant(read_time("next year", GREGORIAN, leap)) == "2025-02-28T00:00:00Z"


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("day 1", 0),
        ("day 12", 11 * DAY),
        ("Round 3", 12 * SECOND),
        ("day 2, round 3", DAY + 12 * SECOND),
    ],
)
def test_bare_counters_count_from_one(text: str, after: int) -> None:
    assert read_time(text, ROUNDS) == ROUNDS.begins + after
    assert read_time("three rounds later", ROUNDS, Instant(0)) == 18 * SECOND


@pytest.mark.parametrize(
    ("text", "calendar", "code", "words"),
    [
        ("3 Frostmon 1402 AE", ALDMOOR, "time.month-unknown", "Did you mean Frostmoon?"),
        ("3 Frostmon 1402 AE", ALDMOOR, "time.month-unknown", "Frostmoon, Thaw, Day of the Dead"),
        ("3 Brumaire 1402 AE", ALDMOOR, "time.month-unknown", "Eras are BE, AE, Third Age"),
        ("31 Frostmoon 1402 AE", ALDMOOR, "time.no-such-day", "Frostmoon 1402 AE has 30 days"),
        ("Shieldmeet 1402 AE", ALDMOOR, "time.no-such-day", "There is no Shieldmeet 1402 AE"),
        ("2001 AE", ALDMOOR, "time.no-such-day", "Its last year is 2000"),
        ("3 Frostmoon 1402", ALDMOOR, "time.era-unknown", "AE, Third Age"),
        ("Moonday 4 Frostmoon 1402 AE", ALDMOOR, "time.weekday-wrong", "is a "),
        ("0 BE", ALDMOOR, "time.no-such-day", "from 1"),
        ("some day", ALDMOOR, "time.malformed", "Write it like 30 High Sun 2221"),
        ("", ALDMOOR, "time.malformed", "Write it like"),
        ("x" * 1_000, ALDMOOR, "time.malformed", "Write it like"),
        ("round", ROUNDS, "time.malformed", "Write it like day 1"),
        ("3 Frostmoon 1402 AE 25:00", ALDMOOR, "time.malformed", "14:30"),
        ("two hours later", ALDMOOR, "time.relative-to-nothing", "give the scene a time"),
        ("3 Frostmoon", ALDMOOR, "time.relative-to-nothing", "no year"),
        ("300000 BC", GREGORIAN, "time.out-of-range", "-290000"),
        ("+070001-01-01", GREGORIAN, "time.out-of-range", "70000"),
        ("2025-02-29", GREGORIAN, "time.malformed", "No such time exists"),
        ("30 February 44 BC", GREGORIAN, "time.no-such-day", "February 44 BC has 28 days"),
        ("whenever", GREGORIAN, "time.malformed", "2025-01-15T12:00:00Z"),
    ],
)
def test_text_without_a_time_is_refused_with_an_example(
    text: str, calendar: Calendar, code: str, words: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_time(text, calendar, path="/time_ref")

    assert (caught.value.code, caught.value.details["path"]) == (code, "/time_ref")
    assert words in caught.value.message


@pytest.mark.parametrize(
    "text", ["900000 years later", "999999999 months before", "900000 years ago"]
)
def test_dates_beyond_the_supported_years_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_time(text, ALDMOOR, NOW)

    assert caught.value.code == "time.out-of-range"
