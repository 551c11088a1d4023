"""Times asked for: what questions say of when, in the words that people use."""

import pytest

from canonry.recall.domain.questions import (
    EventAnchor,
    TimesAsked,
    TimeSpan,
    read_times,
    time_nearness,
)
from canonry.values.calendars.reckoning import (
    GREGORIAN,
    Calendar,
    Counter,
    DeclaredYears,
    Era,
    GregorianYears,
    Month,
)
from canonry.values.moments import DAY, Instant, parse_instant, render_instant

PRESENT = parse_instant("2023-12-02T16:00:00Z")
MAY = TimeSpan(parse_instant("2023-05-01T00:00:00Z"), parse_instant("2023-06-01T00:00:00Z"))


def read_question(text: str, calendar: Calendar = GREGORIAN) -> TimesAsked:
    return read_times(text, calendar, PRESENT)


def days_between(text: str) -> list[tuple[str | None, str | None]]:
    return [
        (
            None if start is None else render_instant(start)[:10],
            None if end is None else render_instant(end)[:10],
        )
        for start, end in read_question(text).intervals
    ]


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("What did Joel announce in March 2023?", "2023-03-01", "2023-04-01"),
        ("What happened on 8 May 2023?", "2023-05-08", "2023-05-09"),
        ("May 8th, 2023: what then?", "2023-05-08", "2023-05-09"),
        ("What did he do last May?", "2023-05-01", "2023-06-01"),
        ("Who was ill in April?", "2023-04-01", "2023-05-01"),
        ("the week before 10 June 2023", "2023-06-03", "2023-06-10"),
        ("two weeks after 10 June 2023", "2023-06-11", "2023-06-25"),
        ("before 10 June 2023", None, "2023-06-10"),
        ("after 3 July", "2023-07-04", None),
        ("since June 2023", "2023-06-01", None),
        ("until June 2023", None, "2023-07-01"),
        ("between March and May 2023", "2023-03-01", "2023-06-01"),
        ("from 2023-03-04 to 2023-03-08", "2023-03-04", "2023-03-09"),
        ("What happened between 1 March 2023 and the flood?", "2023-03-01", "2023-03-02"),
        ("last week", "2023-11-20", "2023-11-27"),
        ("last weekend", "2023-11-25", "2023-11-27"),
        ("two weeks ago", "2023-11-13", "2023-11-20"),
        ("yesterday", "2023-12-01", "2023-12-02"),
        ("last year", "2022-01-01", "2023-01-01"),
        ("in the summer of 2022", "2022-06-01", "2022-09-01"),
        ("last winter", "2022-12-01", "2023-03-01"),
        ("Was geschah im Mai 2023?", "2023-05-01", "2023-06-01"),
        ("¿Qué pasó en mayo de 2023?", "2023-05-01", "2023-06-01"),
        ("What did he do on Tuesday?", "2023-11-28", "2023-11-29"),
        ("Was geschah vor zwei Tagen?", "2023-11-30", "2023-12-01"),
        ("Was geschah letzten Sommer?", "2023-06-01", "2023-09-01"),
        ("Was geschah letzte Woche?", "2023-11-20", "2023-11-27"),
        ("Wer kam vorgestern?", "2023-11-30", "2023-12-01"),
        ("¿Qué pasó hace dos años?", "2021-01-01", "2022-01-01"),
        ("Qui est venu il y a deux jours ?", "2023-11-30", "2023-12-01"),
        ("Who married in the year 1500?", "1500-01-01", "1501-01-01"),
        ("last night", "2023-12-01", "2023-12-02"),
    ],
)
def test_an_expression_gives_a_range_of_days(text: str, start: str | None, end: str | None) -> None:
    assert days_between(text) == [(start, end)]


@pytest.mark.parametrize(
    "text",
    [
        *("Who may march second?", "What may I do?", "Who has 12 sons?", "", "on 31 June 2023x"),
        *("Who wrote of the fall of Rome?", "Who sings in the morning?", "What came the next day?"),
        *("Who won the march?", "Which 12 men are on page 300?", "Who came last?"),
        *("A day of the week", "The second minute", "the spring by the Mill"),
    ],
)
def test_words_that_are_no_date_give_no_range(text: str) -> None:
    assert not read_question(text)


def test_an_impossible_day_gives_no_range() -> None:
    assert not read_question("on 45/45/2023").intervals


