"""The context of a scene: canon, transcript, earlier scenes, and recalled passages."""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import islice
from typing import Any, Final, TypeAlias

from canonry.canon.judging.state_tags import tags_held_at
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import require_item
from canonry.canon.session.paging import newest_match
from canonry.canon.session.viewpoint import entities_then
from canonry.canon.session.what_holds import (
    events_until,
    facts_at,
    is_before,
    is_promised,
    moment_of,
    relations_at,
)
from canonry.log.entries import StoredItem
from canonry.log.items.entities import Entity, family_of, normalised_name
from canonry.log.items.facts import Event, Fact, Relation, events_of_changes
from canonry.log.items.proposals import Proposal, ProposalStatus, ProposalType
from canonry.log.items.scenes import Memory, Scene, SceneStatus, Turn
from canonry.narrative.usecases.scenes import names_of, rank_memories_for
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.documents import ProposalQuery, SceneQuery
from canonry.readmodels.ports.state import EventQuery, FactQuery, RelationQuery
from canonry.readmodels.ports.text import TextQuery
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.recall.domain.context import (
    ContextEntity,
    EntitySummary,
    Fitted,
    Presence,
    Section,
    Whereabouts,
    brief_summary,
    cost_of,
    cut_text,
    empty_summary,
    entity_cost,
    fit_sections,
    head_cost,
    head_of,
    loose_ends,
    rank_facts,
    rank_relations,
    summary_cost,
    summary_of,
    ties_of,
    tokens_of,
    trim_summary,
    without_repeats,
)
from canonry.recall.usecases.find_passages import (
    FoundPassage,
    find_passages,
    retracted_in,
    shorten_query,
)
from canonry.recall.usecases.search import degraded_of
from canonry.values.ids import EntityId
from canonry.values.moments import Instant
from canonry.values.provenance import CanonLevel

THREADS_MAX: Final = 10
"""The most open threads of each kind."""


class ThreadKind(StrEnum):
    """The reason why a thread is open."""

    PROPOSAL = "unresolved_proposal"
    EVENT = "event_without_effect"
    FACT = "promised_fact"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """An open question of the story: its item and its text."""

    kind: ThreadKind
    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrative:
    """`turns` in the order of play, `scenes` the completed ones before, newest last."""

    turns: Sequence[Turn] = ()
    total_turns: int = 0
    scenes: Sequence[Scene] = ()
    threads: Sequence[Thread] = ()
    names: Mapping[str, str]


async def gather_narrative(
    canon: Canon, scene: Scene, pending_events: Awaitable[Sequence[Event]] | None
) -> Narrative:
    """Return the last turns of the scene, summaries of earlier scenes, and open threads.

    `pending_events` are the events of the participants; without them nothing is gathered.

    An open thread is a pending proposal of this scene, or a canon event of a participant without
    effects. Promised facts, which begin after the scene's time, are added when the canonical part
    is gathered.
    """
    if pending_events is None:
        return Narrative(names={})
    events = await pending_events
    pending = ProposalQuery(
        spaces=frozenset((scene.space,)),
        scene_id=scene.id,
        status=ProposalStatus.PENDING,
        limit=THREADS_MAX,
    )
    turns, scenes, proposals = await asyncio.gather(
        canon.documents.turns(scene.id, last=canon.policy.context.turns),
        _last_scenes(canon, scene),
        canon.documents.proposals(pending),
    )
    unresolved = [thread_of_proposal(each) for each in proposals.items]
    open_events = loose_ends(events_until(moment_of(scene), events))[:THREADS_MAX]
    loose = [Thread(kind=ThreadKind.EVENT, id=e.id, text=e.title) for e in open_events]
    return Narrative(
        turns=turns,
        total_turns=max(scene.turn_count, turns[-1].index + 1 if turns else 0),
        scenes=scenes,
        threads=(*unresolved, *loose),
        names=await names_of(canon, turns),
    )


