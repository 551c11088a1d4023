"""Phrases of time: what a game master says, when it is, and how precisely it is shown again."""

import pytest

from canonry.values.calendars.declaring import (
    read_calendar,
    read_rough_time,
    time_as_given,
    wording_of_time,
)
from canonry.values.calendars.reckoning import GREGORIAN, Grain, RoughTime, rough_in_words, span_of
from canonry.values.errors import InvalidInput
from canonry.values.moments import Instant, parse_instant, render_instant
from tests.domain.calendars.examples import ALDMOOR, ROUNDS

EVENING = RoughTime(start=parse_instant("1500-01-31T18:00:00Z"))
NIGHT = RoughTime(start=parse_instant("1500-02-01T02:30:00Z"))
DATE = RoughTime(start=parse_instant("1500-01-31T00:00:00Z"), grain=Grain.DAY)


def show_time(text: str, start: RoughTime | None = EVENING) -> str:
    return rough_in_words(read_rough_time(text, GREGORIAN, start), GREGORIAN)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the next morning", "morning of 1 February 1500"),
        ("that evening", "evening of 31 January 1500"),
        ("the same night", "night of 31 January 1500"),
        ("this morning", "morning of 31 January 1500"),
        ("in the morning", "morning of 1 February 1500"),
        ("the night before", "night of 30 January 1500"),
        ("three nights later", "night of 3 February 1500"),
        ("later that night", "night of 31 January 1500"),
        ("tomorrow evening", "evening of 1 February 1500"),
        ("two days later at dawn", "dawn of 2 February 1500"),
        ("same day", "31 January 1500"),
        ("a fortnight later", "14 February 1500"),
        ("three days later", "3 February 1500"),
        ("the day after tomorrow", "2 February 1500"),
        ("two dozen days later", "24 February 1500"),
        ("a few days later", "about 3 February 1500"),
        ("next week", "week of 7 February 1500"),
        ("three weeks later", "21 February 1500"),
        ("on Monday", "5 February 1500"),
        ("last Monday", "29 January 1500"),
        ("next March", "March 1500"),
        ("two months later", "March 1500"),
        ("the following spring", "spring of 1500"),
        ("three springs later", "spring of 1502"),
        ("last spring", "spring of 1499"),
        ("ten years earlier", "1490"),
        ("a century ago", "1400"),
        ("that year", "1500"),
        ("am nächsten Morgen", "morning of 1 February 1500"),
        ("am selben Abend", "evening of 31 January 1500"),
        ("in derselben Nacht", "night of 31 January 1500"),
        ("morgen früh", "morning of 1 February 1500"),
        ("morgen", "1 February 1500"),
        ("vor drei Tagen", "28 January 1500"),
        ("vierzehn Tage später", "14 February 1500"),
        ("nächste Woche", "week of 7 February 1500"),
        ("im folgenden Frühling", "spring of 1500"),
        ("am nächsten Freitag", "2 February 1500"),
        ("le lendemain matin", "morning of 1 February 1500"),
        ("ce soir-là", "evening of 31 January 1500"),
        ("la même nuit", "night of 31 January 1500"),
        ("trois jours plus tard", "3 February 1500"),
        ("il y a trois jours", "28 January 1500"),
        ("la veille", "30 January 1500"),
        ("la semaine prochaine", "week of 7 February 1500"),
        ("au printemps suivant", "spring of 1500"),
        ("a la mañana siguiente", "morning of 1 February 1500"),
        ("esa noche", "night of 31 January 1500"),
        ("mañana por la mañana", "morning of 1 February 1500"),
        ("mañana", "1 February 1500"),
        ("tres días después", "3 February 1500"),
        ("hace tres días", "28 January 1500"),
        ("la semana que viene", "week of 7 February 1500"),
        ("la primavera siguiente", "spring of 1500"),
    ],
)
def test_phrases_of_play_count_from_the_previous_time(text: str, expected: str) -> None:
    assert show_time(text) == expected
    with pytest.raises(InvalidInput) as caught:
        read_rough_time(text)
    assert caught.value.code == "time.relative-to-nothing"


