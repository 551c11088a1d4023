"""Times asked for: what a question says of when, as stretches of time.

Where the days are the Gregorian ones, a library reads what the expressions say; in a world with a
calendar of its own, that calendar does. "Last" and "ago" count from the present of those who talk.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from importlib import import_module
from typing import Any, Final, NamedTuple

from canonry.language.texts.stems import languages_of, terms_of
from canonry.values.calendars.declaring import read_time
from canonry.values.calendars.reckoning import GREGORIAN, Calendar
from canonry.values.errors import InvalidInput
from canonry.values.json_values import folded
from canonry.values.languages import months
from canonry.values.moments import DAY, SECOND, Instant


class TimeSpan(NamedTuple):
    """From `start` up to but without `end`; None where it is open."""

    start: Instant | None
    end: Instant | None


class BesideEvent(NamedTuple):
    """Before, after or during something that is told of elsewhere; `days`: so near to it alone."""

    way: str
    what: str
    days: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimesAsked:
    """What a question says of when; a session is counted from 1, and -1 is the last."""

    stretches: tuple[TimeSpan, ...] = ()
    sessions: tuple[tuple[str, int], ...] = ()
    anchors: tuple[BesideEvent, ...] = ()

    def __bool__(self) -> bool:
        """Whether it says anything."""
        return bool(self.stretches or self.sessions or self.anchors)


_CODES: Final = {
    "english": "en",
    "german": "de",
    "french": "fr",
    "spanish": "es",
    "italian": "it",
    "portuguese": "pt",
    "dutch": "nl",
}
_NAMES: Final = sorted(map(re.escape, months()), key=len, reverse=True)
_MONTH: Final = rf"(?:{'|'.join(_NAMES)})\b\.?"
_WEEKDAY: Final = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_LEADING: Final = (
    "in|last|of|since|by|between|from|during|until|till|this|next|past|before|after|im|letzten|seit|vor|nach"
    "|en|au|de|del|depuis|em|nel|dal|a|desde"
)
_YEAR: Final = r"(?:1\d|20)\d\d"
_SAID: Final = re.compile(
    rf"\b(?:\d{{4}}-\d\d(?:-\d\d)?|\d{{1,2}}[./-]\d{{1,2}}[./-]\d{{4}}"
    rf"|\d{{1,2}}(?:st|nd|rd|th|\.)?(?: of| de)? {_MONTH}(?:,? (?:of |de )?{_YEAR}\b)?"
    rf"|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? {_YEAR}\b)?"
    rf"|{_MONTH},? (?:of |de )?{_YEAR}\b"
    rf"|(?:{'|'.join(_SEASONS)})(?: of)? {_YEAR}\b"
    rf"|(?:last|past) (?:{'|'.join(_SEASONS)}|weekend)\b"
    rf"|(?:{_LEADING}) (?:{_MONTH}(?:,? (?:of |de )?{_YEAR}\b)?|(?:the year )?{_YEAR}\b(?![-./]))"
    rf"|(?:last|past|this|on|previous) {_WEEKDAY}\b"
    r"|(?:last|past|this|previous) (?:week|month|year|night)\b"
    r"|(?:an?|\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten|a few) "
    r"(?:day|week|month|year)s? ago\b"
    r"|yesterday|today|gestern|heute|hier|ayer|hoy|ieri|oggi|ontem|gisteren)\b"
)
_LED: Final = re.compile(rf"^(?:{_LEADING}|on|previous|the year) ")
_SEASON: Final = re.compile(rf"({'|'.join(_SEASONS)})(?: of)?(?: ({_YEAR}))?$")
_AROUND: Final = re.compile(
    r"(?:\b(?P<count>the|a|one|two|three|few) (?P<unit>day|week|weekend|month|year)s? )?"
    r"\b(?P<way>before|after|since|until|till|by)(?: the| that)?$"
)
_BETWEEN: Final = re.compile(r"\b(?:between|from)$")
_UNITS: Final = {"day": 1, "weekend": 7, "week": 7, "month": 31, "year": 366}
_COUNTS: Final = {"two": 2, "three": 3, "few": 3}
_SESSION: Final = re.compile(
    r"\b(session|scene|episode|chapter) (\d{1,4})\b"
    r"|\b(first|second|third|fourth|fifth|last|latest|previous) (session|scene|episode|chapter)\b"
)
_ORDINALS: Final = {
    "first": 1,
    "second": 2,
    "third": 3,
    "fourth": 4,
    "fifth": 5,
    **dict.fromkeys(("last", "latest"), -1),
    "previous": -2,
}
_ANCHOR: Final = re.compile(
    r"(?:\b(?P<count>the|a|one|two|three|few) (?P<unit>day|week|month|year)s? )?"
    r"\b(?P<way>before|after|during|since|until) "
    r"(?:the |a |an |his |her |their |my |our )?(?P<what>[^?.!,;:]{3,60})"
)
_ROUND: Final = frozenset({"week", "month", "year", "night"})
_WINDOW: Final = 6
_PLACED: Final = frozenset({"in", "on", "before", "after", "since", "until", "during", "by"})
_WEEK: Final = 7
_HALF: Final = 0.5
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - days without a zone, as all here
_FIRST: Final = -62_135_596_800
_LAST: Final = 253_402_300_799
"""The first and the last second that the library counts from."""


def read_times(text: str, calendar: Calendar, present: Instant | None) -> TimesAsked:
    """What the question says of when; `present` is when the talk has got to, as far as is known."""
    said = folded(text)
    found = tuple(
        _gregorian(said, present) if calendar is GREGORIAN else _reckoned(said, calendar, present)
    )
    sessions = tuple(
        (match[1] or match[4], int(match[2]) if match[2] else _ORDINALS[match[3]])
        for match in _SESSION.finditer(said)
    )
    anchors = () if found or sessions else tuple(map(_anchor, _ANCHOR.finditer(said)))
    return TimesAsked(stretches=found, sessions=sessions, anchors=anchors)


def nearness(when: Instant, stretch: TimeSpan) -> float:
    """1 for what was said within a stretch of time, less for what was said after or before it.

    People tell of what was, sooner or later, and less often of what will be.
    """
    start, end = stretch
    length = 0 if start is None or end is None else end - start
    fades = max(_WEEK * DAY, length // 2)
    if start is not None and when < start:
        return 0.0 if end is None else float(_HALF ** (1 + (start - when) / fades))
    if end is not None and when >= end:
        return 0.0 if start is None else float(_HALF ** ((when - end) / fades))
    return 1.0


def _anchor(match: re.Match[str]) -> BesideEvent:
    return BesideEvent(match["way"], match["what"].strip(), _days(match))


def _days(match: re.Match[str]) -> int | None:
    unit = match["unit"]
    return None if unit is None else _UNITS[unit] * _COUNTS.get(match["count"], 1)


def _gregorian(said: str, present: Instant | None) -> Iterator[TimeSpan]:
    """Each expression that says when, with what stands before it."""
    begun: TimeSpan | None = None
    for match in _SAID.finditer(said):
        base = _EPOCH + timedelta(seconds=min(max((present or 0) // SECOND, _FIRST), _LAST))
        languages = tuple(_CODES[each] for each in languages_of(terms_of(said)))
        read = _read(match[0], languages, base)
        if read is None:
            continue
        before = said[: match.start()].rstrip()
        led = match[0].split(" ", 1)[0]
        if led in {"before", "after", "since", "until", "till", "by"}:
            before = f"{before} {led}".strip()
        if begun is not None and (before.endswith((" and", " to", " until")) or led == "until"):
            yield TimeSpan(begun.start, read.end)
            begun = None
        elif led in {"between", "from"} or _BETWEEN.search(before):
            begun = read
        else:
            yield _around(read, before)
    if begun is not None:
        yield begun


def _around(read: TimeSpan, before: str) -> TimeSpan:
    """What lies on the side of a date that the words before it name."""
    match = _AROUND.search(before)
    if match is None:
        return read
    days = _days(match)
    if match["way"] in {"after", "since"}:
        after = read.start if match["way"] == "since" else read.end
        until = None if days is None or after is None else Instant(after + days * DAY)
        return TimeSpan(after, until)
    end = read.start if match["way"] == "before" else read.end
    return TimeSpan(None if days is None or end is None else Instant(end - days * DAY), end)


@lru_cache(maxsize=256)
def _read(words: str, languages: tuple[str, ...], base: datetime) -> TimeSpan | None:
    """The day, week, month or year that an expression says."""
    bare = words
    while (shorter := _LED.sub("", bare)) != bare and shorter not in _ROUND:
        bare = shorter
    if season := _SEASON.search(bare):
        return _season(season, base)
    if bare == "weekend":
        return _days_from(_day_of(base) - base.weekday() - 2, 2)
    asked = words if words.rpartition(" ")[2] in _ROUND else bare
    parser = _parser(tuple(dict.fromkeys((*languages, "en", "de", "fr", "es", "it", "pt", "nl"))))
    try:
        data = parser(settings={"RELATIVE_BASE": base}).get_date_data(asked)
    except (OverflowError, ValueError):  # of what lies before the first year or after the last
        return None
    return None if data.date_obj is None else _whole(data.date_obj, data.period)


def _whole(day: datetime, period: str) -> TimeSpan:
    """The year, month or week in which a day lies, or that day."""
    match period:
        case "year":
            return TimeSpan(GREGORIAN.instant(day.year), GREGORIAN.instant(day.year + 1))
        case "month":
            return _months_from(day.year, day.month, 1)
        case "week":
            return _days_from(_day_of(day) - day.weekday(), _WEEK)
        case _:
            return _days_from(_day_of(day), 1)


@lru_cache(maxsize=32)
def _parser(languages: tuple[str, ...]) -> Any:
    """What makes parsers of these languages; the first question of time loads the library."""
    module = import_module("dateparser.date")

    @lru_cache(maxsize=16)
    def made(base: datetime) -> Any:
        settings = {
            "RELATIVE_BASE": base,
            "PREFER_DATES_FROM": "past",
            "DATE_ORDER": "DMY",
            "TIMEZONE": "UTC",
        }
        return module.DateDataParser(languages=list(languages), settings=settings)

    return lambda settings: made(settings["RELATIVE_BASE"])


def _season(match: re.Match[str], base: datetime) -> TimeSpan:
    """A season of a year, or else the last that is over; winter lies at the end of its year."""
    season = _months_from(int(match[2]) if match[2] else base.year, _SEASONS[match[1]], 3)
    if not match[2] and season.end is not None and season.end > _day_of(base) * DAY:
        return _months_from(base.year - 1, _SEASONS[match[1]], 3)
    return season


def _months_from(year: int, month: int, count: int) -> TimeSpan:
    """So many months from the first day of one; no year is the last that a calendar counts."""
    begins = GREGORIAN.instant(year, month - 1)
    return TimeSpan(begins, GREGORIAN.later(begins, months=count))


def _days_from(day: int, count: int) -> TimeSpan:
    """So many days from one, counted from 1970."""
    return TimeSpan(Instant(day * DAY), Instant((day + count) * DAY))


def _day_of(day: datetime) -> int:
    return (day.replace(tzinfo=None) - _EPOCH).days


def _reckoned(said: str, calendar: Calendar, present: Instant | None) -> Iterator[TimeSpan]:
    """Each date of a world's own calendar, the longest expressions first."""
    words = said.replace("?", " ").replace(",", " ").split()
    named = _words(n for each in calendar.months for n in (each.name, *each.short))
    eras = _words(n for each in calendar.eras for n in (each.name, *each.also))
    counters = _words(each.name for each in calendar.counters)
    place = 0
    while place < len(words):
        for size in range(min(_WINDOW, len(words) - place), 0, -1):
            some = words[place : place + size]
            if named.union(eras, counters).isdisjoint(some) or some[0] in _PLACED:
                break
            begins = _told(" ".join(some), calendar, present)
            if begins is not None:
                ends = _ends(begins, calendar, some, named)
                yield _around(TimeSpan(begins, ends), " ".join(words[:place]))
                place += size - 1
                break
        place += 1


def _words(names: Iterable[str]) -> set[str]:
    return {word for name in names for word in folded(name).split()}


def _told(words: str, calendar: Calendar, present: Instant | None) -> Instant | None:
    try:
        return read_time(words, calendar, present)
    except InvalidInput:
        return None


def _ends(begins: Instant, calendar: Calendar, words: list[str], named: set[str]) -> Instant:
    """The end of the day, month or year that a date says."""
    if calendar.counters:
        return Instant(begins + min(each.seconds for each in calendar.counters) * 1_000_000)
    year, month, _ = calendar.date(begins)
    if named.isdisjoint(words):
        return calendar.instant(year + 1)
    numbers = sum(any(sign.isdigit() for sign in word) for word in words)
    if numbers > 1:
        return Instant(begins + DAY)
    return Instant(begins + calendar.years.lengths(year)[month] * DAY)
