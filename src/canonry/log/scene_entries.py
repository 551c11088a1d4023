"""Scene entries: what happens to a scene while it is played, and when it is closed."""

from dataclasses import dataclass
from typing import TypeAlias

from canonry.log.items.scenes import SceneStatus
from canonry.values.ids import EntityId, SceneId
from canonry.values.time import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneMoved:
    """The scene is being canonized, or taken up again."""

    scene_id: SceneId
    status: SceneStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneNoted:
    """The game master's own notes on a scene; None clears them."""

    scene_id: SceneId
    gm_notes: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneDated:
    """When the scene plays in the world's time; None takes a time back."""

    scene_id: SceneId
    time_ref: Instant | None
    time_words: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneStaged:
    """Who came into the scene, and who left it."""

    scene_id: SceneId
    joined: tuple[EntityId, ...] = ()
    left: tuple[EntityId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenePlaced:
    """Where the scene goes on; None takes a place back."""

    scene_id: SceneId
    location_ref: EntityId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneSummarised:
    """What somebody wrote of the scene while it was played; None takes it back."""

    scene_id: SceneId
    summary: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneCompleted:
    """The scene is closed for good, with what it made canon."""

    scene_id: SceneId
    outcomes: tuple[str, ...]
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneExtended:
    """What became canon of a scene after it was closed."""

    scene_id: SceneId
    outcomes: tuple[str, ...]


SceneEntry: TypeAlias = (
    SceneMoved
    | SceneNoted
    | SceneDated
    | SceneStaged
    | ScenePlaced
    | SceneSummarised
    | SceneCompleted
    | SceneExtended
)
"""An entry that changes a scene."""
