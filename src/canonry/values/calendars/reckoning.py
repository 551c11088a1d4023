"""Calendars: how they reckon, and their dates."""

import calendar
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from typing import Any, Final, Protocol

from canonry.values.errors import InvalidInput
from canonry.values.json_values import folded
from canonry.values.moments import CYCLE, DAY, SECOND, Instant

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


_NUMBER: Final = re.compile(r"[+-]?\d{1,9}", re.ASCII)
_DAY: Final = re.compile(r"(\d{1,5})(?:st|nd|rd|th)?", re.ASCII)
_CLOCK: Final = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d))?", re.ASCII)
_LINKS: Final = ("the", "of", "day")
_NAMED: Final = 40
"""So many names an error tells at most."""

Forms = Mapping[tuple[str, ...], int]


def spoken(instant: Instant, calendar: Calendar) -> str:
    """The instant in the words of a calendar, to the second; the same words are read back."""
    if calendar.counters:
        return ", ".join(f"{each.name} {count}" for each, count in counted(calendar, instant))
    year, month, day = calendar.date(instant)
    named = calendar.months[month]
    alone = named.intercalary and calendar.years.lengths(year)[month] == 1
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


def read_counted(said: str, calendar: Calendar) -> Instant | None:
    """What "day 2, round 3" says: each counter begins with 1, within the one before."""
    instant: int = calendar.begins
    known = {folded(each.name): each for each in calendar.counters}
    for part in said.split(","):
        name, _, number = part.strip().rpartition(" ")
        counter = known.get(name)
        if counter is None or not _NUMBER.fullmatch(number):
            return None
        instant += (int(number) - 1) * counter.seconds * SECOND
    return Instant(instant)


def read_dated(said: str, calendar: Calendar, start: Instant | None, path: str) -> Instant | None:
    """What a folded date says, or None where it is none; without a year it is that of `start`.

    Raises:
        InvalidInput: as `read_time`.
    """
    words = without_points(said).split()
    clock = _clock(words, path)
    weekday = _taken(words, forms_of((each, ()) for each in calendar.week))
    year = _year(words, calendar, path)
    if not words:
        return None if year is None else Instant(calendar.instant(year) + clock)
    placed = _month_and_day(words, calendar, path, sure=year is not None)
    if placed is None:
        return None
    if year is None:
        if start is None:
            message = "this says no year, and there is no time before it to take one from; add it"
            raise InvalidInput("time.relative-to-nothing", message, path=path)
        year = calendar.date(start)[0]
    found = _on(calendar, year, placed, path)
    if weekday is not None and calendar.week[weekday] != (real := calendar.weekday(found)):
        message = f"{spoken(found, calendar)} is a {real}"
        raise InvalidInput("time.weekday-wrong", message, path=path)
    return Instant(found + clock)


def forms_of(names: Iterable[tuple[str, Iterable[str]]]) -> Forms:
    """The words of names and of what else they are called, with their places."""
    return {
        tuple(without_points(folded(form)).split()): place
        for place, (name, also) in enumerate(names)
        for form in (*also, name)
    }


def without_points(text: str) -> str:
    """The text without the points and commas that may stand in a date, or may not."""
    return text.replace(".", "").replace(",", " ")


def _clock(words: list[str], path: str) -> int:
    """The time of day that the last word says, which is taken away."""
    if not words or ":" not in words[-1]:
        return 0
    match = _CLOCK.fullmatch(words.pop())
    hours, minutes, seconds = (int(each or 0) for each in match.groups()) if match else (99, 0, 0)
    if hours > 23 or minutes > 59 or seconds > 59:  # noqa: PLR2004 - the clock's own numbers
        message = "a time of day is written like 14:30 or 14:30:05"
        raise InvalidInput("time.malformed", message, path=path)
    if words and words[-1] == "at":
        words.pop()
    return (hours * 3_600 + minutes * 60 + seconds) * SECOND


def _taken(words: list[str], forms: Forms) -> int | None:
    """The place of the name with which the words begin, which is taken away."""
    for form, place in sorted(forms.items(), key=lambda each: -len(each[0])):
        if tuple(words[: len(form)]) == form and len(words) > len(form):
            del words[: len(form)]
            return place
    return None


