"""Instants: whole microseconds since 1970-01-01T00:00:00Z, parsed from and shown as RFC 3339.

A year beyond 0001 to 9999 has a sign and six digits, as ISO 8601 expands it: `-000043` is 44 BC.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Final, NewType

from canonry.values.errors import InvalidInput

Instant = NewType("Instant", int)
"""Microseconds since the Unix epoch, UTC; negative before it."""

SECOND: Final = 1_000_000
DAY: Final = 86_400 * SECOND

_RFC3339 = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
_EXPANDED = re.compile(r"([+-]\d{6})(-\d\d-\d\d[Tt].+)", re.ASCII)
YEAR_MIN: Final = -290_000
YEAR_MAX: Final = 70_000
"""As far as 64 bits of microseconds reach, and as `moments` sorts what has a time before what has
none."""

CYCLE: Final = 400
"""After so many years the Gregorian calendar repeats itself to the day."""
_CYCLE_MICROSECONDS: Final = 146_097 * DAY
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_IN_UTC = _EPOCH.replace(tzinfo=None)
"""Without its offset, which takes half as long to write."""
_MICROSECOND = timedelta(microseconds=1)
_DIGITS = 6
_YEAR_DIGITS = 4
_SECONDS = len("2025-01-15T12:00:00")


def parse_instant(text: str, *, path: str = "") -> Instant:
    """Read an RFC 3339 date-time with an offset; digits past the microsecond are cut.

    Raises:
        InvalidInput: `time.malformed` or `time.out-of-range`, with the offending `path`.
    """
    if expanded := _EXPANDED.fullmatch(text):
        return _expanded(int(expanded[1]), expanded[2], path)
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise _malformed(path, "write it as RFC 3339 with an offset, like 2025-01-15T12:00:00Z")
    fraction, offset = match.groups()
    micro = int(fraction.ljust(_DIGITS, "0")[:_DIGITS]) if fraction else 0
    try:
        instant = datetime.fromisoformat(text[:_SECONDS]).replace(tzinfo=UTC) - _offset(offset)
    except (ValueError, OverflowError):
        advice = "no such instant exists in the years 0001 to 9999; others have a sign and 6 digits"
        raise _malformed(path, advice) from None
    return Instant((instant - _EPOCH) // _MICROSECOND + micro)


def render_instant(instant: Instant) -> str:
    """The instant as RFC 3339 in UTC; microseconds only where there are any."""
    try:
        moment = _EPOCH_IN_UTC + timedelta(0, 0, instant)
    except OverflowError:
        return _rendered_far(instant)
    return f"{moment.isoformat()}Z"


def checked_year(year: int, *, path: str = "") -> int:
    """The year, 0 being 1 BC, if instants reach so far.

    Raises:
        InvalidInput: `time.out-of-range`.
    """
    if not YEAR_MIN <= year <= YEAR_MAX:
        message = (
            f"times reach from the year {YEAR_MIN} to {YEAR_MAX}; what lies beyond is told in "
            "words, without a time"
        )
        raise InvalidInput("time.out-of-range", message, path=path)
    return year


def _expanded(year: int, rest: str, path: str) -> Instant:
    """As in the year at the same place of the cycle, which lies among those that are known."""
    cycles = _cycles(checked_year(year, path=path))
    near = parse_instant(f"{year - cycles * CYCLE:04}{rest}", path=path)
    return Instant(near + cycles * _CYCLE_MICROSECONDS)


def _rendered_far(instant: Instant) -> str:
    cycles = instant // _CYCLE_MICROSECONDS
    near = _EPOCH_IN_UTC + timedelta(0, 0, instant - cycles * _CYCLE_MICROSECONDS)
    year, rest = near.year + cycles * CYCLE, near.isoformat()[_YEAR_DIGITS:]
    return f"{year:+07}{rest}Z"


def _cycles(year: int) -> int:
    """How many cycles `year` lies from one between 1600 and 1999."""
    return (year - 1_600) // CYCLE


def _offset(text: str) -> timedelta:
    if text in {"Z", "z"}:
        return timedelta()
    hours, minutes = int(text[1:3]), int(text[4:6])
    if hours > 23 or minutes > 59:  # noqa: PLR2004 - the clock's own numbers
        raise ValueError(text)
    distance = timedelta(hours=hours, minutes=minutes)
    return -distance if text[0] == "-" else distance


def _malformed(path: str, advice: str) -> InvalidInput:
    return InvalidInput("time.malformed", f"this is not a date-time: {advice}", path=path)
