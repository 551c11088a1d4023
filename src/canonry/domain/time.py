"""Instants: whole microseconds since 1970-01-01T00:00:00Z, parsed from and shown as RFC 3339."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final, NewType

from canonry.domain.errors import InvalidInput

Instant = NewType("Instant", int)
"""Microseconds since the Unix epoch, UTC; negative before it."""

SECOND: Final = 1_000_000
DAY: Final = 86_400 * SECOND

_RFC3339 = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_IN_UTC = _EPOCH.replace(tzinfo=None)
"""Without its offset, which takes half as long to write."""
_MICROSECOND = timedelta(microseconds=1)
_DIGITS = 6
_SECONDS = len("2025-01-15T12:00:00")


def parse_instant(text: str, *, path: str = "") -> Instant:
    """Read an RFC 3339 date-time with an offset; digits past the microsecond are cut.

    Raises:
        InvalidInput: `time.malformed`, with the offending `path`.
    """
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise _malformed(path, "write it as RFC 3339 with an offset, like 2025-01-15T12:00:00Z")
    fraction, offset = match.groups()
    micro = int(fraction.ljust(_DIGITS, "0")[:_DIGITS]) if fraction else 0
    try:
        instant = datetime.fromisoformat(text[:_SECONDS]).replace(tzinfo=UTC) - _offset(offset)
    except (ValueError, OverflowError):
        raise _malformed(path, "no such instant exists in the years 0001 to 9999") from None
    return Instant((instant - _EPOCH) // _MICROSECOND + micro)


def render_instant(instant: Instant) -> str:
    """The instant as RFC 3339 in UTC; microseconds only where there are any."""
    moment = _EPOCH_IN_UTC + timedelta(0, 0, instant)
    return f"{moment.isoformat()}Z"


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