@pytest.mark.parametrize(
    ("text", "last", "coming"),
    [
        ("since last Monday", "2026-11-23", "2026-11-23"),
        ("since October", "2026-10-01", "2027-10-01"),
        ("since 15 January", "2026-01-15", "2027-01-15"),
        ("January this year", "2026-01-01", "2026-01-01"),
        ("March of last year", "2025-03-01", "2025-03-01"),
        ("two years ago in March", "2024-03-01", "2024-03-01"),
        ("spring next year", "2027-03-01", "2027-03-01"),
        ("Thursday last week", "2026-11-26", "2026-11-26"),
        ("Monday next week", "2026-12-07", "2026-12-07"),
        ("this March", "2026-03-01", "2027-03-01"),
        ("this December", "2026-12-01", "2026-12-01"),
        ("this summer", "2026-06-01", "2027-06-01"),
        ("in January", "2026-01-01", "2027-01-01"),
        ("in the spring", "2026-03-01", "2027-03-01"),
        ("on Friday", "2026-11-27", "2026-12-04"),
        ("on the 3rd", "2026-11-03", "2026-12-03"),
        ("seit letztem Montag", "2026-11-23", "2026-11-23"),
        ("depuis octobre", "2026-10-01", "2027-10-01"),
        ("desde octubre", "2026-10-01", "2027-10-01"),
    ],
)
def test_a_time_near_today_is_the_last_or_the_next_one(text: str, last: str, coming: str) -> None:
    today = parse_instant("2026-11-30T12:00:00Z")
    read = [
        read_rough_time(text, GREGORIAN, RoughTime(start=today, toward=toward)).start
        for toward in (-1, 1)
    ]

    assert [render_instant(each).partition("T")[0] for each in read] == [last, coming]


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("an hour later", "1500-01-31T19:00:00Z"),
        ("half an hour later", "1500-01-31T18:30:00Z"),
        ("an hour and a half later", "1500-01-31T19:30:00Z"),
        ("moments later", "1500-01-31T18:00:00Z"),
        ("meanwhile", "1500-01-31T18:00:00Z"),
        ("14:30", "1500-01-31T14:30:00Z"),
        ("the next day at 14:30", "1500-02-01T14:30:00Z"),
        ("at midnight", "1500-02-01T00:00:00Z"),
        ("eine halbe Stunde später", "1500-01-31T18:30:00Z"),
        ("kurz darauf", "1500-01-31T18:00:00Z"),
        ("une heure plus tard", "1500-01-31T19:00:00Z"),
        ("media hora después", "1500-01-31T18:30:00Z"),
    ],
)
def test_phrases_of_hours_keep_the_minute(text: str, at: str) -> None:
    read = read_rough_time(text, GREGORIAN, EVENING)

    assert (render_instant(read.start), read.grain) == (at, Grain.EXACT)


@pytest.mark.parametrize(
    ("text", "begins", "grain"),
    [
        ("January 1880", "1880-01-01", Grain.MONTH),
        ("1880-01", "1880-01-01", Grain.MONTH),
        ("spring of 1500", "1500-03-01", Grain.SEASON),
        ("winter 1500", "1500-12-01", Grain.SEASON),
        ("about 1412", "1412-01-01", Grain.YEAR),
        ("c. 1412", "1412-01-01", Grain.YEAR),
        ("1880", "1880-01-01", Grain.YEAR),
        ("late 1880", "1880-09-01", Grain.YEAR),
        ("the 1640s", "1640-01-01", Grain.DECADE),
        ("the 17th century", "1601-01-01", Grain.CENTURY),
        ("early March 1900", "1900-03-01", Grain.MONTH),
        ("end of March 1900", "1900-03-21", Grain.MONTH),
        ("3 Jan 1880", "1880-01-03", Grain.DAY),
        ("the morning of 3 March 1402", "1402-03-03", Grain.PART),
        ("the week of 3 March 1402", "1402-03-03", Grain.WEEK),
        ("two days after 3 March 1402", "1402-03-05", Grain.DAY),
        ("summer 12 BC", "-000011-06-01", Grain.SEASON),
        ("Januar 1880", "1880-01-01", Grain.MONTH),
        ("Frühling 1500", "1500-03-01", Grain.SEASON),
        ("die 1640er Jahre", "1640-01-01", Grain.DECADE),
        ("Anfang März 1900", "1900-03-01", Grain.MONTH),
        ("im 17. Jahrhundert", "1601-01-01", Grain.CENTURY),
        ("janvier 1880", "1880-01-01", Grain.MONTH),
        ("vers 1412", "1412-01-01", Grain.YEAR),
        ("les années 1640", "1640-01-01", Grain.DECADE),
        ("le soir du 3 mars 1402", "1402-03-03", Grain.PART),
        ("enero de 1880", "1880-01-01", Grain.MONTH),
        ("la década de 1640", "1640-01-01", Grain.DECADE),
        ("principios de marzo de 1900", "1900-03-01", Grain.MONTH),
        ("primavera de 1500", "1500-03-01", Grain.SEASON),
        ("gennaio 1880", "1880-01-01", Grain.MONTH),
    ],
)
def test_dates_keep_their_precision_and_their_words(text: str, begins: str, grain: Grain) -> None:
    read = read_rough_time(text)

    assert (render_instant(read.start).partition("T")[0], read.grain) == (begins, grain)
    assert wording_of_time(read.start, text, GREGORIAN) == text


