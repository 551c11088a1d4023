"""Sightings in SQLite: an entity's observations by the time at which they were seen.

What was seen until an instant is, as far as possible, a version that the view keeps anyway: the
last one before the first observation of later. Only what was seen earlier and told later is folded
on top of it, and of that only what can still count: of observations that are alike, which the list
says, the last.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import apsw

from canonry.log.items.entities import NEVER_SEEN, Entity, Sightings
from canonry.log.items.veils import tells_of
from canonry.log.sighting import seen_also
from canonry.readmodels.listing import List
from canonry.readmodels.ports.pages import Page
from canonry.stores.sqlite.bodies import Packed, pack, unpack
from canonry.stores.sqlite.lookups import number, thing_of, things_of, version_of
from canonry.values.ids import EntityId
from canonry.values.moments import Instant
from canonry.values.observations import Observation

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
