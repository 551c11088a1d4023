"""Identifiers, observations and timeline dates in SQLite."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Final, TypeAlias

import apsw

from canonry.log.entries import StoredItem
from canonry.log.items.entities import NEVER_SEEN, Entity, Sightings
from canonry.log.items.secret_parts import may_all_know
from canonry.log.observations import with_observations
from canonry.log.schemas.identity_keys import rows_of as identifier_rows
from canonry.readmodels.listing import MERGED, NOBODY, List, row_difference
from canonry.readmodels.ports.state import IdentifierQuery, Spaces, TimelineQuery
from canonry.readmodels.ports.view import PAGE_MAX, Page
from canonry.readmodels.timeline import TimelineEntry, TimelineEvent, event_of, item_entries
from canonry.stores.sqlite.rows import (
    CountKey,
    Packed,
    altered_error,
    filled,
    find_item,
    find_items,
    item_in_row,
    list_counts,
    look_up,
    pack_id,
    select_number,
    unpack_id,
    version_of,
)
from canonry.values.ids import EntityId, ObservationId, SourceId, SpaceId
from canonry.values.moments import Instant
from canonry.values.observations import Observation

PackedIdentifier: TypeAlias = tuple[Packed, str, Packed, str, int, Packed | None]
"""(space, key, id, entity type, born at, root if merged). The first three are the primary key."""

LAST: Final = "\U0010ffff"
_PUT: Final = "INSERT INTO identifiers VALUES (?, ?, ?, ?, ?, ?)"
_DROP: Final = "DELETE FROM identifiers WHERE space = ? AND key = ? AND id = ?"
_KEY: Final = 3
_TOGETHER: Final = 64  # one statement of a fixed size stays prepared: bench compare, bulk
_FEW: Final = 8  # for fewer texts than this, single statements are cheaper

_EXACT: Final = "SELECT key, root, min(born) FROM identifiers WHERE space = ? AND key"
EXACT: Final = f"{_EXACT} = ?"
EXACTLY: Final = f"{_EXACT} IN ({', '.join('?' * _TOGETHER)})"
LONGER: Final = (
    "SELECT root, min(key) AS place FROM identifiers WHERE space = ? AND key > ? AND key < ?"
)
_TYPED: Final = " AND entity_type = ?"
_Typed: TypeAlias = tuple[str, tuple[str, ...]]
"""A condition on the type in SQL, and its value; both are empty for any type."""

_OrderedEntity: TypeAlias = tuple[Any, Packed]
"""(order, root)."""


def packed_rows(item: StoredItem) -> Iterator[PackedIdentifier]:
    """Yield the stored rows of an entity; other items have none."""
    if isinstance(item, Entity):
        own = pack_id(item.id)
        for row in identifier_rows(item):
            root = None if row.root == row.id else pack_id(row.root)
            yield pack_id(row.space), row.key, own, row.entity_type, row.born, root


def update_identifiers(
    db: apsw.Connection, gone: Sequence[StoredItem], come: Sequence[StoredItem]
) -> None:
    """Update the texts by which the items are found."""
    dropped, put = row_difference(packed_rows, gone, come)
    if dropped:
        db.executemany(_DROP, [row[:_KEY] for row in dropped])
    if put:
        db.executemany(_PUT, put)


def select_identified(
    db: apsw.Connection, query: IdentifierQuery, part: type | None = None
) -> Mapping[str, Page[Any]]:
    """Return the entities that have each of the keys as identifier, or a `part` of each."""
    spaces = _packed_spaces(db, query.spaces)
    keys = tuple(dict.fromkeys(query.keys))
    typed = ("", ()) if query.entity_type is None else (_TYPED, (query.entity_type,))
    exact = _exact_matches(db, spaces, keys, typed)
    found: dict[str, Sequence[Packed]] = {}
    for key in keys:
        roots = _in_order(exact.get(key, ()))
        if query.begins:
            longer = _prefix_matches(db, spaces, key, typed)
            known = frozenset(roots)
            roots = [*roots, *(root for root in longer if root not in known)]
        if roots:
            found[key] = roots
    shown = {root: None for roots in found.values() for root in roots[: query.limit]}
    items = {
        packed: item_in_row(*row[1:], part, under=packed)
        for packed, row in look_up(db, shown).items()
    }
    return {
        key: Page(items=[items[r] for r in roots[: query.limit] if r in items], total=len(roots))
        for key, roots in found.items()
    }


def _exact_matches(
    db: apsw.Connection, spaces: Sequence[Packed], keys: Sequence[str], typed: _Typed
) -> Mapping[str, Sequence[_OrderedEntity]]:
    """Return the entities with each of the texts, and their creation; many texts a statement."""
    where, more = typed
    size, sql = (1, EXACT) if len(keys) < _FEW else (_TOGETHER, EXACTLY)
    found: dict[str, list[_OrderedEntity]] = {}
    for some, space in product(filled(keys, size), spaces):
        rows: Any = db.execute(f"{sql}{where} GROUP BY key, root", (space, *some, *more))
        for key, root, born in rows:
            found.setdefault(key, []).append((born, root))
    return found


def _prefix_matches(
    db: apsw.Connection, spaces: Sequence[Packed], key: str, typed: _Typed
) -> Sequence[Packed]:
    """Return the entities with a text that begins with `key`, in the order of the texts."""
    where, more = typed
    rows: list[_OrderedEntity] = []
    for space in spaces:
        values = (space, key, key + LAST, *more)
        found: Any = db.execute(f"{LONGER}{where} GROUP BY root", values)
        rows += [(order, root) for root, order in found]
    return _in_order(rows)


def _in_order(rows: Collection[_OrderedEntity]) -> Sequence[Packed]:
    if len(rows) <= 1:
        return [root for _, root in rows]
    return [root for _, root in sorted(rows, key=lambda row: (row[0], unpack_id(row[1])))]


def _packed_spaces(db: apsw.Connection, spaces: Spaces) -> Sequence[Packed]:
    if spaces is not None:
        return [pack_id(space) for space in spaces]
    owners = (NOBODY, MERGED)
    runs = (run for owner in owners for run in list_counts(db, List.ENTITIES, owner, None))
    return list(dict.fromkeys(space for space, _, _ in runs))


# Sightings in SQLite: an entity's observations by the time at which they were seen.
#
# The state as seen until an instant starts from a stored version: the last one before the first
# later observation. Only observations that were seen earlier but recorded later are folded on top.
# Of equal observations, only the last one counts; the list tells which are equal.

_MINE: Final = "list = ? AND owner = ? AND space = '' AND facet = ''"
NEWEST: Final = (
    f"SELECT rank, later, id FROM listing WHERE {_MINE} ORDER BY rank, later, id LIMIT ?"  # noqa: S608
)
_COUNT: Final = f"SELECT count(*) FROM listing WHERE {_MINE}"  # noqa: S608 - our SQL
FIRST_LATER: Final = f"SELECT max(later) FROM listing WHERE {_MINE} AND rank < ?"  # noqa: S608
RECORDED_LATE: Final = (
    "SELECT rank, later, id, name FROM listing"  # noqa: S608 - our SQL
    f" WHERE {_MINE} AND rank >= ? AND later < ? LIMIT ?"
)
_ROWS_FOR_ONE: Final = 20  # rows that are read in the time in which one observation is folded


def newest_observations(
    db: apsw.Connection, entity_ids: Sequence[EntityId], limit: int, offset: int
) -> Page[Observation]:
    """Return the observations of these entities, the last seen first."""
    rows: list[Any] = []
    total = 0
    for entity_id in dict.fromkeys(entity_ids):
        mine = (int(List.OBSERVATIONS_SEEN), pack_id(entity_id))
        rows += db.execute(NEWEST, (*mine, limit + offset))
        total += select_number(db, _COUNT, mine)
    rows.sort(key=lambda row: (row[0], row[1], unpack_id(row[2])))
    chosen = rows[offset : offset + limit]
    return Page(items=find_items(db, [row[2] for row in chosen]), total=total)


class TooLong(Exception):  # noqa: N818 - it is an answer, and no error
    """Folding needs more time than the event loop can wait."""


def seen_until(
    db: apsw.Connection, entity_id: EntityId, instant: Instant, *, most: int
) -> Entity | None:
    """Return the entity as observed until `instant`, or None if it does not exist.

    Raises:
        Long: more than `most` observations must be folded.
    """
    packed = pack_id(entity_id)
    entity = find_item(db, packed)
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
    recorded_later: list[Any] = list(
        db.execute(RECORDED_LATE, (*mine, -instant, -before, rows_most + 1))
    )
    if entity.veils and len(recorded_later) <= rows_most:
        observations = {o.id: o for o in find_items(db, [each[2] for each in recorded_later])}
        recorded_later = [
            each
            for each in recorded_later
            if may_all_know(observations[unpack_id(each[2])], entity)
        ]
    counting = counting_among(recorded_later)
    if len(recorded_later) > rows_most or len(counting) > most:
        raise TooLong
    then = with_observations(replace(entity, own=known[0], veils=()), find_items(db, counting))
    return replace(then, sightings=known[1] + _count_sightings(recorded_later))


def counting_among(rows: Sequence[Any]) -> list[Packed]:
    """Return the ids of the observations that no other observation replaces."""
    chosen: dict[Packed, None] = {}
    last_seen: dict[str, tuple[Any, ...]] = {}
    last_recorded: dict[str, tuple[Any, ...]] = {}
    for rank, later, observation, alike in rows:
        if alike is None:
            chosen[observation] = None
            continue
        seen, recorded = (-rank, -later, observation), (-later, observation)
        if alike not in last_seen or last_seen[alike] < seen:
            last_seen[alike] = seen
        if alike not in last_recorded or last_recorded[alike] < recorded:
            last_recorded[alike] = recorded
    for found in (last_seen, last_recorded):
        chosen |= dict.fromkeys(each[-1] for each in found.values())
    return list(chosen)


def _count_sightings(rows: Sequence[Any]) -> Sightings:
    if not rows:
        return NEVER_SEEN
    ranks = [row[0] for row in rows]
    return Sightings(count=len(rows), first=Instant(-max(ranks)), last=Instant(-min(ranks)))


# The timeline in SQLite: one row per entry; entries of one event are adjacent in the key.
#
# An observation has a row for each date that it states (`current` 0). An entity has one for each
# date in its snapshot (`current` 1). The number of events is updated with the rows.

TimelineRow: TypeAlias = tuple[int, Packed, str, int, Packed, Packed, str, Packed, Packed]
"""(current, space, event type, -instant, event, entity, field, observation, source)."""

STATED: Final = 0
CURRENT: Final = 1
_SIGHTING_KEY: Final = 8
_EVENT: Final = 5  # the first columns of a row identify its event

_OF_EVENT: Final = "current = ? AND space = ? AND event_type = ? AND rank = ? AND event = ?"
ANY: Final = f"SELECT 1 FROM timeline WHERE {_OF_EVENT} LIMIT 1"  # noqa: S608 - our SQL
_PUT_SIGHTING: Final = "INSERT INTO timeline VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_DROP_SIGHTING: Final = (
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
_FAR: Final = 2**62  # later than every story time
_ALL: Final = -1


def timeline_rows(item: StoredItem) -> Iterator[TimelineRow]:
    """Yield the rows of an observation or an entity; other items have none."""
    for entry, current in item_entries(item):
        yield (
            (CURRENT if current else STATED),
            pack_id(entry.space),
            entry.event_type,
            -entry.instant,
            pack_id(entry.event_id),
            pack_id(entry.entity_id),
            entry.field,
            pack_id(entry.observation_id),
            pack_id(entry.source_id),
        )


def update_timeline(
    db: apsw.Connection,
    gone: Sequence[StoredItem],
    come: Sequence[StoredItem],
    tally: Counter[CountKey],
) -> None:
    """Update the timeline to the dates of these items."""
    dropped, put = row_difference(timeline_rows, gone, come)
    if not dropped and not put:
        return
    events = dict.fromkeys(row[:_EVENT] for row in (*dropped, *put))
    before = [event for event in events if _has_event(db, event)]
    db.executemany(_DROP_SIGHTING, [row[:_SIGHTING_KEY] for row in dropped])
    db.executemany(_PUT_SIGHTING, put)
    after = [event for event in events if _has_event(db, event)] if dropped else events
    for known, change in ((before, -1), (after, 1)):
        for current, space, event_type, *_ in known:
            tally[int(List.TIMELINE), current, space, event_type] += change


def _has_event(db: apsw.Connection, event: Sequence[Any]) -> bool:
    return db.execute(ANY, event).fetchone() is not None


def select_timeline(db: apsw.Connection, query: TimelineQuery) -> Page[TimelineEvent]:
    """Return the page that `query` asks for."""
    current = STATED if query.superseded else CURRENT
    low = -_FAR if query.end is None else -query.end
    high = _FAR if query.start is None else -query.start
    if query.source_id is None:
        events, total = _by_type(db, query, current, low, high)
    else:
        spaces = None if query.spaces is None else frozenset(map(pack_id, query.spaces))
        values = (pack_id(query.source_id or ""), current, low, high)
        events = [
            row
            for row in db.execute(OF_SOURCE, values)
            if (spaces is None or row[1] in spaces) and query.event_type in {None, row[2]}
        ]
        total = len(events)
    events.sort(key=lambda row: (row[3], unpack_id(row[4])))
    shown = events[query.offset : query.offset + query.limit]
    return Page(items=[_event_in(db, row) for row in shown], total=total)


def _by_type(
    db: apsw.Connection, query: TimelineQuery, current: int, low: int, high: int
) -> tuple[list[Any], int]:
    bounded = query.start is not None or query.end is not None
    events: list[Any] = []
    total = 0
    for space, event_type, n in list_counts(db, List.TIMELINE, current, query.spaces):
        if query.event_type not in {None, event_type}:
            continue
        run = (current, space, event_type, low, high)
        total += select_number(db, _N_EVENTS, (*run, _ALL)) if bounded else n
        events += db.execute(EVENTS, (*run, query.offset + query.limit))
    return events, total


def _event_in(db: apsw.Connection, row: Sequence[Any]) -> TimelineEvent:
    _, space, event_type, rank, _ = row
    found: Any = db.execute(ENTRIES, (*row, PAGE_MAX)).fetchall()
    if not found:  # an index refers to a missing row
        raise altered_error()
    where, instant = SpaceId(unpack_id(space)), Instant(-rank)
    return event_of(
        tuple(
            TimelineEntry(
                space=where,
                event_type=event_type,
                instant=instant,
                source_id=SourceId(unpack_id(source)),
                entity_id=EntityId(unpack_id(entity)),
                field=field,
                observation_id=ObservationId(unpack_id(observation)),
            )
            for entity, field, observation, source in found
        )
    )
