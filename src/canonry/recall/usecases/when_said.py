"""When passages were said, and how near that is to the time that a question asks of.

A turn that has no time of its own has that of its scene; one that was written as it was said,
that of its writing. When lines of a document without times were said nobody knows. Beside it stands
when the scene plays in the world: either may be meant.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from canonry.canon.session.canon import Canon
from canonry.canon.session.spoken_times import calendar_of
from canonry.log.entries import Thing
from canonry.log.items.facts import Event, Fact
from canonry.log.items.scenes import Memory, Scene, Story, StoryType, Turn
from canonry.log.items.sources import Snippet, Source
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.state import Spaces
from canonry.readmodels.ports.text import Hit, TextQuery
from canonry.recall.domain.questions import BesideEvent, TimesAsked, TimeSpan, nearness, read_times
from canonry.values.calendars.reckoning import GREGORIAN, Calendar
from canonry.values.ids import Space
from canonry.values.moments import DAY, Instant

_ANCHORS: Final = 5

Near: TypeAlias = Mapping[str, float]
"""How near each passage is to the time asked of, between 0 and 1; those that are not lack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhenSaid:
    """When something was said, and when that plays in the world; None: nobody knows."""

    said_at: Instant | None
    in_world: Instant | None

    @property
    def time(self) -> Instant | None:
        """That of the world where it is known, else when it was said."""
        return self.said_at if self.in_world is None else self.in_world

    @property
    def times(self) -> Sequence[Instant]:
        """Both, as far as they are known."""
        return [each for each in (self.said_at, self.in_world) if each is not None]


