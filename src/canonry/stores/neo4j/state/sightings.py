"""Sightings in Neo4j: an entity's observations by the time at which they were seen."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from canonry.log.encoding import decode_thing
from canonry.log.entries import Thing
from canonry.log.items.entities import NEVER_SEEN, Entity
from canonry.log.items.veils import tells_of
from canonry.log.observing import seen_also
from canonry.readmodels.listing import List
from canonry.readmodels.ports.pages import Page
from canonry.stores.neo4j.applying import run_of
from canonry.stores.neo4j.database import GraphRow, Neo4jDatabase
from canonry.stores.neo4j.pages import STANDS, things_in
from canonry.values.ids import EntityId
from canonry.values.moments import Instant
from canonry.values.observations import Observation

_NEWEST: Final = f"""
CALL () {{ MATCH (l:_Row) WHERE l.run IN $runs AND {STANDS} RETURN count(l) AS total }}
CALL () {{
  MATCH (l:_Row) WHERE l.run IN $runs AND {STANDS}
  WITH l.rank AS rank, l.later AS later, l.id AS id ORDER BY rank, later, id
  SKIP $offset LIMIT $limit
  OPTIONAL MATCH (t:Thing {{store: $store, id: id}})
  WITH t, rank, later, id ORDER BY rank, later, id
  RETURN collect([t.kind, t.body]) AS shown
}}
RETURN total, shown
"""
# What was seen later, and told before everything else that was.
_LOOK: Final = f"""
UNWIND $entities AS asked
MATCH (t:Thing {{store: $store, id: asked.id}}) WHERE t.body IS NOT NULL
CALL (asked) {{
  MATCH (l:_Row) WHERE l.run = asked.run AND l.rank < $seen AND {STANDS}
  RETURN max(l.later) AS place
}}
RETURN t.kind, t.body, place
"""
_PAST: Final = f"""
UNWIND $places AS p
CALL (p) {{
  MATCH (v:_Version) WHERE v.store = $store AND v.id = p.id AND v.since <= p.position
  WITH v ORDER BY v.since DESC LIMIT 1 RETURN collect([v.kind, v.body]) AS bases
}}
CALL (p) {{
  MATCH (l:_Row) WHERE l.run = p.run AND l.rank >= $seen AND l.later < -p.position AND {STANDS}
  MATCH (t:Thing {{store: $store, id: l.id}}) RETURN collect([t.kind, t.body]) AS late
}}
RETURN p.id, bases, late
"""


async def newest(
    database: Neo4jDatabase, entity_ids: Sequence[EntityId], limit: int, offset: int
) -> Page[Observation]:
    """The observations of these entities, those seen last first."""
    values = {
        "runs": [_run(database, each) for each in dict.fromkeys(entity_ids)],
        "limit": limit,
        "offset": offset,
    }

    def made(rows: list[GraphRow]) -> Page[Observation]:
        ((total, shown),) = rows
        return Page(items=things_in(shown), total=total)

    return await database.read(_NEWEST, values, made)


async def seen_until(
    database: Neo4jDatabase, entity_ids: Sequence[EntityId], instant: Instant
) -> Mapping[str, Entity]:
    """The entities by what was seen of them until `instant`, without ids that name none.

    That is, as far as possible, a version that is kept anyway: the last one before the first
    observation of later. Only what was seen earlier and told later is folded on top of it.
    """
    runs = {each: _run(database, each) for each in entity_ids}
    asked = [{"id": each, "run": run} for each, run in runs.items()]
    entities, before = dict[str, Entity](), dict[str, int]()
    for kind, body, place in await database.rows(_LOOK, {"entities": asked, "seen": -instant}):
        thing = decode_thing(kind, body.encode())
        if isinstance(thing, Entity):
            entities[thing.id] = thing
            if place is not None:
                before[thing.id] = -place - 1
    found: dict[str, Entity] = {
        i: replace(entities[i], veils=()) for i in entity_ids if i in entities
    }
    if not before:
        return found
    places = [{"id": i, "run": runs[EntityId(i)], "position": p} for i, p in before.items()]
    for identity, bases, late in await database.rows(_PAST, {"places": places, "seen": -instant}):
        told = defaultdict[str, list[Observation]](list)
        for each in things_in(late):
            if isinstance(each, Observation) and tells_of(each, entities[identity]):
                told[identity].append(each)
        base = next(iter(things_in(bases)), None)
        found[identity] = _as_seen(entities[identity], base, told[identity])
    return found


def _run(database: Neo4jDatabase, entity: str) -> str:
    return run_of(database.name, List.OBSERVATIONS_SEEN, entity)


def _as_seen(entity: Entity, base: Thing | None, late: Sequence[Observation]) -> Entity:
    own, sightings = (base.own, base.sightings) if isinstance(base, Entity) else ({}, NEVER_SEEN)
    return seen_also(replace(entity, own=own, sightings=sightings, veils=()), late)