@pytest.mark.parametrize(
    "text",
    [
        *("before dawn", "after midnight", "an hour before dawn", "two hours later at 14:30"),
        *("before 1412", "the day", "the battle", "two weeks after the battle", "some day"),
        *("next", "that", "later", "about", "early", "twelve", "for three days"),
        *("two and three days later", "3 days 4 hours later", "half a month later"),
        *("31 June", "31 juin", "juin 31", "30 février 1880", "spring of 44", "an " * 14),
    ],
)
def test_ambiguous_time_phrases_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        read_rough_time(text, GREGORIAN, EVENING)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "2.5 days later",
            "1,5 hours later",
            "20.5 days later",
            "1,000 years later",
            "-3 days later",
        ),
        *("0 days later", "-0044-03-15", ">1402-03-04", "~3 March 1402", "3 March 1402?"),
        *("44", "3", "monday, 300 days later", "100 years", "100 Jahre", "100 ans", "500 años"),
        *("years later", "hours later", "the days before", "vor Jahren", "nach Tagen"),
        *("des années plus tard", "il y a des jours", "hace años", "días después"),
        *("a few hundred years later", "les années plus tard", "Jahre später"),
    ],
)
def test_ambiguous_numbers_and_plurals_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        read_rough_time(text, GREGORIAN, EVENING)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("May 5", "5 May 1500"),
        ("on March 3", "3 March 1500"),
        ("February 28", "28 February 1500"),
        ("May 5 AD", "May 5 AD"),
        ("1 May 5 AD", "1 May 5 AD"),
        ("some twenty years later", "about 1520"),
        ("unos veinte días después", "about 20 February 1500"),
        ("today", "31 January 1500"),
        ("heute", "31 January 1500"),
        ("aujourd'hui", "31 January 1500"),
        ("hoy", "31 January 1500"),
        ("heute Morgen", "morning of 31 January 1500"),
        ("la mañana", "morning of 1 February 1500"),
        ("der Morgen", "morning of 1 February 1500"),
        ("am nächsten Tage", "1 February 1500"),
        ("late in the evening", "evening of 31 January 1500"),
        ("the end of next week", "week of 7 February 1500"),
        ("im Jahre 1640", "1640"),
    ],
)
def test_days_are_no_years_and_no_extra_precision_is_shown(text: str, expected: str) -> None:
    assert show_time(text) == expected


def test_a_part_of_the_day_keeps_its_name_at_every_hour() -> None:
    for hour, text, reported in (
        ("1500-01-31T19:30:00Z", "that evening", "evening of 31 January 1500"),
        ("1500-02-01T00:30:00Z", "that night", "night of 31 January 1500"),
        ("1500-01-31T12:30:00Z", "at noon", "31 January 1500 AD 12:00"),
    ):
        assert show_time(text, RoughTime(start=parse_instant(hour))) == reported