def when_said(thing: Thing, around: Mapping[str, Thing]) -> WhenSaid:
    """When a thing was said; `around` has the scene or source that it lies in, by id."""
    match thing:
        case Turn():
            scene = around.get(thing.scene_id)
            whole = scene if isinstance(scene, Scene) else None
            said = thing.said_at or (None if whole is None else whole.said_at)
            if said is None and (whole is None or whole.source_id is None):
                said = thing.timestamp
            return WhenSaid(said_at=said, in_world=None if whole is None else whole.time_ref)
        case Scene():
            played = thing.completed_at if thing.source_id is None else None
            told = thing.said_at or played
            return WhenSaid(said_at=told, in_world=thing.time_ref)
        case Memory():
            scene = around.get(thing.scene_id or "")
            whole = scene if isinstance(scene, Scene) else None
            said = thing.said_at or (None if whole is None else whole.said_at)
            return WhenSaid(
                said_at=thing.created_at if said is None else said,
                in_world=None if whole is None else whole.time_ref,
            )
        case Snippet():
            source = around.get(thing.source_id)
            return WhenSaid(
                said_at=source.said_at if isinstance(source, Source) else None, in_world=None
            )
        case Fact() | Event():
            return WhenSaid(said_at=thing.created_at, in_world=thing.time_ref)
        case _:
            return WhenSaid(said_at=None, in_world=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimesMeant:
    """What a question says of when, by which calendar, and the times of the events it names."""

    text: str
    calendar: Calendar
    events: Sequence[TimeSpan]


async def times_meant(canon: Canon, query: TextQuery) -> TimesMeant | None:
    """What the question says of when; None where it does not, or beside nothing that is known."""
    calendar = await _calendar(canon, query.spaces)
    asked = read_times(query.text, calendar, Instant(0))
    events = [await _anchored(canon, query, anchor) for anchor in asked.anchors]
    known = tuple(each for each in events if each is not None)
    if not (asked.stretches or asked.sessions or known):
        return None
    return TimesMeant(text=query.text, calendar=calendar, events=known)


async def near_in_time(
    canon: Canon, query: TextQuery, meant: TimesMeant, hits: Sequence[Hit]
) -> Near:
    """How near the passages found are to what the question says of when."""
    seen = canon.covering(query.spaces)
    things = dict(await seen.things(hit.id for hit in hits))
    outer = {i for thing in things.values() for i in lies_in(thing)}
    things |= await seen.things(outer - things.keys())
    times = {hit.id: when_said(things[hit.id], things) for hit in hits if hit.id in things}
    present = max((when for each in times.values() for when in each.times), default=None)
    asked = read_times(meant.text, meant.calendar, present)
    near = {identity: _nearest(each, asked, meant.events) for identity, each in times.items()}
    if asked.sessions:
        scenes = await _sessions(canon, asked, (s for s in things.values() if isinstance(s, Scene)))
        near |= {hit.id: 1.0 for hit in hits if hit.scene_id in scenes or hit.id in scenes}
    return {identity: value for identity, value in near.items() if value > 0}


def _nearest(each: WhenSaid, asked: TimesAsked, events: Sequence[TimeSpan]) -> float:
    told = [nearness(when, stretch) for when in each.times for stretch in asked.stretches]
    if each.in_world is not None:
        told += [nearness(each.in_world, stretch) for stretch in events]
    return max(told, default=0.0)


def lies_in(thing: Thing) -> tuple[str, ...]:
    """The scene or source that a thing lies in, which may know when it was said."""
    match thing:
        case Turn(scene_id=scene):
            return (scene,)
        case Memory(scene_id=scene) if scene is not None:
            return (scene,)
        case Snippet(source_id=source):
            return (source,)
        case _:
            return ()


async def _calendar(canon: Canon, spaces: Spaces) -> Calendar:
    """That of the one space that is searched, if it has declared one."""
    for space in spaces or () if spaces is not None and len(spaces) == 1 else ():
        found = await canon.covering(spaces).thing(space)
        if isinstance(found, Space):
            return calendar_of(found)
    return GREGORIAN


async def _anchored(canon: Canon, query: TextQuery, anchor: BesideEvent) -> TimeSpan | None:
    """The stretch of time around the event that is spoken of, if canon knows one and its time."""
    words = replace(query, collection=Collection.FACTS, text=anchor.what, entities=frozenset())
    found = await canon.text.search(replace(words, source_id=None, limit=_ANCHORS))
    things = await canon.covering(query.spaces).things(hit.id for hit in found.hits)
    known = (things.get(hit.id) for hit in found.hits)
    when = next(
        (e.time_ref for e in known if isinstance(e, Event | Fact) and e.time_ref is not None), None
    )
    if when is None:
        return None
    span = None if anchor.days is None else anchor.days * DAY
    match anchor.way:
        case "before" | "until":
            return TimeSpan(None if span is None else Instant(when - span), when)
        case "after" | "since":
            return TimeSpan(when, None if span is None else Instant(when + span))
        case _:
            return TimeSpan(when, Instant(when + DAY))


async def _sessions(canon: Canon, asked: TimesAsked, scenes: Iterable[Scene]) -> frozenset[str]:
    """The scenes that are the sessions asked of, of those whose turns were found.

    A session is an episode of a campaign where there are several, and a scene by its number else.
    """
    known = list(scenes)
    stories = await canon.covering(frozenset(s.space for s in known)).things(
        {scene.story_id for scene in known}
    )
    episodes = sorted(
        (s for s in stories.values() if isinstance(s, Story) and s.story_type is StoryType.EPISODE),
        key=lambda story: story.position,
    )
    chosen: set[str] = set()
    for kind, number in asked.sessions:
        if kind == "scene" or len(episodes) <= 1:
            orders = sorted({scene.order for scene in known})
            wanted = number if number >= 0 else (orders[number] if len(orders) >= -number else 0)
            chosen |= {scene.id for scene in known if scene.order == wanted}
            continue
        at = number - 1 if number > 0 else number
        if -len(episodes) <= at < len(episodes):
            chosen |= {scene.id for scene in known if scene.story_id == episodes[at].id}
    return frozenset(chosen)
