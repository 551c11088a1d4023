"""Read calendar declarations, and times in words."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from typing import Any, Final

from canonry.values.calendar_dates import read_date
from canonry.values.calendars.phrases import read_phrase
from canonry.values.calendars.reckoning import (
    GREGORIAN,
    Calendar,
    Counter,
    DeclaredYears,
    Era,
    Grain,
    GregorianYears,
    Leap,
    Month,
    RoughTime,
    read_calendar_date,
    read_counters,
    rough_in_words,
    span_of,
    time_in_words,
    without_points,
)
from canonry.values.errors import InvalidInput
from canonry.values.fields import Fields, check_type
from canonry.values.json_values import fold_text
from canonry.values.languages import month_numbers, plain_letters
from canonry.values.moments import DAY, YEAR_MAX, YEAR_MIN, Instant, parse_instant

NAME_MAX: Final = 60  # longer names are no names of months or eras
DAYS_MAX: Final = 10_000  # day tables are built in memory
YEAR_DAYS_MAX: Final = 100_000  # day tables are built in memory
SECONDS_MAX: Final = 10**9  # keeps times within 64 bits


def read_calendar(declared: Mapping[str, Any], *, path: str = "/calendar") -> Calendar:
    """Read the calendar that a universe declares.

    Raises:
        InvalidInput: `calendar.unknown-property`, `calendar.empty`, `calendar.mixed`,
            `calendar.name-malformed`, `calendar.name-repeats`, `calendar.leap-malformed`,
            `content.*`, `text.*`, `list.*` or `time.*`, with the path.
    """
    fields = _read_fields(
        declared, path, "name", "months", "week", "eras", "leap", "counters", "begins"
    )
    months = tuple(_read_month(each) for each in _list_objects(fields, "months"))
    counters = tuple(_read_counter(each) for each in _list_objects(fields, "counters"))
    if bool(months) == bool(counters):
        code = "calendar.mixed" if months else "calendar.empty"
        message = f"{path} must have either months or counters. Declare one of the two."
        raise InvalidInput(code, message, path=path)
    week = _read_names(fields, "week")
    eras = tuple(_read_era(each) for each in _list_objects(fields, "eras"))
    begins = fields.optional_text("begins", limit=NAME_MAX) or "0001-01-01T00:00:00Z"
    leap = _read_leap(fields, months)
    days = tuple(each.days for each in months)
    if months:
        _require_days(days, fields.path_of("months"))
    elif week or eras or leap:
        message = f"{path} has only counters. Remove its week, eras and leap, or declare months."
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
        begins=parse_instant(begins, path=fields.path_of("begins")),
        years=DeclaredYears(days=days, leap=leap) if months else GregorianYears(),
        months=months,
        week=week,
        eras=tuple(sorted(eras, key=lambda each: (not each.backwards, each.first))),
        counters=tuple(sorted(counters, key=lambda each: -each.seconds)),
    )


def _read_fields(value: Any, path: str, *known: str) -> Fields:
    values = check_type(value, Mapping, path, "an object")
    unknown = sorted(str(name) for name in values if name not in known)
    if unknown:
        near = get_close_matches(unknown[0], known, n=1)  # the only part of it in the error
        meant = f" Did you mean {near[0]}?" if near else ""
        message = f"{path} has an unknown property.{meant} Known are {', '.join(known)}."
        raise InvalidInput("calendar.unknown-property", message, path=path)
    return Fields(values=values, path=path)


def _list_objects(fields: Fields, name: str) -> Iterable[tuple[Any, str]]:
    return [
        (each, f"{fields.path_of(name)}/{at}") for at, each in enumerate(fields.read_list(name))
    ]


def _read_month(found: tuple[Any, str]) -> Month:
    fields = _read_fields(*found, "name", "days", "intercalary", "short")
    intercalary = fields.values.get("intercalary", False)
    days = fields.read_integer("days", low=0, high=DAYS_MAX)
    return Month(
        name=_read_name(fields.read_text("name", limit=NAME_MAX), fields.path_of("name")),
        days=1 if days is None else days,
        intercalary=check_type(intercalary, bool, fields.path_of("intercalary"), "true or false"),
        short=_read_names(fields, "short"),
    )


def _read_era(found: tuple[Any, str]) -> Era:
    fields = _read_fields(*found, "name", "first_year", "backwards", "also")
    backwards = check_type(
        fields.values.get("backwards", False), bool, fields.path_of("backwards"), "true or false"
    )
    first = fields.read_integer("first_year", low=-YEAR_MAX, high=YEAR_MAX)
    return Era(
        name=_read_name(fields.read_text("name", limit=NAME_MAX), fields.path_of("name")),
        first=(0 if backwards else 1) if first is None else first,
        backwards=backwards,
        also=_read_names(fields, "also"),
    )


def _read_counter(found: tuple[Any, str]) -> Counter:
    fields = _read_fields(*found, "name", "seconds")
    seconds = fields.read_integer("seconds", low=1, high=SECONDS_MAX)
    return Counter(
        name=_read_name(fields.read_text("name", limit=NAME_MAX), fields.path_of("name")),
        seconds=1 if seconds is None else seconds,
    )


def _read_leap(fields: Fields, months: tuple[Month, ...]) -> Leap | None:
    if fields.values.get("leap") is None:
        return None
    path = fields.path_of("leap")
    inner = _read_fields(fields.values["leap"], path, "every", "except", "but", "month", "days")
    every = inner.read_integer("every", low=1, high=YEAR_MAX)
    save = inner.read_integer("except", low=1, high=YEAR_MAX)
    again = inner.read_integer("but", low=1, high=YEAR_MAX)
    name = inner.read_text("month", limit=NAME_MAX)
    at = next((i for i, each in enumerate(months) if fold_text(each.name) == fold_text(name)), None)
    nested = every is not None and (save or every) % every == 0
    if not nested or at is None or (again and (not save or again % save)):
        message = (
            f"{path} is not a leap rule. Name a month, and give every, except and but, each a "
            "multiple of the one before, like every 4, except 100, but 400."
        )
        raise InvalidInput("calendar.leap-malformed", message, path=path)
    days = inner.read_integer("days", low=1, high=DAYS_MAX)
    return Leap(every=every or 1, month=at, days=days or 1, save=save, again=again)


def _read_names(fields: Fields, name: str) -> tuple[str, ...]:
    path = fields.path_of(name)
    return tuple(
        _read_name(check_type(each, str, f"{path}/{at}", "a name"), f"{path}/{at}")
        for at, each in enumerate(fields.read_list(name))
    )


def _read_name(text: str, path: str) -> str:
    """Return a name that can be part of a date: no digits, commas or colons."""
    name = " ".join(text.split())
    form = without_points(fold_text(name))
    lettered = any(each.isalpha() for each in form)
    if not lettered or len(name) > NAME_MAX or any(c.isdigit() or c in ",:" for c in name + form):
        message = (
            f"{path} is not a name. Use letters, at most {NAME_MAX} characters, and no digits, "
            "commas or colons."
        )
        raise InvalidInput("calendar.name-malformed", message, path=path)
    return name


def _require_days(days: tuple[int, ...], path: str) -> None:
    if not 0 < sum(days) <= YEAR_DAYS_MAX:
        message = f"{path} have {sum(days)} days together. Give them 1 to {YEAR_DAYS_MAX} days."
        raise InvalidInput("calendar.empty", message, path=path)


def _require_distinct(names: list[str], path: str) -> None:
    forms = [without_points(fold_text(name)) for name in names]
    twice = sorted({name for name, form in zip(names, forms, strict=True) if forms.count(form) > 1})
    if twice:
        message = f"{path} uses the name {twice[0]!r} twice. Give each month, day and era another."
        raise InvalidInput("calendar.name-repeats", message, path=path)


TIME_MAX: Final = 200
"""The most characters of a time in words."""

_FIRST: Final = parse_instant(f"{YEAR_MIN:+07}-01-01T00:00:00Z")
_LAST: Final = parse_instant(f"{YEAR_MAX:+07}-12-31T23:59:59.999999Z")
_EXAMPLE: Final = parse_instant("1402-03-03T00:00:00Z")
_ISO_DAY: Final = re.compile(r"([+-]\d{6}-\d\d|\d{4}-\d\d)(-\d\d)?", re.ASCII)
_DAY_OF_MONTH: Final = re.compile(r"(?:am |le |el )?(\d\d?)\.?(?: de)? ([a-z]+)")
_AND: Final = re.compile(r" (?:and|und|et|y|e|en) ")
_RFC: Final = re.compile(r"(?:[+-]\d{6}|\d{4})-\d\d-\d\dt[\d:.z+-]+", re.ASCII)


def read_rough_time(
    text: str, calendar: Calendar = GREGORIAN, start: RoughTime | None = None, *, path: str = ""
) -> RoughTime:
    """Read a time in words with its precision.

    "Two hours later" and "the next morning" count from `start`, which also supplies a missing year.

    Raises:
        InvalidInput: `time.malformed`, `time.out-of-range`, `time.month-unknown`,
            `time.era-unknown`, `time.no-such-day`, `time.weekday-wrong` or
            `time.relative-to-nothing`, with the `path`.
    """
    if len(text) > TIME_MAX:
        raise unreadable_time(calendar, path)
    folded_text = fold_text(text)
    if _RFC.fullmatch(folded_text):
        return RoughTime(start=parse_instant(text.strip(), path=path))
    if iso := _ISO_DAY.fullmatch(folded_text):
        day = parse_instant(f"{iso[1]}{iso[2] or '-01'}T00:00:00Z", path=path)
        return RoughTime(start=day, grain=Grain.DAY if iso[2] else Grain.MONTH)
    base = start or RoughTime(start=calendar.begins)
    failed = unreadable_time(calendar, path)
    try:
        found = _read_date(text, calendar, start, path)
    except InvalidInput as error:
        if error.code in {"time.no-such-day", "time.weekday-wrong"}:
            raise
        failed, found = error, None
    if found is None:
        found = read_phrase(text, calendar, base, partial(_date_or_none, calendar, start))
    if (found := found or _read_sum(folded_text, calendar, base)) is None:
        raise failed
    if found.counted and start is None:
        example = time_in_words(_EXAMPLE if calendar.months else calendar.begins, calendar)
        message = (
            f"{path or 'The text'} {text.strip()!r} counts from another time, and no scene here has"
            f" one. Omit it for now, write a date, like {example}, or give the scene a time first."
        )
        raise InvalidInput("time.relative-to-nothing", message, path=path, example=example)
    if not _FIRST <= found.start <= _LAST:
        message = (
            f"The time lies outside the years {YEAR_MIN} to {YEAR_MAX}. Describe it in the text "
            "and leave out the time."
        )
        raise InvalidInput("time.out-of-range", message, path=path)
    return found


def time_as_given(at: Instant, words: str | None, calendar: Calendar) -> RoughTime:
    """Return a time with the precision of the words in which it was given."""
    if words is None:
        is_date = bool(calendar.months) and (at - calendar.begins) % DAY == 0
        return RoughTime(start=at, grain=Grain.DAY if is_date else Grain.EXACT)
    try:
        rough = read_rough_time(words, calendar, RoughTime(start=at))
    except InvalidInput:
        rough = RoughTime(start=at, counted=True)
    begin, end = span_of(rough, calendar) if calendar.months else (rough.start, rough.start)
    if not (rough.counted or rough.start == at or begin <= at < end):  # the calendar has changed
        return RoughTime(start=at, counted=True)
    return replace(rough, start=at)


def wording_of_time(
    at: Instant, words: str, calendar: Calendar, start: RoughTime | None = None
) -> str:
    """Return a time as it was said; in words of the calendar if it counted from `start`.

    The text is empty for an exact time, a date in numbers, and words of an earlier calendar.
    """
    rough = time_as_given(at, words, calendar)
    if rough.counted:
        rough = rough if start is None else replace(rough, grain=max(rough.grain, start.grain))
        return rough_in_words(rough, calendar) if rough.grain or rough.about else ""
    has_wording = rough.grain is not Grain.EXACT or calendar is not GREGORIAN
    iso = _ISO_DAY.fullmatch(words)
    return " ".join(words.split()) if has_wording and not (iso and iso[2]) else ""


def _read_date(
    text: str, calendar: Calendar, start: RoughTime | None, path: str
) -> RoughTime | None:
    if calendar is GREGORIAN and (known := read_date(text)) is not None:
        grain = Grain.EXACT if "T" in known.text else Grain.DAY
        return RoughTime(start=known.instant, grain=grain)
    if calendar.counters:
        return read_counters(fold_text(text), calendar)
    if calendar is GREGORIAN and (day := _DAY_OF_MONTH.fullmatch(plain_letters(text).strip())):
        month = calendar.months[number - 1] if (number := month_numbers().get(day[2])) else None
        text = f"{day[1]} {month.name}" if month else text  # 3. Dezember, 3 de diciembre
    return read_calendar_date(fold_text(text), calendar, start, path)


def _date_or_none(calendar: Calendar, start: RoughTime | None, text: str) -> RoughTime | None:
    try:
        return _read_date(text, calendar, start, "")
    except InvalidInput:
        return None


def _read_sum(text: str, calendar: Calendar, start: RoughTime) -> RoughTime | None:
    """Read two spans of a phrase one after the other: `a year and a day later`."""
    first, *rest = _AND.split(text, maxsplit=1)
    words, read = " ".join(rest).split(), partial(read_phrase, read=lambda _: None)
    span = bool(words) and " " in first and read(first, calendar, start) is None  # no Monday
    for size in (1, 2) if span else ():
        then = read(" ".join(words), calendar, start)
        found = then and read(" ".join((first, *words[-size:])), calendar, then)
        if then and found:
            return replace(found, grain=then.grain)  # as exact as the shorter span
    return None


def unreadable_time(calendar: Calendar, path: str) -> InvalidInput:
    """Return the error for a text that is not a time, with examples."""
    example = time_in_words(_EXAMPLE if calendar.months else calendar.begins, calendar)
    message = (
        f"{path or 'The text'} is not a time. Write it like {example}, relative like 'two hours "
        "later' or 'three days before', or as RFC 3339 with an offset, like 2025-01-15T12:00:00Z."
    )
    return InvalidInput("time.malformed", message, path=path)
