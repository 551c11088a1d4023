"""The timeline in PostgreSQL: a row an entry; the entries of an event stand together in the key.

How many events there are is counted as rows come and go.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from canonry.log.entries import Thing
from canonry.readmodels.listing import List
from canonry.readmodels.ports.pages import PAGE_MAX, Page
from canonry.readmodels.ports.state import TimelineQuery
from canonry.readmodels.timeline import TimelineEntry, TimelineEvent, entries_told, event_of
from canonry.stores.postgres.database import PgConnection, PgRow, fetched
from canonry.values.ids import EntityId, ObservationId, SourceId, SpaceId
from canonry.values.moments import Instant

StoredDate: TypeAlias = tuple[str, bool, str, int, str, str, str, str, str]
"""(space, current, event type, -instant, event, entity, field, observation, source)."""

_EVENT: Final = 5
"""The first columns of a row are its event."""

_FAR: Final = 2**62
_GIVEN: Final = (
    "unnest(%s::text[], %s::boolean[], %s::text[], %s::bigint[], %s::text[])"
    " AS g (space, current, event_type, rank, event)"
)
_COUNT: Final = (
    f"INSERT INTO counts SELECT g.space, {int(List.TIMELINE)}, g.current::int::text, g.event_type,"
    f" {{}}count(*) FROM {_GIVEN}"
    " WHERE EXISTS (SELECT 1 FROM timeline t WHERE t.space = g.space AND t.current = g.current"
    " AND t.event_type = g.event_type AND t.rank = g.rank AND t.event = g.event)"
    " GROUP BY 1, 3, 4 ORDER BY 1, 3, 4"
    " ON CONFLICT (space, list, owner, facet) DO UPDATE SET n = counts.n + excluded.n"
)
COUNT: Final = _COUNT.format("")
"""Counts those of these events that are there now."""

DISCOUNT: Final = _COUNT.format("-")
"""Takes them from the counts, before they change."""

UNCOUNT: Final = (
    f"DELETE FROM counts c USING {_GIVEN} WHERE c.space = g.space AND c.list = {int(List.TIMELINE)}"
    " AND c.owner = g.current::int::text AND c.facet = g.event_type AND c.n = 0"
)
"""What none is left of has no row."""
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


def events_of(rows: Iterable[tuple[Any, ...]]) -> Sequence[tuple[Any, ...]]:
    """The events of these rows, each once."""
    return list(dict.fromkeys(row[:_EVENT] for row in rows))


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
