"""Stories, scenes, turns and memories: create, read, list and update them."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from canonry.canon.session import lookup
from canonry.canon.session.caller import Caller, derive_step, unknown_item
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import (
    Change,
    Receipt,
    commit_change,
    first_made,
    require_active,
    require_instances,
    require_location,
    require_unfinished,
)
from canonry.log import entries as log
from canonry.log.folding import item_key, scenes_key
from canonry.log.items import scenes
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Fact
from canonry.log.items.proposals import Proposal
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.documents import MemoryQuery, ProposalQuery, SceneQuery
from canonry.readmodels.ports.text import TextQuery
from canonry.readmodels.ports.view import PAGE_MAX, Page
from canonry.recall.domain.context import rank_by_importance, rank_memories
from canonry.recall.usecases.find_passages import MEANING_MISSING, FoundPassage, find_passages
from canonry.values.audience import EVERYBODY, Audience, audience_covers
from canonry.values.errors import Conflict, InvalidInput
from canonry.values.fields import field_values, with_changes
from canonry.values.ids import EntityId, MemoryId, NewId, SceneId, SpaceId, StoryId, TurnId
from canonry.values.moments import Instant

PARENTS: Final = {
    scenes.StoryType.CAMPAIGN: frozenset[scenes.StoryType](),
    scenes.StoryType.ARC: frozenset((scenes.StoryType.CAMPAIGN, scenes.StoryType.ARC)),
    scenes.StoryType.EPISODE: frozenset((scenes.StoryType.CAMPAIGN, scenes.StoryType.ARC)),
    scenes.StoryType.ONE_SHOT: frozenset[scenes.StoryType](),
}
"""The types of stories that can contain each type; campaigns and one-shots have no parent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewStory:
    """The data of a new story."""

    space: SpaceId
    title: str
    story_type: scenes.StoryType
    theme: str | None = None
    premise: str | None = None
    parent_id: StoryId | None = None
    start_time_ref: Instant | None = None


async def create_story(canon: Canon, caller: Caller, new: NewStory) -> Receipt:
    """Create a planned story; its parent must exist, so the tree has no cycle.

    Raises:
        NotFound: `universe.unknown` or `story.unknown` (the parent).
        Conflict: `space.foreign` or `story.parent-mismatch`.
    """
    await lookup.require_universe(canon, caller, new.space)

    async def prepare_change(new_id: NewId) -> Change:
        reads: frozenset[str] = frozenset()
        if new.parent_id is not None:
            await _require_parent(canon, caller, new, new.parent_id)
            reads = frozenset((item_key(new.parent_id),))
        story = scenes.StoryDraft(
            id=StoryId(new_id("story")), status=scenes.StoryStatus.PLANNED, **field_values(new)
        )
        return Change(entries=(log.Made(thing=story),), reads=reads)

    return await commit_change(canon, caller, new.space, prepare_change)


async def _require_parent(canon: Canon, caller: Caller, new: NewStory, parent_id: StoryId) -> None:
    parent = await lookup.require_item(canon, caller, scenes.Story, parent_id)
    lookup.require_same_space(new.space, [parent], path="/parent_story_id")
    if parent.story_type not in PARENTS[new.story_type]:
        message = (
            f"A story of type {parent.story_type} cannot contain one of type {new.story_type}. Put "
            "arcs and episodes into campaigns or arcs. Campaigns and one-shots have no parent."
        )
        raise Conflict(
            "story.parent-mismatch", message, path="/parent_story_id", conflicts=[parent.id]
        )


async def query_stories(
    canon: Canon, caller: Caller, universe_id: str, *, limit: int, offset: int
) -> Page[scenes.Story]:
    """Return stories by (created_at, id).

    Raises:
        NotFound: `universe.unknown`.
    """
    space = (await lookup.require_universe(canon, caller, universe_id)).id
    return await canon.state.stories(space, limit=limit, offset=offset)


