"""Calendar dates: days in many notations, read by the same rule everywhere.

A date that could be two days is reported as unclear, never guessed. If you know the order in a
document, give it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date
from email.utils import parsedate_to_datetime
from enum import StrEnum
from functools import lru_cache
from typing import Final

from canonry.values.errors import InvalidInput
from canonry.values.languages import known_languages, month_numbers, plain_letters
from canonry.values.moments import DAY, Instant, parse_instant, render_instant

_CENTURY: Final = 100
_PIVOT: Final = 70  # two-digit years from here on are in the twentieth century

_BUDDHIST: Final = range(2500, 2600)
"""Years of today in the calendar of Thailand."""

_WEEKDAY: Final = re.compile(
    r"([^\W\d_]{4,12})[.,]?\s{1,3}(?:the |den |dem |le |de )?$", re.IGNORECASE
)
_ISO: Final = (
    r"(?P<iso>(?P<iy>\d{4})(?P<is>[-/.])(?P<im>\d{1,2})(?P=is)(?P<id>\d{1,2})"
    r"(?:[T ](?P<clock>\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?P<zone>Z|[+-]\d\d:?\d\d)?)?)"
)
_NUMERIC: Final = r"(?P<n1>\d{1,2})(?P<ns>[/-]|\. ?)(?P<n2>\d{1,2})(?P=ns)(?P<ny>\d{4}|\d{2})"
_LAST_TWO: Final = r"['\u2019]\d\d|\d\d(?=$|\n)"
_DAY_MONTH: Final = (
    r"(?P<dd>\d{1,2})(?:st|nd|rd|th|er|\.|[\xba\xaa])?[ -]?(?:of |de |del )?[ ]?"
    r"(?P<dm>[^\W\d_]{3,12})\.?,?"
    rf"(?:[ -](?:de |del )?(?P<dy>\d{{4}}|(?<=-)\d\d|{_LAST_TWO}))?"
)
_MONTH_DAY: Final = (
    r"(?P<mm>[^\W\d_]{3,12})\.? (?P<md>\d{1,2})(?:st|nd|rd|th)?(?![\d:.])"
    rf"(?:,? (?P<my>\d{{4}}|{_LAST_TWO}))?"
)
_SHORT: Final = r"(?P<s1>\d{1,2})(?P<ss>/)(?P<s2>\d{1,2})"
_ANY: Final = re.compile(
    rf"(?<![\w.,/-])(?:{_ISO}|{_NUMERIC}|{_DAY_MONTH}|{_MONTH_DAY}|{_SHORT})(?![\w/])",
    re.IGNORECASE,
)


_LATER: Final = re.compile(r"(?<!\d{4})(?<=\d)\.?\s?[\u2013-]\s?$")
"""The text before the last day of several, as in `5-7 May 2024`."""

_ISO_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_COMPACT: Final = re.compile(r"(\d{4})([01]\d)([0-3]\d)(?:[0-2]\d[0-5]\d[0-5]\d)?", re.ASCII)
_SHORT_YEAR: Final = re.compile(r"(?:[^\W\d_][^\w\s]* |\s\d{1,2}(?:, ?| ))['\u2019]?\d\d$")
"""A year of two digits behind a month's name, which is of this century in documents only."""

_CLOCK: Final = re.compile(
    r"(?:[,T]? ?(?:at |um |\xe0 |a las )?\d{1,2}[:.]\d\d(?:[:.]\d\d(?:\.\d+)?)?"
    r"(?: ?(?:[ap]\.?m\.?|uhr|h|z|[a-z]{2,5}|[+-]\d\d:?\d\d))?)?",
    re.IGNORECASE,
)
_ISO_TIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(:\d\d)?(\.\d+)?\s*([Zz]|[+-]\d\d:?\d\d)?", re.ASCII
)
_MAIL: Final = re.compile(
    r"(?:[a-z]{3}, )?\d{1,2} [a-z]{3} \d{4} \d\d:\d\d.*", re.ASCII | re.IGNORECASE
)
_EPOCH: Final = date(1970, 1, 1).toordinal()
_EPOCHS: Final = ((10**11, 1_000_000), (10**14, 1_000), (10**17, 1))
"""Numbers below the first are seconds, milliseconds, microseconds; above all, nanoseconds."""

_LONGEST: Final = 60


