"""Stories: create, list and update them."""

from dataclasses import dataclass
from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, commit_change
from canonry.canon.session.lookup import require, require_same_space, require_universe
from canonry.log.entries import Made, StoryMoved
from canonry.log.folding import scenes_key, thing_key
from canonry.log.items.scenes import SceneStatus, Story, StoryDraft, StoryStatus, StoryType
from canonry.readmodels.ports.documents import SceneQuery
from canonry.readmodels.ports.pages import Page
from canonry.values.errors import Conflict
from canonry.values.ids import NewId, SpaceId, StoryId
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
