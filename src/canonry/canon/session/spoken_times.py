"""Read times in the words of a universe's calendar, relative to the present of a scene."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final, TypeVar

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.paging import first_items, newest_match, page_reader
from canonry.log.entries import StoredItem
from canonry.log.items.scenes import Scene, Speaker, Story
from canonry.readmodels.ports.documents import SceneQuery
from canonry.values.calendars.declaring import read_calendar, read_rough_time, time_as_given
from canonry.values.calendars.reckoning import GREGORIAN, Calendar, Grain, RoughTime, span_of
from canonry.values.errors import InvalidInput
from canonry.values.fields import ReadTime, read_plain_time
from canonry.values.ids import Space, SpaceKind, StoryId
from canonry.values.json_values import decode_json, encode_json
from canonry.values.moments import DAY, Instant

T = TypeVar("T")
CALENDAR: Final = "calendar"
"""The property of a universe that holds its calendar, as declared."""

_OWN_TIME: Final = 366 * DAY  # longer ago, a time is no slip of the same year
_SCENES_COMPARED: Final = 5
"""The number of scenes, the last ones, whose speakers show whether a space is a game."""
_PAGES_MAX: Final = 20  # the most pages of a story's scenes that are read to find its present


def calendar_of(space: Space) -> Calendar:
    """Return the calendar of a universe, by default the Gregorian one."""
    declared = space.properties.get(CALENDAR)
    return _read_declared(encode_json(declared)) if isinstance(declared, Mapping) else GREGORIAN


@lru_cache(maxsize=256)  # each call in a space asks for its calendar
def _read_declared(declared: bytes) -> Calendar:
    return read_calendar(decode_json(declared))


async def read_with_calendar(
    canon: Canon,
    caller: Caller,
    item: StoredItem,
    read: Callable[[ReadTime], T],
    *,
    to_end: bool | None = None,
    tense: Callable[[], int] | None = None,
) -> T:
    """Call `read` with a reader for times in the words of the calendar at `item`.

    `item` is any item of a universe. "Two hours later" counts from the time of a scene, else from
    the latest time that its story has reached before it. An RFC 3339 time needs neither. With
    `tense` it can count from a universe, too: from the latest time of its scenes, else from today.
    "May" is then the next one if `tense` returns 1, else the last. A day, a year or another span is
    its beginning, or its last instant with `to_end`. With None, "today" keeps the hour of the call.

    Raises:
        InvalidInput: as `read_rough_time`, and any error of `read`.
    """
    try:
        return read(read_plain_time)
    except InvalidInput as error:
        if error.code != "time.malformed":
            raise
    toward = None if tense is None else tense()
    space = await canon.caller_scope(caller).find_item(item.space)
    calendar = calendar_of(space) if isinstance(space, Space) else GREGORIAN
    present = scene_time(item, calendar) if isinstance(item, Scene) else None
    if present is not None and toward == 1:
        present = replace(present, toward=1)
    try:
        return read(_time_reader(calendar, present, to_end=to_end))
    except InvalidInput as error:
        if error.code != "time.relative-to-nothing":
            raise
        if isinstance(item, Space) and toward is None:
            raise
        present = await present_of(canon, item, calendar)
        if present is None and toward is not None and await _is_real(canon, item, calendar):
            present = RoughTime(start=canon.clock.now())
        if present is None:
            raise
        ahead = isinstance(item, Story) and abs(canon.clock.now() - present.start) > _OWN_TIME
        toward = 1 if ahead else toward  # the next scene of a story plays later
        present = replace(
            present, toward=(toward or 0) if isinstance(item, Scene) else toward or -1
        )
    return read(_time_reader(calendar, present, to_end=to_end))


def today_of(canon: Canon) -> Instant:
    """Return the end of the day on which a call is made."""
    return Instant(canon.clock.now() // DAY * DAY + DAY - 1)


async def clock_of(canon: Canon, space: Space | None) -> Instant | None:
    """Return the end of the present day of a space; None: nobody knows its present.

    A space is of real life if it has no scene, or one that was stated within a year of its time.
    `space` None is an account without a commit. The present of a story is the latest time of its
    scenes.
    """
    today = today_of(canon)
    if space is None or space.kind is SpaceKind.ACCOUNT:
        return today
    if space.kind is not SpaceKind.UNIVERSE:
        return None
    query = SceneQuery(spaces=frozenset((space.id,)))
    reported = await newest_match(canon.documents.scenes, query)
    times = [(one.time_ref, one.created_at) for one in reported if one.time_ref is not None]
    real = any(abs(at - recorded) < _OWN_TIME for at, recorded in times) or not reported
    if real and calendar_of(space) is GREGORIAN:
        return today
    return Instant(max(at for at, _ in times) // DAY * DAY + DAY - 1) if times else None


async def _is_real(canon: Canon, container: StoredItem, calendar: Calendar) -> bool:
    """Return whether a scene or space is played in its own time: no game master narrates it."""
    if calendar is not GREGORIAN or not isinstance(container, Scene | Space):
        return False
    scenes: Sequence[Scene] = [container] if isinstance(container, Scene) else ()
    if isinstance(container, Space):
        query = SceneQuery(spaces=frozenset((container.space,)))
        scenes = (await newest_match(canon.documents.scenes, query))[-_SCENES_COMPARED:]
    reported = [await canon.documents.turns(one.id) for one in scenes]
    speakers = [{one.speaker for one in turns} for turns in reported]
    return all(by and Speaker.GM not in by for by in speakers)


def _time_reader(calendar: Calendar, present: RoughTime | None, *, to_end: bool | None) -> ReadTime:
    def read_time(text: str, path: str) -> Instant:
        rough = read_rough_time(text, calendar, present, path=path)
        begin, end = span_of(rough, calendar)
        if to_end:
            return Instant(max(rough.start, end - 1))
        return begin if to_end is False and rough.grain <= Grain.WEEK else rough.start

    return read_time


def scene_time(scene: Scene, calendar: Calendar) -> RoughTime | None:
    """Return the time of a scene with its precision."""
    at = scene.time_ref
    return None if at is None else time_as_given(at, scene.time_words, calendar)


async def present_of(canon: Canon, item: StoredItem, calendar: Calendar) -> RoughTime | None:
    """Return the latest time reached before a scene, or at the end of a story or a space."""
    if not isinstance(item, Scene | Story | Space):
        return None
    story_id = StoryId(item.id) if isinstance(item, Story) else getattr(item, "story_id", None)
    before = item.order if isinstance(item, Scene) else None
    query = SceneQuery(spaces=frozenset((item.space,)), story_id=story_id)
    scenes, _ = await first_items(page_reader(canon.documents.scenes, query), _PAGES_MAX)
    earlier = [each for each in scenes if before is None or each.order < before]
    times = [time for each in earlier if (time := scene_time(each, calendar)) is not None]
    return max(times, key=lambda each: each.start, default=None)
