"""Facts, events, axioms and relations."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from canonry.values.audience import EVERYBODY, Audience
from canonry.values.ids import (
    AxiomId,
    EntityId,
    EventId,
    FactId,
    ProposalId,
    RelationId,
    SceneId,
    SpaceId,
)
from canonry.values.moments import (
    SECOND,
    Instant,
    Moment,
    StoryPosition,
    moment_of,
    rank_in_stories,
)
from canonry.values.provenance import Authority, CanonLevel, Evidence
from canonry.values.statements import Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """A repetition of an item: its time, its position in the stories and its authority."""

    at: Instant | None
    place: StoryPosition
    authority: Authority
    confidence: float
    evidence: tuple[Evidence, ...]
    scene_id: SceneId | None = None
    proposal_id: ProposalId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretPart:
    """A secret part of a relation, fact or event, for one audience; None means no difference.

    If `ended` is set, `until` and `superseded_by` belong to that end. The latest change came `at` a
    position of the log. Other readers know of no change since `before`.
    """

    audience: Audience
    ended: bool | None = None
    until: Instant | None = None
    superseded_by: str | None = None
    said_ends: tuple[Instant | None, ...] = ()
    level: CanonLevel | None = None
    replaced_by: str | None = None
    retcon_reason: str | None = None
    evidence: tuple[Evidence, ...] = ()
    causes: tuple[EventId, ...] = ()
    again: tuple[Repetition, ...] = ()
    at: int = 0
    before: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationDraft:
    """A relation; `until` is set once it was superseded or withdrawn.

    A repeated relation gains details: `told` counts repetitions with new details, `told_at` is the
    date of the last, and `origins` gives the source of each property that was added later.
    """

    id: RelationId
    space: SpaceId
    rel_type: str
    from_id: EntityId
    to_id: EntityId
    properties: Mapping[str, Any] = field(default_factory=dict)
    since: Instant | None
    until: Instant | None = None
    ended: bool = False
    confidence: float
    authority: Authority
    evidence: tuple[Evidence, ...]
    level: CanonLevel
    scene_id: SceneId | None = None
    place: StoryPosition | None = None
    proposal_id: ProposalId | None = None
    audience: Audience = EVERYBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation(RelationDraft):
    """A relation in the log, with its current state; `again` lists its repetitions.

    `said_ends` are the ends that were recorded without a successor. One of them holds whenever no
    successor ends the relation.
    """

    again: tuple[Repetition, ...] = ()
    replaced_by: RelationId | None = None
    superseded_by: str | None = None
    retcon_reason: str | None = None
    said_ends: tuple[Instant | None, ...] = ()
    told: int = 1
    told_at: Instant | None = None
    origins: Mapping[str, str] = field(default_factory=dict)
    veils: tuple[SecretPart, ...] = ()
    created_at: Instant
    position: int
    changed_at: int

    @property
    def moment(self) -> Moment:
        """The moment at which it begins to hold."""
        return moment_of(self.since, self.place, self.position)

    @property
    def current(self) -> bool:
        """Return whether the relation is canon and has not ended."""
        return self.level is CanonLevel.CANON and not self.ended


class FactType(StrEnum):
    """The subject matter of a fact."""

    STATE = "state"
    RELATIONSHIP = "relationship"
    ATTRIBUTE = "attribute"
    OCCURRENCE = "occurrence"


@dataclass(frozen=True, slots=True, kw_only=True)
class FactDraft:
    """A statement that holds over an interval of story time.

    It holds from `time_ref` (None: always) for `duration` seconds (None: without end), but at most
    until `until`, when `superseded_by` took over. If it was superseded without `until`, its end is
    unknown. `time_words` are the words in which its time was given.
    """

    id: FactId
    space: SpaceId
    statement: str
    fact_type: FactType
    properties: Mapping[str, Any] = field(default_factory=dict)
    time_ref: Instant | None
    duration: int | None
    until: Instant | None = None
    involved: tuple[EntityId, ...]
    confidence: float
    authority: Authority
    evidence: tuple[Evidence, ...]
    level: CanonLevel
    scene_id: SceneId | None = None
    place: StoryPosition | None = None
    proposal_id: ProposalId | None = None
    replaces: FactId | None = None
    time_words: str | None = None
    audience: Audience = EVERYBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact(FactDraft):
    """A fact in the log, with its current state; `again` lists its repetitions.

    `statements` are the statements in its words, found by version `reader` of the reader. If
    `reader` is None, its words were never read.
    """

    again: tuple[Repetition, ...] = ()
    replaced_by: FactId | None = None
    superseded_by: str | None = None
    retcon_reason: str | None = None
    veils: tuple[SecretPart, ...] = ()
    statements: tuple[Statement, ...] = ()
    reader: int | None = None
    created_at: Instant
    position: int
    changed_at: int

    @property
    def moment(self) -> Moment:
        """The moment at which it begins to hold."""
        return moment_of(self.time_ref, self.place, self.position)

    @property
    def superseded(self) -> bool:
        """Return whether another item superseded it."""
        return self.superseded_by is not None or self.until is not None

    @property
    def was_called_off(self) -> bool:
        """Return whether it ended as it began, as a plan does that was given up."""
        told = self.place is not None and self.place.scene != 0
        return self.until is not None and self.until == self.time_ref and not told

    @property
    def ends_at(self) -> Instant | None:
        """The first instant at which it no longer holds; None: without end."""
        ends = [self.until] if self.until is not None else []
        if self.time_ref is not None and self.duration is not None:
            ends.append(Instant(self.time_ref + self.duration * SECOND))
        return min(ends) if ends else None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventDraft:
    """An occurrence; `causes` are the events that it caused.

    `time_words` are the words in which its time was given.
    """

    id: EventId
    space: SpaceId
    scene_id: SceneId | None
    place: StoryPosition | None = None
    title: str
    description: str
    time_ref: Instant | None
    severity: int
    involved: tuple[EntityId, ...]
    causes: tuple[EventId, ...]
    properties: Mapping[str, Any] = field(default_factory=dict)
    confidence: float
    authority: Authority
    evidence: tuple[Evidence, ...]
    level: CanonLevel
    proposal_id: ProposalId | None = None
    time_words: str | None = None
    audience: Audience = EVERYBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(EventDraft):
    """An event in the log, with its current state."""

    replaced_by: EventId | None = None
    retcon_reason: str | None = None
    veils: tuple[SecretPart, ...] = ()
    created_at: Instant
    position: int
    changed_at: int

    @property
    def moment(self) -> Moment:
        """The moment at which it happened."""
        return moment_of(self.time_ref, self.place, self.position)

    @property
    def rank(self) -> tuple[int, int]:
        """Its sort key in lists: by time; events without a time follow in story order."""
        if self.time_ref is not None:
            return self.time_ref, 0
        return (self.created_at, 0) if self.place is None else rank_in_stories(self.place)


def events_of_changes(items: Iterable[object]) -> Mapping[str, str]:
    """Return the id of the event whose change each fact states, by the id of the fact.

    Both are among `items`; the fact has the words and the time of its event.
    """
    known = tuple(items)
    events = [one for one in known if isinstance(one, Event)]
    told = {(e.time_ref, text): e.id for e in events for text in (e.title, e.description)}
    facts = (each for each in known if isinstance(each, Fact))
    pairs = ((each.id, told.get((each.time_ref, each.statement))) for each in facts)
    return {fact_id: event_id for fact_id, event_id in pairs if event_id is not None}


class AxiomDomain(StrEnum):
    """The field that an axiom governs."""

    PHYSICS = "physics"
    MAGIC = "magic"
    SOCIETY = "society"
    METAPHYSICS = "metaphysics"
    BIOLOGY = "biology"
    TECHNOLOGY = "technology"


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """The state that an axiom forbids: tags together, a tag or a relation for a type.

    `kind` is `forbidden_tag` (value: a tag), `exclusive_tags` (values: tags of which at most one
    may hold) or `forbidden_relation` (value: a relation type). `entity_type` None means any.
    """

    kind: str
    values: tuple[str, ...]
    entity_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AxiomDraft:
    """A law of a world; with a `constraint` the gates enforce it."""

    id: AxiomId
    space: SpaceId
    statement: str
    domain: AxiomDomain
    constraint: Constraint | None
    confidence: float
    authority: Authority
    evidence: tuple[Evidence, ...]
    level: CanonLevel


@dataclass(frozen=True, slots=True, kw_only=True)
class Axiom(AxiomDraft):
    """An axiom in the log."""

    created_at: Instant
    position: int
    changed_at: int