def test_sessions_are_counted_from_the_first_or_from_the_last() -> None:
    assert read_question("in session 3").sessions == (("session", 3),)
    assert read_question("the second scene").sessions == (("scene", 2),)
    assert read_question("in the last session").sessions == (("session", -1),)


def test_text_that_is_no_date_is_an_event_to_look_up() -> None:
    assert read_question("the week before the wedding").anchors == (
        EventAnchor("before", "wedding", 7),
    )
    assert read_question("Who came after dinner?").anchors == (
        EventAnchor("after", "dinner", None),
    )


def test_a_statement_soon_after_is_nearer_than_one_before() -> None:
    inside = time_nearness(parse_instant("2023-05-08T10:00:00Z"), MAY)
    after = time_nearness(parse_instant("2023-06-08T10:00:00Z"), MAY)
    later = time_nearness(parse_instant("2023-08-08T10:00:00Z"), MAY)
    before = time_nearness(parse_instant("2023-04-23T14:00:00Z"), MAY)

    assert inside == 1 > after > later > 0
    assert after > before > 0


def test_text_beyond_an_open_range_is_not_near_at_all() -> None:
    assert time_nearness(Instant(5 * DAY), TimeSpan(Instant(9 * DAY), None)) == 0
    assert time_nearness(Instant(9 * DAY), TimeSpan(None, Instant(9 * DAY))) == 0
    assert time_nearness(Instant(10 * DAY), TimeSpan(Instant(9 * DAY), None)) == 1
    assert time_nearness(Instant(1 * DAY), TimeSpan(None, Instant(9 * DAY))) == 1


def test_a_counted_world_calendar_is_read_by_its_counters() -> None:
    rounds = Calendar(
        name="Duel",
        begins=Instant(0),
        years=GregorianYears(),
        counters=(Counter(name="Round", seconds=6),),
    )

    assert read_question("Who fell in round 3?", rounds).intervals == (
        TimeSpan(Instant(12_000_000), Instant(18_000_000)),
    )
    assert not read_question("Who fell on 8 May 2023?", rounds).intervals


TALE = Calendar(
    name="Tale",
    begins=Instant(0),
    years=DeclaredYears(days=(30, 20)),
    months=(Month(name="Frostmoon", days=30), Month(name="Sunmoon", days=20)),
    eras=(Era(name="AE", first=1),),
)


@pytest.mark.parametrize(
    ("text", "begins", "days"),
    [
        ("Who fell on 3 Frostmoon 2 AE?", (2, 0, 3), 1),
        ("Who fell in Sunmoon 2 AE?", (2, 1, 1), 20),
        ("Who fell in 2 AE?", (2, 0, 1), 50),
    ],
)
def test_dates_of_a_world_are_its_own_days_months_and_years(
    text: str, begins: tuple[int, int, int], days: int
) -> None:
    year, month, day = begins
    start = TALE.instant_of(year, month, day)

    assert read_question(text, TALE).intervals == (TimeSpan(start, Instant(start + days * DAY)),)


def test_a_month_without_a_year_gives_no_range() -> None:
    assert not read_times("Who loves Frostmoon", TALE, None)
    assert read_times("Who loves Frostmoon 2 AE", TALE, None)


ENDS = (
    *(None, "0001-01-01T00:00:00Z", "0600-06-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"),
    *("-000043-03-15T00:00:00Z", "-290000-01-01T00:00:00Z", "+070000-12-31T23:59:59Z"),
)


@pytest.mark.parametrize("present", ENDS)
@pytest.mark.parametrize(
    "text",
    [
        *("9999-12-31T23:59:59.999999Z", "9999-12-31", "9999-12", "31.12.9999", "0001-01-01"),
        *("1/1/0001", "the week after 9999-12-31", "two years before 0001-01-01"),
        *("last winter", "last weekend", "last week", "last month", "last year", "yesterday"),
        *("999 years ago", "999 days ago", "on friday", "in december", "29 february"),
    ],
)
def test_no_question_overflows_at_the_ends_of_time(text: str, present: str | None) -> None:
    when = None if present is None else parse_instant(present)

    for start, end in read_times(text, GREGORIAN, when).intervals:
        assert start is None or end is None or start < end


def test_the_last_supported_day_ends_where_the_next_begins() -> None:
    [(start, end)] = read_question("9999-12-31").intervals

    assert start == parse_instant("9999-12-31T00:00:00Z")
    assert end == parse_instant("+010000-01-01T00:00:00Z")
