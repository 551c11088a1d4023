"""Reckoning: the days of a calendar's years; a day is 24 hours, whatever the calendar calls it."""

import calendar
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Final, Protocol

from canonry.values.time import CYCLE, DAY, SECOND, Instant

_CYCLE_DAYS: Final = 146_097
_EPOCH: Final = date(1970, 1, 1).toordinal()
_MONTHS_IN_YEAR: Final = 12
_MONTHS: Final = (
    "January February March April May June July August September October November December"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """A month, or days that stand between months; `short` are other words for it."""

    name: str
    days: int
    intercalary: bool = False
    short: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Era:
    """Years under one name: `first` is the year in the calendar's own count that is its year 1.

    One that counts backwards has its year 1 there and its year 2 before it.
    """

    name: str
    first: int
    backwards: bool = False
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Leap:
    """Each year divisible by `every`, save by `save`, but again by `again`, is longer."""

    every: int
    month: int
    days: int = 1
    save: int | None = None
    again: int | None = None

    def is_leap(self, year: int) -> bool:
        """Whether the year is longer."""
        return self._before(year + 1) != self._before(year)

    def days_before(self, year: int) -> int:
        """How many days were added from year 1 until this one begins; less than 0 before it."""
        return self.days * (self._before(year) - self._before(1))

    def _before(self, year: int) -> int:
        last = year - 1
        count = last // self.every
        if self.save is not None:
            count -= last // self.save
        if self.again is not None:
            count += last // self.again
        return count


class Years(Protocol):
    """How many days the years have; days are counted from the first of the calendar, which is 0."""

    def first_day(self, year: int) -> int:
        """The day on which a year begins."""
        ...

    def year_of(self, day: int) -> int:
        """The year in which a day lies."""
        ...

    def lengths(self, year: int) -> tuple[int, ...]:
        """How many days each month of a year has."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GregorianYears:
    """The years that the standard library knows, and what lies whole cycles of 400 years away.

    The year 0 is 1 BC; the day 0 is 1 January 1970.
    """

    def first_day(self, year: int) -> int:
        """The day on which a year begins."""
        cycles = (year - 1) // CYCLE
        return date(year - cycles * CYCLE, 1, 1).toordinal() - _EPOCH + cycles * _CYCLE_DAYS

    def year_of(self, day: int) -> int:
        """The year in which a day lies."""
        cycles, within = divmod(day + _EPOCH - 1, _CYCLE_DAYS)
        return date.fromordinal(within + 1).year + cycles * CYCLE

    def lengths(self, year: int) -> tuple[int, ...]:
        """How many days each month of a year has."""
        near = year - (year - 1) // CYCLE * CYCLE
        return tuple(calendar.monthrange(near, month + 1)[1] for month in range(_MONTHS_IN_YEAR))


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredYears:
    """Years of the same months over and over, some of them longer; the day 0 begins the year 1."""

    days: tuple[int, ...]
    leap: Leap | None = None

    def first_day(self, year: int) -> int:
        """The day on which a year begins."""
        added = self.leap.days_before(year) if self.leap else 0
        return sum(self.days) * (year - 1) + added

    def year_of(self, day: int) -> int:
        """The year in which a day lies, between what short and long years by themselves say."""
        short = sum(self.days)
        longest = short + (self.leap.days if self.leap else 0)
        bounds = (day // longest, day // short)
        low, high = min(bounds), max(bounds) + 2  # of years that are all long, or all short
        while high - low > 1:
            middle = (low + high) // 2
            if self.first_day(middle) <= day:
                low = middle
            else:
                high = middle
        return low

    def lengths(self, year: int) -> tuple[int, ...]:
        """How many days each month of a year has."""
        if self.leap is None or not self.leap.is_leap(year):
            return self.days
        at = self.leap.month
        return (*self.days[:at], self.days[at] + self.leap.days, *self.days[at + 1 :])


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """Something that is only counted, such as rounds; each lasts as long."""

    name: str
    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """How a world says when: by the months of its years, or by counters alone.

    `begins` is when its day 0, or the first of each counter, begins.
    """

    name: str
    begins: Instant
    years: Years
    months: tuple[Month, ...] = ()
    week: tuple[str, ...] = ()
    eras: tuple[Era, ...] = ()
    counters: tuple[Counter, ...] = ()

    def instant(self, year: int, month: int = 0, day: int = 1) -> Instant:
        """When a day begins; months count from 0 and days from 1, and both are known to exist."""
        days = self.years.first_day(year) + sum(self.years.lengths(year)[:month]) + day - 1
        return Instant(self.begins + days * DAY)

    def date(self, instant: Instant) -> tuple[int, int, int]:
        """The year, month and day on which an instant lies."""
        day = (instant - self.begins) // DAY
        year = self.years.year_of(day)
        left = day - self.years.first_day(year)
        for month, length in enumerate(self.years.lengths(year)):
            if left < length:
                return year, month, left + 1
            left -= length
        raise AssertionError(year, left)

    def weekday(self, instant: Instant) -> str | None:
        """The day of the week on which an instant lies, where there are weeks."""
        if not self.week:
            return None
        return self.week[(instant - self.begins) // DAY % len(self.week)]

    def later(self, instant: Instant, *, months: int) -> Instant:
        """So many months later, on the same day or the last there is; intercalary days are none."""
        year, month, day = self.date(instant)
        of_day = (instant - self.begins) % DAY
        proper = [at for at, each in enumerate(self.months) if not each.intercalary]
        at = sum(1 for each in proper if each <= month) - 1 + months
        year, month = year + at // len(proper), proper[at % len(proper)]
        last = self.years.lengths(year)[month]
        return Instant(self.instant(year, month, max(1, min(day, last))) + of_day)

    def years_later(self, instant: Instant, *, years: int) -> Instant:
        """So many years later, on the same day or the last of its month."""
        year, month, day = self.date(instant)
        of_day = (instant - self.begins) % DAY
        last = self.years.lengths(year + years)[month]
        return Instant(self.instant(year + years, month, max(1, min(day, last))) + of_day)


GREGORIAN: Final = Calendar(
    name="Gregorian",
    begins=Instant(0),
    years=GregorianYears(),
    months=tuple(Month(name=name, days=0, short=(name[:3],)) for name in _MONTHS.split()),
    week=(
        *("Thursday", "Friday", "Saturday", "Sunday"),
        *("Monday", "Tuesday", "Wednesday"),
    ),
    eras=(
        Era(name="BC", first=0, backwards=True, also=("BCE",)),
        Era(name="AD", first=1, also=("CE",)),
    ),
)
"""The proleptic Gregorian calendar, which counts where a universe has not declared another."""


def counted(calendar_: Calendar, instant: Instant) -> Iterator[tuple[Counter, int]]:
    """How the counters stand at an instant, the longest first."""
    left = (instant - calendar_.begins) // SECOND
    for place, counter in enumerate(calendar_.counters):
        whole, left = divmod(left, counter.seconds)
        if place == 0 or whole:
            yield counter, whole + 1
