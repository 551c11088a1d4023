"""Read a timeline: the dated facts and the events of a universe, as the world's time has them."""

from dataclasses import dataclass
from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import require_all, require_same_space, require_universe
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Event, Fact
from canonry.readmodels.ports.pages import PAGE_MAX
from canonry.readmodels.ports.state import EventQuery, FactQuery, Spaces
from canonry.values.errors import InvalidInput
from canonry.values.ids import EntityId
from canonry.values.moments import arranged
from canonry.values.provenance import CanonLevel
from canonry.values.time import Instant

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