def thread_of_proposal(proposal: Proposal) -> Thread:
    """Return the thread of a pending proposal."""
    content: Mapping[str, Any] = proposal.content
    if proposal.type is ProposalType.STATE_CHANGE:
        changes = content["state_tag_changes"]
        gone = (f"no longer {tag}" for tag in changes["remove"])
        text = ", ".join((*changes["add"], *gone))
    else:
        keys = ("statement", "title", "name", "rel_type")
        text = next((str(content[key]) for key in keys if key in content), "")
    return Thread(kind=ThreadKind.PROPOSAL, id=proposal.id, text=f"{proposal.type}: {text}")


async def _last_scenes(canon: Canon, scene: Scene) -> Sequence[Scene]:
    """Return the last completed scenes before this one, in the order of their story."""
    most = canon.policy.context.scenes
    asked = SceneQuery(
        spaces=frozenset((scene.space,)),
        story_id=scene.story_id,
        status=SceneStatus.COMPLETED,
        limit=most + 1,
    )
    end = (await canon.documents.scenes(replace(asked, limit=1))).total
    found: list[Scene] = []
    while end > 0 and len(found) < most:
        start = max(0, end - asked.limit)
        page = await canon.documents.scenes(replace(asked, limit=end - start, offset=start))
        found = [each for each in page.items if is_before(each, scene)] + found
        end, asked = start, replace(asked, limit=PAGE_MAX)
    return found[-most:]


NEIGHBOURS_MAX: Final = 100
"""The most entities one relation away that a context considers."""
EVENTS_MAX: Final = 10
"""The most recent events in a context."""
LOCATED_IN: Final = "LOCATED_IN"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """The canon entities in a scene; merged ones are replaced by their survivors."""

    participants: tuple[Entity, ...]
    location: Entity | None

    @property
    def entities_present(self) -> tuple[Entity, ...]:
        """Return the participants in the order of the scene, then the location."""
        location = () if self.location is None else (self.location,)
        return tuple(without_repeats((*self.participants, *location), lambda e: e.id))


@dataclass(frozen=True, slots=True, kw_only=True)
class Canonical:
    """Ranked canon: entities `present` and `around` them, and statements as of the scene.

    `roots` maps merged ids to survivors.
    """

    present: Sequence[Presence] = ()
    around: Sequence[ContextEntity] = ()
    sheets: Sequence[EntitySummary] = ()
    facts: Sequence[Fact] = ()
    relations: Sequence[Relation] = ()
    events: Sequence[Event] = ()
    promised: Sequence[Fact] = ()
    roots: Mapping[str, Entity]
    degraded: tuple[str, ...] = ()

    @property
    def entities(self) -> Sequence[ContextEntity]:
        """Return present entities, then those around them, with sheets that fit."""
        known = {summary.entity.id: summary for summary in self.sheets}
        there = (
            ContextEntity(
                head=head,
                summary=known.get(head.entity.id) or empty_summary(summary_of(head.entity)),
            )
            for head in self.present
        )
        return (*there, *self.around)


async def find_cast(canon: Canon, scene: Scene) -> Cast:
    """Return the cast of the scene, without entities that are not canon."""
    location_ids = () if scene.location_ref is None else (scene.location_ref,)
    roots = await _canon_roots(canon, scene, (*scene.participants, *location_ids))
    staged = (roots.get(each) for each in scene.participants)
    participants = [each for each in staged if each is not None]
    return Cast(
        participants=tuple(without_repeats(participants, lambda e: e.id)),
        location=None if scene.location_ref is None else roots.get(scene.location_ref),
    )


