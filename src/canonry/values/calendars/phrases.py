"""Phrases of time, like "the next morning" or "early March 1900", in several languages."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import islice
from typing import Any, Final, TypeAlias

from canonry.values.calendars.reckoning import (
    DAY_DIGITS,
    GREGORIAN,
    HOUR,
    PARTS,
    SEASONS,
    SMALL_HOURS,
    Calendar,
    Grain,
    RoughTime,
    forms_of,
    span_of,
)
from canonry.values.json_values import fold_text
from canonry.values.languages import known_languages, plain_letters
from canonry.values.languages import month_numbers as all_months
from canonry.values.moments import DAY, SECOND, YEAR_MAX, Instant

_WORD: Final = re.compile(r"\d{1,2}:\d\d(?::\d\d)?(?!\w)|[^\W_]+")
_CLOCK: Final = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?", re.ASCII)
_NUMBER: Final = re.compile(r"\d{1,9}", re.ASCII)
_UNREAD: Final = re.compile(
    r"[^\w\s.,:;'\u2019!()\"/\u201c\u201d-]|(?<!\w)-(?=\d)|(?<![\d.])\d+[.,]\d+(?![\d.,])"
)
"""Signs that change what a phrase means, and fractions."""
_DECADE: Final = re.compile(r"(\d{1,5}0)(s|er)?", re.ASCII)
_ORDINAL: Final = re.compile(r"(\d{1,3})(?:st|nd|rd|th|e|eme)?", re.ASCII)
_WORDS_MAX: Final = 14  # longer texts are no times; bounds the combinations
_FORM_MAX: Final = 5  # the longest name of a time in the tables
_READINGS_MAX: Final = 2_000
"""The most readings of one phrase; each word with two meanings doubles them."""
_NAMED_MAX: Final = 1_000  # the most springs or Mondays that one phrase counts
_SPANS: Final = {"second": SECOND, "minute": 60 * SECOND, "hour": HOUR, "day": DAY}
_WEEK: Final = 7
_THURSDAY: Final = 3  # the day of the week, counted from Monday, that is 0 in a calendar
_YEARS: Final = {"year": 1, "decade": 10, "century": 100}
_DATED: Final = {"day": Grain.DAY, "week": Grain.WEEK, "month": Grain.MONTH, "year": Grain.YEAR}
_GRAINS: Final = {**_DATED, "decade": Grain.YEAR, "century": Grain.YEAR}
_GRAINS_OF_DATES: Final = {**_DATED, "decade": Grain.DECADE, "century": Grain.CENTURY}

_Token: TypeAlias = tuple[str, Any]
_Forms: TypeAlias = Mapping[tuple[str, ...], Sequence[_Token]]
ReadDate: TypeAlias = Callable[[str], RoughTime | None]
_ORDERED: Final = ("way", "part", "named")
_THIS: Final = frozenset(("same", "now", "days"))
_MOVING: Final = _THIS | {"lead", "then", "count"}
_UNITS: Final = (*_SPANS, "week", "fortnight", "month", *_YEARS)
_TABLES: Final[Mapping[str, Sequence[_Token]]] = {
    "skip": [("skip", 0)],
    "count": [("count", number) for number in range(1, 20)],
    "tens": [("count", 10 * number) for number in range(2, 10)],
    "amounts": [("few", 3), ("half", 0), ("plus", 0), ("times", 12), ("times", 100)],
    "units": [*[("unit", unit) for unit in _UNITS], ("decades", False), ("decades", True)],
    "plurals": [("units", unit) for unit in _UNITS],
    "parts": [("part", part) for part in PARTS],
    "seasons": [("named", (season, None)) for season in SEASONS],
    "week": [("named", ("", (day + 4) % _WEEK)) for day in range(_WEEK)],  # Thursday is 0
    "ways": [
        *[("way", 1), ("way", -1), ("lead", 1), ("lead", -1)],
        *[("same", 0), ("now", 0), ("in", 1), ("then", 0)],
    ],
    "days": [("days", days) for days in (0, 1, -1, 2, -2)],
    "shades": [("about", 0), ("shade", 0), ("shade", 1), ("shade", 2)],
}
"""The meanings of the columns of each table of a language."""


def read_phrase(
    text: str, calendar: Calendar, start: RoughTime, read: ReadDate
) -> RoughTime | None:
    """Read a phrase that counts from `start`, or a date with words about it.

    `read` reads dates. None: it is no phrase.
    """
    dates = lru_cache(maxsize=None)(partial(_date_of_text, read))
    for tokens, date in islice(_list_candidates(fold_text(text), calendar), _READINGS_MAX):
        unit = "decade" if ("decades", True) in tokens else dict(tokens).get("unit")
        rest = dates(date, unit) if date else None
        found = None if date and not rest else _read_meanings(tokens, rest, calendar, rest or start)
        if found is not None:
            return replace(found, counted=rest is None or rest.counted)
    return None


def _list_candidates(text: str, calendar: Calendar) -> Iterator[tuple[list[_Token], str]]:
    """Yield the meanings of all words; then those of the words around each possible date."""
    words = list(_WORD.finditer(text))
    plain = [plain_letters(each[0]) for each in words]
    if not 0 < len(words) <= _WORDS_MAX or _UNREAD.search(text):
        return
    known = [_word_forms(code, calendar) for code in ("en", "de", "fr", "es", "it", "nl", "pt")]
    for forms in known:
        yield from ((tokens, "") for tokens in _list_readings(plain, forms))
    for size in range(len(words), 0, -1):  # the longest date, with the fewest words about it
        for first in range(len(words) - size + 1):
            date = text[words[first].start() : words[first + size - 1].end()]
            for forms in known:
                for before in _list_readings(plain[:first], forms):
                    for after in _list_readings(plain[first + size :], forms):
                        yield [*before, *after], date


def _date_of_text(read: ReadDate, text: str, unit: Any) -> RoughTime | None:
    """Read a date, or the number of a decade or of a century."""
    decade, number = _DECADE.fullmatch(text), _ORDINAL.fullmatch(text)
    if unit == "century":
        first = read(str(100 * int(number[1]) - 99)) if number else None
        return first and RoughTime(start=first.start, grain=Grain.CENTURY)
    if decade and (decade[2] or unit == "decade"):
        first = read(decade[1])
        return first and RoughTime(start=first.start, grain=Grain.DECADE)
    return None if text.isdigit() and len(text) <= DAY_DIGITS else read(text)


@lru_cache(maxsize=256)  # built from all names of a calendar
def _word_forms(code: str, calendar: Calendar) -> _Forms:
    """Return the meanings of the words of a language, and of the names in a calendar."""
    found: dict[tuple[str, ...], list[_Token]] = {}
    for table, columns in known_languages()[code].times.items():
        for index, words in enumerate(columns if table != "week" or calendar is GREGORIAN else ()):
            for each in words:
                found.setdefault(tuple(each.split()), []).append(_TABLES[table][index])
    weekdays = forms_of(*((each, ()) for each in calendar.week))
    named: list[tuple[tuple[str, ...], _Token]] = [
        (plain, ("named", ("", index))) for plain, index in weekdays.items()
    ]
    months = forms_of(*((each.name, each.short) for each in calendar.months))
    if calendar is GREGORIAN:
        months = {(name,): number - 1 for name, number in all_months().items()}
    named += [(plain, ("named", ("month", index))) for plain, index in months.items()]
    for counter in calendar.counters:
        named += [
            ((fold_text(counter.name) + end,), ("unit", counter.seconds)) for end in ("", "s")
        ]
    for words, token in named:
        found.setdefault(tuple(map(plain_letters, words)), []).insert(0, token)
    return found


def _list_readings(words: Sequence[str], forms: _Forms) -> Iterator[list[_Token]]:
    """Yield the meanings of all words, the longest forms first."""
    if not words:
        yield []
    for size in range(min(len(words), _FORM_MAX), 0, -1):
        tokens = [*forms.get(tuple(words[:size]), ())]
        if size == 1 and _NUMBER.fullmatch(words[0]):
            tokens.append(("count", int(words[0])))
        if size == 1 and (clock := _CLOCK.fullmatch(words[0])):
            hours, minutes, seconds = (int(each or 0) for each in clock.groups())
            tokens.append(("clock", (hours * 60 + minutes) * 60 * SECOND + seconds * SECOND))
        if tokens:
            for rest in _list_readings(words[size:], forms):
                yield from ([token, *rest] for token in tokens)


def _gather_meanings(tokens: Sequence[_Token]) -> dict[str, Any] | None:
    """Return each kind of meaning with its value, in order; None: they do not go together."""
    meanings: dict[str, Any] = {}
    for each, value in tokens:
        kind = "unit" if each == "units" else each
        if (
            kind == "count"
            and "unit" not in meanings
            and meanings.get(kind, 0) % 10 + value // 10 == 0
        ):
            meanings[kind] = meanings.get(kind, 0) + value  # twenty, and then five
        elif kind == "times" and not meanings.keys() & {"unit", "few"}:
            meanings["count"] = meanings.get("count", 1) * value
        elif kind in meanings or kind == "times" or (kind == "count" and "unit" in meanings):
            return None
        elif kind != "skip":
            meanings[kind] = value
    if meanings.keys() & {"half", "few", "plus"}:
        count = meanings.get("count") or meanings.get("few") or 1
        meanings["count"] = count / 2 if "half" in meanings else count + ("plus" in meanings) / 2
    if "in" in meanings and {"count", "unit"} <= meanings.keys() and "way" not in meanings:
        meanings["way"] = meanings["in"]
    elif "in" in meanings:
        return None
    return None if "units" in dict(tokens) and "count" not in meanings else meanings  # "days later"


def _read_meanings(
    tokens: Sequence[_Token], rest: RoughTime | None, calendar: Calendar, start: RoughTime
) -> RoughTime | None:
    if (meanings := _gather_meanings(tokens)) is None:
        return None
    if rest is not None and "way" not in meanings:
        found = _refine_date(meanings, rest, calendar)
    else:
        is_after = [each for each in meanings if each in {"unit", "way"}] == ["unit", "way"]
        found = _count_from(meanings, start, calendar) if rest is None or is_after else None
    if found is None:
        return None
    at = found.start
    if meanings.get("shade") and found.grain is not Grain.WEEK:
        at = Instant(at + (span_of(found, calendar)[1] - at) * meanings["shade"] // 3)
        at = Instant(at - (at - calendar.begins) % DAY) if found.grain >= Grain.WEEK else at
    about = found.about or "few" in meanings or "about" in meanings
    return replace(found, start=at, about=about)


def _refine_date(
    meanings: Mapping[str, Any], date: RoughTime, calendar: Calendar
) -> RoughTime | None:
    """Read words about a date: a part of its day, a season of its year, its week."""
    at, grain = date.start, date.grain
    if meanings.keys() & _MOVING or ("decades" in meanings and grain is not Grain.DECADE):
        return None
    if (unit := meanings.get("unit")) is not None and _GRAINS_OF_DATES.get(unit) != grain:
        if unit != "week" or grain is not Grain.DAY:
            return None
        grain = Grain.WEEK
    if "named" in meanings:
        name, index = meanings["named"]
        if not name or grain is not Grain.YEAR:
            return None
        grain = Grain.SEASON if index is None else Grain.MONTH
        begins = _begin_of(name, index, calendar.date_of(at)[0], calendar)
        return None if begins is None else RoughTime(start=begins, grain=grain)
    found = replace(date, grain=grain)
    if not meanings.keys() & {"part", "clock"}:
        return found
    return _time_in_day(meanings, found, calendar, moved=True) if grain is Grain.DAY else None


def _count_from(meanings: dict[str, Any], start: RoughTime, calendar: Calendar) -> RoughTime | None:
    """Read a phrase that counts from another time."""
    unit, count, part, named = (meanings.get(kind) for kind in ("unit", "count", "part", "named"))
    sign = meanings.get("lead") or meanings.get("way")
    before_dawn = not unit and [each for each in meanings if each in _ORDERED][:1] == ["way"]
    in_hour = unit in _SPANS and unit != "day" and meanings.keys() & {"part", "clock"}
    several = len(meanings.keys() & {"lead", "way", "same", "now", "days"}) > 1
    lost = "then" in meanings and part is None and "same" not in meanings  # later that day
    lost = lost or (count is not None and not sign)
    if before_dawn or in_hour or several or lost or "decades" in meanings:
        return None
    move = meanings.get("days", (sign or 0) * (1 if count is None else count))
    if not unit and ("days" in meanings or (move and part is not None and named is None)):
        unit = "day"
    found: RoughTime | None = start
    if named is not None and unit is not None:
        found = _within_unit(named, unit, move, start, calendar)
    elif named is not None:
        found = _next_named(named, move, start, calendar)
        this = "same" in meanings and named[0] and start.toward
        if this and found and span_of(found, calendar)[1] <= start.start:  # it is not going on
            found = _within_unit(named, "year", 0, start, calendar)
    elif unit is not None and (move or meanings.keys() & _THIS):
        grain = _GRAINS.get(unit, Grain.DAY if unit == "fortnight" else Grain.EXACT)
        if unit == "week" and "way" in meanings:
            grain = Grain.DAY  # three weeks are 21 days
        at = _shift_time(_play_date(start, calendar) if part else start.start, move, unit, calendar)
        grain = max(start.grain, grain)
        found = None if at is None else replace(start, start=at, grain=grain)
    elif unit is not None or move or not meanings.keys() & {"now", "part", "clock"}:
        return None
    if found is None or not meanings.keys() & {"part", "clock"}:
        return found
    return _time_in_day(meanings, found, calendar, moved=bool(move))


def _within_unit(
    named: tuple[str, int | None], unit: Any, move: float, start: RoughTime, calendar: Calendar
) -> RoughTime | None:
    """Return the month or season of a year, or the day of a week: `Monday next week`."""
    (name, number), at = named, _shift_time(start.start, move, unit, calendar)
    if at is None or unit != ("year" if name else "week") or (not name and calendar != GREGORIAN):
        return None
    begins: Instant | None
    if name:
        begins = _begin_of(name, number, calendar.date_of(at)[0], calendar)
    else:  # a week begins with Monday
        day = (at - calendar.begins) // DAY
        monday = day - (day + _THURSDAY) % _WEEK
        begins = Instant(calendar.begins + (monday + ((number or 0) + _THURSDAY) % _WEEK) * DAY)
    grain = Grain.DAY if not name else Grain.SEASON if number is None else Grain.MONTH
    return None if begins is None else replace(start, start=begins, grain=grain)


def _play_date(start: RoughTime, calendar: Calendar) -> Instant:
    """Return the date on which a day of play began: the small hours belong to the date before."""
    of_day = (start.start - calendar.begins) % DAY
    small = of_day < SMALL_HOURS * HOUR and start.grain < Grain.DAY
    return Instant(start.start - of_day - (DAY if small else 0))


def _time_in_day(
    meanings: Mapping[str, Any], day: RoughTime, calendar: Calendar, *, moved: bool
) -> RoughTime:
    """Return the part of a day, or the time of day, that a phrase names."""
    date = Instant(day.start - (day.start - calendar.begins) % DAY)
    exact = "clock" in meanings or meanings["part"] in {"noon", "midnight"}
    if "clock" in meanings:
        at = Instant(date + meanings["clock"])
    else:
        begin, end = (hour * HOUR for hour in PARTS[meanings["part"]])
        date = date if moved else _play_date(day, calendar)
        at = Instant(date + begin)
        if not moved and at <= day.start < date + end and not exact:
            at = day.start
        elif not moved and day.start >= date + end and not meanings.keys() & _THIS:
            at = Instant(at + DAY)
    grain = Grain.EXACT if exact else Grain.PART
    return replace(day, start=at, grain=grain if day.grain <= Grain.DAY else day.grain)


def _next_named(
    named: tuple[str, int | None], move: float, start: RoughTime, calendar: Calendar
) -> RoughTime | None:
    """Return the season, month or weekday so many before or after; 0: the one of this time."""
    (name, index), at, count = named, start.start, int(abs(move))
    day, year = at - (at - calendar.begins) % DAY, 0
    if count != abs(move) or count > _NAMED_MAX:
        return None
    if not name and index is not None:
        size, grain = len(calendar.week), Grain.DAY
        day += (index - (day - calendar.begins) // DAY) % size * DAY
        begins = [Instant(day + n * size * DAY) for n in range(-count - 1, count + 2)]
    else:
        grain, year = Grain.SEASON if index is None else Grain.MONTH, calendar.date_of(at)[0]
        years = range(year - 2 - count, year + 3 + count)
        dates = [_begin_of(name, index, n, calendar) for n in years]
        begins = [each for each in dates if each is not None]
    grain = max(start.grain, grain)
    spans = [(begin, span_of(RoughTime(start=begin, grain=grain), calendar)[1]) for begin in begins]
    later = [begin for begin, _ in spans if begin > at]
    if move > 0:
        found = later[count - 1 : count]
    elif move < 0:
        found = [begin for begin, end in spans if end <= at][-count:]
    else:
        ahead = [begin for begin, end in spans if end > at] if start.toward > 0 else later
        found = [at for begin, end in spans if begin <= at < end] or ahead
        if start.toward < 0:
            found = [begin for begin in begins if begin <= at][-1:]
        year = 0 if start.toward else year
        found = [each for each in found + begins if not year or calendar.date_of(each)[0] == year]
    return replace(start, start=found[0], grain=grain) if found else None


def _begin_of(name: str, index: int | None, year: int, calendar: Calendar) -> Instant | None:
    """Return the start of a month or a season; None: that year or calendar has none."""
    if index is None:
        if len(calendar.proper_months) != 12:  # noqa: PLR2004 - months of a year
            return None
        index = calendar.proper_months[SEASONS.index(name) * 3 - 1]
    return calendar.instant_of(year, index) if calendar.years.month_lengths(year)[index] else None


def _shift_time(at: Instant, count: float, unit: Any, calendar: Calendar) -> Instant | None:
    """Move a time by a count of units; None: the calendar cannot divide the unit so."""
    days = {"week": len(calendar.week) or _WEEK, "fortnight": 2 * (len(calendar.week) or _WEEK)}
    size = unit * SECOND if isinstance(unit, int) else days.get(unit, 0) * DAY or _SPANS.get(unit)
    if size is not None:
        return Instant(at + int(count * size))
    proper = len(calendar.proper_months)
    count *= _YEARS.get(unit, 1)
    if not calendar.months:
        return None
    if abs(count) > YEAR_MAX * len(calendar.months):  # beyond every year
        return Instant(2**62)
    if (unit == "month" and proper) or count != int(count):
        months = count if unit == "month" else count * proper
        return calendar.months_later(at, months=int(months)) if months == int(months) else None
    return calendar.years_later(at, years=int(count))