def _year(words: list[str], calendar: Calendar, path: str) -> int | None:
    """The year that the last words say, which are taken away; None where they say none."""
    eras = forms_of((each.name, each.also) for each in calendar.eras)
    for form, place in sorted(eras.items(), key=lambda each: -len(each[0])):
        size = len(form)
        if tuple(words[-size:]) == form and _is_number(words, -size - 1):
            number = int(words[-size - 1])
        elif tuple(words[-size - 1 : -1]) == form and _is_number(words, -1):
            number = int(words[-1])
        else:
            continue
        del words[-size - 1 :]
        return _of_era(number, calendar.eras[place], calendar, path)
    if not _is_number(words, -1):
        return None
    number = int(words.pop())
    forwards = [era for era in calendar.eras if not era.backwards]
    if len(forwards) > 1:
        message = f"say of which era the year {number} is: {', '.join(e.name for e in forwards)}"
        raise InvalidInput("time.era-unknown", message, path=path)
    first = forwards[0].first if forwards else 1
    return first + number - 1


def _is_number(words: list[str], place: int) -> bool:
    return len(words) >= -place and _NUMBER.fullmatch(words[place]) is not None


def _of_era(number: int, era: Era, calendar: Calendar, path: str) -> int:
    if era.backwards:
        if number < 1:
            message = f"the years of {era.name} count from 1 backwards"
            raise InvalidInput("time.no-such-day", message, path=path)
        return era.first - number + 1
    year = era.first + number - 1
    later = [each.first for each in calendar.eras if not each.backwards and each.first > era.first]
    if later and year >= min(later):
        message = f"{era.name} has the years up to {min(later) - era.first}"
        raise InvalidInput("time.no-such-day", message, path=path)
    return year


def _month_and_day(
    words: list[str], calendar: Calendar, path: str, *, sure: bool
) -> tuple[int, int] | None:
    """The place of the month and the day in it; None where the words are surely no date."""
    forms = forms_of((each.name, each.short) for each in calendar.months)
    plain = [word for word in words if word not in _LINKS]
    unknown: list[str] = []
    for some in (words, plain):
        if (place := forms.get(tuple(some))) is not None:
            return place, 1
        for number, rest in ((some[:1], some[1:]), (some[-1:], some[:-1])):
            match = _DAY.fullmatch(number[0]) if rest else None
            if match is None:
                continue
            if (place := forms.get(tuple(rest))) is not None:
                return place, int(match[1])
            unknown = rest
    if unknown or sure:
        raise unknown_month(" ".join(unknown or words), calendar, path)
    return None


def _on(calendar: Calendar, year: int, placed: tuple[int, int], path: str) -> Instant:
    month, day = placed
    length = calendar.years.lengths(year)[month]
    if not 1 <= day <= length:
        named = f"{calendar.months[month].name} {_year_in_words(year, calendar)}"
        message = f"{named} has {length} days" if length else f"there is no {named}"
        raise InvalidInput("time.no-such-day", message, path=path)
    return calendar.instant(year, month, day)


def unknown_month(said: str, calendar: Calendar, path: str) -> InvalidInput:
    """The error for a word that is no month, nor an era, with those that there are."""
    names = [each.name for each in calendar.months]
    by_form = {folded(each): each for each in (*names, *(era.name for era in calendar.eras))}
    near = [hit for word in (said, *said.split()[-1:]) for hit in _near(word, by_form)]
    hint = f"did you mean {near[0]}? " if near else ""
    eras = f"; eras are {', '.join(each.name for each in calendar.eras)}" if calendar.eras else ""
    message = f"{hint}{calendar.name or 'the calendar'} has the months {_some(names)}{eras}"
    details: dict[str, Any] = {"months": names[:_NAMED]}
    return InvalidInput("time.month-unknown", message, path=path, **details)


def _near(word: str, by_form: Mapping[str, str]) -> list[str]:
    return [by_form[form] for form in get_close_matches(word, by_form, n=1, cutoff=0.6)]


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"