async def gather_canonical(
    canon: Canon,
    scene: Scene,
    cast: Cast | None,
    query: TextQuery | None,
    pending_events: Awaitable[Sequence[Event]],
) -> Canonical:
    """Return the participants, the entities one relation away, and the facts about them.

    Without a `cast` nothing is gathered. A `query` adds similar facts of the universe. State,
    relations, locations and facts are as of the scene's moment; of the events in `pending_events`,
    the latest until then are used. Of very many facts or relations the newest are ranked.
    """
    if cast is None:
        return Canonical(roots={})
    events = await pending_events
    moment = moment_of(scene)
    seeds = _ids_of(cast.entities_present)
    known_edges, (recalled, degraded) = await asyncio.gather(
        _load_relations(canon, scene, seeds), _similar_facts(canon, query)
    )
    edges = [e for e in relations_at(moment, known_edges) if {e.from_id, e.to_id} & seeds]
    locations = [e.to_id for e in edges if e.rel_type == LOCATED_IN and e.from_id in seeds]
    ties = (each for each in ties_of(edges, seeds) if each not in locations)
    nearest = [*islice(ties, NEIGHBOURS_MAX), *locations]
    around = [*(await _canon_roots(canon, scene, tuple(dict.fromkeys(nearest)))).values()]
    entities = without_repeats((*cast.entities_present, *around), lambda e: e.id)
    entities = [*(await entities_then(canon, entities, moment)).values()]
    present, others = entities[: len(cast.entities_present)], entities[len(cast.entities_present) :]
    roots: dict[str, Entity] = {i: one for one in entities for i in family_of(one)}
    facts, limits = await _load_facts(canon, scene, _ids_of(entities)), canon.policy.context
    actors = _ids_of(cast.participants)
    happened = events_until(moment, events)
    known = {fact.id: fact for fact in (*facts, *recalled.values())}
    successors = await _load_successors(canon, scene, known)
    then = facts_at(moment, (*known.values(), *successors), happened)
    shown = happened[:EVENTS_MAX]
    told = events_of_changes((*then, *shown))
    ranked = rank_facts((e for e in then if e.id in known and e.id not in told), actors, recalled)
    coming = [each for each in known.values() if is_promised(each, moment.at)]
    near = [edge for edge in edges if {edge.from_id, edge.to_id} <= roots.keys()]
    located = ((e.from_id, roots[e.to_id]) for e in near if e.rel_type == LOCATED_IN)
    there = {one: Whereabouts(id=place.id, name=place.name) for one, place in located}

    def make_head(entity: Entity) -> Presence:
        location = next((there[i] for i in sorted(family_of(entity)) if i in there), None)
        return head_of(entity, tuple(sorted(tags_held_at(entity, moment))), location)

    return Canonical(
        present=[make_head(each) for each in present],
        sheets=[summary_of(each) for each in present],
        around=[ContextEntity(head=make_head(e), summary=brief_summary(e)) for e in others],
        facts=without_repeats(ranked, lambda f: normalised_name(f.statement))[: limits.facts],
        relations=rank_relations(near, seeds, limit=limits.relations),
        events=shown,
        promised=rank_facts(coming, actors),
        roots=roots,
        degraded=degraded,
    )


async def events_of(canon: Canon, scene: Scene, present: Sequence[Entity]) -> Sequence[Event]:
    """Return the canon events of the participants; of very many, the newest."""
    entities = _ids_of(present)
    if not entities:
        return ()
    spaces = frozenset((scene.space,))
    query = EventQuery(spaces=spaces, entities=entities, level=CanonLevel.CANON)
    return await newest_match(canon.state.events, query)


def _ids_of(entities: Iterable[Entity]) -> frozenset[EntityId]:
    return frozenset(i for entity in entities for i in family_of(entity))


async def _canon_roots(canon: Canon, scene: Scene, ids: Sequence[str]) -> Mapping[str, Entity]:
    """Map these ids to their canon entities, after merges."""
    found = await canon.space_scope(scene.space).root_entities(ids)
    return {i: found[i] for i in ids if i in found and found[i].level is CanonLevel.CANON}


async def _load_relations(
    canon: Canon, scene: Scene, seeds: frozenset[EntityId]
) -> Sequence[StoredItem]:
    """Return the newest relations and what ended them; of very many, current ones as well."""
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
    return [*found.values(), *await _load_successors(canon, scene, found)]


async def _load_successors(
    canon: Canon, scene: Scene, ended: Mapping[Any, Any]
) -> Sequence[StoredItem]:
    """Return the canon items, of whatever form and entities, that ended these statements."""
    ids = {each.superseded_by for each in ended.values() if each.superseded_by} - ended.keys()
    found = (await canon.space_scope(scene.space).items_by_id(ids)).values()
    return [each for each in found if getattr(each, "level", None) is CanonLevel.CANON]


