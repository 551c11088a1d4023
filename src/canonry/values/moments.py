"""Instants, moments, and their texts."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, NewType, TypeVar

from canonry.values.errors import InvalidInput
from canonry.values.json_values import UNSET, UnsetType

# Instants: whole microseconds since 1970-01-01T00:00:00Z, written as RFC 3339.
#
# A year outside 0001 to 9999 has a sign and six digits, as in ISO 8601: `-000043` is 44 BC.

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
"""The range of 64-bit microseconds, minus the values that sort undated items."""

CYCLE: Final = 400
"""The Gregorian calendar repeats itself to the day after this many years."""
_CYCLE_MICROSECONDS: Final = 146_097 * DAY
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_IN_UTC = _EPOCH.replace(tzinfo=None)
"""Without an offset, which halves the time to write it."""
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
        return _expand_date(int(expanded[1]), expanded[2], path)
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise _malformed_time(
            path, "Write it as RFC 3339 with an offset, like 2025-01-15T12:00:00Z."
        )
    fraction, offset = match.groups()
    micro = int(fraction.ljust(_DIGITS, "0")[:_DIGITS]) if fraction else 0
    try:
        instant = datetime.fromisoformat(text[:_SECONDS]).replace(tzinfo=UTC) - _read_offset(offset)
    except (ValueError, OverflowError):
        advice = "No such time exists in years 0001 to 9999; other years have a sign and 6 digits."
        raise _malformed_time(path, advice) from None
    return Instant((instant - _EPOCH) // _MICROSECOND + micro)


def render_instant(instant: Instant) -> str:
    """Return the instant as RFC 3339 in UTC, with microseconds only if there are any."""
    try:
        date_time = _EPOCH_IN_UTC + timedelta(0, 0, instant)
    except OverflowError:
        cycles = instant // _CYCLE_MICROSECONDS
        near = _EPOCH_IN_UTC + timedelta(0, 0, instant - cycles * _CYCLE_MICROSECONDS)
        year, rest = near.year + cycles * CYCLE, near.isoformat()[_YEAR_DIGITS:]
        return f"{year:+07}{rest}Z"
    return f"{date_time.isoformat()}Z"


def _expand_date(year: int, rest: str, path: str) -> Instant:
    """Read the same date in a nearby cycle of years, and move it by whole cycles."""
    if not YEAR_MIN <= year <= YEAR_MAX:
        message = (
            f"The year {year} lies outside {YEAR_MIN} to {YEAR_MAX}. Describe it in the text and "
            "leave out the time."
        )
        raise InvalidInput("time.out-of-range", message, path=path)
    cycles = (year - 1_600) // CYCLE
    near = parse_instant(f"{year - cycles * CYCLE:04}{rest}", path=path)
    return Instant(near + cycles * _CYCLE_MICROSECONDS)


def _read_offset(text: str) -> timedelta:
    if text in {"Z", "z"}:
        return timedelta()
    hours, minutes = int(text[1:3]), int(text[4:6])
    if hours > 23 or minutes > 59:  # noqa: PLR2004 - the clock's own numbers
        raise ValueError(text)
    distance = timedelta(hours=hours, minutes=minutes)
    return -distance if text[0] == "-" else distance


def _malformed_time(path: str, advice: str) -> InvalidInput:
    message = f"{path or 'The text'} is not a date-time. {advice}"
    return InvalidInput("time.malformed", message, path=path)


# Moments: when a statement begins to hold, by story position and story time.
#
# All items have one order, whatever the order of canonization. Story positions are sorted by story,
# scene and turn. Items written outside of scenes follow everything proposed before them. A known
# story time takes precedence over the position. An item without one happens at the latest time that
# was reached before its position.

T = TypeVar("T")

AFTER_ALL: Final = 2**62
"""The turn of a proposal without a turn, and the log position of a direct write."""


_UNDATED: Final = 2**61
_ORDERS: Final = 2**24
_TURNS: Final = 2**20  # keeps a rank within 64 bits, with 2**42 log positions below it
_POSITIONS: Final = 2**42


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryPosition:
    """The story position of a statement.

    `story` and `scene` are the log positions at which they began, 0 outside of them; `order` is the
    scene's in its story, `turn` the turn's in its scene. `told` is the log position at which it was
    proposed, or written directly. `dated` means a time of its own, not only that of its scene.
    `reached` is the story time at which an item without one stands; None: before every time. It is
    unset for older items, and for scenes of stories without any time.
    """

    story: int = 0
    order: int = 0
    scene: int = 0
    turn: int = 0
    told: int
    dated: bool = True
    reached: Instant | UnsetType | None = UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """`at` is the story time, if it is known.

    Items at the same story position are ordered by `recorded`, their log position.
    """

    at: Instant | None
    position: StoryPosition
    recorded: int = AFTER_ALL


NOW: Final = Moment(at=None, position=StoryPosition(told=AFTER_ALL))
"""The moment of a direct write without a time."""


def rank_in_stories(position: StoryPosition) -> tuple[int, int]:
    """Return two numbers for columns that sort positions by story, scene and turn."""
    scene = min(max(position.order, 0), _ORDERS - 1)
    turn = min(position.turn, _TURNS - 1)
    return _UNDATED + position.story * _ORDERS + scene, turn * _POSITIONS + position.told


def moment_of(at: Instant | None, position: StoryPosition | None, recorded: int) -> Moment:
    """Return the moment of an item; without a `position` it was written directly."""
    return Moment(at=at, position=position or StoryPosition(told=recorded), recorded=recorded)


def time_of(moment: Moment) -> Instant | UnsetType | None:
    """Return the story time at which a moment stands; None: before every time; unset: unknown."""
    return moment.position.reached if moment.at is None else moment.at


def sort_by_story(items: Iterable[T], when: Callable[[T], Moment]) -> list[T]:
    """Return the items in story order."""
    return [item for _at, item in with_story_times(items, when)]


def with_story_times(
    items: Iterable[T], when: Callable[[T], Moment]
) -> list[tuple[Instant | None, T]]:
    """Return the items in story order, each with its story time; None: before any known time."""
    return _pair_with_times([(when(item), item) for item in items])


def _pair_with_times(pairs: Sequence[tuple[Moment, T]]) -> list[tuple[Instant | None, T]]:
    if len(pairs) == 1:
        return [(pairs[0][0].at, pairs[0][1])]
    present: Instant | None = None
    unknown: list[tuple[Instant | None, T]] = []
    found: list[tuple[Instant, int, T]] = []
    for number, (moment, item) in enumerate(_sort_by_position(pairs)):
        if moment.at is not None:
            present = moment.at if present is None else max(present, moment.at)
        at = time_of(moment)
        at = present if at is UNSET else at
        if at is None:
            unknown.append((at, item))
        else:
            found.append((at, number, item))
    found.sort()  # no two have the same number
    return [*unknown, *[(at, item) for at, _number, item in found]]


def _sort_by_position(pairs: Sequence[tuple[Moment, T]]) -> list[tuple[Moment, T]]:
    """Sort by story; items outside of stories follow those that were proposed before them."""
    rows = [
        (p.story, p.order, p.scene, p.turn, p.told, each[0].recorded, number, each)
        for number, each in enumerate(pairs)
        if (p := each[0].position).scene
    ]
    played = [each for *_position, each in sorted(rows)]  # no two have the same number
    if len(played) == len(pairs):
        return played
    outside = [each for each in pairs if not each[0].position.scene]
    outside.sort(key=lambda each: (each[0].position.told, each[0].recorded))
    found: list[tuple[Moment, T]] = []
    by_proposal = sorted([(one[0].position.told, index) for index, one in enumerate(played)])
    done = known = 0
    for each in outside:
        reached = done
        while known < len(by_proposal) and by_proposal[known][0] < each[0].position.told:
            reached = max(reached, by_proposal[known][1] + 1)
            known += 1
        found += (*played[done:reached], each)
        done = reached
    return [*found, *played[done:]]


def split_at(
    moment: Moment, items: Iterable[T], when: Callable[[T], Moment]
) -> tuple[list[T], list[T]]:
    """Return the items before `moment` and those after it, each in order."""
    pairs: list[tuple[Moment, T | None]] = [(when(item), item) for item in items]
    ordered = [item for _at, item in _pair_with_times([*pairs, (moment, None)])]
    index = [item is None for item in ordered].index(True)
    return ordered[:index], ordered[index + 1 :]  # type: ignore[return-value]


def comes_after(new: Moment, old: Moment) -> bool:
    """Return whether `new` is later than `old`; without evidence, the newly judged one is later."""
    return bool(split_at(new, (old,), lambda one: one)[0])


def are_simultaneous(new: Moment, old: Moment) -> bool:
    """Return whether neither follows the other: equal own times, or proposed together."""
    dated = new.position.dated and old.position.dated
    return new.at == old.at and ((dated and new.at is not None) or new.position == old.position)


def is_same_scene(new: Moment, old: Moment) -> bool:
    """Return whether both belong to the same scene."""
    return new.position.scene != 0 and new.position.scene == old.position.scene


def intervals_overlap(
    new_from: Instant | None,
    new_to: Instant | None,
    old_from: Instant | None,
    old_to: Instant | None,
) -> bool:
    """Return whether two half-open intervals share an instant; a missing bound is endless."""
    begins = new_from is None or old_to is None or new_from < old_to
    ends = old_from is None or new_to is None or old_from < new_to
    return begins and ends
