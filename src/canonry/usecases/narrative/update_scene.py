"""Update a scene: the game master's own notes on it, and when it plays in the world's time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from canonry.domain.errors import InvalidInput
from canonry.domain.ids import NewId
from canonry.domain.log.entries import Entry, SceneDated, SceneNoted
from canonry.domain.log.keys import thing_key
from canonry.domain.things.scenes import Scene
from canonry.domain.time import Instant
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.commit_change import Change, Receipt, commit_change
from canonry.usecases.kernel.lookup import require
from canonry.usecases.kernel.staging import require_active, require_unfinished


@dataclass(frozen=True, slots=True)
class Notes:
    """The notes replaced; None clears them."""

    text: str | None


@dataclass(frozen=True, slots=True)
class Time:
    """The time replaced; None takes it back."""

    at: Instant | None


SceneChange: TypeAlias = Notes | Time


async def update_scene(
    canon: Canon, caller: Caller, scene_id: str, changes: Sequence[SceneChange]
) -> Receipt:
    """Change what is named; what stands so already is not written again.

    A scene that is being canonized still takes notes, but keeps its time: its proposals are
    judged by it.

    Raises:
        InvalidInput: `scene.empty-change`.
        NotFound: `scene.unknown`.
        Conflict: `scene.completed`, or `scene.finalizing` for a time.
    """
    if not changes:
        message = "name gm_notes or time_ref, or both; null clears what was there"
        raise InvalidInput("scene.empty-change", message, path="")
    space = (await require(canon, caller, Scene, scene_id)).space

    async def prepare(_: NewId) -> Change:
        scene = await require(canon, caller, Scene, scene_id)
        require_unfinished(scene)
        entries = tuple(entry for change in changes for entry in _entries(scene, change))
        return Change(entries=entries, reads=frozenset((thing_key(scene.id),)))

    return await commit_change(canon, caller, space, prepare)


def _entries(scene: Scene, change: SceneChange) -> tuple[Entry, ...]:
    match change:
        case Notes(text=text):
            same = scene.gm_notes == text
            return () if same else (SceneNoted(scene_id=scene.id, gm_notes=text),)
        case Time(at=at):
            if scene.time_ref == at:
                return ()
            require_active(scene)
            return (SceneDated(scene_id=scene.id, time_ref=at),)
