"""Points of time in words: `4 November 1980` is `time_y1980_m11_d4`, `on Tuesday` is `time_w2`.

The letters are y for the year, m the month, d the day, w the weekday, h the hour. `w0` is every
day of the week, `w67` the weekend, `h7?` seven in the morning or evening, `e1` each such day.
"""

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from canonry.values.calendars.reckoning import GREGORIAN
from canonry.values.moments import DAY, SECOND, Instant
from canonry.values.statements import AHEAD, Phase, Quantity, Statement

PREFIX: Final = "time_"
EVERY_DAY: Final = "every_day"
"""The word by which the rewrites of a table name every day of the week."""

_ISO: Final = re.compile(r"\b(\d{4})-(\d{2})(?:-(\d{2}))?\b")
_HALF_DAY: Final = 12
_COMMON: Final = "2001"
"""A year without a leap day, for dates without a year."""
_YEAR: Final = re.compile(r"\d{3,4}")


def date_form(months: str, of: str, nth: str) -> str:
    """Return the expression of a month with a day or year beside it, or after a link such as `in`.

    `of` stands within a date, and after the words for the days of a month, `nth`.
    """
    month = "|".join(months.replace("/", " ").split())
    link = f"(?:{of} )?"
    nth_day = rf"(?P<nth>{'|'.join(nth.split()) or '(?!)'}) {of} "
    day = rf"(?:{nth_day}|(?P<day>\d{{1,2}})\.? {link})(?P<first>{month})"
    after = rf"(?P<month>{month})(?: (?P<later>\d{{1,2}})(?!\d))?"
    year = rf"(?:,? {link}(?P<year>\d{{4}})\b(?! (?:euro|dollar|franc|franken|pound|peso)))?"
    return rf"\b(?:{day}|{after}){year}(?!\w)"


def with_dates(
    text: str,
    form: re.Pattern[str],
    months: Mapping[str, int],
    links: AbstractSet[str],
    nth: Mapping[str, int],
) -> str:
    """Return a text with its dates of a `date_form` as one word each."""

    def date_word(year: str | None, month: int, day: str | int | None) -> str:
        parts = (f"y{int(year)}" if year else "", f"m{month}", f"d{int(day)}" if day else "")
        return PREFIX + "_".join(part for part in parts if part)

    def replace_date(match: re.Match[str]) -> str:
        day, year = match["day"] or match["later"] or nth.get(match["nth"]), match["year"]
        before = text[: match.start()].rsplit(" ", 2)[-2:-1]
        if not day and not year and not links & {*before}:
            return match[0]
        return date_word(year, months[match["first"] or match["month"]], day)

    text = _ISO.sub(lambda one: date_word(one[1], int(one[2]), one[3]), text)
    return form.sub(replace_date, text)


def hour_form(halves: Mapping[str, str], numbers: Mapping[str, float]) -> str:
    """Return the expression of an hour before the name of its half of the day, such as `pm`."""
    names, told = "|".join(map(re.escape, halves)) or "(?!)", "|".join(numbers)
    return rf"\b(?:(\w+)-)?(\d{{1,2}}|{told})(?:[:.](\d{{2}}))? ?({names})(?!\w)"


def with_hours(
    text: str, form: re.Pattern[str], halves: Mapping[str, str], numbers: Mapping[str, float]
) -> str:
    """Return a text with its hours of an `hour_form` as one word each: `7 pm` is `time_h19`."""

    def hour_word(match: re.Match[str]) -> str:
        hour = numbers.get(match[1], 0) + float(numbers.get(match[2], match[2]))
        told = hour % _HALF_DAY + int(halves[match[4]]) + int(match[3] or 0) / 60
        return f"{PREFIX}h{told:g}"

    return form.sub(hour_word, text)


def parts_of(when: str) -> Mapping[str, str]:
    """Return the parts of a point of time by their letter; empty for other words."""
    if _YEAR.fullmatch(when):
        return {"y": when}
    if not when.startswith(PREFIX):
        return {}
    return {part[0]: part[1:] for part in when.removeprefix(PREFIX).split("_")}


def is_other_time(one: str, other: str) -> bool:
    """Return whether two points of time differ in a part that both have."""
    mine, theirs = {**parts_of(one)}, {**parts_of(other)}
    days, others = mine.get("w", ""), theirs.get("w", "")
    if "0" in {days, others} or {*days} & {*others}:  # Friday is a weekday
        mine.pop("w", None)
        theirs.pop("w", None)
    if ("w" in mine) is not ("w" in theirs):  # the hours of a day are its own
        mine = {part: value for part, value in mine.items() if part != "h"}
    return any(not _agree(value, theirs.get(part, value)) for part, value in mine.items())


def _agree(one: str, other: str) -> bool:
    """Return whether two parts are one; `7?` is seven in the morning or in the evening."""
    hours = [float(each.rstrip("?")) % _HALF_DAY for each in (one, other) if "?" in one + other]
    return one == other or len({*hours}) == 1


def is_before(one: str, other: str) -> bool:
    """Return whether a date is earlier than another, by the year, month and day that both have."""
    mine, theirs = parts_of(one), parts_of(other)
    shared = [part for part in "ymd" if part in mine and part in theirs]
    first, then = ([int(each[part]) for part in shared] for each in (mine, theirs))
    return "y" in shared and first < then


def moved(when: str, by: Quantity, *, back: bool) -> str:
    """Return a date that is later, or earlier, by a span; "" for what is no date of a day."""
    parts = parts_of(when)
    if not {"m", "d"} <= parts.keys() or by.low != by.high or by.dimension not in {"time", "month"}:
        return ""
    size = int(-by.low if back else by.low)
    year = int(parts.get("y", _COMMON))
    day = GREGORIAN.instant_of(year, int(parts["m"]) - 1) + (int(parts["d"]) - 1) * DAY
    whole = by.dimension == "month"
    day = (
        GREGORIAN.months_later(Instant(day), months=size) if whole else Instant(day + size * SECOND)
    )
    year, month, number = GREGORIAN.date_of(day)
    return f"{PREFIX}{f'y{year}_' if 'y' in parts else ''}m{month + 1}_d{number}"


def spoken_date(when: str) -> str:
    """Return a point of time in words: `11 December 2026`."""
    parts = parts_of(when)
    month = GREGORIAN.months[int(parts["m"]) - 1].name if "m" in parts else ""
    return " ".join(filter(None, (parts.get("d"), month, parts.get("y"))))


def is_span(when: str) -> bool:
    """Return whether a time is the span that a figure is per, such as `month`, and no moment."""
    return when.isalpha() and when not in {"yesterday", "today", "tonight", "tomorrow"}


def has_come(one: Statement) -> bool:
    """Return whether a change has come when told: `died at dawn`, not in 1402, nor per month."""
    spanned = isinstance(one.value, Quantity) and is_span(one.when)
    dated = spanned or AHEAD in one.qualifiers or parts_of(one.when).keys() & {*"ymd"}
    return one.phase in {Phase.BEGINS, Phase.ENDS} and not dated


def is_recurring(when: str) -> bool:
    """Return whether a time is a weekday or an hour, which recur."""
    parts = parts_of(when)
    return bool(parts) and parts.keys() <= {"w", "h", "e"}
