"""Update a story: it is completed, abandoned, or taken up again."""

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change
from canonry.canon.session.lookup import require
from canonry.log.entries import StoryMoved
from canonry.log.items.scenes import SceneStatus, Story, StoryStatus
from canonry.log.keys import scenes_key, thing_key
from canonry.readmodels.ports.documents import SceneQuery
from canonry.values.errors import Conflict
from canonry.values.ids import NewId


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
