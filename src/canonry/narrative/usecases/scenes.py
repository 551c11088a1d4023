"""Scenes: create, open, read, list and update them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from canonry.canon.session.caller import Caller, step
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import (
    Change,
    Receipt,
    commit_change,
    require_active,
    require_instances,
    require_location,
    require_unfinished,
    the_made,
)
from canonry.canon.session.lookup import (
    covered_spaces,
    require,
    require_all,
    require_same_space,
    require_universe,
)
from canonry.log.entries import (
    Entry,
    Made,
    SaidAt,
    SceneDated,
    SceneNoted,
    ScenePlaced,
    SceneStaged,
    SceneSummarised,
)
from canonry.log.folding import scenes_key, thing_key
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.proposals import Proposal
from canonry.log.items.scenes import (
    Scene,
    SceneDraft,
    SceneStatus,
    Story,
    StoryDraft,
    StoryStatus,
    StoryType,
    Turn,
)
from canonry.narrative.usecases.stories import NewStory, create_story
from canonry.readmodels.ports.documents import ProposalQuery, SceneQuery
from canonry.readmodels.ports.view import PAGE_MAX, Page
from canonry.values.audience import EVERYBODY, Audience
from canonry.values.errors import Conflict, InvalidInput
from canonry.values.fields import revised
from canonry.values.ids import EntityId, NewId, SceneId, SpaceId, StoryId
from canonry.values.moments import Instant

__all__ = [
    "STORY",
    "Notes",
    "PlayedAt",
    "SceneAsked",
    "SceneChange",
    "SceneQuery",
    "SceneReading",
    "SceneRequest",
    "SceneSetting",
    "Staging",
    "Time",
    "WrittenSummary",
    "create_scene",
    "get_scene",
    "open_scene",
    "opening",
    "query_scenes",
    "story_of_late",
    "update_scene",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneRequest:
    """A scene as it is asked for; `order` None puts it after all others of its story."""

    universe_id: str
    story_id: str
    title: str
    purpose: str | None
    order: int | None
    location_id: str | None
    participant_ids: Sequence[str]
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
    universe = await require_universe(canon, caller, request.universe_id)

    async def prepare(new_id: NewId) -> Change:
        story = await require(canon, caller, Story, request.story_id)
        require_same_space(universe.id, (story,), path="/story_id")
        _require_open(story)
        location, participants = await _staged(canon, caller, universe.id, request)
        scene = SceneDraft(
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
            status=SceneStatus.ACTIVE,
            audience=request.audience,
        )
        staged = participants if location is None else (*participants, location)
        named = (*request.participant_ids, *([request.location_id] if request.location_id else ()))
        reads = {thing_key(i) for i in (story.id, *named, *(each.id for each in staged))}
        if request.order is None:
            reads.add(scenes_key(story.id))
        return Change(entries=(Made(thing=scene),), reads=frozenset(reads))

    return await commit_change(canon, caller, universe.id, prepare)


def _require_open(story: Story) -> None:
    if story.status in {StoryStatus.COMPLETED, StoryStatus.ABANDONED}:
        message = f"this story is {story.status}; open the scene in another story"
        raise Conflict("story.closed", message, path="/story_id", conflicts=[story.id])


async def _staged(
    canon: Canon, caller: Caller, space: SpaceId, request: SceneRequest
) -> tuple[Entity | None, tuple[Entity, ...]]:
    place = () if request.location_id is None else (request.location_id,)
    found = await require_all(canon, caller, Entity, (*request.participant_ids, *place))
    participants = found[: len(request.participant_ids)]
    require_instances(space, participants, path="/participating_entities")
    if not place:
        return None, participants
    require_location(space, found[-1])
    return found[-1], participants


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneReading:
    """A scene, its last turns in the order of play, and its proposals oldest first."""

    scene: Scene
    turns: Sequence[Turn]
    total_turns: int
    proposals: Page[Proposal]


async def get_scene(canon: Canon, caller: Caller, scene_id: str, *, turns: int) -> SceneReading:
    """The scene with up to `turns` turns and a page of its proposals.

    Raises:
        NotFound: `scene.unknown`.
    """
    scene = await require(canon, caller, Scene, scene_id)
    told, proposals = await asyncio.gather(
        _last_turns(canon, scene, turns), _proposals(canon, scene)
    )
    total = max(scene.turn_count, told[-1].index + 1 if told else 0)
    return SceneReading(scene=scene, turns=told, total_turns=total, proposals=proposals)


async def _last_turns(canon: Canon, scene: Scene, turns: int) -> Sequence[Turn]:
    if turns == 0:
        return ()
    return await canon.documents.turns(scene.id, last=turns)


async def _proposals(canon: Canon, scene: Scene) -> Page[Proposal]:
    query = ProposalQuery(spaces=frozenset((scene.space,)), scene_id=scene.id, limit=PAGE_MAX)
    return await canon.documents.proposals(query)


STORY: Final = "What is played"
_CLOSED: Final = frozenset({StoryStatus.COMPLETED, StoryStatus.ABANDONED})


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneAsked:
    """A scene with what it begins with; nobody needs to say in which story."""

    title: str
    place_id: str | None = None
    participant_ids: Sequence[str] = ()
    at: Instant | None = None
    words: str | None = None
    audience: Audience = EVERYBODY


async def open_scene(
    canon: Canon, caller: Caller, universe_id: str, asked: SceneAsked
) -> SceneDraft:
    """The new scene, after all others of its story.

    Raises:
        NotFound: `universe.unknown` or `entity.unknown`.
        Conflict: as a scene is created.
    """
    space = (await require_universe(canon, caller, universe_id)).id
    request = SceneRequest(
        universe_id=space,
        story_id=await _story(canon, caller, space),
        title=asked.title,
        purpose=None,
        order=None,
        location_id=asked.place_id,
        participant_ids=asked.participant_ids,
        time_ref=asked.at,
        time_words=asked.words,
        audience=asked.audience,
    )
    return the_made(await create_scene(canon, opening(caller), request), SceneDraft)


def opening(caller: Caller) -> Caller:
    """The caller for the step of a call that opens a scene."""
    return step(caller, "scene")


async def story_of_late(canon: Canon, space: SpaceId) -> Story | None:
    """The story that takes new scenes where nobody names one; None: there is none yet."""
    stories = (await canon.state.stories(space, limit=PAGE_MAX, offset=0)).items
    return next((one for one in reversed(stories) if one.status not in _CLOSED), None)


async def _story(canon: Canon, caller: Caller, space: SpaceId) -> StoryId:
    if (story := await story_of_late(canon, space)) is not None:
        return story.id
    new = NewStory(
        space=space,
        title=STORY,
        story_type=StoryType.CAMPAIGN,
        theme=None,
        premise=None,
        parent_id=None,
        start_time_ref=None,
    )
    return the_made(await create_story(canon, step(caller, "story"), new), StoryDraft).id


async def query_scenes(
    canon: Canon, caller: Caller, query: SceneQuery, *, universe_id: str | None
) -> Page[Scene]:
    """A page of the scenes that match; without a universe, of those that the caller may see.

    Raises:
        NotFound: `universe.unknown` or `story.unknown`.
    """
    spaces = await covered_spaces(canon, caller, universe_id)
    if query.story_id is not None:
        await require(canon, caller, Story, query.story_id)
    return await canon.documents.scenes(revised(query, spaces=spaces))


@dataclass(frozen=True, slots=True)
class Notes:
    """The notes replaced; None clears them."""

    text: str | None


@dataclass(frozen=True, slots=True)
class WrittenSummary:
    """The summary written; None takes it back, and one is made when the scene is closed."""

    text: str | None


@dataclass(frozen=True, slots=True)
class Time:
    """The time replaced, and the words that told it; None takes it back."""

    at: Instant | None
    words: str | None = None


@dataclass(frozen=True, slots=True)
class PlayedAt:
    """When it was played, which a closed scene takes as well; None takes it back."""

    said_at: Instant | None


@dataclass(frozen=True, slots=True)
class SceneSetting:
    """The place moved; None leaves it open."""

    place_id: str | None


@dataclass(frozen=True, slots=True)
class Staging:
    """Those who come in and those who go; who is there already, or is not, stays so."""

    joining: Sequence[str]
    leaving: Sequence[str]


SceneChange: TypeAlias = Notes | WrittenSummary | Time | PlayedAt | SceneSetting | Staging


async def update_scene(
    canon: Canon, caller: Caller, scene_id: str, changes: Sequence[SceneChange]
) -> Receipt:
    """Change what is named; what stands so already is not written again.

    When it was played says nothing of the world, and is told of a closed scene too.

    A scene that is being canonized still takes notes and a summary, but keeps its time, its place
    and its participants: its proposals are judged by them.

    Raises:
        InvalidInput: `scene.empty-change`.
        NotFound: `scene.unknown` or `entity.unknown`.
        Conflict: `scene.completed`, `scene.finalizing`, `space.foreign`,
            `entity.not-an-instance`, `entity.retconned` or `scene.not-a-location`.
    """
    if not changes:
        message = (
            "name what changes: gm_notes, time_ref, said_at, summary, location_ref, "
            "joining_entities or leaving_entities; null clears what was there"
        )
        raise InvalidInput("scene.empty-change", message, path="")
    space = (await require(canon, caller, Scene, scene_id)).space

    async def prepare(_: NewId) -> Change:
        scene = await require(canon, caller, Scene, scene_id)
        if not all(isinstance(change, PlayedAt) for change in changes):
            require_unfinished(scene)
        entries: list[Entry] = []
        reads = {thing_key(scene.id)}
        for change in changes:
            named = await require_all(canon, caller, Entity, _named(change))
            reads |= {thing_key(each) for each in (*_named(change), *(e.id for e in named))}
            entry = _entry(scene, change, named)
            if entry is not None:
                entries.append(entry)
        return Change(entries=tuple(entries), reads=frozenset(reads))

    return await commit_change(canon, caller, space, prepare)


def _named(change: SceneChange) -> tuple[str, ...]:
    """The entities that a change names."""
    match change:
        case SceneSetting(place_id=place_id) if place_id is not None:
            return (place_id,)
        case Staging(joining=joining, leaving=leaving):
            return (*joining, *leaving)
        case _:
            return ()


def _entry(scene: Scene, change: SceneChange, named: Sequence[Entity]) -> Entry | None:
    match change:
        case Notes(text=text):
            same = scene.gm_notes == text
            return None if same else SceneNoted(scene_id=scene.id, gm_notes=text)
        case WrittenSummary(text=text):
            same = scene.summary == text
            return None if same else SceneSummarised(scene_id=scene.id, summary=text)
        case Time() | PlayedAt():
            return _dated(scene, change)
        case SceneSetting():
            return _placed(scene, named[0] if named else None)
        case Staging(joining=joining):
            return _update_scene_staged(scene, named[: len(joining)], named[len(joining) :])


def _placed(scene: Scene, place: Entity | None) -> Entry | None:
    if place is not None:
        require_location(scene.space, place)
    where = None if place is None else place.id
    if scene.location_ref == where:
        return None
    require_active(scene)
    return ScenePlaced(scene_id=scene.id, location_ref=where)


def _dated(scene: Scene, change: Time | PlayedAt) -> Entry | None:
    if isinstance(change, PlayedAt):
        same = scene.said_at == change.said_at
        return None if same else SaidAt(thing_id=scene.id, said_at=change.said_at)
    if scene.time_ref == change.at:
        return None
    require_active(scene)
    return SceneDated(scene_id=scene.id, time_ref=change.at, time_words=change.words)


def _update_scene_staged(
    scene: Scene, joining: Sequence[Entity], leaving: Sequence[Entity]
) -> SceneStaged | None:
    require_instances(scene.space, joining, path="/joining_entities")
    present = frozenset(scene.participants)
    new = [each.id for each in joining if not family_of(each) & present]
    gone = [i for each in leaving for i in sorted(family_of(each) & present)]
    if not new and not gone:
        return None
    require_active(scene)
    return SceneStaged(scene_id=scene.id, joined=_once(new), left=_once(gone))


def _once(ids: Sequence[EntityId]) -> tuple[EntityId, ...]:
    return tuple(dict.fromkeys(ids))
