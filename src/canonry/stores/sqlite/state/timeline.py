"""The timeline in SQLite: a row an entry; the entries of an event stand together in the key.

An observation has a row for each date that it says (`current` 0), an entity one for each date that
its snapshot shows (`current` 1). How many events there are is counted as rows come and go.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

import apsw

from canonry.log.entries import Thing
from canonry.readmodels.listing import List, difference
from canonry.readmodels.ports.pages import PAGE_MAX, Page
from canonry.readmodels.ports.state import TimelineQuery
from canonry.readmodels.timeline import TimelineEntry, TimelineEvent, entries_told, event_of
from canonry.stores.sqlite.bodies import Packed, altered, pack, unpack
from canonry.stores.sqlite.listing import CountKey
from canonry.stores.sqlite.lookups import number
from canonry.stores.sqlite.pages import counted
from canonry.values.ids import EntityId, ObservationId, SourceId, SpaceId
from canonry.values.moments import Instant

TimelineRow: TypeAlias = tuple[int, Packed, str, int, Packed, Packed, str, Packed, Packed]
"""(current, space, event type, -instant, event, entity, field, observation, source)."""

SAID: Final = 0
CURRENT: Final = 1
_KEY: Final = 8
_EVENT: Final = 5
"""The first columns of a row are its event."""

_OF_EVENT: Final = "current = ? AND space = ? AND event_type = ? AND rank = ? AND event = ?"
ANY: Final = f"SELECT 1 FROM timeline WHERE {_OF_EVENT} LIMIT 1"  # noqa: S608 - our SQL
_PUT: Final = "INSERT INTO timeline VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_DROP: Final = (
    f"DELETE FROM timeline WHERE {_OF_EVENT} AND entity = ? AND field = ? AND observation = ?"  # noqa: S608
)
ENTRIES: Final = (
    "SELECT entity, field, observation, source FROM timeline"  # noqa: S608 - our SQL
    f" WHERE {_OF_EVENT} ORDER BY entity, field, observation LIMIT ?"
)
RUN: Final = "current = ? AND space = ? AND event_type = ? AND rank BETWEEN ? AND ?"
EVENTS: Final = (
    f"SELECT current, space, event_type, rank, event FROM timeline WHERE {RUN}"  # noqa: S608
    " GROUP BY rank, event ORDER BY rank, event LIMIT ?"
)
_N_EVENTS: Final = f"SELECT count(*) FROM ({EVENTS})"  # noqa: S608 - our SQL
OF_SOURCE: Final = (
    "SELECT DISTINCT current, space, event_type, rank, event FROM timeline"
    " WHERE source = ? AND current = ? AND rank BETWEEN ? AND ?"
)
_FAR: Final = 2**62
_ALL: Final = -1


def rows_of(thing: Thing) -> Iterator[TimelineRow]:
    """The rows of an observation or an entity; others have none."""
    for entry, current in entries_told(thing):
        yield _row(CURRENT if current else SAID, entry)


def redate(
    db: apsw.Connection, gone: Sequence[Thing], come: Sequence[Thing], tally: Counter[CountKey]
) -> None:
    """Let the timeline show what things say now."""
    dropped, put = difference(rows_of, gone, come)
    if not dropped and not put:
        return
    events = dict.fromkeys(row[:_EVENT] for row in (*dropped, *put))
    before = [event for event in events if _exists(db, event)]
    db.executemany(_DROP, [row[:_KEY] for row in dropped])
    db.executemany(_PUT, put)
    after = [event for event in events if _exists(db, event)] if dropped else events
    for known, change in ((before, -1), (after, 1)):
        for current, space, event_type, *_ in known:
            tally[int(List.TIMELINE), current, space, event_type] += change


def _exists(db: apsw.Connection, event: Sequence[Any]) -> bool:
    return db.execute(ANY, event).fetchone() is not None


def select_timeline(db: apsw.Connection, query: TimelineQuery) -> Page[TimelineEvent]:
    """The page that `query` asks for."""
    current = SAID if query.superseded else CURRENT
    low = -_FAR if query.end is None else -query.end
    high = _FAR if query.start is None else -query.start
    if query.source_id is None:
        events, total = _by_type(db, query, current, low, high)
    else:
        events = _by_source(db, query, current, low, high)
        total = len(events)
    events.sort(key=lambda row: (row[3], unpack(row[4])))
    shown = events[query.offset : query.offset + query.limit]
    return Page(items=[_event(db, row) for row in shown], total=total)


def _by_type(
    db: apsw.Connection, query: TimelineQuery, current: int, low: int, high: int
) -> tuple[list[Any], int]:
    bounded = query.start is not None or query.end is not None
    events: list[Any] = []
    total = 0
    for space, event_type, n in counted(db, List.TIMELINE, current, query.spaces):
        if query.event_type not in {None, event_type}:
            continue
        run = (current, space, event_type, low, high)
        total += number(db, _N_EVENTS, (*run, _ALL)) if bounded else n
        events += db.execute(EVENTS, (*run, query.offset + query.limit))
    return events, total


def _by_source(
    db: apsw.Connection, query: TimelineQuery, current: int, low: int, high: int
) -> list[Any]:
    spaces = None if query.spaces is None else frozenset(map(pack, query.spaces))
    values = (pack(query.source_id or ""), current, low, high)
    return [
        row
        for row in db.execute(OF_SOURCE, values)
        if (spaces is None or row[1] in spaces) and query.event_type in {None, row[2]}
    ]


def _event(db: apsw.Connection, row: Sequence[Any]) -> TimelineEvent:
    _, space, event_type, rank, _ = row
    found: Any = db.execute(ENTRIES, (*row, PAGE_MAX)).fetchall()
    if not found:  # an index leads to a row that the table has not
        raise altered()
    where, instant = SpaceId(unpack(space)), Instant(-rank)
    return event_of(
        tuple(
            TimelineEntry(
                space=where,
                event_type=event_type,
                instant=instant,
                source_id=SourceId(unpack(source)),
                entity_id=EntityId(unpack(entity)),
                field=field,
                observation_id=ObservationId(unpack(observation)),
            )
            for entity, field, observation, source in found
        )
    )


def _row(current: int, entry: TimelineEntry) -> TimelineRow:
    return (
        current,
        pack(entry.space),
        entry.event_type,
        -entry.instant,
        pack(entry.event_id),
        pack(entry.entity_id),
        entry.field,
        pack(entry.observation_id),
        pack(entry.source_id),
    )
