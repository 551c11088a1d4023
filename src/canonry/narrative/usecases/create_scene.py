"""Create a scene: a stretch of play in a story, with those who take part in it."""

from collections.abc import Sequence
from dataclasses import dataclass

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, commit_change
from canonry.canon.session.lookup import (
    require,
    require_all,
    require_same_space,
    require_universe,
)
from canonry.canon.session.staging import require_instances, require_location
from canonry.log.entries import Made
from canonry.log.items.entities import Entity
from canonry.log.items.scenes import SceneDraft, SceneStatus, Story, StoryStatus
from canonry.log.keys import scenes_key, thing_key
from canonry.values.audience import EVERYBODY, Audience
from canonry.values.errors import Conflict
from canonry.values.ids import EntityId, NewId, SceneId, SpaceId, StoryId
from canonry.values.time import Instant


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
