"""Stories, scenes, turns and memories."""

from dataclasses import dataclass
from enum import StrEnum

from canonry.values.audience import EVERYBODY, Audience
from canonry.values.ids import (
    EntityId,
    FactId,
    MemoryId,
    SceneId,
    SourceId,
    SpaceId,
    StoryId,
    TurnId,
)
from canonry.values.json_values import UNSET, UnsetType
from canonry.values.moments import AFTER_ALL, Instant, StoryPosition


class StoryType(StrEnum):
    """The size of a story."""

    CAMPAIGN = "campaign"
    ARC = "arc"
    EPISODE = "episode"
    ONE_SHOT = "one_shot"


class StoryStatus(StrEnum):
    """The progress of a story."""

    PLANNED = "planned"
    ACTIVE = "active"
    COMPLETED = "completed"
    ABANDONED = "abandoned"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryDraft:
    """A container of scenes; arcs may lie in campaigns or arcs."""

    id: StoryId
    space: SpaceId
    title: str
    story_type: StoryType
    theme: str | None
    premise: str | None
    parent_id: StoryId | None
    start_time_ref: Instant | None
    status: StoryStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Story(StoryDraft):
    """A story in the log, with the values that it gains from its public scenes.

    `reached` is the latest time of these scenes.
    """

    scene_count: int = 0
    last_order: int = 0
    reached: Instant | UnsetType = UNSET
    created_at: Instant
    position: int
    changed_at: int


class SceneStatus(StrEnum):
    """`active` takes turns, `finalizing` is being canonized, `completed` never changes again."""

    ACTIVE = "active"
    FINALIZING = "finalizing"
    COMPLETED = "completed"


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneDraft:
    """A stretch of play with its participants; turns and proposals are stored separately.

    `time_words` are the words in which its story time was given. `said_at` is the real date of the
    session. `source_id` is the document that an imported scene was read from.
    """

    id: SceneId
    space: SpaceId
    story_id: StoryId
    title: str
    purpose: str | None
    order: int
    location_ref: EntityId | None
    participants: tuple[EntityId, ...]
    time_ref: Instant | None = None
    status: SceneStatus
    gm_notes: str | None = None
    time_words: str | None = None
    said_at: Instant | None = None
    source_id: SourceId | None = None
    audience: Audience = EVERYBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene(SceneDraft):
    """A scene in the log, with its outcomes and the counts of its turns and proposals.

    `story_place` is the log position at which its story began; `departed` are participants who
    left. `reached` is the latest time of the story when a scene without a time began.
    """

    story_place: int = 0
    reached: Instant | UnsetType = UNSET
    turn_count: int = 0
    proposal_count: int = 0
    departed: tuple[EntityId, ...] = ()
    outcomes: tuple[str, ...] = ()
    summary: str | None = None
    created_at: Instant
    updated_at: Instant
    completed_at: Instant | None = None
    position: int
    changed_at: int


def position_in(
    scene: Scene | None, turn: int | None, log_position: int, *, dated: bool
) -> StoryPosition:
    """Return the story position of a proposal in `scene` at `turn`, or outside of all scenes."""
    if scene is None:
        return StoryPosition(told=log_position, dated=dated)
    return StoryPosition(
        story=scene.story_place,
        order=scene.order,
        scene=scene.position,
        turn=AFTER_ALL if turn is None else turn,
        told=log_position,
        dated=dated,
        reached=scene.reached,
    )


_NAME_MAX = 60  # a longer beginning is no name


class Speaker(StrEnum):
    """The kind of speaker of a turn."""

    USER = "user"
    GM = "gm"
    ENTITY = "entity"

    @property
    def display_name(self) -> str:
        """The display name of a speaker without an entity."""
        return "game master" if self is Speaker.GM else self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnDraft:
    """One utterance; `said_at` is its real date if it is more exact than the scene's."""

    id: TurnId
    space: SpaceId
    scene_id: SceneId
    speaker: Speaker
    entity_id: EntityId | None
    text: str
    resolution_ref: str | None
    said_at: Instant | None = None
    audience: Audience = EVERYBODY

    @property
    def spoken(self) -> tuple[str, str]:
        """The name of a speaker without an entity, and the words."""
        by = self.name_before(self.text) if self.speaker is Speaker.USER else ""
        return (by, self.text[len(by) + 2 :]) if by else (self.speaker.display_name, self.text)

    @staticmethod
    def name_before(text: str) -> str:
        """Return the capitalised name, or `user`, with which the text of a turn begins, if any."""
        by, _, words = text.partition(": ")
        capital = by and len(by) < _NAME_MAX and all(each[0].isupper() for each in by.split())
        return by if words and (capital or by == Speaker.USER) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn(TurnDraft):
    """A turn in the log; `index` counts from 0 within its scene."""

    index: int
    timestamp: Instant
    position: int
    changed_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDraft:
    """A subjective memory of one character; `said_at` is the date on which it was stated."""

    id: MemoryId
    space: SpaceId
    entity_id: EntityId
    text: str
    linked_fact_id: FactId | None
    scene_id: SceneId | None
    emotional_valence: float
    importance: float
    certainty: float
    said_at: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory(MemoryDraft):
    """A memory in the log."""

    created_at: Instant
    position: int
    changed_at: int
