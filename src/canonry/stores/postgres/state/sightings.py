"""Sightings in PostgreSQL: an entity's observations by the time at which they were seen."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from canonry.log.entries import Thing
from canonry.log.items.entities import NEVER_SEEN, Entity
from canonry.log.items.veils import tells_of
from canonry.log.observing import seen_also
from canonry.readmodels.listing import List
from canonry.readmodels.ports.pages import Page
from canonry.stores.postgres.database import PgConnection, fetched, together
from canonry.stores.postgres.pages import things_in
from canonry.stores.postgres.views import LOAD, loaded_in
from canonry.values.ids import EntityId
from canonry.values.moments import Instant
from canonry.values.observations import Observation

_MINE: Final = f"owner = ANY(%s) AND list = {int(List.OBSERVATIONS_SEEN)}"
_NEWEST: Final = (
    f"WITH mine AS (SELECT rank, later, id FROM listing WHERE {_MINE})"
    " SELECT (SELECT count(*) FROM mine), p.kind, p.body FROM (SELECT 1) AS always LEFT JOIN"
    " (SELECT m.*, t.kind, t.body FROM (SELECT * FROM mine ORDER BY rank, later, id"
    " LIMIT %s OFFSET %s) m LEFT JOIN things t ON t.id = m.id) p ON true"
    " ORDER BY p.rank, p.later, p.id"
)
# What was seen later, and told before everything else that was.
_FIRST_LATER: Final = (
    f"SELECT owner, max(later) FROM listing WHERE {_MINE} AND rank < %s GROUP BY owner"
)
_BASES: Final = (
    "SELECT b.id, v.kind, v.body FROM unnest(%s::text[], %s::bigint[]) AS b (id, position)"
    " CROSS JOIN LATERAL (SELECT kind, body FROM versions WHERE id = b.id AND since <= b.position"
    " ORDER BY since DESC LIMIT 1) v"
)
_TOLD_LATE: Final = (
    "SELECT l.id, t.kind, t.body FROM unnest(%s::text[], %s::bigint[]) AS b (id, position)"
    f" JOIN listing l ON l.owner = b.id AND l.list = {int(List.OBSERVATIONS_SEEN)}"
    " AND l.rank >= %s AND l.later < -b.position JOIN things t ON t.id = l.id"
)


async def newest(
    db: PgConnection, entity_ids: Sequence[EntityId], limit: int, offset: int
) -> Page[Observation]:
    """The observations of these entities, those seen last first."""
    rows = await fetched(db, _NEWEST, (list(entity_ids), limit, offset))
    return Page(items=things_in(row[1:] for row in rows if row[1] is not None), total=rows[0][0])


async def seen_until(
    db: PgConnection, entity_ids: Sequence[EntityId], instant: Instant
) -> Mapping[str, Entity]:
    """The entities by what was seen of them until `instant`, without ids that name none.

    That is, as far as possible, a version that is kept anyway: the last one before the first
    observation of later. Only what was seen earlier and told later is folded on top of it.
    """
    found, later = await together(
        db, (LOAD, (list(entity_ids),)), (_FIRST_LATER, (list(entity_ids), -instant))
    )
    entities = {i: e for i, e in loaded_in(found).items() if isinstance(e, Entity)}
    before = {owner: -place - 1 for owner, place in later if owner in entities}
    if not before:
        return {i: _as_is(entities[i]) for i in entity_ids if i in entities}
    places = (list(before), list(before.values()))
    bases, late = await together(db, (_BASES, places), (_TOLD_LATE, (*places, -instant)))
    known, told = loaded_in(bases), defaultdict[str, list[Observation]](list)
    for each in loaded_in(late).values():
        if isinstance(each, Observation) and tells_of(each, entities[each.entity_id]):
            told[each.entity_id].append(each)
    return {
        i: _as_seen(entities[i], known.get(i), told[i]) if i in before else _as_is(entities[i])
        for i in entity_ids
        if i in entities
    }


def _as_is(entity: Entity) -> Entity:
    return replace(entity, veils=())


def _as_seen(entity: Entity, base: Thing | None, late: Sequence[Observation]) -> Entity:
    own, sightings = (base.own, base.sightings) if isinstance(base, Entity) else ({}, NEVER_SEEN)
    return seen_also(replace(entity, own=own, sightings=sightings, veils=()), late)
