"""Observations in SQLite: by when they were seen, and the dates that they tell."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import apsw

from canonry.log.entries import Thing
from canonry.log.items.entities import NEVER_SEEN, Entity, Sightings
from canonry.log.items.veils import tells_of
from canonry.log.observing import seen_also
from canonry.readmodels.listing import List, difference
from canonry.readmodels.ports.pages import PAGE_MAX, Page
from canonry.readmodels.ports.state import TimelineQuery
from canonry.readmodels.timeline import TimelineEntry, TimelineEvent, entries_told, event_of
from canonry.stores.sqlite.bodies import Packed, altered, pack, unpack
from canonry.stores.sqlite.lookups import CountKey, number, thing_of, things_of, version_of
from canonry.stores.sqlite.pages import counted
from canonry.values.ids import EntityId, ObservationId, SourceId, SpaceId
from canonry.values.moments import Instant
from canonry.values.observations import Observation

# Sightings in SQLite: an entity's observations by the time at which they were seen.
#
# What was seen until an instant is, as far as possible, a version that the view keeps anyway: the
# last one before the first observation of later. Only what was seen earlier and told later is
# folded on top of it, and of that only what can still count: of observations that are alike, which
# the list says, the last.

_MINE: Final = "list = ? AND owner = ? AND space = '' AND facet = ''"
NEWEST: Final = (
    f"SELECT rank, later, id FROM listing WHERE {_MINE} ORDER BY rank, later, id LIMIT ?"  # noqa: S608
)
_COUNT: Final = f"SELECT count(*) FROM listing WHERE {_MINE}"  # noqa: S608 - our SQL
FIRST_LATER: Final = f"SELECT max(later) FROM listing WHERE {_MINE} AND rank < ?"  # noqa: S608
TOLD_LATE: Final = (
    "SELECT rank, later, id, name FROM listing"  # noqa: S608 - our SQL
    f" WHERE {_MINE} AND rank >= ? AND later < ? LIMIT ?"
)
_ROWS_FOR_ONE: Final = 20
"""So many rows are looked at in the time in which one observation is folded."""


def newest(
    db: apsw.Connection, entity_ids: Sequence[EntityId], limit: int, offset: int
) -> Page[Observation]:
    """The observations of these entities, those seen last first."""
    rows: list[Any] = []
    total = 0
    for entity_id in dict.fromkeys(entity_ids):
        mine = (int(List.OBSERVATIONS_SEEN), pack(entity_id))
        rows += db.execute(NEWEST, (*mine, limit + offset))
        total += number(db, _COUNT, mine)
    rows.sort(key=lambda row: (row[0], row[1], unpack(row[2])))
    chosen = rows[offset : offset + limit]
    return Page(items=things_of(db, [row[2] for row in chosen]), total=total)


class Long(Exception):  # noqa: N818 - it is an answer, and no error
    """More has to be folded than the event loop can wait for."""


def seen_until(
    db: apsw.Connection, entity_id: EntityId, instant: Instant, *, most: int
) -> Entity | None:
    """The entity by what was seen of it until `instant`; None where the id names none.

    Raises:
        Long: more than `most` observations have to be folded.
    """
    packed = pack(entity_id)
    entity = thing_of(db, packed)
    if not isinstance(entity, Entity):
        return None
    mine = (int(List.OBSERVATIONS_SEEN), packed)
    row: Any = db.execute(FIRST_LATER, (*mine, -instant)).fetchone()
    if row[0] is None:
        return replace(entity, veils=())
    before = -row[0] - 1
    base = version_of(db, packed, before)
    known = (base.own, base.sightings) if isinstance(base, Entity) else ({}, NEVER_SEEN)
    rows_most = most * _ROWS_FOR_ONE
    late: list[Any] = list(db.execute(TOLD_LATE, (*mine, -instant, -before, rows_most + 1)))
    if entity.veils and len(late) <= rows_most:
        told = {o.id: o for o in things_of(db, [each[2] for each in late])}
        late = [each for each in late if tells_of(told[unpack(each[2])], entity)]
    counting = counting_among(late)
    if len(late) > rows_most or len(counting) > most:
        raise Long
    then = seen_also(replace(entity, own=known[0], veils=()), things_of(db, counting))
    return replace(then, sightings=known[1] + _sightings(late))


def counting_among(rows: Sequence[Any]) -> list[Packed]:
    """The ids of those observations that no other one outdoes."""
    chosen: dict[Packed, None] = {}
    last_seen: dict[str, tuple[Any, ...]] = {}
    last_told: dict[str, tuple[Any, ...]] = {}
    for rank, later, observation, alike in rows:
        if alike is None:
            chosen[observation] = None
            continue
        seen, told = (-rank, -later, observation), (-later, observation)
        if alike not in last_seen or last_seen[alike] < seen:
            last_seen[alike] = seen
        if alike not in last_told or last_told[alike] < told:
            last_told[alike] = told
    for found in (last_seen, last_told):
        chosen |= dict.fromkeys(each[-1] for each in found.values())
    return list(chosen)


def _sightings(rows: Sequence[Any]) -> Sightings:
    if not rows:
        return NEVER_SEEN
    ranks = [row[0] for row in rows]
    return Sightings(count=len(rows), first=Instant(-max(ranks)), last=Instant(-min(ranks)))


# The timeline in SQLite: a row an entry; the entries of an event stand together in the key.
#
# An observation has a row for each date that it says (`current` 0), an entity one for each date
# that its snapshot shows (`current` 1). How many events there are is counted as rows come and go.

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
