"""Calendars: arithmetic of days and years, and dates in words with their precision."""

import calendar
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from enum import IntEnum
from functools import lru_cache
from typing import Any, Final, Protocol

from canonry.values.errors import InvalidInput
from canonry.values.json_values import fold_text
from canonry.values.moments import CYCLE, DAY, SECOND, Instant

_CYCLE_DAYS: Final = 146_097
_EPOCH: Final = date(1970, 1, 1).toordinal()
_MONTHS_IN_YEAR: Final = 12
_MONTHS: Final = (
    "January February March April May June July August September October November December"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """A month, or intercalary days between months; `short` are abbreviations."""

    name: str
    days: int
    intercalary: bool = False
    short: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Era:
    """A named count of years; `first` is its year 1 in the calendar's own count.

    An era that counts backwards has its year 2 before its year 1.
    """

    name: str
    first: int
    backwards: bool = False
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Leap:
    """Years divisible by `every` are longer, except those by `save`, but again those by `again`."""

    every: int
    month: int
    days: int = 1
    save: int | None = None
    again: int | None = None

    def days_before(self, year: int) -> int:
        """Return the number of leap days before a year, counted from year 1; negative before it."""
        return self.days * (self._leaps_before(year) - self._leaps_before(1))

    def _leaps_before(self, year: int) -> int:
        last = year - 1
        count = last // self.every
        if self.save is not None:
            count -= last // self.save
        if self.again is not None:
            count += last // self.again
        return count


class Years(Protocol):
    """The lengths of years; days are numbered from the calendar's first, which is 0."""

    def first_day(self, year: int) -> int:
        """Return the first day of a year."""
        ...

    def year_of(self, day: int) -> int:
        """Return the year of a day."""
        ...

    def month_lengths(self, year: int) -> tuple[int, ...]:
        """Return the number of days in each month of a year."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GregorianYears:
    """Gregorian years, by the standard library and whole cycles of 400 years beyond its range.

    The year 0 is 1 BC; the day 0 is 1 January 1970.
    """

    def first_day(self, year: int) -> int:
        """Return the first day of a year."""
        cycles = (year - 1) // CYCLE
        return date(year - cycles * CYCLE, 1, 1).toordinal() - _EPOCH + cycles * _CYCLE_DAYS

    def year_of(self, day: int) -> int:
        """Return the year of a day."""
        cycles, within = divmod(day + _EPOCH - 1, _CYCLE_DAYS)
        return date.fromordinal(within + 1).year + cycles * CYCLE

    def month_lengths(self, year: int) -> tuple[int, ...]:
        """Return the number of days in each month of a year."""
        near = year - (year - 1) // CYCLE * CYCLE
        return tuple(calendar.monthrange(near, month + 1)[1] for month in range(_MONTHS_IN_YEAR))


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredYears:
    """Years with the same declared months, some of them longer; day 0 begins year 1."""

    days: tuple[int, ...]
    leap: Leap | None = None

    def first_day(self, year: int) -> int:
        """Return the first day of a year."""
        added = self.leap.days_before(year) if self.leap else 0
        return sum(self.days) * (year - 1) + added

    def year_of(self, day: int) -> int:
        """Return the year of a day, by bisection between bounds from short and long years."""
        short = sum(self.days)
        longest = short + (self.leap.days if self.leap else 0)
        bounds = (day // longest, day // short)
        low, high = min(bounds), max(bounds) + 2  # if all years were long, or all short
        while high - low > 1:
            middle = (low + high) // 2
            if self.first_day(middle) <= day:
                low = middle
            else:
                high = middle
        return low

    def month_lengths(self, year: int) -> tuple[int, ...]:
        """Return the number of days in each month of a year."""
        leap = self.leap
        if leap is None or leap.days_before(year + 1) == leap.days_before(year):
            return self.days
        at = leap.month
        return (*self.days[:at], self.days[at] + leap.days, *self.days[at + 1 :])


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """A counted unit of fixed length, such as a round."""

    name: str
    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """The calendar of a world: months and years, or counters only.

    `begins` is the instant of day 0, or of the first of each counter.
    """

    name: str
    begins: Instant
    years: Years
    months: tuple[Month, ...] = ()
    week: tuple[str, ...] = ()
    eras: tuple[Era, ...] = ()
    counters: tuple[Counter, ...] = ()

    @property
    def proper_months(self) -> list[int]:
        """The indexes of the months that are not intercalary days."""
        return [at for at, each in enumerate(self.months) if not each.intercalary]

    def instant_of(self, year: int, month: int = 0, day: int = 1) -> Instant:
        """Return the start of an existing day; months count from 0, days from 1."""
        days = self.years.first_day(year) + sum(self.years.month_lengths(year)[:month]) + day - 1
        return Instant(self.begins + days * DAY)

    def date_of(self, instant: Instant) -> tuple[int, int, int]:
        """Return the year, month and day of an instant."""
        day = (instant - self.begins) // DAY
        year = self.years.year_of(day)
        left = day - self.years.first_day(year)
        for month, length in enumerate(self.years.month_lengths(year)):
            if left < length:
                return year, month, left + 1
            left -= length
        raise AssertionError(year, left)

    def weekday_of(self, instant: Instant) -> str | None:
        """Return the weekday of an instant; None: the calendar has no weeks."""
        return None if not self.week else self.week[(instant - self.begins) // DAY % len(self.week)]

    def months_later(self, instant: Instant, *, months: int) -> Instant:
        """Move by months, to the same day or the month's last. Intercalary days do not count."""
        year, month, day = self.date_of(instant)
        of_day = (instant - self.begins) % DAY
        proper = self.proper_months
        at = sum(1 for each in proper if each <= month) - 1 + months
        year, month = year + at // len(proper), proper[at % len(proper)]
        last = self.years.month_lengths(year)[month]
        return Instant(self.instant_of(year, month, max(1, min(day, last))) + of_day)

    def years_later(self, instant: Instant, *, years: int) -> Instant:
        """Move by years, to the same day or the last one of its month."""
        year, month, day = self.date_of(instant)
        of_day = (instant - self.begins) % DAY
        last = self.years.month_lengths(year + years)[month]
        return Instant(self.instant_of(year + years, month, max(1, min(day, last))) + of_day)


GREGORIAN: Final = Calendar(
    name="Gregorian",
    begins=Instant(0),
    years=GregorianYears(),
    months=tuple(Month(name=name, days=0, short=(name[:3],)) for name in _MONTHS.split()),
    week=(*("Thursday", "Friday", "Saturday", "Sunday"), *("Monday", "Tuesday", "Wednesday")),
    eras=(
        Era(name="BC", first=0, backwards=True, also=("BCE",)),
        Era(name="AD", first=1, also=("CE",)),
    ),
)
"""The proleptic Gregorian calendar, the default of every universe."""


def count_units(calendar_: Calendar, instant: Instant) -> Iterator[tuple[Counter, int]]:
    """Yield each counter's value at an instant, the longest counter first."""
    left = (instant - calendar_.begins) // SECOND
    for index, counter in enumerate(calendar_.counters):
        whole, left = divmod(left, counter.seconds)
        if index == 0 or whole:
            yield counter, whole + 1


class Grain(IntEnum):
    """The precision of a time, from the finest to the coarsest."""

    EXACT = 0
    PART = 1
    DAY = 2
    WEEK = 3
    MONTH = 4
    SEASON = 5
    YEAR = 6
    DECADE = 7
    CENTURY = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RoughTime:
    """A time with its precision; `start` begins the day, month or year that was named.

    It is `counted` if its words count from another time, and so mean nothing without it. A date
    without a year or a month that counts from this time lies near it: the last one for `toward` -1,
    the next one for 1, and the one of the same year or month for 0.
    """

    start: Instant
    grain: Grain = Grain.EXACT
    about: bool = False
    counted: bool = False
    toward: int = 0


HOUR: Final = 3_600 * SECOND
_HOURS: Final = ((5, 6), (6, 12), (12, 13), (13, 17), (17, 18), (18, 21), (24, 25), (21, 29))
_NAMES: Final = "dawn morning noon afternoon dusk evening midnight night"
PARTS: Final = dict(zip(_NAMES.split(), _HOURS, strict=True))
"""The hours of each part of a day; a night lasts until the small hours of the next date."""
SMALL_HOURS: Final = 5
SEASONS: Final = ("winter", "spring", "summer", "autumn")
"""The seasons, each of three months; the last month of a year of twelve begins the winter."""
_YEARS_OF: Final = {Grain.YEAR: 1, Grain.DECADE: 10, Grain.CENTURY: 100}


def span_of(rough: RoughTime, calendar: Calendar) -> tuple[Instant, Instant]:
    """Return the start and the end of the day, month or other span in which a time lies."""
    at, grain = rough.start, rough.grain
    day = Instant(at - (at - calendar.begins) % DAY)
    if grain is Grain.EXACT:
        return at, at
    if grain is Grain.PART:
        name, day = part_of_day(at, calendar)
        return Instant(day + PARTS[name][0] * HOUR), Instant(day + PARTS[name][1] * HOUR)
    if grain <= Grain.WEEK:
        return day, Instant(day + (DAY if grain is Grain.DAY else 7 * DAY))
    year, month, _ = calendar.date_of(at)
    if (years := _YEARS_OF.get(grain)) is not None:
        year -= 0 if rough.counted else (year - (grain is Grain.CENTURY)) % years
        return calendar.instant_of(year), calendar.instant_of(year + years)
    begin = calendar.instant_of(year, month)
    if grain is Grain.MONTH:
        return begin, Instant(begin + calendar.years.month_lengths(year)[month] * DAY)
    begin = calendar.months_later(begin, months=-((calendar.proper_months.index(month) + 1) % 3))
    return begin, calendar.months_later(begin, months=3)


def part_of_day(at: Instant, calendar: Calendar) -> tuple[str, Instant]:
    """Return the part of the day at a time, and the date to which it belongs."""
    hour = (at - calendar.begins) % DAY // HOUR
    hour += 24 if hour < SMALL_HOURS else 0
    name = [each for each, (begin, end) in PARTS.items() if begin <= hour < end][-1]
    date = at - (at - calendar.begins) % DAY
    return name, Instant(date - hour // 24 * DAY)


def rough_in_words(rough: RoughTime, calendar: Calendar) -> str:
    """Return the time in the calendar's words, no more precisely than it is known."""
    grain, about = rough.grain, "about " if rough.about or rough.grain > Grain.YEAR else ""
    begin = span_of(rough, calendar)[0] if calendar.months and grain <= Grain.YEAR else rough.start
    year, month, _ = calendar.date_of(begin) if calendar.months else (0, 0, 0)
    words = time_in_words(begin if Grain.DAY <= grain <= Grain.WEEK else rough.start, calendar)
    if grain is Grain.PART and not calendar.counters:
        name, date = part_of_day(rough.start, calendar)
        words = f"{name} of {time_in_words(date, calendar)}"
    elif grain is Grain.WEEK:
        words = f"week of {words}"
    elif grain > Grain.WEEK:
        words = _year_in_words(year, calendar)
        if grain < Grain.YEAR:
            season = f"{SEASONS[(calendar.proper_months.index(month) + 1) // 3 % 4]} of"
            words = f"{season if grain is Grain.SEASON else calendar.months[month].name} {words}"
    is_plain = calendar is GREGORIAN and year >= 10**DAY_DIGITS
    return f"{about}{words.removesuffix(' AD') if is_plain else words}"


_NUMBER: Final = re.compile(r"[+-]?\d{1,9}", re.ASCII)
_DAY: Final = re.compile(r"(\d{1,5})(?:st|nd|rd|th)?", re.ASCII)
_CLOCK: Final = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d))?", re.ASCII)
_BETWEEN: Final = re.compile(r",|(?<=\d)\.(?=\d)")
_ON: Final = ("the", "on", "am", "le", "el")
_LINKS: Final = (*_ON, "of", "day", "de")
DAY_DIGITS: Final = 2
"""So few digits without an era are a day, and no year, where years have eras."""
_NAMED: Final = 40  # the most names in an error message

