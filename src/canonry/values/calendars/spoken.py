"""Spoken times: "3 Frostmoon 1402 AE", "round 3" or "two hours later", read by a calendar."""

import re
from typing import Final

from canonry.values.calendar_dates import read_date
from canonry.values.calendars.dates import read_counted, read_dated, spoken
from canonry.values.calendars.reckoning import GREGORIAN, Calendar
from canonry.values.errors import InvalidInput
from canonry.values.normal_forms import folded
from canonry.values.time import DAY, SECOND, YEAR_MAX, YEAR_MIN, Instant, parse_instant

TIME_MAX: Final = 200
"""The most characters in which a time is said."""

_FIRST: Final = parse_instant(f"{YEAR_MIN:+07}-01-01T00:00:00Z")
_LAST: Final = parse_instant(f"{YEAR_MAX:+07}-12-31T23:59:59.999999Z")
_EXAMPLE: Final = parse_instant("1402-03-03T00:00:00Z")
_ISO_DAY: Final = re.compile(r"[+-]\d{6}-\d\d-\d\d|\d{4}-\d\d-\d\d", re.ASCII)
_RFC: Final = re.compile(r"(?:[+-]\d{6}|\d{4})-\d\d-\d\dt[\d:.z+-]+", re.ASCII)
_COUNT: Final = re.compile(r"\d{1,9}", re.ASCII)
_FORWARD: Final = frozenset({"later", "after", "afterwards", "on", "hence", "next", "following"})
_BACKWARD: Final = frozenset({"before", "earlier", "ago", "previous", "last", "prior"})
_LEADING: Final = frozenset({"next", "following", "previous", "last"})
_NOW: Final = frozenset({"now", "the same time", "at the same time", "the same day", "today"})
_SHORT: Final = {"tomorrow": "one day later", "yesterday": "one day before"}
_SPANS: Final = {"second": SECOND, "minute": 60 * SECOND, "hour": 3_600 * SECOND, "day": DAY}
_WEEK: Final = 7
_HUNDRED: Final = 100
_ONES: Final = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen"),
)
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_COUNTS: Final = {
    **dict.fromkeys(("", "a", "an", "the"), 1),
    **{word: number for number, word in enumerate(_ONES, start=1)},
    **{word: 10 * number for number, word in enumerate(_TENS, start=2)},
    **{
        f"{tens} {ones}": 10 * number + more
        for number, tens in enumerate(_TENS, start=2)
        for more, ones in enumerate(_ONES[:9], start=1)
    },
    **dict.fromkeys(("hundred", "a hundred", "one hundred"), _HUNDRED),
}


def read_time(
    text: str, calendar: Calendar = GREGORIAN, relative_to: Instant | None = None, *, path: str = ""
) -> Instant:
    """When `text` says; what it leaves open begins: a year is its first day, a day its midnight.

    `relative_to` is from when "two hours later" counts, and whose year is meant where none is said.

    Raises:
        InvalidInput: `time.malformed`, `time.out-of-range`, `time.month-unknown`,
            `time.era-unknown`, `time.no-such-day`, `time.weekday-wrong` or
            `time.relative-to-nothing`, with the `path`.
    """
    if len(text) > TIME_MAX:
        raise unreadable(calendar, path)
    said = folded(text)
    if _RFC.fullmatch(said):
        return parse_instant(text.strip(), path=path)
    if _ISO_DAY.fullmatch(said):
        return parse_instant(f"{said}T00:00:00Z", path=path)
    found = _relative(_SHORT.get(said, said), calendar, relative_to, path)
    if found is None and calendar is GREGORIAN and (known := read_date(text)) is not None:
        found = known.instant
    if found is None:
        found = (
            read_counted(said, calendar)
            if calendar.counters
            else read_dated(said, calendar, relative_to, path)
        )
    if found is None:
        raise unreadable(calendar, path)
    if not _FIRST <= found <= _LAST:
        message = (
            f"times reach from the year {YEAR_MIN} to {YEAR_MAX}; tell what lies beyond in words"
        )
        raise InvalidInput("time.out-of-range", message, path=path)
    return found


def unreadable(calendar: Calendar, path: str) -> InvalidInput:
    """The error for what says no time, with what would."""
    example = spoken(_EXAMPLE if calendar.months else calendar.begins, calendar)
    message = (
        f"this is not a time: write it like {example}, relative like 'two hours later' or "
        "'three days before', or as RFC 3339 with an offset, like 2025-01-15T12:00:00Z"
    )
    return InvalidInput("time.malformed", message, path=path)


def _relative(said: str, calendar: Calendar, start: Instant | None, path: str) -> Instant | None:
    if said in _NOW:
        return _start(start, path)
    words = said.replace("-", " ").split()
    while words and words[0] in {"the", "on"}:
        words = words[1:]
    if words and words[-1] in {"that", "this"}:
        words = words[:-1]
    if len(words) < 2:  # noqa: PLR2004 - a unit and a way
        return None
    if words[0] in _LEADING:
        way, measured = words[0], words[1:]
    elif words[0] in {"in", "after"}:
        way, measured = "later", words[1:]
    else:
        way, measured = words[-1], words[:-1]
    if way not in _FORWARD | _BACKWARD:
        return None
    for split in range(len(measured)):
        count = _count(" ".join(measured[:split]))
        unit = _unit(" ".join(measured[split:]), calendar)
        if count is not None and unit is not None:
            signed = count if way in _FORWARD else -count
            return _moved(_start(start, path), signed, unit, calendar)
    return None


def _start(start: Instant | None, path: str) -> Instant:
    if start is None:
        message = (
            "this counts from a time, and there is none before it: give the scene a time_ref, or "
            "write the date"
        )
        raise InvalidInput("time.relative-to-nothing", message, path=path)
    return start


def _count(text: str) -> int | None:
    return int(text) if _COUNT.fullmatch(text) else _COUNTS.get(text)


def _unit(text: str, calendar: Calendar) -> str | int | None:
    """Months and years as they are called, all else as microseconds."""
    for word in (text, text.removesuffix("s")):
        for counter in calendar.counters:
            if folded(counter.name) == word:
                return counter.seconds * SECOND
        if word in _SPANS:
            return _SPANS[word]
        if word == "week":
            return DAY * (len(calendar.week) or _WEEK)
        if calendar.months and word in {"month", "year"}:
            return word
    return None


def _moved(start: Instant, count: int, unit: str | int, calendar: Calendar) -> Instant:
    if isinstance(unit, int):
        return Instant(start + count * unit)
    if abs(count) > YEAR_MAX * len(calendar.months):  # further than any year reaches
        return Instant(_LAST + 1)
    proper = any(not each.intercalary for each in calendar.months)
    if unit == "month" and proper:
        return calendar.later(start, months=count)
    return calendar.years_later(start, years=count)
