"""What happened, in story time and in the order of the log."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import require_all, require_same_space, require_universe
from canonry.log.canon import ids_of
from canonry.log.commits import ORIGIN, Commit, Position
from canonry.log.entries import Entry, Thing, Tombstone
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Event, Fact
from canonry.readmodels.ports.state import EventQuery, FactQuery, Spaces
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.values.errors import InvalidInput
from canonry.values.ids import EntityId, SpaceId
from canonry.values.moments import Instant, arranged
from canonry.values.provenance import CanonLevel

# List changes: what was written to a space since a place in its log, an instant, or of late.
#
# Of each commit only what the caller may see is told.


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeQuery:
    """Since when: past a position, or past what an instant knew; None: the newest."""

    space: SpaceId
    after: Position | None = None
    since: Instant | None = None
    limit: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A commit with those of its entries that the caller may see."""

    commit: Commit
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSince:
    """Commits, the oldest first, and the things that they are about as these are now.

    `cursor` is where the next question begins; `left` is how many commits are left past it.
    """

    written: Sequence[Written]
    things: Mapping[str, Thing]
    cursor: Position
    left: int


async def list_changes(canon: Canon, caller: Caller, query: ChangeQuery) -> WrittenSince:
    """What was written; nothing past the head of the log at this moment."""
    head = await canon.ledger.head(query.space)
    after = await _begin(canon, query, head)
    commits = await canon.ledger.read(query.space, after=after, limit=query.limit)
    ids = {one for commit in commits for entry in commit.entries for one in ids_of(entry)}
    found = await canon.seen_by(caller).things(ids)
    things = {i: each for i, each in found.items() if not isinstance(each, Tombstone)}
    written = [Written(commit=commit, entries=_seen(canon, commit, things)) for commit in commits]
    cursor = commits[-1].position if commits else max(after, ORIGIN)
    return WrittenSince(written=written, things=things, cursor=cursor, left=max(0, head - cursor))


async def _begin(canon: Canon, query: ChangeQuery, head: Position) -> Position:
    if query.after is not None:
        return min(query.after, head)
    if query.since is not None:
        return await canon.ledger.position_at(query.space, query.since)
    return Position(max(ORIGIN, head - query.limit))


def _seen(canon: Canon, commit: Commit, things: Mapping[str, Thing]) -> tuple[Entry, ...]:
    """What it says of others lies in its own thing."""
    mine = (entry for entry in commit.entries if ids_of(entry)[0] in things)
    return tuple(filter(canon.tells, mine))


async def read_as_known(
    canon: Canon, caller: Caller, space: SpaceId, ids: Iterable[str], instant: Instant
) -> Mapping[str, Thing]:
    """Those of the things that were known then, as they stood; erased ones are gone for ever."""
    wanted = list(ids)
    position = await canon.ledger.position_at(space, instant)
    seen = canon.seen_by(caller)
    now = await seen.things(wanted)
    then = await seen.things_as_known_at(wanted, position)
    return {i: t for i, t in then.items() if not isinstance(now.get(i), Tombstone | None)}


PAGES_MAX: Final = 4
"""A timeline looks at 2,000 events and 2,000 facts; a narrower window sees the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A page of it; `truncated` tells that more exists than was looked at."""

    items: tuple[Event | Fact, ...]
    total: int
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Which part of a timeline is wanted; a missing bound is open, no entities mean all."""

    entity_ids: tuple[str, ...] = ()
    start: Instant | None = None
    end: Instant | None = None
    limit: int = 50
    offset: int = 0


async def read_timeline(canon: Canon, caller: Caller, universe_id: str, window: Window) -> Timeline:
    """Canon events and dated canon facts in order; what has no time stands at its place in it.

    Raises:
        InvalidInput: `range.inverted`.
        NotFound: `universe.unknown` or `entity.unknown`.
        Conflict: `space.foreign`.
    """
    if window.start is not None and window.end is not None and window.start > window.end:
        message = "the range ends before it starts; swap start and end"
        raise InvalidInput("range.inverted", message, path="/start")
    universe = await require_universe(canon, caller, universe_id)
    entities = await require_all(canon, caller, Entity, window.entity_ids)
    require_same_space(universe.id, entities, path="/entity_ids")
    family = frozenset(one for entity in entities for one in family_of(entity))
    spaces: Spaces = frozenset((universe.id,))
    events, more_events = await _events(canon, spaces, family, window)
    facts, more_facts = await _facts(canon, spaces, family, window)
    told: list[Event | Fact] = [*events, *facts]
    items = arranged(sorted(told, key=lambda item: item.id), lambda item: item.moment)
    shown = items[window.offset : window.offset + window.limit]
    return Timeline(items=tuple(shown), total=len(items), truncated=more_events or more_facts)


async def _events(
    canon: Canon, spaces: Spaces, family: frozenset[EntityId], window: Window
) -> tuple[list[Event], bool]:
    found: list[Event] = []
    for number in range(PAGES_MAX):
        query = EventQuery(
            spaces=spaces,
            entities=family,
            level=CanonLevel.CANON,
            limit=PAGE_MAX,
            offset=number * PAGE_MAX,
        )
        page = await canon.state.events(query)
        found.extend(event for event in page.items if _inside(event.time_ref, window))
        if (number + 1) * PAGE_MAX >= page.total:
            return found, False
    return found, True


async def _facts(
    canon: Canon, spaces: Spaces, family: frozenset[EntityId], window: Window
) -> tuple[list[Fact], bool]:
    found: list[Fact] = []
    for number in range(PAGES_MAX):
        query = FactQuery(
            spaces=spaces,
            entities=family,
            start=window.start,
            end=window.end,
            level=CanonLevel.CANON,
            limit=PAGE_MAX,
            offset=number * PAGE_MAX,
        )
        page = await canon.state.facts(query)
        found.extend(fact for fact in page.items if fact.time_ref is not None)
        if (number + 1) * PAGE_MAX >= page.total:
            return found, False
    return found, True


def _inside(at: Instant | None, window: Window) -> bool:
    if at is None:
        return window.start is None and window.end is None
    early = window.start is not None and at < window.start
    late = window.end is not None and at > window.end
    return not early and not late
