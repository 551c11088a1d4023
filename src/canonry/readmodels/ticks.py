"""Ticks: a world's own time in whole milliseconds, kept as instants like all time of a world."""

from typing import Final, NewType

from canonry.values.errors import InvalidInput
from canonry.values.time import Instant

Tick = NewType("Tick", int)
"""Milliseconds of the world's clock."""

_MICROSECONDS: Final = 1_000
TICK_MIN: Final = Tick(-62_135_596_800_000)
TICK_MAX: Final = Tick(253_402_300_799_999)
"""The last millisecond that can be written as a date."""

DAY: Final = 86_400_000
_HOUR: Final = 3_600_000
_HOURS: Final = ((5, 8, "dawn"), (8, 12, "morning"), (12, 17, "afternoon"), (17, 20, "dusk"))


def instant_of(tick: Tick) -> Instant:
    """The instant of a tick."""
    return Instant(tick * _MICROSECONDS)


def tick_of(instant: Instant) -> Tick:
    """The tick of an instant; what lies between two ticks belongs to the earlier."""
    return Tick(instant // _MICROSECONDS)


def checked_tick(value: int, *, path: str) -> Tick:
    """`value` as a tick, if it can be written as a date.

    Raises:
        InvalidInput: `tick.out-of-range`.
    """
    if not TICK_MIN <= value <= TICK_MAX:
        message = f"{path} lies outside the ticks from {TICK_MIN} to {TICK_MAX}"
        raise InvalidInput("tick.out-of-range", message, path=path)
    return Tick(value)


def time_of_day(tick: Tick) -> str:
    """The part of the day at a tick; a day begins at midnight, a multiple of 24 hours."""
    hour = tick % DAY / _HOUR
    return next((name for start, end, name in _HOURS if start <= hour < end), "night")
