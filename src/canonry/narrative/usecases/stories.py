"""Stories and turns: create, list and update stories, append and read turns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from canonry.canon.session.caller import Caller, unknown
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import (
    Change,
    Receipt,
    commit_change,
    require_active,
    require_instances,
)
from canonry.canon.session.lookup import require, require_same_space, require_universe
from canonry.log.entries import Entry, Made, SceneStaged, StoryMoved
from canonry.log.folding import scenes_key, thing_key
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.scenes import (
    Scene,
    SceneStatus,
    Speaker,
    Story,
    StoryDraft,
    StoryStatus,
    StoryType,
    Turn,
    TurnDraft,
)
from canonry.readmodels.ports.documents import SceneQuery
from canonry.readmodels.ports.view import Page
from canonry.values.audience import EVERYBODY, Audience, covers
from canonry.values.errors import Conflict
from canonry.values.ids import EntityId, NewId, SpaceId, StoryId, TurnId
from canonry.values.moments import Instant

PARENTS: Final = {
    StoryType.CAMPAIGN: frozenset[StoryType](),
    StoryType.ARC: frozenset((StoryType.CAMPAIGN, StoryType.ARC)),
    StoryType.EPISODE: frozenset((StoryType.CAMPAIGN, StoryType.ARC)),
    StoryType.ONE_SHOT: frozenset[StoryType](),
}
"""Which stories may contain a story of each type; a campaign and a one-shot stand alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewStory:
    """What a story is about."""

    space: SpaceId
    title: str
    story_type: StoryType
    theme: str | None
    premise: str | None
    parent_id: StoryId | None
    start_time_ref: Instant | None


async def create_story(canon: Canon, caller: Caller, new: NewStory) -> Receipt:
    """Plan the story; its parent exists before it does, so the tree has no cycle.

    Raises:
        NotFound: `universe.unknown` or `story.unknown` (the parent).
        Conflict: `space.foreign` or `story.parent-mismatch`.
    """
    await require_universe(canon, caller, new.space)

    async def prepare(new_id: NewId) -> Change:
        reads: frozenset[str] = frozenset()
        if new.parent_id is not None:
            await _require_parent(canon, caller, new, new.parent_id)
            reads = frozenset((thing_key(new.parent_id),))
        story = StoryDraft(
            id=StoryId(new_id("story")),
            space=new.space,
            title=new.title,
            story_type=new.story_type,
            theme=new.theme,
            premise=new.premise,
            parent_id=new.parent_id,
            start_time_ref=new.start_time_ref,
            status=StoryStatus.PLANNED,
        )
        return Change(entries=(Made(thing=story),), reads=reads)

    return await commit_change(canon, caller, new.space, prepare)


async def _require_parent(canon: Canon, caller: Caller, new: NewStory, parent_id: StoryId) -> None:
    parent = await require(canon, caller, Story, parent_id)
    require_same_space(new.space, [parent], path="/parent_story_id")
    if parent.story_type not in PARENTS[new.story_type]:
        message = "campaigns and one-shots stand alone; arcs and episodes lie in campaigns or arcs"
        raise Conflict(
            "story.parent-mismatch", message, path="/parent_story_id", conflicts=[parent.id]
        )


async def query_stories(
    canon: Canon, caller: Caller, universe_id: str, *, limit: int, offset: int
) -> Page[Story]:
    """Stories by (created_at, id).

    Raises:
        NotFound: `universe.unknown`.
    """
    space = (await require_universe(canon, caller, universe_id)).id
    return await canon.state.stories(space, limit=limit, offset=offset)


async def update_story(canon: Canon, caller: Caller, story_id: str, status: StoryStatus) -> Story:
    """Move the story; one that is so already is not written again.

    A story without scenes that is taken up again is planned.

    Raises:
        NotFound: `story.unknown`.
        Conflict: `story.scenes-open`, it has scenes that are not completed.
    """
    space = (await require(canon, caller, Story, story_id)).space

    async def prepare(new_id: NewId) -> Change:
        del new_id  # nothing new comes into being
        story = await require(canon, caller, Story, story_id)
        reads = frozenset((thing_key(story.id), scenes_key(story.id)))
        wanted = status
        if status is StoryStatus.ACTIVE and not story.scene_count:
            wanted = StoryStatus.PLANNED
        if story.status is wanted:
            return Change(entries=(), reads=reads)
        if wanted is StoryStatus.COMPLETED:
            await _require_scenes_done(canon, story)
        return Change(entries=(StoryMoved(story_id=story.id, status=wanted),), reads=reads)

    await commit_change(canon, caller, space, prepare)
    return await require(canon, caller, Story, story_id)


