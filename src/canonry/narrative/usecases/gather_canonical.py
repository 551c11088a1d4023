"""Gather the canonical part of a scene's context: who is there, their ties, what holds."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from canonry.canon.session.canon import Canon
from canonry.canon.session.every_item import newest_match
from canonry.canon.session.get_entity_as_of import entities_then
from canonry.log.items.entities import Entity, family_of, normalised_name
from canonry.log.items.facts import Event, Fact
from canonry.log.items.relations import Relation
from canonry.log.items.scenes import Scene
from canonry.narrative.usecases.as_of_scene import (
    events_until,
    facts_at,
    moment_of,
    relations_at,
    tags_at,
)
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.pages import PAGE_MAX
from canonry.readmodels.ports.state import EventQuery, FactQuery, RelationQuery
from canonry.readmodels.ports.text import TextQuery
from canonry.recall.domain.context import rank_facts, rank_relations, ties_of, without_repeats
from canonry.recall.domain.sheets import (
    Presence,
    Sheet,
    Told,
    Whereabouts,
    bare,
    brief,
    head_of,
    sheet_of,
)
from canonry.recall.usecases.find_passages import find_passages
from canonry.values.ids import EntityId
from canonry.values.provenance import CanonLevel

NEIGHBOURS_MAX: Final = 100
"""The most entities one relation away that a context looks at."""
EVENTS_MAX: Final = 10
"""The most recent events that a context tells."""
PLACE: Final = "LOCATED_IN"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """The canon entities that stand in a scene, as the roots that merged ones became."""

    participants: tuple[Entity, ...]
    location: Entity | None

    @property
    def present(self) -> tuple[Entity, ...]:
        """Participants in the order of the scene, then the place."""
        place = () if self.location is None else (self.location,)
        return tuple(without_repeats((*self.participants, *place), lambda e: e.id))


@dataclass(frozen=True, slots=True, kw_only=True)
class Canonical:
    """Each ranked; those `present` and those `around` them, and what holds as of the scene.

    `roots` maps merged ids.
    """

    present: Sequence[Presence] = ()
    around: Sequence[Told] = ()
    sheets: Sequence[Sheet] = ()
    facts: Sequence[Fact] = ()
    relations: Sequence[Relation] = ()
    events: Sequence[Event] = ()
    promised: Sequence[Fact] = ()
    roots: Mapping[str, Entity]
    degraded: tuple[str, ...] = ()

    @property
    def entities(self) -> Sequence[Told]:
        """Those present, then those around them, each with its sheet as far as there is room."""
        known = {sheet.entity.id: sheet for sheet in self.sheets}
        there = (
            Told(head=head, sheet=known.get(head.entity.id) or bare(sheet_of(head.entity)))
            for head in self.present
        )
        return (*there, *self.around)


async def find_cast(canon: Canon, scene: Scene) -> Cast:
    """Who is in the scene, without those that are not canon (any longer)."""
    place = () if scene.location_ref is None else (scene.location_ref,)
    roots = await _roots(canon, scene, (*scene.participants, *place))
    staged = (roots.get(each) for each in scene.participants)
    participants = [each for each in staged if each is not None]
    return Cast(
        participants=tuple(without_repeats(participants, lambda e: e.id)),
        location=None if scene.location_ref is None else roots.get(scene.location_ref),
    )


async def gather_canonical(
    canon: Canon, scene: Scene, cast: Cast, query: TextQuery | None, events: Sequence[Event]
) -> Canonical:
    """Those present and what is one relation away, with the facts that hold of them.

    With a `query` also the facts of the universe that resemble it, whomever they involve. State,
    relations, places and facts are those of the scene's moment, and of the `events` of those
    present the latest until then. Of very many facts or relations the newest are ranked.
    """
    moment = moment_of(scene)
    seeds = _ids_of(cast.present)
    known_edges, (recalled, degraded) = await asyncio.gather(
        _relations(canon, scene, seeds), _resembling(canon, query)
    )
    edges = [e for e in relations_at(moment, known_edges) if {e.from_id, e.to_id} & seeds]
    places = [edge.to_id for edge in edges if edge.rel_type == PLACE and edge.from_id in seeds]
    ties = (each for each in ties_of(edges, seeds) if each not in places)
    nearest = [*islice(ties, NEIGHBOURS_MAX), *places]
    around = [*(await _roots(canon, scene, tuple(dict.fromkeys(nearest)))).values()]
    entities = without_repeats((*cast.present, *around), lambda e: e.id)
    entities = [*await entities_then(canon, scene.space, entities, moment)]
    present, others = entities[: len(cast.present)], entities[len(cast.present) :]
    roots: dict[str, Entity] = {i: one for one in entities for i in family_of(one)}
    facts = await _facts(canon, scene, _ids_of(entities))
    limits = canon.policy.context
    actors = _ids_of(cast.participants)
    happened = events_until(moment, events)
    known = {fact.id: fact for fact in (*facts, *recalled.values())}
    then = facts_at(moment, known.values(), happened)
    ranked = rank_facts(then.holding, actors, recalled)
    near = [edge for edge in edges if {edge.from_id, edge.to_id} <= roots.keys()]
    there = {
        edge.from_id: Whereabouts(id=roots[edge.to_id].id, name=roots[edge.to_id].name)
        for edge in near
        if edge.rel_type == PLACE
    }

    def head(entity: Entity) -> Presence:
        place = next((there[i] for i in sorted(family_of(entity)) if i in there), None)
        return head_of(entity, tags_at(moment, entity), place)

    return Canonical(
        present=[head(each) for each in present],
        sheets=[sheet_of(each) for each in present],
        around=[Told(head=head(each), sheet=brief(each)) for each in others],
        facts=without_repeats(ranked, lambda f: normalised_name(f.statement))[: limits.facts],
        relations=rank_relations(near, seeds, limit=limits.relations),
        events=happened[:EVENTS_MAX],
        promised=rank_facts(then.promised, actors),
        roots=roots,
        degraded=degraded,
    )


async def events_of(canon: Canon, scene: Scene, present: Sequence[Entity]) -> Sequence[Event]:
    """The canon events of those present, of very many the newest."""
    entities = _ids_of(present)
    if not entities:
        return ()
    spaces = frozenset((scene.space,))
    query = EventQuery(spaces=spaces, entities=entities, level=CanonLevel.CANON)
    return await newest_match(canon.state.events, query)


def _ids_of(entities: Iterable[Entity]) -> frozenset[EntityId]:
    return frozenset(i for entity in entities for i in family_of(entity))


async def _roots(canon: Canon, scene: Scene, ids: Sequence[str]) -> Mapping[str, Entity]:
    """The canon entities that answer for these ids."""
    found = await canon.within(scene.space).roots(ids)
    return {i: found[i] for i in ids if i in found and found[i].level is CanonLevel.CANON}


async def _relations(canon: Canon, scene: Scene, seeds: frozenset[EntityId]) -> Sequence[Relation]:
    """The newest relations, also those that ended; of very many, those that did not as well.

    With them what took over from those that ended, whomever it ties.
    """
    if not seeds:
        return ()
    asked = RelationQuery(
        spaces=frozenset((scene.space,)), entities=seeds, newest_first=True, limit=PAGE_MAX
    )
    newest = await canon.state.relations(asked)
    found = {edge.id: edge for edge in newest.items if edge.level is CanonLevel.CANON}
    if newest.total > PAGE_MAX:
        current = await canon.state.relations(replace(asked, current=True))
        found |= {edge.id: edge for edge in current.items}
    heirs = {e.superseded_by for e in found.values() if e.superseded_by} - found.keys()
    things = (await canon.within(scene.space).things(heirs)).values()
    more = (e for e in things if isinstance(e, Relation) and e.level is CanonLevel.CANON)
    return [*found.values(), *more]


async def _facts(canon: Canon, scene: Scene, entities: frozenset[EntityId]) -> Sequence[Fact]:
    if not entities:
        return ()
    spaces = frozenset((scene.space,))
    query = FactQuery(spaces=spaces, entities=entities, level=CanonLevel.CANON)
    return await newest_match(canon.state.facts, query)


async def _resembling(
    canon: Canon, query: TextQuery | None
) -> tuple[Mapping[str, Fact], tuple[str, ...]]:
    """The facts of the universe that resemble the query, by id, and what could not be searched."""
    if query is None:
        return {}, ()
    limit = canon.policy.context.recalled
    found = await find_passages(canon, replace(query, collection=Collection.FACTS, limit=limit))
    things = (found.things.get(hit.passage.id) for hit in found.hits)
    return {thing.id: thing for thing in things if isinstance(thing, Fact)}, found.degraded
