"""Create a story: a planned container of scenes; stories form a tree within one universe."""

from dataclasses import dataclass
from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, commit_change
from canonry.canon.session.lookup import require, require_same_space, require_universe
from canonry.log.entries import Made
from canonry.log.items.scenes import Story, StoryDraft, StoryStatus, StoryType
from canonry.log.keys import thing_key
from canonry.values.errors import Conflict
from canonry.values.ids import NewId, SpaceId, StoryId
from canonry.values.time import Instant

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
