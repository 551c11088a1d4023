"""Gather the canonical part of a scene's context: who is there, their ties, what holds."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from canonry.domain.ids import EntityId
from canonry.domain.provenance import CanonLevel
from canonry.domain.recall.context import (
    holds_at,
    is_promised,
    rank_facts,
    rank_relations,
    ties_of,
    without_repeats,
)
from canonry.domain.things.entities import Entity, family_of, normalised_name
from canonry.domain.things.facts import Fact
from canonry.domain.things.relations import Relation
from canonry.domain.things.scenes import Scene
from canonry.ports.views.pages import PAGE_MAX
from canonry.ports.views.state import FactQuery, RelationQuery
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.find_newest import find_newest
from canonry.usecases.recall.search_canon import CanonKind, find_canon

NEIGHBOURS_MAX: Final = 100
"""The most entities one relation away that a context looks at."""


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
    """Each ranked: entities (those present first), facts, relations; `roots` maps merged ids."""

    entities: Sequence[Entity] = ()
    facts: Sequence[Fact] = ()
    relations: Sequence[Relation] = ()
    promised: Sequence[Fact] = ()
    roots: Mapping[str, Entity]
    degraded: tuple[str, ...] = ()


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


async def gather_canonical(canon: Canon, scene: Scene, cast: Cast, query: str | None) -> Canonical:
    """Those present and what is one current relation away, with the facts that hold of them.

    With a `query` also the facts of the universe that resemble it, whomever they involve. Facts
    are those valid at the scene's own time; a scene without one stands at the end of what is known,
    where nothing that was superseded holds. Of very many facts or relations the newest are ranked.
    """
    seeds = _ids_of(cast.present)
    edges, (recalled, degraded) = await asyncio.gather(
        _relations(canon, scene, seeds), _resembling(canon, scene, query)
    )
    nearest = islice(ties_of(edges, seeds), NEIGHBOURS_MAX)
    around = (await _roots(canon, scene, tuple(nearest))).values()
    entities = without_repeats((*cast.present, *around), lambda e: e.id)
    facts = await _facts(canon, scene, _ids_of(entities))
    limits = canon.policy.context
    actors = _ids_of(cast.participants)
    known = {fact.id: fact for fact in (*facts, *recalled.values())}
    holding = (fact for fact in known.values() if holds_at(fact, scene.time_ref))
    ranked = rank_facts(holding, actors, recalled)
    inside = _ids_of(entities)
    near = [edge for edge in edges if {edge.from_id, edge.to_id} <= inside]
    return Canonical(
        entities=entities,
        facts=without_repeats(ranked, lambda f: normalised_name(f.statement))[: limits.facts],
        relations=rank_relations(near, seeds, limit=limits.relations),
        promised=rank_facts((f for f in facts if is_promised(f, scene.time_ref)), actors),
        roots={i: entity for entity in entities for i in family_of(entity)},
        degraded=degraded,
    )


def _ids_of(entities: Iterable[Entity]) -> frozenset[EntityId]:
    return frozenset(i for entity in entities for i in family_of(entity))


async def _roots(canon: Canon, scene: Scene, ids: Sequence[str]) -> Mapping[str, Entity]:
    """The canon entities that answer for these ids."""
    found = await canon.within(scene.space).roots(ids)
    return {i: found[i] for i in ids if i in found and found[i].level is CanonLevel.CANON}


async def _relations(canon: Canon, scene: Scene, seeds: frozenset[EntityId]) -> Sequence[Relation]:
    if not seeds:
        return ()
    spaces = frozenset((scene.space,))
    return await find_newest(
        lambda offset: canon.state.relations(
            RelationQuery(
                spaces=spaces, entities=seeds, current=True, limit=PAGE_MAX, offset=offset
            )
        )
    )


async def _facts(canon: Canon, scene: Scene, entities: frozenset[EntityId]) -> Sequence[Fact]:
    if not entities:
        return ()
    spaces = frozenset((scene.space,))
    return await find_newest(
        lambda offset: canon.state.facts(
            FactQuery(
                spaces=spaces,
                entities=entities,
                level=CanonLevel.CANON,
                limit=PAGE_MAX,
                offset=offset,
            )
        )
    )


async def _resembling(
    canon: Canon, scene: Scene, query: str | None
) -> tuple[Mapping[str, Fact], tuple[str, ...]]:
    """The facts of the universe that resemble the query, by id, and what could not be searched."""
    if query is None:
        return {}, ()
    spaces, kinds = frozenset((scene.space,)), frozenset((CanonKind.FACT,))
    found = await find_canon(canon, spaces, query, kinds, limit=canon.policy.context.recalled)
    things = (found.things.get(hit.passage.id) for hit in found.hits)
    return {thing.id: thing for thing in things if isinstance(thing, Fact)}, found.degraded
