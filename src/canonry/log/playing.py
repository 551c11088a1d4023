"""Playing: what a scene becomes by the entries that change it."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from canonry.log.entries import SaidAt
from canonry.log.folding import Folding
from canonry.log.items.memories import Memory
from canonry.log.items.scenes import Scene, SceneStatus
from canonry.log.items.sources import Source
from canonry.log.scene_entries import (
    SceneCompleted,
    SceneDated,
    SceneEntry,
    SceneExtended,
    SceneMoved,
    SceneNoted,
    ScenePlaced,
    SceneStaged,
    SceneSummarised,
)


def play(folding: Folding, entry: SceneEntry | SaidAt) -> None:
    """Let the scene be as the entry says."""
    match entry:
        case SceneMoved(scene_id=scene_id, status=status):
            now = folding.commit.recorded_at
            folding.change(scene_id, Scene, status=status, updated_at=now)
        case SceneNoted(scene_id=scene_id, gm_notes=notes):
            folding.change(scene_id, Scene, gm_notes=notes)
        case SceneDated(scene_id=scene_id, time_ref=time_ref, time_words=words):
            folding.change(scene_id, Scene, time_ref=time_ref, time_words=words)
        case SceneStaged():
            folding.develop(entry.scene_id, Scene, partial(_cast, entry))
        case ScenePlaced(scene_id=scene_id, location_ref=place):
            folding.change(scene_id, Scene, location_ref=place)
        case SceneSummarised(scene_id=scene_id, summary=summary):
            folding.change(scene_id, Scene, summary=summary)
        case SaidAt(thing_id=thing_id, said_at=said_at):
            spoken: Any = Scene | Memory | Source
            folding.change(thing_id, spoken, said_at=said_at)
        case SceneCompleted():
            _complete(folding, entry)
        case SceneExtended(scene_id=scene_id, outcomes=more):
            folding.develop(
                scene_id,
                Scene,
                lambda scene: {"outcomes": tuple(dict.fromkeys((*scene.outcomes, *more)))},
            )


def _complete(folding: Folding, entry: SceneCompleted) -> None:
    now = folding.commit.recorded_at
    folding.change(
        entry.scene_id,
        Scene,
        status=SceneStatus.COMPLETED,
        outcomes=entry.outcomes,
        summary=entry.summary,
        updated_at=now,
        completed_at=now,
    )


def _cast(entry: SceneStaged, scene: Scene) -> Mapping[str, Any]:
    """Who is in the scene, and who was in it and has left."""
    present = dict.fromkeys((*scene.participants, *entry.joined))
    departed = dict.fromkeys((*scene.departed, *(i for i in entry.left if i in present)))
    return {
        "participants": tuple(i for i in present if i not in entry.left),
        "departed": tuple(i for i in departed if i in entry.left or i not in present),
    }
