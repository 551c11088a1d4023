"""Moments: when something holds or happens, by the world's time or by its place in the story.

Where one of two moments has no time, the story decides: within a scene whatever is applied later
is later, and an earlier scene of the same story is earlier; else what is recorded later is later.
"""

from dataclasses import dataclass

from canonry.domain.ids import SceneId, StoryId
from canonry.domain.things.scenes import Scene
from canonry.domain.time import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """`at` is the world's time where it is known; `dated` tells a time given from the scene's."""

    at: Instant | None
    dated: bool
    scene_id: SceneId | None = None
    story_id: StoryId | None = None
    order: int = 0


def moment_of(at: Instant | None, scene: Scene | None, *, dated: bool = True) -> Moment:
    """The moment of something that was told in `scene`."""
    if scene is None:
        return Moment(at=at, dated=dated)
    return Moment(at=at, dated=dated, scene_id=scene.id, story_id=scene.story_id, order=scene.order)


def same_scene(new: Moment, old: Moment) -> bool:
    """Whether both were told in one scene, where the order of application is no contradiction."""
    return new.scene_id is not None and new.scene_id == old.scene_id


def comes_after(new: Moment, old: Moment) -> bool:
    """Whether `new`, which is judged now, takes over from `old`, which is canon already."""
    if same_scene(new, old):
        return True
    if new.at is not None and old.at is not None and (new.at != old.at or new.dated):
        return new.at > old.at
    if new.story_id is not None and new.story_id == old.story_id:
        return new.order >= old.order
    return True


def is_dated_after(new: Moment, old: Moment) -> bool:
    """Whether both have a time in the world and `new` has the later one."""
    return new.at is not None and old.at is not None and new.at > old.at


def overlaps(
    new_from: Instant | None,
    new_to: Instant | None,
    old_from: Instant | None,
    old_to: Instant | None,
) -> bool:
    """Whether two half-open intervals share an instant; a missing bound is endless."""
    begins = new_from is None or old_to is None or new_from < old_to
    ends = old_from is None or new_to is None or old_from < new_to
    return begins and ends
