"""Calendar dates: the instants that people write down; what could be two dates is none."""

import re
from dataclasses import dataclass
from datetime import UTC, date
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Final

from canonry.domain.errors import InvalidInput
from canonry.domain.normal_forms import folded
from canonry.domain.time import DAY, Instant, parse_instant, render_instant

_ISO_DATE: Final = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})", re.ASCII)
_COMPACT: Final = re.compile(r"(\d{4})(\d\d)(\d\d)", re.ASCII)
_ISO_TIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(:\d\d)?(\.\d+)?\s*([Zz]|[+-]\d\d:?\d\d)?", re.ASCII
)
_NUMERIC: Final = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})", re.ASCII)
_DAY_FIRST: Final = re.compile(
    r"(\d{1,2})(?:st|nd|rd|th|\.)? (?:de )?([^\W\d]+)\.? (?:de )?(\d{4})"
)
_MONTH_FIRST: Final = re.compile(r"([^\W\d]+)\.? (\d{1,2})(?:st|nd|rd|th|\.)? (\d{4})")
_MAIL: Final = re.compile(r"(?:[a-z]{3}, )?\d{1,2} [a-z]{3} \d{4} \d\d:\d\d.*")

_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar j\u00e4nner janvier enero gennaio",
            "february feb februar febrero f\u00e9vrier febbraio",
            "march mar m\u00e4rz mrz marzo mars",
            "april apr abril abr avril aprile",
            "may mai mayo maggio",
            "june jun juni junio juin giugno",
            "july jul juli julio juillet luglio",
            "august aug agosto ago ao\u00fbt",
            "september sep sept septiembre setiembre septembre settembre",
            "october oct oktober okt octubre octobre ottobre",
            "november nov noviembre novembre",
            "december dec dezember dez diciembre dic d\u00e9cembre dicembre",
        ),
        start=1,
    )
    for name in names.split()
}
_EPOCH: Final = date(1970, 1, 1).toordinal()
_PLAIN_LENGTH: Final = len("2025-01-15")
_MONTHS_IN_YEAR: Final = 12
_EPOCHS: Final = ((10**11, 1_000_000), (10**14, 1_000), (10**17, 1))
"""Numbers below the first are seconds, milliseconds, microseconds; above all, nanoseconds."""

_EARLIEST_NUMBER: Final = 10**8


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarDate:
    """What was written, as ISO 8601, and the instant at which it begins (in UTC if it has none)."""

    text: str
    instant: Instant


@lru_cache(maxsize=4096, typed=True)
def read_date(value: str | int) -> CalendarDate | None:
    """The date that a text or a number of seconds (or finer) since 1970 says.

    None for what is no date, for a day that no calendar has, and for `03/04/2025`, which is one day
    in one country and another in the next.
    """
    try:
        return _from_number(value) if isinstance(value, int) else _from_text(value)
    except (ValueError, OverflowError, InvalidInput):
        return None


def _from_number(value: int) -> CalendarDate | None:
    if not _EARLIEST_NUMBER <= value < 10**20:
        return None
    scale = next((factor for limit, factor in _EPOCHS if value < limit), None)
    instant = Instant(value * scale if scale is not None else value // 1_000)
    return CalendarDate(text=render_instant(instant), instant=instant)


def _from_text(value: str) -> CalendarDate | None:
    text = value.strip()
    if len(text) == _PLAIN_LENGTH and (match := _ISO_DATE.fullmatch(text)):
        return _day(int(match[1]), int(match[3]), int(match[4]))
    if match := _ISO_TIME.fullmatch(text):
        return _timed(*match.groups())
    if match := _ISO_DATE.fullmatch(text):
        return _day(int(match[1]), int(match[3]), int(match[4]))
    if match := _COMPACT.fullmatch(text):
        return _day(int(match[1]), int(match[2]), int(match[3]))
    if match := _NUMERIC.fullmatch(text):
        return _numeric(int(match[1]), int(match[3]), int(match[4]), dotted=match[2] == ".")
    return _from_words(folded(text).replace(",", " ").replace("  ", " "))


def _from_words(text: str) -> CalendarDate | None:
    words = text.split(" ", 1)
    if len(words) > 1 and words[0].rstrip(".") not in _MONTHS and words[0].isalpha():
        text = words[1]  # the name of a day of the week
    if match := _DAY_FIRST.fullmatch(text):
        return _named(match[2], int(match[1]), int(match[3]))
    if match := _MONTH_FIRST.fullmatch(text):
        return _named(match[1], int(match[2]), int(match[3]))
    if _MAIL.fullmatch(text):
        moment = parsedate_to_datetime(text)
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        said = aware.isoformat()
        return CalendarDate(text=said.replace("+00:00", "Z"), instant=parse_instant(said))
    return None


def _timed(
    day: str, minutes: str, seconds: str | None, fraction: str | None, offset: str | None
) -> CalendarDate:
    zone = "Z" if offset is None else offset
    if len(zone) == len("+0000"):
        zone = f"{zone[:3]}:{zone[3:]}"
    text = f"{day}T{minutes}{seconds or ':00'}{fraction or ''}{zone.upper()}"
    return CalendarDate(text=text, instant=parse_instant(text))


def _day(year: int, month: int, day: int) -> CalendarDate:
    said = date(year, month, day)
    instant = Instant((said.toordinal() - _EPOCH) * DAY)
    return CalendarDate(text=said.isoformat(), instant=instant)


def _numeric(first: int, second: int, year: int, *, dotted: bool) -> CalendarDate | None:
    """With dots the day comes first; else only where one of the two can be no month."""
    if dotted or first > _MONTHS_IN_YEAR:
        return _day(year, second, first)
    if second > _MONTHS_IN_YEAR or first == second:
        return _day(year, first, second)
    return None


def _named(month: str, day: int, year: int) -> CalendarDate | None:
    number = _MONTHS.get(month)
    return None if number is None else _day(year, number, day)