async def _require_scenes_done(canon: Canon, story: Story) -> None:
    here = frozenset((story.space,))
    for status in (SceneStatus.ACTIVE, SceneStatus.FINALIZING):
        query = SceneQuery(spaces=here, story_id=story.id, status=status)
        page = await canon.documents.scenes(query)
        if page.items:
            message = "this story has scenes that are not completed; canonize or finalize them"
            conflicts = [scene.id for scene in page.items]
            raise Conflict("story.scenes-open", message, conflicts=conflicts)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """A turn as it is asked for; `entity_id` stands exactly where an entity speaks.

    Nobody reads it who may not see its scene, whoever its `audience` is.
    """

    scene_id: str
    speaker: Speaker
    entity_id: str | None
    text: str
    resolution_ref: str | None
    audience: Audience = EVERYBODY


async def append_turn(canon: Canon, caller: Caller, request: TurnRequest) -> Receipt:
    """Append the turn; its index is given by the log. Who speaks has come into the scene.

    The first read only tells the space, which never changes; the verdict rests on what is read
    after the head of that space, which is why the scene is read again.

    Raises:
        NotFound: `scene.unknown` or `entity.unknown`.
        Conflict: `scene.completed`, `scene.finalizing`, `space.foreign`,
            `entity.not-an-instance` or `entity.retconned`.
    """
    space = (await require(canon, caller, Scene, request.scene_id)).space
    wanted = [request.scene_id]
    if request.entity_id is not None:
        wanted.append(request.entity_id)

    async def prepare(new_id: NewId) -> Change:
        found = await canon.seen_by(caller).things(wanted)
        scene = found.get(request.scene_id)
        if not isinstance(scene, Scene):
            raise unknown("scene", request.scene_id)
        require_active(scene)
        reads = {thing_key(scene.id)}
        speaker: EntityId | None = None
        entries: list[Entry] = []
        if request.entity_id is not None:
            entity = found.get(request.entity_id)
            if not isinstance(entity, Entity):
                raise unknown("entity", request.entity_id)
            if entity.merged_into is not None:
                entity = await require(canon, caller, Entity, request.entity_id)
            require_instances(space, (entity,), path="/entity_id")
            reads |= {thing_key(request.entity_id), thing_key(entity.id)}
            speaker = entity.id
            heard = covers(request.audience, scene.audience)  # a whisper shows nobody there
            if heard and not family_of(entity) & {*scene.participants, scene.location_ref}:
                entries.append(SceneStaged(scene_id=scene.id, joined=(entity.id,)))
        turn = TurnDraft(
            id=TurnId(new_id("turn")),
            space=space,
            scene_id=scene.id,
            speaker=request.speaker,
            entity_id=speaker,
            text=request.text,
            resolution_ref=request.resolution_ref,
            audience=request.audience,
        )
        return Change(entries=(*entries, Made(thing=turn)), reads=frozenset(reads))

    return await commit_change(canon, caller, space, prepare)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPage:
    """Turns in the order of play; `following` is the index to go on after, None at the end."""

    scene: Scene
    turns: Sequence[Turn]
    total: int
    following: int | None
    names: Mapping[str, str]


async def get_turns(
    canon: Canon, caller: Caller, scene_id: str, *, after: int, limit: int
) -> TurnPage:
    """Up to `limit` turns past the index `after`.

    Raises:
        NotFound: `scene.unknown`.
    """
    scene = await require(canon, caller, Scene, scene_id)
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


async def names_of(canon: Canon, turns: Sequence[Turn]) -> Mapping[str, str]:
    """The current names of the entities that speak in these turns."""
    speakers = {turn.entity_id for turn in turns if turn.entity_id is not None}
    roots = await canon.within(*{turn.space for turn in turns}).roots(speakers)
    return {given: root.name for given, root in roots.items()}