async def update_story(
    canon: Canon, caller: Caller, story_id: str, status: scenes.StoryStatus
) -> scenes.Story:
    """Change the status of the story; an equal status writes nothing.

    A story without scenes that becomes active again is planned.

    Raises:
        NotFound: `story.unknown`.
        Conflict: `story.scenes-open`, it has scenes that are not completed.
    """
    space = (await lookup.require_item(canon, caller, scenes.Story, story_id)).space

    async def prepare_change(new_id: NewId) -> Change:
        del new_id  # no item is created
        story = await lookup.require_item(canon, caller, scenes.Story, story_id)
        reads = frozenset((item_key(story.id), scenes_key(story.id)))
        wanted = status
        if status is scenes.StoryStatus.ACTIVE and not story.scene_count:
            wanted = scenes.StoryStatus.PLANNED
        if story.status is wanted:
            return Change(entries=(), reads=reads)
        if wanted is scenes.StoryStatus.COMPLETED:
            await _require_scenes_done(canon, story)
        return Change(entries=(log.StoryMoved(story_id=story.id, status=wanted),), reads=reads)

    await commit_change(canon, caller, space, prepare_change)
    return await lookup.require_item(canon, caller, scenes.Story, story_id)


async def _require_scenes_done(canon: Canon, story: scenes.Story) -> None:
    here = frozenset((story.space,))
    for status in (scenes.SceneStatus.ACTIVE, scenes.SceneStatus.FINALIZING):
        query = SceneQuery(spaces=here, story_id=story.id, status=status)
        page = await canon.documents.scenes(query)
        if page.items:
            message = "The story has open scenes. Canonize or finalize them first."
            conflicts = [scene.id for scene in page.items]
            raise Conflict("story.scenes-open", message, conflicts=conflicts)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """The data of a new turn; `entity_id` is set exactly if an entity speaks.

    Callers that may not see the scene never see the turn, whatever its `audience`.
    """

    scene_id: str
    speaker: scenes.Speaker
    entity_id: str | None
    text: str
    resolution_ref: str | None = None
    audience: Audience = EVERYBODY


async def append_turn(canon: Canon, caller: Caller, request: TurnRequest) -> Receipt:
    """Append the turn; the log gives its index. A new speaker joins the scene.

    The first read only finds the space, which never changes. The verdict must rest on data read
    after the head of that space, so the scene is read again.

    Raises:
        NotFound: `scene.unknown` or `entity.unknown`.
        Conflict: `scene.completed`, `scene.finalizing`, `space.foreign`,
            `entity.not-an-instance` or `entity.retconned`.
    """
    space = (await lookup.require_item(canon, caller, scenes.Scene, request.scene_id)).space
    wanted = [request.scene_id]
    if request.entity_id is not None:
        wanted.append(request.entity_id)

    async def prepare_change(new_id: NewId) -> Change:
        found = await canon.caller_scope(caller).items_by_id(wanted)
        scene = found.get(request.scene_id)
        if not isinstance(scene, scenes.Scene):
            raise unknown_item("scene", request.scene_id)
        require_active(scene)
        reads = {item_key(scene.id)}
        speaker: EntityId | None = None
        entries: list[log.Entry] = []
        if request.entity_id is not None:
            entity = found.get(request.entity_id)
            if not isinstance(entity, Entity):
                raise unknown_item("entity", request.entity_id)
            if entity.merged_into is not None:
                entity = await lookup.require_item(canon, caller, Entity, request.entity_id)
            require_instances(space, (entity,), path="/entity_id")
            reads |= {item_key(request.entity_id), item_key(entity.id)}
            speaker = entity.id
            heard = audience_covers(request.audience, scene.audience)  # whispers reveal nobody
            if heard and not family_of(entity) & {*scene.participants, scene.location_ref}:
                entries.append(log.SceneStaged(scene_id=scene.id, joined=(entity.id,)))
        turn = scenes.TurnDraft(
            id=TurnId(new_id("turn")),
            space=space,
            scene_id=scene.id,
            speaker=request.speaker,
            entity_id=speaker,
            text=request.text,
            resolution_ref=request.resolution_ref,
            audience=request.audience,
        )
        return Change(entries=(*entries, log.Made(thing=turn)), reads=frozenset(reads))

    return await commit_change(canon, caller, space, prepare_change)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPage:
    """Turns in the order of play; `following` is the next `after`, None at the end."""

    scene: scenes.Scene
    turns: Sequence[scenes.Turn]
    total: int
    following: int | None
    names: Mapping[str, str]


