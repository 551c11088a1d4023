"""List records: a user's entities, an entity's observations, and the timeline, page by page."""

from collections.abc import Mapping, Sequence

from canonry.canon.session.account import (
    account_of,
    read_by,
    readable_spaces,
    require_account,
    require_readable,
)
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.sources import Source
from canonry.log.schemas.truth_types import type_named
from canonry.readmodels.ports.pages import Page
from canonry.readmodels.ports.state import EntityQuery, TimelineQuery
from canonry.readmodels.timeline import TimelineEvent, entries_current
from canonry.values.observations import Observation
from canonry.values.revising import revised

__all__ = [
    "EntityQuery",
    "TimelineQuery",
    "current_events",
    "list_entities",
    "list_observations",
    "list_sources",
    "list_timeline",
    "survivors_of",
]
"""With the values that lists are asked by."""


async def list_entities(
    canon: Canon, caller: Caller, user_id: str | None, query: EntityQuery
) -> Page[Entity]:
    """The entities that the caller may read, in the order in which they were first seen.

    With `user_id` they are those of that user's account alone.

    Raises:
        InvalidInput: `user.mismatch`.
    """
    account = require_account(caller, user_id)
    own = frozenset((account.space,))
    spaces = await readable_spaces(canon, caller) if user_id is None else own
    named = None if query.entity_type is None else type_named(query.entity_type)
    return await canon.state.entities(revised(query, spaces=spaces, entity_type=named))


async def list_observations(
    canon: Canon, caller: Caller, entity_id: str, *, limit: int, offset: int
) -> tuple[Entity, Page[Observation]]:
    """The survivor, and what was said of it and of its members, newest first.

    Raises:
        NotFound: `entity.unknown`.
    """
    (entity,) = await require_readable(canon, caller, Entity, (entity_id,))
    ids = sorted(family_of(entity))
    page = await canon.state.observations_newest(ids, limit=limit, offset=offset)
    return entity, page


async def list_sources(canon: Canon, caller: Caller, *, limit: int, offset: int) -> Page[Source]:
    """The sources of the caller's account, oldest first."""
    return await canon.state.sources(account_of(caller).space, limit=limit, offset=offset)


async def list_timeline(canon: Canon, caller: Caller, query: TimelineQuery) -> Page[TimelineEvent]:
    """The events of the caller's account, newest first.

    Raises:
        NotFound: `source.unknown`.
    """
    if query.source_id is not None:
        await require_readable(canon, caller, Source, (query.source_id,))
    own = frozenset((account_of(caller).space,))
    return await canon.state.timeline(revised(query, spaces=own))


async def survivors_of(
    canon: Canon, caller: Caller, events: Sequence[TimelineEvent]
) -> Mapping[str, Entity]:
    """The entities that events are about, by every id under which they were observed."""
    about = {e.entity_id for each in events for e in each.entries}
    return await read_by(canon, caller).roots(about)


def current_events(entities: Mapping[str, Entity]) -> frozenset[str]:
    """The ids of the events that the snapshots of these entities still show."""
    roots = {each.id: each for each in entities.values()}
    return frozenset(e.event_id for each in roots.values() for e in entries_current(each))
