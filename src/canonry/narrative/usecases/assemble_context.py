"""Assemble a scene's context: canon, narrative and recollections, ranked to fit a token budget."""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import require
from canonry.log.items.facts import Event, Fact
from canonry.log.items.relations import Relation
from canonry.log.items.scenes import Scene, Turn
from canonry.narrative.usecases.as_of_scene import precedes
from canonry.narrative.usecases.gather_canonical import (
    Canonical,
    Cast,
    events_of,
    find_cast,
    gather_canonical,
)
from canonry.narrative.usecases.gather_narrative import (
    Narrative,
    Thread,
    gather_narrative,
    promises,
)
from canonry.narrative.usecases.gather_recalled import (
    LOOKED_AT,
    TURNS_ASKED,
    Recollections,
    Remembrance,
    gather_recalled,
    query_of,
)
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.text import TextQuery
from canonry.recall.domain.context import Fitted, Section, cost_of, cut, fit, tokens_of
from canonry.recall.domain.sheets import Presence, head_cost, sheet_cost, told_cost, trimmed
from canonry.recall.usecases.find_passages import FoundPassage
from canonry.recall.usecases.search_canon import degraded_of
from canonry.recall.usecases.shortening import shortened
from canonry.values.time import Instant

_NOTES: Final = "notes"
_Note: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """Which sections are wanted; `query` None lets the scene itself ask.

    `tokens` None is as many as the policy grants.
    """

    scene_id: str
    canonical: bool = True
    narrative: bool = True
    recalled: bool = True
    query: str | None = None
    tokens: int | None = None


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
    # Once for all who search: each would read a long text anew, beside the others.
    asked = None if query is None else await shortened(canon, query)
    told = asyncio.ensure_future(_events(canon, scene, cast, request))
    wanted = cast if request.canonical else None
    canonical, narrative, recalled = await asyncio.gather(
        _canonical(canon, scene, wanted, asked, told),
        _narrative(canon, scene, request, told),
        _recalled(canon, scene, cast, asked),
    )
    if request.narrative:
        threads = (*narrative.threads, *promises(canonical.promised))
        narrative = replace(narrative, threads=threads)
    recalled = _without_told(recalled, narrative, scene)
    budget = request.tokens or canon.policy.context.tokens
    first = fit((_present(canonical),), budget)
    written = _written(scene) if request.narrative else ()
    shared = (*_sections(canonical, narrative, recalled), _notes(written))
    fitted = fit(shared, budget - first.used)
    kept = dict(fitted.kept[_NOTES])
    if request.narrative:
        scene = replace(scene, gm_notes=kept.get("gm_notes"), summary=kept.get("summary"))
    return _kept(
        SceneContext(
            scene=scene,
            cast=cast,
            canonical=canonical,
            narrative=narrative,
            recalled=recalled,
            query=None if query is None else query.text,
            at=canon.clock.now(),
            budget=budget,
            used=first.used + fitted.used,
            omitted=_omitted(first, fitted),
            degraded=degraded_of(canonical.degraded, recalled.degraded),
        ),
        first,
        fitted,
    )


async def _query(canon: Canon, scene: Scene, request: ContextRequest) -> TextQuery | None:
    """What to recall by; None where nothing is to be recalled."""
    if not request.recalled:
        return None
    turns: Sequence[Turn] = ()
    if request.query is None:
        turns = await canon.documents.turns(scene.id, last=TURNS_ASKED)
    return TextQuery(
        collection=Collection.SCENES,
        text=query_of(scene, turns, request.query, limit=canon.policy.limits.query),
        spaces=frozenset((scene.space,)),
        question=request.query is not None,
        limit=canon.policy.context.recalled * LOOKED_AT,
    )


async def _events(
    canon: Canon, scene: Scene, cast: Cast, request: ContextRequest
) -> Sequence[Event]:
    """What happened to those present, which canon tells and open threads are found in."""
    wanted = request.canonical or request.narrative
    return await events_of(canon, scene, cast.present) if wanted else ()


async def _canonical(
    canon: Canon,
    scene: Scene,
    cast: Cast | None,
    query: TextQuery | None,
    told: Awaitable[Sequence[Event]],
) -> Canonical:
    if cast is None:
        return Canonical(roots={})
    return await gather_canonical(canon, scene, cast, query, await told)


async def _narrative(
    canon: Canon, scene: Scene, request: ContextRequest, told: Awaitable[Sequence[Event]]
) -> Narrative:
    if not request.narrative:
        return Narrative(names={})
    return await gather_narrative(canon, scene, await told)


async def _recalled(
    canon: Canon, scene: Scene, cast: Cast, query: TextQuery | None
) -> Recollections:
    if query is None:
        return Recollections(things={})
    return await gather_recalled(canon, scene, cast.participants, query)