class DayOrder(StrEnum):
    """The first part of a date in numbers."""

    DAY = "day"
    MONTH = "month"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenDate:
    """A date as found: `value` in ISO 8601, or None with the reason why it is unclear."""

    value: str | None
    reason: str = ""
    begin: int = 0
    end: int = 0
    order: DayOrder | None = None


def dates_in(
    text: str, order: DayOrder | None = None, near: date | None = None
) -> Iterator[SeenDate]:
    """Yield every date in the text; one without a year is the first on or after `near`."""
    start = 0
    while found := _ANY.search(text, start):
        seen = (
            None
            if _LATER.search(text, max(start, found.start() - 8), found.start())
            else _read_match(found, order, near)
        )
        # A match that is not a date may hide the start of one: "the 1st of March".
        start = found.start() + 1 if seen is None else found.end()
        if seen is not None:
            if seen.value and _is_other_weekday(text, found.start(), seen.value):
                seen = SeenDate(value=None, reason="the weekday is that of another day")
            yield replace(seen, begin=found.start(), end=found.end())


def _is_other_weekday(text: str, begin: int, day: str) -> bool:
    """Return whether the name of a weekday before a date contradicts it."""
    if (found := _WEEKDAY.search(text, max(0, begin - 20), begin)) is None:
        return False
    name, real = plain_letters(found[1]), date.fromisoformat(day[:10]).weekday()
    named = {e.weekdays.index(name) for e in known_languages().values() if name in e.weekdays}
    return bool(named) and real not in named and named <= {*range(7)}


def first_date(
    text: str, order: DayOrder | None = None, near: date | None = None
) -> SeenDate | None:
    """Return the first date in the text; None: there is none."""
    return next(dates_in(text, order, near), None)


def read_day(text: str, order: DayOrder | None = None) -> SeenDate | None:
    """Read a text that is one date, with at most a weekday and a time of day; None: it is none."""
    plain = " ".join(text.split())
    if match := _COMPACT.fullmatch(plain):
        plain = "-".join(match.groups())
    seen = first_date(plain, order) if len(plain) <= _LONGEST else None
    if seen is None or not _CLOCK.fullmatch(plain[seen.end :]):
        return None
    before = plain_letters(plain[: seen.begin].rstrip(" .,"))
    weekday = any(before in language.weekdays for language in known_languages().values())
    return seen if not before or weekday else None


def find_day_order(text: str) -> DayOrder | None:
    """Return the order of day and month in a text's unambiguous dates; None: unknown or mixed."""
    orders = {seen.order for seen in dates_in(text) if seen.order is not None}
    return orders.pop() if len(orders) == 1 else None


def _read_match(found: re.Match[str], order: DayOrder | None, near: date | None) -> SeenDate | None:
    groups = found.groupdict()
    if groups["iso"]:
        return _iso_date(groups)
    if groups["n1"]:
        year = _read_year(groups["ny"])
        if groups["ns"][0] == "." and order is None:
            order = DayOrder.DAY  # points always mean that the day comes first
        return _numeric_date(int(groups["n1"]), int(groups["n2"]), year, order)
    if groups["s1"]:
        return _yearless_date(int(groups["s1"]), int(groups["s2"]), order, near)
    day, name, year_text = (
        (groups["dd"], groups["dm"], groups["dy"])
        if groups["dd"]
        else (groups["md"], groups["mm"], groups["my"])
    )
    month = month_numbers().get(plain_letters(name))
    if month is None:
        return None
    if year_text is None:
        return _complete_date(month, int(day), near)
    return _full_date(_read_year(year_text), month, int(day))


def _read_year(text: str) -> int:
    year = int(text.strip("'\u2019"))
    return year if len(text) > 3 else year + _CENTURY * (19 if year >= _PIVOT else 20)  # noqa: PLR2004


def _iso_date(groups: dict[str, str]) -> SeenDate:
    seen = _full_date(int(groups["iy"]), int(groups["im"]), int(groups["id"]))
    if seen.value is None or not groups["clock"] or not groups["zone"]:
        return seen
    zone = groups["zone"]
    zone = zone if zone == "Z" or ":" in zone else f"{zone[:3]}:{zone[3:]}"
    clock = groups["clock"]
    clock = clock if clock.count(":") > 1 else f"{clock}:00"
    return SeenDate(value=f"{seen.value}T{clock}{zone}")


