"""Entries: everything that a commit can say."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from canonry.log.items.entities import Entity, EntityDraft
from canonry.log.items.facts import (
    Axiom,
    AxiomDraft,
    Event,
    EventDraft,
    Fact,
    FactDraft,
    Relation,
    RelationDraft,
    SaidAgain,
)
from canonry.log.items.proposals import DecisionDraft, Proposal, ProposalDraft
from canonry.log.items.scenes import (
    Memory,
    MemoryDraft,
    Scene,
    SceneDraft,
    SceneStatus,
    Story,
    StoryDraft,
    StoryStatus,
    Turn,
    TurnDraft,
)
from canonry.log.items.sources import (
    InterpretationRun,
    RunDraft,
    Snippet,
    SnippetDraft,
    Source,
    SourceDraft,
)
from canonry.log.schemas.schemas import EntitySchema, RegisteredSchema
from canonry.values.audience import EVERYBODY, Audience
from canonry.values.ids import (
    EntityId,
    EventId,
    FactId,
    ObservationId,
    ProposalId,
    RelationId,
    SceneId,
    SourceId,
    Space,
    SpaceDraft,
    SpaceId,
    StoryId,
)
from canonry.values.moments import Instant
from canonry.values.observations import Observation, ObservationDraft
from canonry.values.provenance import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysDisowned:
    """These were never keys of the entity, as it bears them: they lead to it no longer."""

    entity_id: EntityId
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn:
    """What only a source said is taken back, as if nobody had brought it; the log keeps it."""

    targets: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityRetold:
    """The entity is what `standing` observations say and no others; `family` are its merged ones.

    Those are whoever answers for it and all that one answers for.
    """

    entity_id: EntityId
    standing: tuple[ObservationId, ...]
    family: tuple[EntityId, ...] = ()


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


# Entries: everything that can happen, as a closed union; a commit is made of them.
#
# `Made` brings a new thing into being out of a draft, which the fold stamps with its position and
# instants of recording. All other entries change things that exist.


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """What is left of an erased thing: that it was, and what kind it was."""

    id: str
    space: SpaceId
    was: str
    position: int
    changed_at: int


Born: TypeAlias = (
    Space
    | Entity
    | Observation
    | Relation
    | Fact
    | Event
    | Axiom
    | Source
    | Snippet
    | Story
    | Scene
    | Turn
    | Proposal
    | Memory
    | RegisteredSchema
    | InterpretationRun
)
"""Whatever an entry has brought into being."""

ThingDraft: TypeAlias = (
    SpaceDraft
    | EntityDraft
    | ObservationDraft
    | RelationDraft
    | FactDraft
    | EventDraft
    | AxiomDraft
    | SourceDraft
    | SnippetDraft
    | StoryDraft
    | SceneDraft
    | TurnDraft
    | ProposalDraft
    | MemoryDraft
    | EntitySchema
    | RunDraft
)
"""Whatever an entry can bring into being: what its author knows of it, without any stamp."""

Thing: TypeAlias = Born | Tombstone
"""Whatever has an id in a view."""

THING_KINDS: Final[dict[type, str]] = {
    Space: "space",
    Entity: "entity",
    Observation: "observation",
    Relation: "relation",
    Fact: "fact",
    Event: "event",
    Axiom: "axiom",
    Source: "source",
    Snippet: "snippet",
    Story: "story",
    Scene: "scene",
    Turn: "turn",
    Proposal: "proposal",
    Memory: "memory",
    RegisteredSchema: "schema",
    InterpretationRun: "run",
    Tombstone: "tombstone",
}
"""The name of each kind of thing, as ids are located and payloads are stored."""

STAMPED: Final[dict[type, type]] = {
    kind.__base__: kind for kind in THING_KINDS if kind.__base__ not in {None, object}
}
"""What each kind of draft becomes: the type that extends it by stamps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A new thing: a space opened, a fact asserted, a turn appended, ..."""

    thing: ThingDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceRevised:
    """The space is called and described otherwise; what lies in it stays as it is."""

    space_id: SpaceId
    name: str
    description: str
    properties: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityRetconned:
    """The entity never was, in the world's own telling."""

    entity_id: EntityId
    replaced_by: EntityId | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntitiesMerged:
    """Two entities are one; `kept` answers for `merged` and all that was merged into it."""

    kept: EntityId
    merged: EntityId
    members: tuple[EntityId, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntitiesUnmerged:
    """`separated` is its own entity again; `remaining` are the members that `kept` keeps."""

    kept: EntityId
    separated: EntityId
    remaining: tuple[EntityId, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationDetailed:
    """More is known of a relation: these properties hold too, or instead; `told` names the word."""

    relation_id: RelationId
    properties: Mapping[str, Any]
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidAt:
    """When a scene was played, a memory told or a source written; None takes it back.

    It says nothing of the world, so it may be told of a scene that was closed long ago.
    """

    thing_id: str
    said_at: Instant | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAttached:
    """Another file belongs to a source, under this storage key."""

    source_id: SourceId
    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationEnded:
    """The relation holds no longer from `until` on; a later one may have superseded it."""

    relation_id: RelationId
    until: Instant | None
    superseded_by: RelationId | None
    reason: str
    audience: Audience = EVERYBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationResumed:
    """The relation holds on; `fallen`, where it is given, had taken its place and never was."""

    relation_id: RelationId
    fallen: RelationId | None = None
    audience: Audience = EVERYBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationRetconned:
    """The relation never held."""

    relation_id: RelationId
    replaced_by: RelationId | None
    reason: str
    audience: Audience = EVERYBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class FactSuperseded:
    """The fact held until another took over; without `until` nobody knows when that was."""

    fact_id: FactId
    until: Instant | None
    superseded_by: FactId
    audience: Audience = EVERYBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class FactResumed:
    """The fact holds on, for `fallen`, which had taken over from it, never was."""

    fact_id: FactId
    fallen: FactId
    audience: Audience = EVERYBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class FactRetconned:
    """The fact never was true."""

    fact_id: FactId
    replaced_by: FactId | None
    reason: str
    audience: Audience = EVERYBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRetconned:
    """The event never happened."""

    event_id: EventId
    replaced_by: EventId | None
    reason: str
    audience: Audience = EVERYBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class CausesLinked:
    """`cause` brought about `effect`."""

    cause: EventId
    effect: EventId
    audience: Audience = EVERYBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceLinked:
    """More evidence for a thing of canon; with `again` a relation was told once more."""

    thing_id: str
    evidence: Evidence
    again: SaidAgain | None = None
    audience: Audience = EVERYBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryMoved:
    """The story has a new status."""

    story_id: StoryId
    status: StoryStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalDecided:
    """A proposal became canon or was refused."""

    proposal_id: ProposalId
    decision: DecisionDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalDeferred:
    """A proposal was judged and stays pending: somebody has to look at it."""

    proposal_id: ProposalId
    ruling: DecisionDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictWaived:
    """The proposal and `other` do not conflict, or are meant to; nobody is asked again."""

    proposal_id: ProposalId
    other: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AudienceChanged:
    """The thing is for another audience; what it changed of others is told anew beside it."""

    thing_id: str
    audience: Audience
    reason: str
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """An operator erased the payloads of things; the chain keeps their commitments."""

    targets: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacted:
    """What is left of an entry whose payload was erased; never written, only read."""

    kind: str
    ids: tuple[str, ...]


Entry: TypeAlias = (
    Made
    | SpaceRevised
    | EntityRetconned
    | EntitiesMerged
    | EntitiesUnmerged
    | KeysDisowned
    | RelationDetailed
    | FileAttached
    | SaidAt
    | RelationEnded
    | RelationResumed
    | RelationRetconned
    | FactSuperseded
    | FactResumed
    | FactRetconned
    | EventRetconned
    | CausesLinked
    | EvidenceLinked
    | StoryMoved
    | SceneMoved
    | SceneNoted
    | SceneDated
    | SceneStaged
    | ScenePlaced
    | SceneSummarised
    | SceneCompleted
    | SceneExtended
    | ProposalDecided
    | ProposalDeferred
    | ConflictWaived
    | AudienceChanged
    | Withdrawn
    | EntityRetold
    | Erased
    | Redacted
)

CHANGE_KINDS: Final[dict[type, str]] = {
    SpaceRevised: "space.revised",
    EntityRetconned: "entity.retconned",
    EntitiesMerged: "entity.merged",
    EntitiesUnmerged: "entity.unmerged",
    KeysDisowned: "entity.disowned",
    RelationDetailed: "relation.detailed",
    FileAttached: "source.file_attached",
    SaidAt: "thing.said_at",
    RelationEnded: "relation.ended",
    RelationResumed: "relation.resumed",
    RelationRetconned: "relation.retconned",
    FactSuperseded: "fact.superseded",
    FactResumed: "fact.resumed",
    FactRetconned: "fact.retconned",
    EventRetconned: "event.retconned",
    CausesLinked: "event.causes_linked",
    EvidenceLinked: "evidence.linked",
    StoryMoved: "story.moved",
    SceneMoved: "scene.moved",
    SceneNoted: "scene.noted",
    SceneDated: "scene.dated",
    SceneStaged: "scene.staged",
    ScenePlaced: "scene.placed",
    SceneSummarised: "scene.summarised",
    SceneCompleted: "scene.completed",
    SceneExtended: "scene.extended",
    ProposalDecided: "proposal.decided",
    ProposalDeferred: "proposal.deferred",
    ConflictWaived: "proposal.waived",
    AudienceChanged: "audience.changed",
    Withdrawn: "space.withdrawn",
    EntityRetold: "entity.retold",
    Erased: "space.erased",
}
"""The stored name of each kind of entry that changes a thing."""