async def _load_facts(canon: Canon, scene: Scene, entities: frozenset[EntityId]) -> Sequence[Fact]:
    if not entities:
        return ()
    spaces = frozenset((scene.space,))
    query = FactQuery(spaces=spaces, entities=entities, level=CanonLevel.CANON)
    return await newest_match(canon.state.facts, query)


async def _similar_facts(
    canon: Canon, query: TextQuery | None
) -> tuple[Mapping[str, Fact], tuple[str, ...]]:
    """Return similar facts of the universe by id, and the searches that failed."""
    if query is None:
        return {}, ()
    limit = canon.policy.context.recalled
    found = await find_passages(canon, replace(query, collection=Collection.FACTS, limit=limit))
    items = (found.items.get(hit.passage.id) for hit in found.hits)
    return {item.id: item for item in items if isinstance(item, Fact)}, found.degraded


SEARCH_FACTOR: Final = 2
"""The multiple of the limit that is searched, because repeats are dropped."""
TURNS_ASKED: Final = 3
"""The number of last turns in the default query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembrance:
    """A memory with its owner, its score, and the matching words."""

    memory: Memory
    owner: Entity
    score: float
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollections:
    """Recalled items, best first; `items` has the items, scenes and sources of passages."""

    scenes: Sequence[FoundPassage] = ()
    memories: Sequence[Remembrance] = ()
    rules: Sequence[FoundPassage] = ()
    items: Mapping[str, StoredItem]
    degraded: tuple[str, ...] = ()


async def gather_recalled(
    canon: Canon, scene: Scene, participants: Sequence[Entity], query: TextQuery | None
) -> Recollections:
    """Return passages of other scenes, rules and lore, and the participants' own memories.

    Rules and lore are one list: excerpts of sources, axioms, and lore of the world.

    If no search works, the lists are empty or ranked by importance and recency, and `degraded`
    names the failures. Without a `query` nothing is gathered.
    """
    if query is None:
        return Recollections(items={})
    limit = canon.policy.context.recalled
    cited = await retracted_in(canon, query.spaces, query.text)
    scenes, excerpts, lore, (memories, no_memories) = await asyncio.gather(
        find_passages(canon, replace(query, without_scene=scene.id), cited),
        find_passages(canon, replace(query, collection=Collection.SNIPPETS), cited),
        find_passages(canon, replace(query, collection=Collection.LORE)),
        _recall_memories(canon, participants, query),
    )
    rule_hits = sorted(
        (*excerpts.hits, *lore.hits), key=lambda hit: (-hit.strength, hit.passage.id)
    )
    similar, rules = _distinct_hits(scenes.hits)[:limit], _distinct_hits(rule_hits)[:limit]
    known = {**scenes.items, **excerpts.items, **lore.items}
    passages = (hit.passage for hit in (*similar, *rules))
    named = {i for each in passages for i in (each.id, each.scene_id, each.source_id) if i}
    return Recollections(
        scenes=similar,
        memories=memories,
        rules=rules,
        items={**known, **await canon.space_scope(scene.space).items_by_id(named - known.keys())},
        degraded=degraded_of(scenes.degraded, excerpts.degraded, lore.degraded, no_memories),
    )


def _distinct_hits(hits: Sequence[FoundPassage]) -> Sequence[FoundPassage]:
    """Return the hits in order, without repeats of the same text."""
    return without_repeats(hits, lambda hit: normalised_name(hit.passage.text))


async def _recall_memories(
    canon: Canon, participants: Sequence[Entity], query: TextQuery
) -> tuple[Sequence[Remembrance], tuple[str, ...]]:
    owners = {mind: owner for owner in participants for mind in family_of(owner)}
    if not owners:
        return (), ()
    ranked = await rank_memories_for(canon, frozenset(owners), query)
    best = [
        Remembrance(
            memory=memory,
            owner=owners[memory.entity_id],
            score=score,
            terms=ranked.terms.get(memory.id, ()),
        )
        for memory, score in ranked.memories
    ]
    fresh = without_repeats(best, lambda each: (each.owner.id, normalised_name(each.memory.text)))
    return fresh[: canon.policy.context.recalled], ranked.degraded


_NOTES: Final = "notes"
_Note: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """The requested sections; without a `query` the scene supplies it.

    `tokens` None means the policy's budget.
    """

    scene_id: str
    canonical: bool = True
    narrative: bool = True
    recalled: bool = True
    query: str | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneContext:
    """The context for a model; sections that were not requested are empty."""

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
    """Return the context of a scene, equal for equal canon; missing parts are named.

    Raises:
        NotFound: `scene.unknown`.
    """
    scene = await require_item(canon, caller, Scene, request.scene_id)
    cast, query = await asyncio.gather(find_cast(canon, scene), _make_query(canon, scene, request))
    # Shorten the query once for all searches; each would read a long text again.
    asked = None if query is None else await shorten_query(canon, query)
    present = cast.entities_present if request.canonical or request.narrative else ()
    pending_events = asyncio.ensure_future(events_of(canon, scene, present))
    canonical, narrative, recalled = await asyncio.gather(
        gather_canonical(canon, scene, cast if request.canonical else None, asked, pending_events),
        gather_narrative(canon, scene, pending_events if request.narrative else None),
        gather_recalled(canon, scene, cast.participants, asked),
    )
    if request.narrative:
        promised = canonical.promised[:THREADS_MAX]  # these facts have not begun to hold
        more = (Thread(kind=ThreadKind.FACT, id=one.id, text=one.statement) for one in promised)
        narrative = replace(narrative, threads=(*narrative.threads, *more))
    recalled = _without_shown(recalled, narrative, scene)
    budget = request.tokens or canon.policy.context.tokens
    first = fit_sections(
        (Section(name="present", weight=1, items=canonical.present, cost=head_cost),), budget
    )
    optional_notes = (("gm_notes", scene.gm_notes), ("summary", scene.summary))
    written = tuple((name, text) for name, text in optional_notes if text and request.narrative)
    shared = (*_ranked_sections(canonical, narrative, recalled), _notes_section(written))
    fitted = fit_sections(shared, budget - first.used)
    kept = dict(fitted.kept[_NOTES])
    if request.narrative:
        scene = replace(scene, gm_notes=kept.get("gm_notes"), summary=kept.get("summary"))
    return _fit_context(
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
            omitted=_count_omitted(first, fitted),
            degraded=degraded_of(canonical.degraded, recalled.degraded),
        ),
        first,
        fitted,
    )


async def _make_query(canon: Canon, scene: Scene, request: ContextRequest) -> TextQuery | None:
    """Return the given query, or purpose, title and last turns; None: recall nothing."""
    if not request.recalled:
        return None
    text = request.query
    if text is None:
        turns = await canon.documents.turns(scene.id, last=TURNS_ASKED)
        words = (scene.purpose, scene.title, *(turn.text for turn in reversed(turns)))
        text = " ".join(each for each in words if each)[: canon.policy.limits.query]
    return TextQuery(
        collection=Collection.SCENES,
        text=text,
        spaces=frozenset((scene.space,)),
        question=request.query is not None,
        limit=canon.policy.context.recalled * SEARCH_FACTOR,
    )


def _without_shown(recalled: Recollections, narrative: Narrative, scene: Scene) -> Recollections:
    """Remove summaries that the narrative section has, and later scenes of the story."""
    shown = {each.id for each in narrative.scenes}

    def is_later(hit: FoundPassage) -> bool:
        of = recalled.items.get(hit.passage.scene_id or hit.passage.id)
        return isinstance(of, Scene) and of.story_id == scene.story_id and not is_before(of, scene)

    fresh = [h for h in recalled.scenes if h.passage.id not in shown and not is_later(h)]
    return replace(recalled, scenes=fresh)


def _notes_section(written: tuple[_Note, ...]) -> Section[_Note]:
    """Return the notes and the summary of the scene; long ones are shortened."""
    return Section(
        name=_NOTES,
        weight=3,
        items=written,
        cost=lambda note: tokens_of(note[1]),
        trim=lambda note, room: (note[0], cut_text(note[1], room)),
        sharing=True,
    )


def _ranked_sections(
    canonical: Canonical, narrative: Narrative, recalled: Recollections
) -> tuple[Section[Any], ...]:
    """Return all sections that share the remaining budget, by rank; the newest turns first."""
    roots, names = canonical.roots, narrative.names
    turns, scenes = narrative.turns[::-1], narrative.scenes[::-1]

    def relation_cost(edge: Relation) -> int:
        ends = (roots[end].name for end in (edge.from_id, edge.to_id))
        return cost_of(edge.rel_type, *ends, ids=3, fields=6)

    def turn_cost(turn: Turn) -> int:
        return cost_of(turn.text, names.get(turn.entity_id or ""), ids=2, fields=8)

    def memory_cost(each: Remembrance) -> int:
        return cost_of(each.memory.text, each.owner.name, *each.terms, ids=3, fields=12)

    def fact_cost(fact: Fact) -> int:
        return cost_of(fact.statement, ids=1 + len(fact.involved), fields=6)

    def event_cost(event: Event) -> int:
        return cost_of(event.title, event.description, ids=1 + len(event.involved), fields=7)

    def scene_cost(scene: Scene) -> int:
        return cost_of(scene.title, scene.summary, ids=1, fields=5)

    def thread_cost(thread: Thread) -> int:
        return cost_of(thread.text, thread.kind, ids=1, fields=3)

    def shorter_turn(turn: Turn, room: int) -> Turn:
        return replace(turn, text=cut_text(turn.text, room - turn_cost(replace(turn, text=""))))

    summaries, around = canonical.sheets, canonical.around
    memories, threads = recalled.memories, narrative.threads
    similar: Any = partial(Section, weight=1, cost=_hit_cost, trim=_shorter_hit)
    return (
        Section(
            name="sheets",
            weight=4,
            items=summaries,
            cost=summary_cost,
            trim=trim_summary,
            sharing=True,
        ),
        Section(name="around", weight=2, items=around, cost=entity_cost),
        Section(name="prior_turns", weight=4, items=turns, cost=turn_cost, trim=shorter_turn),
        Section(name="facts", weight=4, items=canonical.facts, cost=fact_cost),
        Section(name="relations", weight=3, items=canonical.relations, cost=relation_cost),
        Section(name="events", weight=2, items=canonical.events, cost=event_cost),
        Section(name="previous_scenes", weight=1, items=scenes, cost=scene_cost),
        Section(name="character_memories", weight=1, items=memories, cost=memory_cost),
        Section(name="open_threads", weight=1, items=threads, cost=thread_cost),
        similar(name="rule_excerpts", items=recalled.rules),
        similar(name="similar_scenes", items=recalled.scenes),
    )


def _count_omitted(first: Fitted, fitted: Fitted) -> dict[str, int]:
    """Return how many of each kind were left out; omitted sheets are reported per entity."""
    own = {"sheets", "around", _NOTES}
    left = {name: n for name, n in fitted.omitted.items() if name not in own}
    return {"entities": first.omitted["present"] + fitted.omitted["around"], **left}


def _hit_cost(hit: FoundPassage) -> int:
    passage = hit.passage
    return cost_of(passage.text, *hit.terms, ids=5 + len(passage.entities), fields=23)


def _shorter_hit(hit: FoundPassage, room: int) -> FoundPassage:
    passage = hit.passage
    others = _hit_cost(replace(hit, passage=replace(passage, text="")))
    return replace(hit, passage=replace(passage, text=cut_text(passage.text, room - others)))


def _fit_context(context: SceneContext, first: Fitted, fitted: Fitted) -> SceneContext:
    kept = fitted.kept
    names = ("sheets", "around", "facts", "relations", "events")
    canonical_parts: dict[str, Any] = {name: kept[name] for name in names}
    return replace(
        context,
        canonical=replace(context.canonical, present=first.kept["present"], **canonical_parts),
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
