"""Read times in the words of a universe's calendar, relative to the present of a scene."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final, TypeVar

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.paging import first_items, newest_match, paged
from canonry.log.entries import Thing
from canonry.log.items.scenes import Scene, Speaker, Story
from canonry.readmodels.ports.documents import SceneQuery
from canonry.values.calendars.declaring import read_calendar, read_roughly, time_said
from canonry.values.calendars.reckoning import GREGORIAN, Calendar, Grain, RoughTime, span_of
from canonry.values.errors import InvalidInput
from canonry.values.fields import ReadTime, plain_time
from canonry.values.ids import Space, SpaceKind, StoryId
from canonry.values.json_values import decode_json, encode_json
from canonry.values.moments import DAY, Instant

T = TypeVar("T")
CALENDAR: Final = "calendar"
"""The property of a universe that holds its calendar, as declared."""

_OWN_TIME: Final = 366 * DAY
_TELLING: Final = 5
"""The number of scenes, the last ones, whose speakers show whether a space is a game."""
_PAGES_MAX: Final = 20
"""The most pages of a story's scenes that are read to find its present."""


def calendar_of(space: Space) -> Calendar:
    """Return the calendar of a universe, by default the Gregorian one."""
    declared = space.properties.get(CALENDAR)
    return _calendar(encode_json(declared)) if isinstance(declared, Mapping) else GREGORIAN


@lru_cache(maxsize=256)
def _calendar(declared: bytes) -> Calendar:
    return read_calendar(decode_json(declared))


async def in_words(
    canon: Canon,
    caller: Caller,
    place: Thing,
    read: Callable[[ReadTime], T],
    *,
    to_end: bool | None = None,
    toward: int | None = None,
) -> T:
    """Call `read` with a reader for times in the words of the calendar at `place`.

    `place` is any item of a universe. "Two hours later" counts from the time of a scene, else from
    the latest time that its story has reached before it. An RFC 3339 time needs neither. With
    `toward` it can count from a universe, too: from the latest time of its scenes, else from today.
    "May" is then the next one if `toward` is 1, else the last. A day, a year or another span is
    its beginning, or its last instant with `to_end`. With None, "today" keeps the hour of the call.

    Raises:
        InvalidInput: as `read_roughly`, and any error of `read`.
    """
    try:
        return read(plain_time)
    except InvalidInput as error:
        if error.code != "time.malformed":
            raise
    space = await canon.seen_by(caller).thing(place.space)
    calendar = calendar_of(space) if isinstance(space, Space) else GREGORIAN
    present = scene_time(place, calendar) if isinstance(place, Scene) else None
    if present is not None and toward == 1:
        present = replace(present, toward=1)
    try:
        return read(_reader(calendar, present, to_end=to_end))
    except InvalidInput as error:
        if error.code != "time.relative-to-nothing":
            raise
        if isinstance(place, Space) and toward is None:
            raise
        present = await present_of(canon, place, calendar)
        if present is None and toward is not None and await _is_real(canon, place, calendar):
            present = RoughTime(start=canon.clock.now())
        if present is None:
            raise
        present = replace(
            present, toward=(toward or 0) if isinstance(place, Scene) else toward or -1
        )
    return read(_reader(calendar, present, to_end=to_end))


def today_of(canon: Canon) -> Instant:
    """Return the end of the day on which a call is made."""
    return Instant(canon.clock.now() // DAY * DAY + DAY - 1)


async def clock_of(canon: Canon, space: Space | None) -> Instant | None:
    """Return the end of the present day of a space; None: nobody knows its present.

    A space is of real life if it has no scene, or one that was told within a year of its time.
    `space` None is an account without a commit. The present of a story is the latest time of its
    scenes.
    """
    today = today_of(canon)
    if space is None or space.kind is SpaceKind.ACCOUNT:
        return today
    if space.kind is not SpaceKind.UNIVERSE:
        return None
    query = SceneQuery(spaces=frozenset((space.id,)))
    told = await newest_match(canon.documents.scenes, query)
    times = [(one.time_ref, one.created_at) for one in told if one.time_ref is not None]
    real = any(abs(at - recorded) < _OWN_TIME for at, recorded in times) or not told
    if real and calendar_of(space) is GREGORIAN:
        return today
    return Instant(max(at for at, _ in times) // DAY * DAY + DAY - 1) if times else None


async def _is_real(canon: Canon, place: Thing, calendar: Calendar) -> bool:
    """Tell whether the calls of a place are of its own time: no game master tells a scene of it."""
    if calendar is not GREGORIAN or not isinstance(place, Scene | Space):
        return False
    scenes: Sequence[Scene] = [place] if isinstance(place, Scene) else ()
    if isinstance(place, Space):
        query = SceneQuery(spaces=frozenset((place.space,)))
        scenes = (await newest_match(canon.documents.scenes, query))[-_TELLING:]
    told = [await canon.documents.turns(one.id) for one in scenes]
    told_by = [{one.speaker for one in turns} for turns in told]
    return all(by and Speaker.GM not in by for by in told_by)


def _reader(calendar: Calendar, present: RoughTime | None, *, to_end: bool | None) -> ReadTime:
    def read(text: str, path: str) -> Instant:
        rough = read_roughly(text, calendar, present, path=path)
        begin, end = span_of(rough, calendar)
        if to_end:
            return Instant(max(rough.start, end - 1))
        return begin if to_end is False and rough.grain <= Grain.WEEK else rough.start

    return read


def scene_time(scene: Scene, calendar: Calendar) -> RoughTime | None:
    """Return the time of a scene with its precision."""
    at = scene.time_ref
    return None if at is None else time_said(at, scene.time_words, calendar)


async def present_of(canon: Canon, place: Thing, calendar: Calendar) -> RoughTime | None:
    """Return the latest time reached before a scene, or at the end of a story or a space."""
    if not isinstance(place, Scene | Story | Space):
        return None
    story_id = StoryId(place.id) if isinstance(place, Story) else getattr(place, "story_id", None)
    before = place.order if isinstance(place, Scene) else None
    query = SceneQuery(spaces=frozenset((place.space,)), story_id=story_id)
    scenes, _ = await first_items(paged(canon.documents.scenes, query), _PAGES_MAX)
    earlier = [each for each in scenes if before is None or each.order < before]
    times = [time for each in earlier if (time := scene_time(each, calendar)) is not None]
    return max(times, key=lambda each: each.start, default=None)
