"""Open a scene: a new one in the story of late, or in one that holds whatever is played here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from canonry.canon.session.caller import Caller, step
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import require_universe
from canonry.canon.session.receipts import the_made
from canonry.log.items.scenes import SceneDraft, Story, StoryDraft, StoryStatus, StoryType
from canonry.narrative.usecases.create_scene import SceneRequest, create_scene
from canonry.narrative.usecases.create_story import NewStory, create_story
from canonry.readmodels.ports.pages import PAGE_MAX
from canonry.values.audience import EVERYBODY, Audience
from canonry.values.ids import SpaceId, StoryId
from canonry.values.time import Instant

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
