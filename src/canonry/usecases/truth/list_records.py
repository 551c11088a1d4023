"""List records: a user's entities, an entity's observations, and the timeline, page by page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from canonry.domain.ids import SourceId
from canonry.domain.observations import Observation
from canonry.domain.things.entities import Entity, family_of
from canonry.domain.things.sources import Source
from canonry.domain.time import Instant
from canonry.domain.truth.timeline import TimelineEvent, entries_current
from canonry.domain.vocabularies.truth_types import type_named
from canonry.ports.views.pages import Page
from canonry.ports.views.queries import EntityQuery, TimelineQuery
from canonry.usecases.kernel.account import (
    account_of,
    readable,
    readable_spaces,
    require_account,
    require_readable,
)
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelinePart:
    """Which events, and which part of the list; both bounds are inclusive."""

    event_type: str | None = None
    source_id: str | None = None
    start: Instant | None = None
    end: Instant | None = None
    superseded: bool = False
    limit: int = 100
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EntitiesPart:
    """Which entities, and which part of the list."""

    entity_type: str | None = None
    include_merged: bool = False
    limit: int = 100
    offset: int = 0


async def list_entities(
    canon: Canon, caller: Caller, user_id: str | None, part: EntitiesPart
) -> Page[Entity]:
    """The entities that the caller may read, in the order in which they were first seen.

    With `user_id` they are those of that user's account alone.

    Raises:
        InvalidInput: `user.mismatch`.
    """
    account = require_account(caller, user_id)
    own = frozenset((account.space,))
    spaces = await readable_spaces(canon, caller) if user_id is None else own
    query = EntityQuery(
        spaces=spaces,
        entity_type=None if part.entity_type is None else type_named(part.entity_type),
        include_merged=part.include_merged,
        limit=part.limit,
        offset=part.offset,
    )
    return await canon.state.entities(query)


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


async def list_timeline(canon: Canon, caller: Caller, part: TimelinePart) -> Page[TimelineEvent]:
    """The events of the caller's account, newest first.

    Raises:
        NotFound: `source.unknown`.
    """
    if part.source_id is not None:
        await require_readable(canon, caller, Source, (part.source_id,))
    query = TimelineQuery(
        spaces=frozenset((account_of(caller).space,)),
        event_type=part.event_type,
        source_id=None if part.source_id is None else SourceId(part.source_id),
        start=part.start,
        end=part.end,
        superseded=part.superseded,
        limit=part.limit,
        offset=part.offset,
    )
    return await canon.state.timeline(query)


async def survivors_of(
    canon: Canon, caller: Caller, events: Sequence[TimelineEvent]
) -> Mapping[str, Entity]:
    """The entities that events are about, by every id under which they were observed."""
    found = await readable(canon, caller, {e.entity_id for each in events for e in each.entries})
    entities = {i: thing for i, thing in found.items() if isinstance(thing, Entity)}
    moved = {each.merged_into for each in entities.values() if each.merged_into is not None}
    roots = await readable(canon, caller, moved)
    for given, entity in entities.items():
        root = roots.get(entity.merged_into or "")
        if isinstance(root, Entity):
            entities[given] = root
    return entities


def current_events(entities: Mapping[str, Entity]) -> frozenset[str]:
    """The ids of the events that the snapshots of these entities still show."""
    roots = {each.id: each for each in entities.values()}
    return frozenset(e.event_id for each in roots.values() for e in entries_current(each))
