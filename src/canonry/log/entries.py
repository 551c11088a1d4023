"""Entries: the recorded changes that commits consist of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar, get_args

from typing_extensions import dataclass_transform

from canonry.log.items import facts, scenes, sources
from canonry.log.items.entities import Entity, EntityDraft
from canonry.log.items.proposals import DecisionDraft, Proposal, ProposalDraft
from canonry.log.schemas.schemas import EntitySchema, RegisteredSchema
from canonry.values.audience import EVERYBODY, Audience
from canonry.values.ids import (
    CommitId,
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
from canonry.values.statements import Statement

T = TypeVar("T")

CHANGE_KINDS: Final[dict[type, str]] = {}
"""The stored name of each kind of entry that changes an item; its first field names the item."""


@dataclass_transform(kw_only_default=True, frozen_default=True)
def _declare_change(kind: str) -> Callable[[type[T]], type[T]]:
    """Make a frozen dataclass of an entry that is stored under the name `kind`."""

    def declare_kind(entry: type[T]) -> type[T]:
        declared = dataclass(frozen=True, slots=True, kw_only=True)(entry)
        CHANGE_KINDS[declared] = kind
        return declared

    return declare_kind


@_declare_change("entity.disowned")
class KeysDisowned:
    """These keys never belonged to the entity and no longer find it."""

    entity_id: EntityId
    keys: tuple[str, ...]


@_declare_change("space.withdrawn")
class Withdrawn:
    """Items that rest on one source only were withdrawn with it; the log keeps them."""

    targets: tuple[str, ...]
    reason: str


@_declare_change("entity.retold")
class EntityRebuilt:
    """The entity rests on the `standing` observations only.

    `family` are the merged entities: the survivor and all of its members.
    """

    entity_id: EntityId
    standing: tuple[ObservationId, ...]
    family: tuple[EntityId, ...] = ()
    audience: Audience = EVERYBODY


@_declare_change("scene.moved")
class SceneMoved:
    """The scene is being canonized, or became active again."""

    scene_id: SceneId
    status: scenes.SceneStatus


@_declare_change("scene.noted")
class SceneNoted:
    """The game master's notes on a scene; None clears them."""

    scene_id: SceneId
    gm_notes: str | None


@_declare_change("scene.dated")
class SceneDated:
    """The story time of the scene; None clears it."""

    scene_id: SceneId
    time_ref: Instant | None
    time_words: str | None = None


@_declare_change("scene.staged")
class SceneStaged:
    """The entities that joined the scene and those that left it."""

    scene_id: SceneId
    joined: tuple[EntityId, ...] = ()
    left: tuple[EntityId, ...] = ()


@_declare_change("scene.placed")
class ScenePlaced:
    """The scene's current location; None clears it."""

    scene_id: SceneId
    location_ref: EntityId | None


@_declare_change("scene.summarised")
class SceneSummarised:
    """A summary written while the scene is active; None clears it."""

    scene_id: SceneId
    summary: str | None


@_declare_change("scene.completed")
class SceneCompleted:
    """The scene is closed for good, with the ids of the canon that it produced."""

    scene_id: SceneId
    outcomes: tuple[str, ...]
    summary: str


@_declare_change("scene.extended")
class SceneExtended:
    """Canon that a scene produced after it was closed."""

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


# All entries as a closed union; a commit consists of them.
#
# `Made` creates an item from a draft, which the fold stamps with its position and dates. All other
# entries change existing items.


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """The remains of an erased item: its id and kind."""

    id: str
    space: SpaceId
    was: str
    position: int
    changed_at: int


Born: TypeAlias = (
    Space
    | Entity
    | Observation
    | facts.Relation
    | facts.Fact
    | facts.Event
    | facts.Axiom
    | sources.Source
    | sources.Snippet
    | scenes.Story
    | scenes.Scene
    | scenes.Turn
    | Proposal
    | scenes.Memory
    | RegisteredSchema
    | sources.InterpretationRun
)
"""Every kind of item that an entry has created."""

ItemDraft: TypeAlias = (
    SpaceDraft
    | EntityDraft
    | ObservationDraft
    | facts.RelationDraft
    | facts.FactDraft
    | facts.EventDraft
    | facts.AxiomDraft
    | sources.SourceDraft
    | sources.SnippetDraft
    | scenes.StoryDraft
    | scenes.SceneDraft
    | scenes.TurnDraft
    | ProposalDraft
    | scenes.MemoryDraft
    | EntitySchema
    | sources.RunDraft
)
"""Every kind of item that an entry can create, without position and dates."""

StoredItem: TypeAlias = Born | Tombstone
"""Everything that has an id in a view."""

KIND_NAMES: Final[dict[type, str]] = {
    **{kind: kind.__name__.lower() for kind in (*get_args(Born), Tombstone)},
    RegisteredSchema: "schema",
    sources.InterpretationRun: "run",
}
"""The name of each kind of item, in id lookups and in stored payloads."""

STAMPED: Final[dict[type, type]] = {
    kind.__base__: kind for kind in KIND_NAMES if kind.__base__ not in {None, object}
}
"""The type that each kind of draft becomes: its subclass with position and dates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A new item: an opened space, an asserted fact, an appended turn, ..."""

    thing: ItemDraft


@_declare_change("space.revised")
class SpaceRevised:
    """The space has a new name, description or properties; its items stay the same."""

    space_id: SpaceId
    name: str
    description: str
    properties: Mapping[str, Any]