async def get_turns(
    canon: Canon, caller: Caller, scene_id: str, *, after: int, limit: int
) -> TurnPage:
    """Return up to `limit` turns after the index `after`.

    Raises:
        NotFound: `scene.unknown`.
    """
    scene = await lookup.require_item(canon, caller, scenes.Scene, scene_id)
    found = await canon.documents.turns(scene.id, after=after, limit=limit + 1)
    turns = found[:limit]
    names = await names_of(canon, turns)
    total = max(scene.turn_count, found[-1].index + 1 if found else 0)
    more = len(found) > limit
    return TurnPage(
        scene=scene,
        turns=turns,
        total=total,
        following=turns[-1].index if more else None,
        names=names,
    )


async def names_of(canon: Canon, turns: Sequence[scenes.Turn]) -> Mapping[str, str]:
    """Return the current names of the entities that speak in these turns."""
    speakers = {turn.entity_id for turn in turns if turn.entity_id is not None}
    roots = await canon.space_scope(*{turn.space for turn in turns}).root_entities(speakers)
    return {given: root.name for given, root in roots.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneRequest:
    """The data of a new scene; `order` None puts it last in its story.

    Without a story, `open_scene` chooses one.
    """

    universe_id: str
    story_id: str = ""
    title: str
    purpose: str | None = None
    order: int | None = None
    location_id: str | None = None
    participant_ids: Sequence[str] = ()
    time_ref: Instant | None = None
    time_words: str | None = None
    audience: Audience = EVERYBODY


async def create_scene(canon: Canon, caller: Caller, request: SceneRequest) -> Receipt:
    """Open the scene; the first one of a planned story makes the story active.

    Raises:
        NotFound: `universe.unknown`, `story.unknown` or `entity.unknown`.
        Conflict: `space.foreign`, `story.closed`, `entity.not-an-instance`, `entity.retconned` or
            `scene.not-a-location`.
    """
    universe = await lookup.require_universe(canon, caller, request.universe_id)

    async def prepare_change(new_id: NewId) -> Change:
        story = await lookup.require_item(canon, caller, scenes.Story, request.story_id)
        lookup.require_same_space(universe.id, (story,), path="/story_id")
        if story.status in _CLOSED:
            message = f"The story is {story.status}. Open the scene in another story."
            raise Conflict("story.closed", message, path="/story_id", conflicts=[story.id])
        location, participants = await _require_staged(canon, caller, universe.id, request)
        scene = scenes.SceneDraft(
            id=SceneId(new_id("scene")),
            space=universe.id,
            story_id=StoryId(story.id),
            title=request.title,
            purpose=request.purpose,
            order=story.last_order + 1 if request.order is None else request.order,
            location_ref=None if location is None else location.id,
            participants=tuple(dict.fromkeys(EntityId(each.id) for each in participants)),
            time_ref=request.time_ref,
            time_words=request.time_words,
            status=scenes.SceneStatus.ACTIVE,
            audience=request.audience,
        )
        staged = participants if location is None else (*participants, location)
        named = (*request.participant_ids, *([request.location_id] if request.location_id else ()))
        reads = {item_key(i) for i in (story.id, *named, *(each.id for each in staged))}
        if request.order is None:
            reads.add(scenes_key(story.id))
        return Change(entries=(log.Made(thing=scene),), reads=frozenset(reads))

    return await commit_change(canon, caller, universe.id, prepare_change)


async def _require_staged(
    canon: Canon, caller: Caller, space: SpaceId, request: SceneRequest
) -> tuple[Entity | None, tuple[Entity, ...]]:
    location_ids = () if request.location_id is None else (request.location_id,)
    found = await lookup.require_all(
        canon, caller, Entity, (*request.participant_ids, *location_ids)
    )
    participants = found[: len(request.participant_ids)]
    require_instances(space, participants, path="/participating_entities")
    if not location_ids:
        return None, participants
    require_location(space, found[-1])
    return found[-1], participants


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneReading:
    """A scene, its last turns in the order of play, and its proposals oldest first."""

    scene: scenes.Scene
    turns: Sequence[scenes.Turn]
    total_turns: int
    proposals: Page[Proposal]


async def get_scene(canon: Canon, caller: Caller, scene_id: str, *, turns: int) -> SceneReading:
    """Return the scene with up to `turns` turns and a page of its proposals.

    Raises:
        NotFound: `scene.unknown`.
    """
    scene = await lookup.require_item(canon, caller, scenes.Scene, scene_id)
    query = ProposalQuery(spaces=frozenset((scene.space,)), scene_id=scene.id, limit=PAGE_MAX)
    last_turns, proposals = await asyncio.gather(
        _last_turns(canon, scene, turns), canon.documents.proposals(query)
    )
    total = max(scene.turn_count, last_turns[-1].index + 1 if last_turns else 0)
    return SceneReading(scene=scene, turns=last_turns, total_turns=total, proposals=proposals)


async def _last_turns(canon: Canon, scene: scenes.Scene, turns: int) -> Sequence[scenes.Turn]:
    return () if turns == 0 else await canon.documents.turns(scene.id, last=turns)


STORY: Final = "What is played"
_CLOSED: Final = frozenset({scenes.StoryStatus.COMPLETED, scenes.StoryStatus.ABANDONED})


async def open_scene(canon: Canon, caller: Caller, asked: SceneRequest) -> scenes.SceneDraft:
    """Return the new scene, last in the story that takes new scenes.

    Raises:
        NotFound: `universe.unknown` or `entity.unknown`.
        Conflict: see `create_scene`.
    """
    space = (await lookup.require_universe(canon, caller, asked.universe_id)).id
    request = replace(asked, story_id=await _choose_story(canon, caller, space))
    return first_made(await create_scene(canon, opening_step(caller), request), scenes.SceneDraft)


def opening_step(caller: Caller) -> Caller:
    """Return the caller for the step of a call that opens a scene."""
    return derive_step(caller, "scene")


async def latest_story(canon: Canon, space: SpaceId) -> scenes.Story | None:
    """Return the story for scenes without a named one; None: there is none yet."""
    stories = (await canon.state.stories(space, limit=PAGE_MAX, offset=0)).items
    return next((one for one in reversed(stories) if one.status not in _CLOSED), None)


async def _choose_story(canon: Canon, caller: Caller, space: SpaceId) -> StoryId:
    if (story := await latest_story(canon, space)) is not None:
        return story.id
    new = NewStory(space=space, title=STORY, story_type=scenes.StoryType.CAMPAIGN)
    return first_made(
        await create_story(canon, derive_step(caller, "story"), new), scenes.StoryDraft
    ).id


async def query_scenes(
    canon: Canon, caller: Caller, query: SceneQuery, *, universe_id: str | None
) -> Page[scenes.Scene]:
    """Return a page of matching scenes; without a universe, of all that the caller may see.

    Raises:
        NotFound: `universe.unknown` or `story.unknown`.
    """
    spaces = await lookup.covered_spaces(canon, caller, universe_id)
    if query.story_id is not None:
        await lookup.require_item(canon, caller, scenes.Story, query.story_id)
    return await canon.documents.scenes(with_changes(query, spaces=spaces))


SceneChange: TypeAlias = (
    log.SceneNoted
    | log.SceneSummarised
    | log.SceneDated
    | log.SaidAt
    | log.ScenePlaced
    | log.SceneStaged
)
"""The entry that records a change, with the ids that the caller gave."""


async def update_scene(
    canon: Canon, caller: Caller, scene_id: str, changes: Sequence[SceneChange]
) -> Receipt:
    """Change the given fields; equal values are not written again.

    The real date is not part of the world, so that it can also be set for a closed scene.

    A scene that is being canonized still takes notes and a summary, but keeps its time, location
    and participants, because its proposals are judged by them.

    Raises:
        InvalidInput: `scene.empty-change`.
        NotFound: `scene.unknown` or `entity.unknown`.
        Conflict: `scene.completed`, `scene.finalizing`, `space.foreign`,
            `entity.not-an-instance`, `entity.retconned` or `scene.not-a-location`.
    """
    if not changes:
        message = (
            "Nothing changes. Give gm_notes, time_ref, said_at, summary, location_ref, "
            "joining_entities or leaving_entities; null clears a value."
        )
        raise InvalidInput("scene.empty-change", message, path="")
    space = (await lookup.require_item(canon, caller, scenes.Scene, scene_id)).space

    async def prepare_change(_: NewId) -> Change:
        scene = await lookup.require_item(canon, caller, scenes.Scene, scene_id)
        if not all(isinstance(change, log.SaidAt) for change in changes):
            require_unfinished(scene)
        entries: list[log.Entry] = []
        reads = {item_key(scene.id)}
        for change in changes:
            named = await lookup.require_all(canon, caller, Entity, _named_ids(change))
            reads |= {item_key(each) for each in (*_named_ids(change), *(e.id for e in named))}
            entry = _change_entry(scene, change, named)
            if entry is not None:
                entries.append(entry)
        return Change(entries=tuple(entries), reads=frozenset(reads))

    return await commit_change(canon, caller, space, prepare_change)


def _named_ids(change: SceneChange) -> tuple[str, ...]:
    match change:
        case log.ScenePlaced(location_ref=location) if location is not None:
            return (location,)
        case log.SceneStaged(joined=joined, left=left):
            return (*joined, *left)
        case _:
            return ()


def _change_entry(
    scene: scenes.Scene, change: SceneChange, named: Sequence[Entity]
) -> SceneChange | None:
    """Return the change with its entities; None: nothing would change."""
    match change:
        case log.SceneNoted(gm_notes=text):
            same = scene.gm_notes == text
        case log.SceneSummarised(summary=text):
            same = scene.summary == text
        case log.SaidAt(said_at=at):
            same = scene.said_at == at
        case log.SceneDated(time_ref=at):
            same = scene.time_ref == at
        case log.ScenePlaced():
            for each in named:
                require_location(scene.space, each)
            change = replace(change, location_ref=named[0].id if named else None)
            same = scene.location_ref == change.location_ref
        case log.SceneStaged(joined=joined):
            joining = named[: len(joined)]
            leaving = named[len(joined) :]
            require_instances(scene.space, joining, path="/joining_entities")
            present = frozenset(scene.participants)
            new = (each.id for each in joining if not family_of(each) & present)
            gone = (i for each in leaving for i in sorted(family_of(each) & present))
            change = log.SceneStaged(
                scene_id=scene.id, joined=tuple(dict.fromkeys(new)), left=tuple(dict.fromkeys(gone))
            )
            same = not change.joined and not change.left
    if same:
        return None
    if isinstance(change, log.SceneDated | log.ScenePlaced | log.SceneStaged):
        require_active(scene)
    return change


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """The data of a new memory."""

    entity_id: str
    text: str
    linked_fact_id: str | None
    scene_id: str | None
    emotional_valence: float
    importance: float
    certainty: float


async def keep_memory(canon: Canon, caller: Caller, asked: Recollection) -> Receipt:
    """Store a memory; the same text twice makes two memories.

    Raises:
        NotFound: `entity.unknown`, `fact.unknown` or `scene.unknown`.
        Conflict: `space.foreign`, `entity.not-an-instance` or `entity.retconned`.
    """
    space = (await lookup.require_item(canon, caller, Entity, asked.entity_id)).space

    async def prepare_change(new_id: NewId) -> Change:
        owner = await lookup.require_item(canon, caller, Entity, asked.entity_id)
        require_instances(space, (owner,), path="/entity_id")
        reads = {item_key(asked.entity_id), item_key(owner.id)}
        if asked.linked_fact_id is not None:
            fact = await lookup.require_item(canon, caller, Fact, asked.linked_fact_id)
            lookup.require_same_space(space, (fact,), path="/linked_fact_id")
            reads.add(item_key(fact.id))
        if asked.scene_id is not None:
            scene = await lookup.require_item(canon, caller, scenes.Scene, asked.scene_id)
            lookup.require_same_space(space, (scene,), path="/scene_id")
            reads.add(item_key(scene.id))
        memory = scenes.MemoryDraft(
            id=MemoryId(new_id("memory")),
            space=space,
            **field_values(asked) | {"entity_id": owner.id},
        )
        return Change(entries=(log.Made(thing=memory),), reads=frozenset(reads))

    return await commit_change(canon, caller, space, prepare_change)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """Memories with their scores (None without a query); `total` counts before the limit."""

    memories: Sequence[tuple[scenes.Memory, float | None]]
    total: int
    considered: int
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedMemories:
    """All considered memories, strongest first, with the words shared with the query."""

    memories: Sequence[tuple[scenes.Memory, float]]
    terms: Mapping[str, tuple[str, ...]]
    degraded: tuple[str, ...]


async def recall_memories(
    canon: Canon,
    caller: Caller,
    entity_id: str,
    *,
    limit: int,
    min_importance: float = 0.0,
    query: str | None = None,
) -> Recalled:
    """Return the memories of one character, including merged ones.

    Without a query the most important come first, then the newest. With one, the formula of
    `canonry.recall.domain.context` ranks similar memories and the most important others, at most
    `PAGE_MAX` of each.

    Raises:
        NotFound: `entity.unknown`.
    """
    owner = await lookup.require_item(canon, caller, Entity, entity_id)
    minds = family_of(owner)
    known, total = await _most_important(canon, minds, min_importance)
    if query is None:
        ordered = rank_by_importance(known)
        plain = tuple((memory, None) for memory in ordered[:limit])
        return Recalled(memories=plain, total=total, considered=len(ordered))
    spaces = frozenset((owner.space,))
    asked = TextQuery(collection=Collection.MEMORIES, text=query, spaces=spaces)
    ranked = await rank_memories_for(
        canon, minds, asked, known=known, min_importance=min_importance
    )
    return Recalled(
        memories=ranked.memories[:limit],
        total=total,
        considered=len(ranked.memories),
        degraded=ranked.degraded,
    )


async def rank_memories_for(
    canon: Canon,
    minds: frozenset[EntityId],
    query: TextQuery,
    *,
    known: Sequence[scenes.Memory] | None = None,
    min_importance: float = 0.0,
) -> RankedMemories:
    """Rank the memories of these characters by meaning, importance and recency.

    `known` are memories to consider besides similar ones; by default the most important. Recency
    counts from the newest of them, so that the same question has the same answer until a new memory
    is stored.
    """
    if known is None:
        known, _ = await _most_important(canon, minds, min_importance)
    collection = Collection.MEMORIES
    asked = replace(query, collection=collection, entities=frozenset(minds), limit=PAGE_MAX)
    found = await find_passages(canon, asked)
    listed = {memory.id for memory in known}
    others = [
        item
        for item in found.items.values()
        if isinstance(item, scenes.Memory)
        and item.id not in listed
        and item.entity_id in minds
        and item.importance >= min_importance
    ]
    considered = (*known, *others)
    ranked = rank_memories(
        considered,
        {hit.passage.id: _meaning_score(hit, found.degraded) for hit in found.hits},
        now=max((memory.created_at for memory in considered), default=canon.clock.now()),
        weights=canon.policy.recall,
    )
    terms = {hit.passage.id: hit.terms for hit in found.hits}
    return RankedMemories(memories=ranked, terms=terms, degraded=found.degraded)


def _meaning_score(hit: FoundPassage, degraded: Sequence[str]) -> float:
    """Return how similar a memory is to the query, in [0, 1]; by words if meaning is missing.

    If meaning was searched, words count by the share of the query that they cover, because their
    own scores are higher than any similarity.
    """
    if MEANING_MISSING in degraded:
        return hit.by_words
    return min(1.0, max(0.0, hit.why.similarity, hit.why.keywords))


async def _most_important(
    canon: Canon, minds: frozenset[EntityId], min_importance: float
) -> tuple[Sequence[scenes.Memory], int]:
    pages = await asyncio.gather(
        *(
            canon.documents.memories(
                MemoryQuery(entity_id=mind, min_importance=min_importance, limit=PAGE_MAX)
            )
            for mind in sorted(minds)
        )
    )
    return [memory for page in pages for memory in page.items], sum(page.total for page in pages)
