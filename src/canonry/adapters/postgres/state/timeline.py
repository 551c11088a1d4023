"""The timeline in PostgreSQL: a row an entry; the entries of an event stand together in the key.

How many events there are is counted as rows come and go.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

from canonry.adapters.postgres.database import PgConnection, PgRow, fetched
from canonry.domain.ids import EntityId, ObservationId, SourceId, SpaceId
from canonry.domain.log.entries import Thing
from canonry.domain.time import Instant
from canonry.domain.truth.timeline import (
    TimelineEntry,
    TimelineEvent,
    entries_told,
    event_of,
)
from canonry.domain.views.listing import List
from canonry.ports.views.pages import PAGE_MAX, Page
from canonry.ports.views.state import TimelineQuery

StoredDate: TypeAlias = tuple[str, bool, str, int, str, str, str, str, str]
"""(space, current, event type, -instant, event, entity, field, observation, source)."""

_EVENT: Final = 5
"""The first columns of a row are its event."""

_FAR: Final = 2**62
_KNOWN: Final = (
    "SELECT g.space, g.current, g.event_type FROM unnest(%s::text[], %s::boolean[], %s::text[],"
    " %s::bigint[], %s::text[]) AS g (space, current, event_type, rank, event)"
    " WHERE EXISTS (SELECT 1 FROM timeline t WHERE t.space = g.space AND t.current = g.current"
    " AND t.event_type = g.event_type AND t.rank = g.rank AND t.event = g.event)"
)
_WANTED: Final = (
    "current = %(current)s AND rank BETWEEN %(low)s AND %(high)s"
    " AND (%(spaces)s::text[] IS NULL OR space = ANY(%(spaces)s))"
    " AND (%(event_type)s::text IS NULL OR event_type = %(event_type)s)"
    " AND (%(source)s::text IS NULL OR source = %(source)s)"
)
_SELECT: Final = (
    "WITH found AS (SELECT DISTINCT space, event_type, rank, event FROM timeline"
    f" WHERE {_WANTED}),"
    " chosen AS (SELECT * FROM found ORDER BY rank, event, space LIMIT %(limit)s OFFSET %(offset)s)"
    " SELECT (SELECT count(*) FROM found), e.* FROM (SELECT 1) AS always LEFT JOIN ("
    " SELECT c.space, c.event_type, c.rank, c.event, t.entity, t.field, t.observation, t.source"
    " FROM chosen c CROSS JOIN LATERAL (SELECT * FROM timeline l WHERE l.space = c.space"
    " AND l.current = %(current)s AND l.event_type = c.event_type AND l.rank = c.rank"
    " AND l.event = c.event ORDER BY l.entity, l.field, l.observation LIMIT %(entries)s) t"
    ") e ON true ORDER BY e.rank, e.event, e.space, e.entity, e.field, e.observation"
)


def rows_of(thing: Thing) -> Iterator[StoredDate]:
    """The rows of an observation or an entity; others have none."""
    for entry, current in entries_told(thing):
        yield _row(entry, current=current)


def _row(entry: TimelineEntry, *, current: bool) -> StoredDate:
    return (
        entry.space,
        current,
        entry.event_type,
        -entry.instant,
        entry.event_id,
        entry.entity_id,
        entry.field,
        entry.observation_id,
        entry.source_id,
    )


async def count(
    db: PgConnection,
    dropped: Sequence[tuple[Any, ...]],
    put: Sequence[tuple[Any, ...]],
    tally: Counter[tuple[str, int, str, str]],
    change: int,
) -> None:
    """Count the events of these rows that are there now."""
    events = list(dict.fromkeys(row[:_EVENT] for row in (*dropped, *put)))
    if not events:
        return
    columns = [list(column) for column in zip(*events, strict=True)]
    for space, current, event_type in await fetched(db, _KNOWN, columns):
        tally[space, int(List.TIMELINE), str(int(current)), event_type] += change


async def select_timeline(db: PgConnection, query: TimelineQuery) -> Page[TimelineEvent]:
    """The page that `query` asks for."""
    values = {
        "current": not query.superseded,
        "low": -_FAR if query.end is None else -query.end,
        "high": _FAR if query.start is None else -query.start,
        "spaces": None if query.spaces is None else list(query.spaces),
        "event_type": query.event_type,
        "source": query.source_id,
        "limit": query.limit,
        "offset": query.offset,
        "entries": PAGE_MAX,
    }
    rows = await fetched(db, _SELECT, values)
    events: dict[tuple[Any, ...], list[TimelineEntry]] = {}
    for _, *row in rows:
        if row[0] is not None:
            events.setdefault(tuple(row[:4]), []).append(_entry(tuple(row)))
    return Page(items=[event_of(tuple(each)) for each in events.values()], total=rows[0][0])


def _entry(row: PgRow) -> TimelineEntry:
    space, event_type, rank, _, entity, field, observation, source = row
    return TimelineEntry(
        space=SpaceId(space),
        event_type=event_type,
        instant=Instant(-rank),
        source_id=SourceId(source),
        entity_id=EntityId(entity),
        field=field,
        observation_id=ObservationId(observation),
    )