def _numeric_date(first: int, second: int, year: int, order: DayOrder | None) -> SeenDate:
    day_first = _full_date(year, second, first)
    month_first = _full_date(year, first, second)
    if day_first.value and month_first.value and first != second:
        if order is DayOrder.DAY:
            return day_first
        if order is DayOrder.MONTH:
            return month_first
        return SeenDate(value=None, reason="day and month could be either way round")
    if day_first.value and first != second:
        return SeenDate(value=day_first.value, order=DayOrder.DAY)
    if month_first.value and first != second:
        return SeenDate(value=month_first.value, order=DayOrder.MONTH)
    return day_first


def _yearless_date(
    first: int, second: int, order: DayOrder | None, near: date | None
) -> SeenDate | None:
    leap = 2000
    seen = _numeric_date(first, second, leap, order)
    if seen.value is None:
        return seen if seen.reason.startswith("day and") else None
    if near is None:
        return SeenDate(value=None, reason="no year is given", order=seen.order)
    _, month, day = (int(part) for part in seen.value.split("-"))
    whole = _complete_date(month, day, near)
    return SeenDate(value=whole.value, reason=whole.reason, order=seen.order)


def _complete_date(month: int, day: int, near: date | None) -> SeenDate:
    """Return the first day with this month and day on or after `near`."""
    if near is None:
        return SeenDate(value=None, reason="no year is given")
    for year in range(near.year, near.year + 5):
        seen = _full_date(year, month, day)
        if seen.value is not None and date.fromisoformat(seen.value) >= near:
            return seen
    return SeenDate(value=None, reason="there is no such day")


def _full_date(year: int, month: int, day: int) -> SeenDate:
    if year in _BUDDHIST:
        return SeenDate(value=None, reason="the year may be one of another calendar")
    try:
        return SeenDate(value=date(year, month, day).isoformat())
    except ValueError:
        return SeenDate(value=None, reason="there is no such day")


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarDate:
    """The date in ISO 8601, and the instant at which it begins (UTC if it has no offset)."""

    text: str
    instant: Instant


@lru_cache(maxsize=4096, typed=True)  # records of one file share dates: bench compare, bulk
def read_date(value: str | int) -> CalendarDate | None:
    """Read a date from a text, or from a number of seconds (or smaller units) since 1970.

    None if it is not a date, if no such day exists, or if it is ambiguous: `03/04/2025` is one day
    in one country and another elsewhere.
    """
    try:
        return _from_number(value) if isinstance(value, int) else _from_text(value)
    except (ValueError, OverflowError, InvalidInput):
        return None


def _from_number(value: int) -> CalendarDate | None:
    if not 10**8 <= value < 10**20:
        return None
    scale = next((factor for limit, factor in _EPOCHS if value < limit), None)
    instant = Instant(value * scale if scale is not None else value // 1_000)
    return CalendarDate(text=render_instant(instant), instant=instant)


def _from_text(value: str) -> CalendarDate | None:
    text = " ".join(value.split())
    if _ISO_DAY.fullmatch(text):
        return _whole_day(text)
    if match := _ISO_TIME.fullmatch(text):
        return _timed_date(*match.groups())
    seen = read_day(text) if ":" not in text and not _SHORT_YEAR.search(text) else None
    if seen is not None and seen.value is not None:
        return _whole_day(seen.value)
    if _MAIL.fullmatch(text):
        date_time = parsedate_to_datetime(text)
        aware = date_time if date_time.tzinfo else date_time.replace(tzinfo=UTC)
        iso_text = aware.isoformat()
        return CalendarDate(text=iso_text.replace("+00:00", "Z"), instant=parse_instant(iso_text))
    return None


def _timed_date(
    day: str, minutes: str, seconds: str | None, fraction: str | None, offset: str | None
) -> CalendarDate:
    zone = "Z" if offset is None else offset
    if len(zone) == len("+0000"):
        zone = f"{zone[:3]}:{zone[3:]}"
    text = f"{day}T{minutes}{seconds or ':00'}{fraction or ''}{zone.upper()}"
    return CalendarDate(text=text, instant=parse_instant(text))


def _whole_day(day: str) -> CalendarDate:
    parsed = date.fromisoformat(day)
    return CalendarDate(text=day, instant=Instant((parsed.toordinal() - _EPOCH) * DAY))
