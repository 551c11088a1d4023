"""Search events: by their kind, by words, by whom or what they involve, and by when."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from canonry.canon.session.canon import Canon
from canonry.language.texts.words import terms_of
from canonry.log.items.facts import Event
from canonry.readmodels.ports.pages import PAGE_MAX
from canonry.readmodels.ports.state import EventQuery
from canonry.readmodels.ticks import Tick, instant_of
from canonry.values.provenance import CanonLevel
from canonry.world.domain.identity import thing_id_of
from canonry.world.usecases.bound_world import BoundWorld

LOOKED_AT: Final = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsWanted:
    """Events that have all of these; `words` are in their kind or description, each of them."""

    words: str = ""
    event_type: str | None = None
    involved: str | None = None
    start: Tick | None = None
    end: Tick | None = None


async def search_events(
    canon: Canon, world: BoundWorld, wanted: EventsWanted, limit: int
) -> tuple[Sequence[Event], bool]:
    """At most `limit` events, the newest first; and whether all were looked at that there are."""
    entities = frozenset[str]()
    if wanted.involved is not None:
        entities = frozenset((thing_id_of(world.space, wanted.involved),))
    found: list[Event] = []
    left = (await canon.state.events(_query(world, entities, 0, 1))).total
    looked = 0
    while left > 0 and looked < LOOKED_AT:
        size = min(PAGE_MAX, left)
        left -= size
        page = await canon.state.events(_query(world, entities, left, size))
        looked += len(page.items)
        for event in reversed(page.items):
            if _fits(event, wanted):
                found.append(event)
                if len(found) == limit:
                    return found, True
    return found, left <= 0


def _query(world: BoundWorld, entities: Iterable[str], offset: int, limit: int) -> EventQuery:
    return EventQuery(
        spaces=frozenset((world.space,)),
        entities=frozenset(entities),  # type: ignore[arg-type] # ids of a world's things
        level=CanonLevel.CANON,
        offset=offset,
        limit=limit,
    )


def _fits(event: Event, wanted: EventsWanted) -> bool:
    when = event.created_at if event.time_ref is None else event.time_ref
    terms = terms_of(wanted.words)
    said = frozenset(terms_of(f"{event.title} {event.description}")) if terms else frozenset()
    return (
        wanted.event_type in {None, event.title}
        and (wanted.start is None or when >= instant_of(wanted.start))
        and (wanted.end is None or when <= instant_of(wanted.end))
        and said.issuperset(terms)
    )
