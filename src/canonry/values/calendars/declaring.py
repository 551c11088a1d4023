"""Declaring a calendar: reads the JSON in which a universe says how it counts its days."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Final

from canonry.values.calendars.dates import without_points
from canonry.values.calendars.reckoning import (
    Calendar,
    Counter,
    DeclaredYears,
    Era,
    GregorianYears,
    Leap,
    Month,
)
from canonry.values.errors import InvalidInput
from canonry.values.fields import Fields, typed
from canonry.values.normal_forms import folded
from canonry.values.time import YEAR_MAX, parse_instant

NAME_MAX: Final = 60
DAYS_MAX: Final = 10_000
YEAR_DAYS_MAX: Final = 100_000
SECONDS_MAX: Final = 10**9
_BEGINS: Final = "0001-01-01T00:00:00Z"


def read_calendar(declared: Mapping[str, Any], *, path: str = "/calendar") -> Calendar:
    """The calendar that a universe declares.

    Raises:
        InvalidInput: `calendar.unknown-property`, `calendar.empty`, `calendar.mixed`,
            `calendar.name-malformed`, `calendar.name-repeats`, `calendar.leap-malformed`,
            `content.*`, `text.*`, `list.*` or `time.*`, with the path.
    """
    fields = _fields(declared, path, "name", "months", "week", "eras", "leap", "counters", "begins")
    months = tuple(_month(each) for each in _objects(fields, "months"))
    counters = tuple(_counter(each) for each in _objects(fields, "counters"))
    if bool(months) == bool(counters):
        code = "calendar.mixed" if months else "calendar.empty"
        message = f"{path} has either months or counters; declare one of the two"
        raise InvalidInput(code, message, path=path)
    week = _names(fields, "week")
    eras = tuple(_era(each) for each in _objects(fields, "eras"))
    begins = fields.optional_text("begins", limit=NAME_MAX) or _BEGINS
    leap = _leap(fields, months)
    days = tuple(each.days for each in months)
    if months:
        _require_days(days, fields.at("months"))
    elif week or eras or leap:
        message = f"{path} has counters alone; weeks, eras and leap years are of months"
        raise InvalidInput("calendar.mixed", message, path=path)
    _require_distinct(
        [
            *(name for month in months for name in (month.name, *month.short)),
            *(name for era in eras for name in (era.name, *era.also)),
            *(counter.name for counter in counters),
            *week,
        ],
        path,
    )
    return Calendar(
        name=fields.optional_text("name", limit=NAME_MAX) or "",
        begins=parse_instant(begins, path=fields.at("begins")),
        years=DeclaredYears(days=days, leap=leap) if months else GregorianYears(),
        months=months,
        week=week,
        eras=tuple(sorted(eras, key=lambda each: (not each.backwards, each.first))),
        counters=tuple(sorted(counters, key=lambda each: -each.seconds)),
    )


def _fields(value: Any, path: str, *known: str) -> Fields:
    values = typed(value, Mapping, path, "an object")
    unknown = sorted(str(name) for name in values if name not in known)
    if unknown:
        near = get_close_matches(unknown[0], known, n=1)  # nothing else of it is told
        meant = f"; did you mean {near[0]}" if near else ""
        message = f"{path} has a property that no calendar has{meant}; known are {', '.join(known)}"
        raise InvalidInput("calendar.unknown-property", message, path=path)
    return Fields(values=values, path=path)


def _objects(fields: Fields, name: str) -> Iterable[tuple[Any, str]]:
    return [(each, f"{fields.at(name)}/{at}") for at, each in enumerate(fields.listed(name))]


def _month(found: tuple[Any, str]) -> Month:
    fields = _fields(*found, "name", "days", "intercalary", "short")
    intercalary = fields.values.get("intercalary", False)
    days = fields.whole("days", low=0, high=DAYS_MAX)
    return Month(
        name=_name(fields.text("name", limit=NAME_MAX), fields.at("name")),
        days=1 if days is None else days,
        intercalary=typed(intercalary, bool, fields.at("intercalary"), "true or false"),
        short=_names(fields, "short"),
    )


def _era(found: tuple[Any, str]) -> Era:
    fields = _fields(*found, "name", "first_year", "backwards", "also")
    backwards = typed(
        fields.values.get("backwards", False), bool, fields.at("backwards"), "true or false"
    )
    first = fields.whole("first_year", low=-YEAR_MAX, high=YEAR_MAX)
    return Era(
        name=_name(fields.text("name", limit=NAME_MAX), fields.at("name")),
        first=(0 if backwards else 1) if first is None else first,
        backwards=backwards,
        also=_names(fields, "also"),
    )


def _counter(found: tuple[Any, str]) -> Counter:
    fields = _fields(*found, "name", "seconds")
    seconds = fields.whole("seconds", low=1, high=SECONDS_MAX)
    return Counter(
        name=_name(fields.text("name", limit=NAME_MAX), fields.at("name")),
        seconds=1 if seconds is None else seconds,
    )


def _leap(fields: Fields, months: tuple[Month, ...]) -> Leap | None:
    if fields.values.get("leap") is None:
        return None
    path = fields.at("leap")
    inner = _fields(fields.values["leap"], path, "every", "except", "but", "month", "days")
    every = inner.whole("every", low=1, high=YEAR_MAX)
    save = inner.whole("except", low=1, high=YEAR_MAX)
    again = inner.whole("but", low=1, high=YEAR_MAX)
    name = inner.text("month", limit=NAME_MAX)
    at = next((i for i, each in enumerate(months) if folded(each.name) == folded(name)), None)
    nested = every is not None and (save or every) % every == 0
    if not nested or at is None or (again and (not save or again % save)):
        message = (
            f"{path} names one of the months and says in every how many years: every 4, except "
            "100, but 400; each a multiple of the one before"
        )
        raise InvalidInput("calendar.leap-malformed", message, path=path)
    days = inner.whole("days", low=1, high=DAYS_MAX)
    return Leap(every=every or 1, month=at, days=days or 1, save=save, again=again)


def _names(fields: Fields, name: str) -> tuple[str, ...]:
    path = fields.at(name)
    return tuple(
        _name(typed(each, str, f"{path}/{at}", "a name"), f"{path}/{at}")
        for at, each in enumerate(fields.listed(name))
    )


def _name(text: str, path: str) -> str:
    """A name that can stand in a date: no digits, nothing that parts words of it."""
    name = " ".join(text.split())
    form = without_points(folded(name))
    lettered = any(each.isalpha() for each in form)
    if not lettered or len(name) > NAME_MAX or any(c.isdigit() or c in ",:" for c in name + form):
        message = (
            f"{path} is a name of letters, of 1 to {NAME_MAX} characters, without digits, commas "
            "or colons"
        )
        raise InvalidInput("calendar.name-malformed", message, path=path)
    return name


def _require_days(days: tuple[int, ...], path: str) -> None:
    if not 0 < sum(days) <= YEAR_DAYS_MAX:
        message = f"{path} together have 1 to {YEAR_DAYS_MAX} days"
        raise InvalidInput("calendar.empty", message, path=path)


def _require_distinct(names: list[str], path: str) -> None:
    forms = [without_points(folded(name)) for name in names]
    twice = sorted({name for name, form in zip(names, forms, strict=True) if forms.count(form) > 1})
    if twice:
        message = f"{path}: {twice[0]!r} is named twice; give each month, day, era another name"
        raise InvalidInput("calendar.name-repeats", message, path=path)