def test_a_dotted_number_is_no_year_of_a_declared_calendar() -> None:
    one = read_calendar({"months": [{"name": "Thaw", "days": 30}], "eras": [{"name": "DR"}]})
    start = time_as_given(one.instant_of(1402), None, one)

    for text in ("3.3.1402", "12.5.30", "2.5"):
        with pytest.raises(InvalidInput):
            read_rough_time(text, one, start)
    assert rough_in_words(read_rough_time("Thaw 12", one, start), one) == "12 Thaw 1402 DR"
    assert rough_in_words(read_rough_time("Thaw 12 DR", one, start), one) == "Thaw 12 DR"


def test_the_small_hours_belong_to_the_previous_day_of_play() -> None:
    assert show_time("the next morning", NIGHT) == "morning of 1 February 1500"
    assert show_time("the same night", NIGHT) == "night of 31 January 1500"
    assert show_time("the next night", NIGHT) == "night of 1 February 1500"
    assert show_time("the next morning", DATE) == "morning of 1 February 1500"


def test_a_phrase_is_no_more_precise_than_its_base_time() -> None:
    spring = read_rough_time("spring of 1500")

    assert show_time("two hours later", spring) == "spring of 1500"
    assert show_time("the next morning", spring) == "spring of 1500"
    assert show_time("three days later", DATE) == "3 February 1500"


def test_a_shown_time_is_read_as_the_same_time() -> None:
    for text in ("the next morning", "a fortnight later", "next March", "next week", "next spring"):
        read = read_rough_time(text, GREGORIAN, DATE)
        again = read_rough_time(rough_in_words(read, GREGORIAN))
        assert (again.start, again.grain) == (read.start, read.grain)


def test_each_precision_has_its_span() -> None:
    def span(text: str) -> tuple[str, str]:
        begin, end = span_of(read_rough_time(text, GREGORIAN, EVENING), GREGORIAN)
        return render_instant(begin).removesuffix(":00:00Z"), render_instant(end)[:13]

    assert span("that night") == ("1500-01-31T21", "1500-02-01T05")
    assert span("3 March 1402") == ("1402-03-03T00", "1402-03-04T00")
    assert span("next week") == ("1500-02-07T00", "1500-02-14T00")
    assert span("February 1500") == ("1500-02-01T00", "1500-03-01T00")
    assert span("winter of 1500") == ("1500-12-01T00", "1501-03-01T00")
    assert span("the 1640s") == ("1640-01-01T00", "1650-01-01T00")
    assert span("the late 1640s") == ("1640-01-01T00", "1650-01-01T00")
    assert span("late 17th century") == ("1601-01-01T00", "1701-01-01T00")


def test_names_come_from_a_declared_calendar() -> None:
    start = time_as_given(parse_instant("0466-02-05T10:00:00Z"), None, ALDMOOR)

    def said(text: str) -> str:
        return rough_in_words(read_rough_time(text, ALDMOOR, start), ALDMOOR)

    assert said("the next morning") == "morning of 4 Frostmoon 1402 AE"
    assert said("14:30") == "3 Frostmoon 1402 AE 14:30"
    assert said("next Thaw") == "Thaw 1402 AE"
    assert said("next Moonday") == "5 Frostmoon 1402 AE"
    assert said("early Thaw 12 BE") == "Thaw 12 BE"
    assert rough_in_words(read_rough_time("2 rounds later", ROUNDS, start), ROUNDS).startswith(
        "day "
    )
    with pytest.raises(InvalidInput):  # its year has no seasons
        said("the following spring")


def test_words_of_an_earlier_calendar_are_not_shown_in_this_one() -> None:
    tale = read_calendar({"months": [{"name": "March", "days": 20}, {"name": "May", "days": 20}]})
    march = read_rough_time("March 1402").start

    assert wording_of_time(march, "March 1402", GREGORIAN) == "March 1402"
    assert wording_of_time(march, "March 1402", tale) == ""
    assert wording_of_time(Instant(0), "whenever", GREGORIAN) == ""
    assert wording_of_time(Instant(0), "1970-01-01", GREGORIAN) == ""
