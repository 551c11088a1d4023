"""Read a neighbourhood: what lies around an entity or a source, one step in every direction."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from canonry.canon.session.account import account_of, read_by, require_readable
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.traverse_related import traverse_related
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.relations import Relation
from canonry.log.items.sources import Source
from canonry.readmodels.ports.state import TimelineQuery
from canonry.readmodels.timeline import TimelineEntry, TimelineEvent, entries_current, event_of
from canonry.values.ids import SourceId
from canonry.values.observations import Observation

AROUND_MAX: Final = 100
"""So many of each kind are given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """What was found around a node; `truncated`: of some kind there is more."""

    entities: Sequence[Entity] = ()
    relations: Sequence[Relation] = ()
    sources: Sequence[Source] = ()
    events: Sequence[TimelineEvent] = ()
    observations: Sequence[Observation] = ()
    truncated: bool = False


async def neighbourhood_of_entity(
    canon: Canon, caller: Caller, entity_id: str
) -> tuple[Entity, Neighbourhood]:
    """An entity with its relations, their other ends, its sources, events and observations.

    Raises:
        NotFound: `entity.unknown`.
    """
    (entity,) = await require_readable(canon, caller, Entity, (entity_id,))
    related = await traverse_related(canon, caller, entity)
    page = await canon.state.observations_newest(
        sorted(family_of(entity)), limit=AROUND_MAX, offset=0
    )
    cut = related.truncated or page.total > AROUND_MAX or len(related.relations) > AROUND_MAX
    around = Neighbourhood(
        entities=related.entities[:AROUND_MAX],
        relations=related.relations[:AROUND_MAX],
        sources=await _sources(canon, caller, page.items),
        events=_events(entries_current(entity)),
        observations=page.items,
        truncated=cut,
    )
    return entity, around


async def neighbourhood_of_source(
    canon: Canon, caller: Caller, source_id: str
) -> tuple[Source, Neighbourhood]:
    """A source with what it says: observations, entities, what relates them, and their events.

    Raises:
        NotFound: `source.unknown`.
    """
    (source,) = await require_readable(canon, caller, Source, (source_id,))
    page = await canon.state.observations_from(source.id, limit=AROUND_MAX, offset=0)
    ids = tuple(dict.fromkeys(each.entity_id for each in page.items))
    seen = await read_by(canon, caller).things(ids)
    roots = {t.merged_into or t.id for t in seen.values() if isinstance(t, Entity)}
    entities = await require_readable(canon, caller, Entity, sorted(roots))
    relations: dict[str, Relation] = {}
    truncated = page.total > AROUND_MAX
    for entity in entities[:AROUND_MAX]:
        related = await traverse_related(canon, caller, entity)
        relations |= {
            each.id: each for each in related.relations if {each.from_id, each.to_id} <= roots
        }
        truncated = truncated or related.truncated
    query = TimelineQuery(
        spaces=frozenset((account_of(caller).space,)),
        source_id=SourceId(source.id),
        limit=AROUND_MAX,
    )
    around = Neighbourhood(
        entities=entities,
        relations=tuple(relations.values())[:AROUND_MAX],
        events=(await canon.state.timeline(query)).items,
        observations=page.items,
        truncated=truncated or len(relations) > AROUND_MAX,
    )
    return source, around


async def _sources(canon: Canon, caller: Caller, seen: Iterable[Observation]) -> tuple[Source, ...]:
    wanted = dict.fromkeys(each.source_id for each in seen if each.source_id is not None)
    found = await read_by(canon, caller).things(wanted)
    return tuple(s for i in wanted if isinstance(s := found.get(i), Source))


def _events(entries: Iterable[TimelineEntry]) -> tuple[TimelineEvent, ...]:
    by_event: dict[str, list[TimelineEntry]] = {}
    for entry in entries:
        by_event.setdefault(entry.event_id, []).append(entry)
    events = (event_of(tuple(each)) for each in by_event.values())
    return tuple(sorted(events, key=lambda event: (-event.instant, event.id)))[:AROUND_MAX]