@_declare_change("entity.retconned")
class EntityRetconned:
    """The entity never existed in the world."""

    entity_id: EntityId
    replaced_by: EntityId | None
    reason: str


@_declare_change("entity.merged")
class EntitiesMerged:
    """Two entities are one; `kept` replaces `merged` and all members of `merged`."""

    kept: EntityId
    merged: EntityId
    members: tuple[EntityId, ...]
    reason: str


@_declare_change("entity.unmerged")
class EntitiesUnmerged:
    """`separated` is an entity of its own again; `kept` keeps the members `remaining`."""

    kept: EntityId
    separated: EntityId
    remaining: tuple[EntityId, ...]
    reason: str


@_declare_change("relation.detailed")
class RelationDetailed:
    """A relation has more or other properties; `told` is the word that the author used."""

    relation_id: RelationId
    properties: Mapping[str, Any]
    told: str


@_declare_change("thing.said_at")
class SaidAt:
    """The date on which a scene was played, a memory told or a source written; None clears it.

    It is not story time, so that you can also set it for a closed scene.
    """

    thing_id: str
    said_at: Instant | None


@_declare_change("source.file_attached")
class FileAttached:
    """A source has a further file, stored under this key."""

    source_id: SourceId
    file: str


@_declare_change("relation.ended")
class RelationEnded:
    """The relation ended at `until`, perhaps because another item superseded it."""

    relation_id: RelationId
    until: Instant | None
    superseded_by: str | None
    reason: str
    audience: Audience = EVERYBODY


@_declare_change("relation.resumed")
class RelationResumed:
    """The relation continues to hold, because `fallen`, if given, was retracted."""

    relation_id: RelationId
    fallen: str | None = None
    audience: Audience = EVERYBODY


@_declare_change("relation.retconned")
class RelationRetconned:
    """The relation never held."""

    relation_id: RelationId
    replaced_by: RelationId | None
    reason: str
    audience: Audience = EVERYBODY


@_declare_change("fact.superseded")
class FactSuperseded:
    """The fact held until another item superseded it; None as `until` is an unknown time."""

    fact_id: FactId
    until: Instant | None
    superseded_by: str | None
    audience: Audience = EVERYBODY


@_declare_change("fact.resumed")
class FactResumed:
    """The fact continues to hold, because `fallen`, which had superseded it, was retracted."""

    fact_id: FactId
    fallen: str | None = None
    audience: Audience = EVERYBODY


@_declare_change("fact.retconned")
class FactRetconned:
    """The fact was never true."""

    fact_id: FactId
    replaced_by: FactId | None
    reason: str
    audience: Audience = EVERYBODY


@_declare_change("fact.read")
class FactRead:
    """The statements that version `reader` of the reader found in the words of a fact.

    They are read once; a replay takes them from here and never reads the words again.
    """

    fact_id: FactId
    reader: int
    statements: tuple[Statement, ...]


@_declare_change("event.retconned")
class EventRetconned:
    """The event never happened."""

    event_id: EventId
    replaced_by: EventId | None
    reason: str
    audience: Audience = EVERYBODY


@_declare_change("event.causes_linked")
class CausesLinked:
    """`cause` caused `effect`."""

    cause: EventId
    effect: EventId
    audience: Audience = EVERYBODY


@_declare_change("evidence.linked")
class EvidenceLinked:
    """Further evidence for canon; `again` repeats a relation that is already known."""

    thing_id: str
    evidence: Evidence
    again: facts.Repetition | None = None
    audience: Audience = EVERYBODY


@_declare_change("story.moved")
class StoryMoved:
    """The story has a new status."""

    story_id: StoryId
    status: scenes.StoryStatus


@_declare_change("proposal.decided")
class ProposalDecided:
    """A proposal became canon or was refused."""

    proposal_id: ProposalId
    decision: DecisionDraft


@_declare_change("proposal.deferred")
class ProposalDeferred:
    """A proposal was judged and stays pending, because a person must decide."""

    proposal_id: ProposalId
    ruling: DecisionDraft


@_declare_change("proposal.waived")
class ConflictWaived:
    """A possible conflict of the proposal with `other` is absent or intended; reviews omit it."""

    proposal_id: ProposalId
    other: str
    reason: str


@_declare_change("audience.changed")
class AudienceChanged:
    """The item has another audience; the entries that it caused are written again beside it."""

    thing_id: str
    audience: Audience
    reason: str
    evidence: tuple[Evidence, ...] = ()


@_declare_change("thing.restored")
class Restored:
    """An item has earlier values of these fields again, in their stored form."""

    thing_id: str
    fields: Mapping[str, Any]
    audience: Audience = EVERYBODY


@_declare_change("call.undone")
class CallUndone:
    """The call whose first commit this is was taken back, together with these items."""

    commit_id: CommitId
    targets: tuple[str, ...]
    reason: str
    evidence: tuple[Evidence, ...] = ()
    audience: Audience = EVERYBODY


@_declare_change("space.erased")
class Erased:
    """An operator erased the payloads of items; the hash chain keeps their commitments."""

    targets: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacted:
    """The remains of an entry whose payload was erased. It is read and never written."""

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
    | FactRead
    | EventRetconned
    | CausesLinked
    | EvidenceLinked
    | StoryMoved
    | SceneEntry
    | ProposalDecided
    | ProposalDeferred
    | ConflictWaived
    | AudienceChanged
    | Restored
    | CallUndone
    | Withdrawn
    | EntityRebuilt
    | Erased
    | Redacted
)