Forms = Mapping[tuple[str, ...], int]


def time_in_words(instant: Instant, calendar: Calendar) -> str:
    """Return the instant in the calendar's words, to the second; `read_roughly` reads them back."""
    if calendar.counters:
        return ", ".join(f"{each.name} {count}" for each, count in count_units(calendar, instant))
    year, month, day = calendar.date_of(instant)
    named = calendar.months[month]
    alone = named.intercalary and calendar.years.month_lengths(year)[month] == 1
    text = f"{named.name if alone else f'{day} {named.name}'} {_year_in_words(year, calendar)}"
    minutes, seconds = divmod((instant - calendar.begins) % DAY // SECOND, 60)
    if not (minutes or seconds):
        return text
    clock = f"{minutes // 60:02}:{minutes % 60:02}"
    return f"{text} {clock}:{seconds:02}" if seconds else f"{text} {clock}"


def _year_in_words(year: int, calendar: Calendar) -> str:
    if begun := [era for era in calendar.eras if not era.backwards and era.first <= year]:
        return f"{year - begun[-1].first + 1} {begun[-1].name}"
    for era in calendar.eras:
        if era.backwards and year <= era.first:
            return f"{era.first - year + 1} {era.name}"
    return str(year)


def read_counters(text: str, calendar: Calendar) -> RoughTime | None:
    """Read "day 2, round 3": each counter starts at 1 within the one before it."""
    instant: int = calendar.begins
    known = {fold_text(each.name): each for each in calendar.counters}
    for part in text.split(","):
        name, _, number = part.strip().rpartition(" ")
        counter = known.get(name)
        if counter is None or not _NUMBER.fullmatch(number):
            return None
        instant += (int(number) - 1) * counter.seconds * SECOND
    return RoughTime(start=Instant(instant))


def read_calendar_date(
    text: str, calendar: Calendar, start: RoughTime | None, path: str
) -> RoughTime | None:
    """Read a folded date; None if it is none. A date without a year or month lies near `start`.

    Raises:
        InvalidInput: as `read_roughly`.
    """
    words = without_points(text).split()
    clock = _take_clock(words, path)
    weekday = _take_name(words, forms_of(*((each, ()) for each in calendar.week)))
    year = _take_year(words, calendar, path)
    if not words:
        if year is None or weekday is not None:
            return None
        grain = Grain.YEAR if clock is None else Grain.EXACT
        return RoughTime(start=Instant(calendar.instant_of(year) + (clock or 0)), grain=grain)
    wanted = _month_and_day(words, calendar, path, sure=year is not None)
    if wanted is None:
        return None
    if counted := year is None:
        if start is None:
            message = "The date has no year, and no earlier time supplies one. Add the year."
            raise InvalidInput("time.relative-to-nothing", message, path=path)
        year, month = _nearest_month(calendar, start, wanted)
        wanted = month, wanted[1]
    found = _instant_on(calendar, year, wanted, path)
    if weekday is not None and calendar.week[weekday] != (real := calendar.weekday_of(found)):
        message = f"{time_in_words(found, calendar)} is a {real}. Correct the weekday or the date."
        raise InvalidInput("time.weekday-wrong", message, path=path)
    month, day = wanted
    grain = Grain.DAY if day or calendar.years.month_lengths(year)[month] == 1 else Grain.MONTH
    grain = grain if clock is None else Grain.EXACT
    return RoughTime(start=Instant(found + (clock or 0)), grain=grain, counted=counted)


def _nearest_month(
    calendar: Calendar, start: RoughTime, wanted: tuple[int, int]
) -> tuple[int, int]:
    """Return the year and the month of a date that lies near `start`; month -1 is any month."""
    year, month, day = calendar.date_of(start.start)
    if wanted[0] >= 0:
        is_later = wanted > (month, day) if wanted[1] else wanted[0] > month
        is_earlier = wanted < (month, day) if wanted[1] else wanted[0] < month
        step = -1 if start.toward < 0 and is_later else int(start.toward > 0 and is_earlier)
        return year + step, wanted[0]
    step = -1 if start.toward < 0 and wanted[1] > day else int(start.toward > 0 > wanted[1] - day)
    return calendar.date_of(calendar.months_later(calendar.instant_of(year, month), months=step))[
        :2
    ]


@lru_cache(maxsize=256)  # built from all names of a calendar
def forms_of(*names: tuple[str, tuple[str, ...]]) -> Forms:
    """Map the words of names and abbreviations to the index of the name."""
    return {
        tuple(without_points(fold_text(form)).split()): index
        for index, (name, also) in enumerate(names)
        for form in (*also, name)
    }


def without_points(text: str) -> str:
    """Return the text without the optional points and commas of dates; no two numbers join."""
    return _BETWEEN.sub(" ", text).replace(".", "")


def _take_clock(words: list[str], path: str) -> int | None:
    """Take a time of day from the end of the words; None: they have none."""
    if not words or ":" not in words[-1]:
        return None
    match = _CLOCK.fullmatch(words.pop())
    hours, minutes, seconds = (int(each or 0) for each in match.groups()) if match else (99, 0, 0)
    if hours > 23 or minutes > 59 or seconds > 59:  # noqa: PLR2004 - the clock's own numbers
        message = "The time of day cannot be read. Write it like 14:30 or 14:30:05."
        raise InvalidInput("time.malformed", message, path=path)
    if words and words[-1] == "at":
        words.pop()
    return (hours * 3_600 + minutes * 60 + seconds) * SECOND


def _take_name(words: list[str], forms: Forms) -> int | None:
    """Take a name from the start of the words and return its index."""
    for form, index in sorted(forms.items(), key=lambda each: -len(each[0])):
        if tuple(words[: len(form)]) == form and len(words) > len(form):
            del words[: len(form)]
            return index
    return None


def _take_year(words: list[str], calendar: Calendar, path: str) -> int | None:
    """Take a year from the end of the words; None: they have none."""
    eras = forms_of(*((each.name, each.also) for each in calendar.eras))
    for form, index in sorted(eras.items(), key=lambda each: -len(each[0])):
        size = len(form)
        if tuple(words[-size:]) == form and _is_number(words, -size - 1):
            number = int(words[-size - 1])
        elif tuple(words[-size - 1 : -1]) == form and _is_number(words, -1):
            number = int(words[-1])
        else:
            continue
        del words[-size - 1 :]
        return _year_of_era(number, calendar.eras[index], calendar, path)
    if not _is_number(words, -1):
        return None
    is_short = len(words[-1]) <= DAY_DIGITS and not any(map(_DAY.fullmatch, words[:-1]))
    if is_short and calendar.eras:
        return None  # May 5
    number = int(words.pop())
    forwards = [era for era in calendar.eras if not era.backwards]
    if len(forwards) > 1:
        message = f"The year {number} needs an era: {', '.join(e.name for e in forwards)}."
        raise InvalidInput("time.era-unknown", message, path=path)
    first = forwards[0].first if forwards else 1
    return first + number - 1


def _is_number(words: list[str], index: int) -> bool:
    return len(words) >= -index and _NUMBER.fullmatch(words[index]) is not None


def _year_of_era(number: int, era: Era, calendar: Calendar, path: str) -> int:
    if era.backwards:
        if number < 1:
            message = f"{era.name} has no year {number}. Its years count backwards from 1."
            raise InvalidInput("time.no-such-day", message, path=path)
        return era.first - number + 1
    year = era.first + number - 1
    later = [each.first for each in calendar.eras if not each.backwards and each.first > era.first]
    if later and year >= min(later):
        message = f"{era.name} has no year {number}. Its last year is {min(later) - era.first}."
        raise InvalidInput("time.no-such-day", message, path=path)
    return year


def _month_and_day(
    words: list[str], calendar: Calendar, path: str, *, sure: bool
) -> tuple[int, int] | None:
    """Return the index of the month and the day, or 0 for none; None: they are not a date."""
    forms = forms_of(*((each.name, each.short) for each in calendar.months))
    plain = [word for word in words if word not in _LINKS]
    unknown: list[str] = []
    if not sure and len(plain) == 1 and plain[0][:1].isdigit() and words[0] in (*_ON, *plain):
        match = _DAY.fullmatch(plain[0])
        if match and (len(words) > 1 or match[1] != plain[0]):
            return -1, int(match[1])
    for some in (words, plain):
        if (index := forms.get(tuple(some))) is not None:
            return index, 0
        for number, rest in ((some[:1], some[1:]), (some[-1:], some[:-1])):
            match = _DAY.fullmatch(number[0]) if rest else None
            if match is None:
                continue
            if (index := forms.get(tuple(rest))) is not None:
                return index, int(match[1])
            unknown = rest
    if unknown or sure:
        raise unknown_month(" ".join(unknown or words), calendar, path)
    return None


def _instant_on(calendar: Calendar, year: int, wanted: tuple[int, int], path: str) -> Instant:
    month, day = wanted[0], wanted[1] or 1
    length = calendar.years.month_lengths(year)[month]
    if not 1 <= day <= length:
        named = f"{calendar.months[month].name} {_year_in_words(year, calendar)}"
        message = f"{named} has {length} days." if length else f"There is no {named}."
        raise InvalidInput("time.no-such-day", message, path=path)
    return calendar.instant_of(year, month, day)


def unknown_month(words: str, calendar: Calendar, path: str) -> InvalidInput:
    """Return the error for a word that is no month or era, with the existing ones."""
    names = [each.name for each in calendar.months]
    by_form = {fold_text(each): each for each in (*names, *(era.name for era in calendar.eras))}
    tried = (words, *words.split()[-1:])
    near = [hit for word in tried for hit in get_close_matches(word, by_form, n=1)]
    hint = f"Did you mean {by_form[near[0]]}? " if near else ""
    eras = f" Eras are {', '.join(each.name for each in calendar.eras)}." if calendar.eras else ""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    months = f"the months {', '.join(names[:_NAMED])}{more}"
    message = f"{hint}{calendar.name or 'The calendar'} has {months}.{eras}"
    details: dict[str, Any] = {"months": names[:_NAMED]}
    return InvalidInput("time.month-unknown", message, path=path, **details)
