"""Assemble a scene's context: canon, narrative and recollections, ranked to fit a token budget."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from canonry.domain.recall.context import Fitted, Section, cost_of, fit, tokens_of
from canonry.domain.things.entities import Entity
from canonry.domain.things.facts import Fact
from canonry.domain.things.relations import Relation
from canonry.domain.things.scenes import Scene, Turn
from canonry.domain.time import Instant
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.lookup import require
from canonry.usecases.narrative.gather_canonical import Canonical, Cast, find_cast, gather_canonical
from canonry.usecases.narrative.gather_narrative import (
    Narrative,
    Thread,
    gather_narrative,
    promises,
)
from canonry.usecases.narrative.gather_recalled import (
    TURNS_ASKED,
    Recollections,
    Remembrance,
    gather_recalled,
    query_of,
)
from canonry.usecases.recall.find_passages import FoundPassage
from canonry.usecases.recall.search_canon import degraded_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """Which sections are wanted; `query` None lets the scene itself ask."""

    scene_id: str
    canonical: bool = True
    narrative: bool = True
    recalled: bool = True
    query: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneContext:
    """What a model is told about a scene; sections that were not wanted are empty."""

    scene: Scene
    cast: Cast
    canonical: Canonical
    narrative: Narrative
    recalled: Recollections
    query: str | None
    at: Instant
    budget: int
    used: int
    omitted: dict[str, int]
    degraded: tuple[str, ...]


async def assemble_context(canon: Canon, caller: Caller, request: ContextRequest) -> SceneContext:
    """The context of a scene, the same for the same canon; what cannot be had is named instead.

    Raises:
        NotFound: `scene.unknown`.
    """
    scene = await require(canon, caller, Scene, request.scene_id)
    cast, query = await asyncio.gather(find_cast(canon, scene), _query(canon, scene, request))
    canonical, narrative, recalled = await asyncio.gather(
        _canonical(canon, scene, cast, request, query),
        _narrative(canon, scene, cast, request),
        _recalled(canon, scene, cast, query),
    )
    if request.narrative:
        threads = (*narrative.threads, *promises(canonical.promised))
        narrative = replace(narrative, threads=threads)
        recalled = _without_told(recalled, narrative)
    notes = tokens_of(scene.gm_notes, scene.summary) if request.narrative else 0
    budget = canon.policy.context.tokens
    fitted = fit(_sections(canonical, narrative, recalled), max(0, budget - notes))
    return _kept(
        SceneContext(
            scene=scene,
            cast=cast,
            canonical=canonical,
            narrative=narrative,
            recalled=recalled,
            query=query,
            at=canon.clock.now(),
            budget=budget,
            used=notes + fitted.used,
            omitted=dict(fitted.omitted),
            degraded=degraded_of(canonical.degraded, recalled.degraded),
        ),
        fitted,
    )


async def _query(canon: Canon, scene: Scene, request: ContextRequest) -> str | None:
    """What to recall by; None where nothing is to be recalled."""
    if not request.recalled:
        return None
    turns: Sequence[Turn] = ()
    if request.query is None:
        turns = await canon.documents.turns(scene.id, last=TURNS_ASKED)
    return query_of(scene, turns, request.query, limit=canon.policy.limits.query)


async def _canonical(
    canon: Canon, scene: Scene, cast: Cast, request: ContextRequest, query: str | None
) -> Canonical:
    if not request.canonical:
        return Canonical(roots={})
    return await gather_canonical(canon, scene, cast, query)


async def _narrative(canon: Canon, scene: Scene, cast: Cast, request: ContextRequest) -> Narrative:
    if not request.narrative:
        return Narrative(names={})
    return await gather_narrative(canon, scene, cast.present)


async def _recalled(canon: Canon, scene: Scene, cast: Cast, query: str | None) -> Recollections:
    if query is None:
        return Recollections(things={})
    return await gather_recalled(canon, scene, cast.participants, query)


def _without_told(recalled: Recollections, narrative: Narrative) -> Recollections:
    """A summary that is told as a scene before this one is not recalled a second time."""
    told = {scene.id for scene in narrative.scenes}
    fresh = [hit for hit in recalled.scenes if hit.passage.id not in told]
    return replace(recalled, scenes=fresh)


def _sections(
    canonical: Canonical, narrative: Narrative, recalled: Recollections
) -> tuple[Section[Any], ...]:
    """Everything that shares the budget, by rank; of turns and scenes the newest come first."""
    roots, names = canonical.roots, narrative.names
    turns, scenes = narrative.turns[::-1], narrative.scenes[::-1]

    def relation_cost(edge: Relation) -> int:
        ends = (roots[end].name for end in (edge.from_id, edge.to_id))
        return cost_of(edge.rel_type, *ends, ids=3, fields=6)

    def turn_cost(turn: Turn) -> int:
        return cost_of(turn.text, names.get(turn.entity_id or ""), ids=2, fields=8)

    def memory_cost(each: Remembrance) -> int:
        return cost_of(each.memory.text, each.owner.name, *each.terms, ids=3, fields=12)

    return (
        Section(name="entities", weight=4, items=canonical.entities, cost=_entity_cost),
        Section(name="prior_turns", weight=4, items=turns, cost=turn_cost),
        Section(name="facts", weight=4, items=canonical.facts, cost=_fact_cost),
        Section(name="relations", weight=3, items=canonical.relations, cost=relation_cost),
        Section(name="previous_scenes", weight=1, items=scenes, cost=_scene_cost),
        Section(name="character_memories", weight=1, items=recalled.memories, cost=memory_cost),
        Section(name="open_threads", weight=1, items=narrative.threads, cost=_thread_cost),
        Section(name="rule_excerpts", weight=1, items=recalled.rules, cost=_hit_cost),
        Section(name="similar_scenes", weight=1, items=recalled.scenes, cost=_hit_cost),
    )


def _entity_cost(entity: Entity) -> int:
    properties = entity.properties
    words = (entity.name, entity.description, *entity.state_tags, *map(str, properties.values()))
    return cost_of(*words, ids=1, fields=8 + len(properties))


def _fact_cost(fact: Fact) -> int:
    return cost_of(fact.statement, ids=1 + len(fact.involved), fields=6)


def _scene_cost(scene: Scene) -> int:
    return cost_of(scene.title, scene.summary, ids=1, fields=5)


def _thread_cost(thread: Thread) -> int:
    return cost_of(thread.text, thread.kind, ids=1, fields=3)


def _hit_cost(hit: FoundPassage) -> int:
    passage = hit.passage
    return cost_of(passage.text, *hit.terms, ids=5 + len(passage.entities), fields=23)


def _kept(context: SceneContext, fitted: Fitted) -> SceneContext:
    kept = fitted.kept
    return replace(
        context,
        canonical=replace(
            context.canonical,
            entities=kept["entities"],
            facts=kept["facts"],
            relations=kept["relations"],
        ),
        narrative=replace(
            context.narrative,
            turns=kept["prior_turns"][::-1],
            scenes=kept["previous_scenes"][::-1],
            threads=kept["open_threads"],
        ),
        recalled=replace(
            context.recalled,
            scenes=kept["similar_scenes"],
            memories=kept["character_memories"],
            rules=kept["rule_excerpts"],
        ),
    )