def _without_told(recalled: Recollections, narrative: Narrative, scene: Scene) -> Recollections:
    """Without summaries that are told as scenes before this one, and what its story tells later."""
    told = {each.id for each in narrative.scenes}

    def is_later(hit: FoundPassage) -> bool:
        of = recalled.things.get(hit.passage.scene_id or hit.passage.id)
        if not isinstance(of, Scene) or of.story_id != scene.story_id:
            return False
        return not precedes(of, scene)

    fresh = [h for h in recalled.scenes if h.passage.id not in told and not is_later(h)]
    return replace(recalled, scenes=fresh)


def _present(canonical: Canonical) -> Section[Presence]:
    """Who is there, in what state and where: told before anything else, out of the whole budget."""
    return Section(name="present", weight=1, items=canonical.present, cost=head_cost)


def _written(scene: Scene) -> tuple[_Note, ...]:
    """What somebody wrote of the scene, by the name of the field."""
    said = (("gm_notes", scene.gm_notes), ("summary", scene.summary))
    return tuple((name, text) for name, text in said if text)


def _notes(written: tuple[_Note, ...]) -> Section[_Note]:
    """The notes and the summary of the scene itself; a long one is shortened."""
    return Section(
        name=_NOTES,
        weight=3,
        items=written,
        cost=lambda note: tokens_of(note[1]),
        trim=lambda note, room: (note[0], cut(note[1], room)),
        sharing=True,
    )


def _sections(
    canonical: Canonical, narrative: Narrative, recalled: Recollections
) -> tuple[Section[Any], ...]:
    """Everything that shares the rest, by rank; of turns and scenes the newest come first."""
    roots, names = canonical.roots, narrative.names
    turns, scenes = narrative.turns[::-1], narrative.scenes[::-1]

    def relation_cost(edge: Relation) -> int:
        ends = (roots[end].name for end in (edge.from_id, edge.to_id))
        return cost_of(edge.rel_type, *ends, ids=3, fields=6)

    def turn_cost(turn: Turn) -> int:
        return cost_of(turn.text, names.get(turn.entity_id or ""), ids=2, fields=8)

    def memory_cost(each: Remembrance) -> int:
        return cost_of(each.memory.text, each.owner.name, *each.terms, ids=3, fields=12)

    def shorter_turn(turn: Turn, room: int) -> Turn:
        return replace(turn, text=cut(turn.text, room - turn_cost(replace(turn, text=""))))

    sheets, around = canonical.sheets, canonical.around
    memories, threads = recalled.memories, narrative.threads
    return (
        Section(name="sheets", weight=4, items=sheets, cost=sheet_cost, trim=trimmed, sharing=True),
        Section(name="around", weight=2, items=around, cost=told_cost),
        Section(name="prior_turns", weight=4, items=turns, cost=turn_cost, trim=shorter_turn),
        Section(name="facts", weight=4, items=canonical.facts, cost=_fact_cost),
        Section(name="relations", weight=3, items=canonical.relations, cost=relation_cost),
        Section(name="events", weight=2, items=canonical.events, cost=_event_cost),
        Section(name="previous_scenes", weight=1, items=scenes, cost=_scene_cost),
        Section(name="character_memories", weight=1, items=memories, cost=memory_cost),
        Section(name="open_threads", weight=1, items=threads, cost=_thread_cost),
        Section(
            name="rule_excerpts", weight=1, items=recalled.rules, cost=_hit_cost, trim=_shorter_hit
        ),
        Section(
            name="similar_scenes",
            weight=1,
            items=recalled.scenes,
            cost=_hit_cost,
            trim=_shorter_hit,
        ),
    )


def _omitted(first: Fitted, fitted: Fitted) -> dict[str, int]:
    """How many of each kind were left out; a sheet that was is told of at its entity."""
    own = {"sheets", "around", _NOTES}
    left = {name: n for name, n in fitted.omitted.items() if name not in own}
    return {"entities": first.omitted["present"] + fitted.omitted["around"], **left}


def _fact_cost(fact: Fact) -> int:
    return cost_of(fact.statement, ids=1 + len(fact.involved), fields=6)


def _event_cost(event: Event) -> int:
    words = (event.title, event.description)
    return cost_of(*words, ids=1 + len(event.involved), fields=7)


def _scene_cost(scene: Scene) -> int:
    return cost_of(scene.title, scene.summary, ids=1, fields=5)


def _thread_cost(thread: Thread) -> int:
    return cost_of(thread.text, thread.kind, ids=1, fields=3)


def _hit_cost(hit: FoundPassage) -> int:
    passage = hit.passage
    return cost_of(passage.text, *hit.terms, ids=5 + len(passage.entities), fields=23)


def _shorter_hit(hit: FoundPassage, room: int) -> FoundPassage:
    passage = hit.passage
    others = _hit_cost(replace(hit, passage=replace(passage, text="")))
    return replace(hit, passage=replace(passage, text=cut(passage.text, room - others)))


def _kept(context: SceneContext, first: Fitted, fitted: Fitted) -> SceneContext:
    kept = fitted.kept
    return replace(
        context,
        canonical=replace(
            context.canonical,
            present=first.kept["present"],
            sheets=kept["sheets"],
            around=kept["around"],
            facts=kept["facts"],
            relations=kept["relations"],
            events=kept["events"],
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
