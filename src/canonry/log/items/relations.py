"""Relations: typed edges between two entities, each with the interval in which it holds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from canonry.values.audience import EVERYBODY, Audience
from canonry.values.ids import EntityId, EventId, ProposalId, RelationId, SceneId, SpaceId
from canonry.values.moments import Instant, Moment, StoryPlace, moment_of
from canonry.values.provenance import Authority, CanonLevel, Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidAgain:
    """That a relation was told once more: when, where and by whose word."""

    at: Instant | None
    place: StoryPlace
    authority: Authority
    confidence: float
    evidence: tuple[Evidence, ...]
    scene_id: SceneId | None = None
    proposal_id: ProposalId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Veil:
    """What became of a relation, fact or event as only an audience knows; None: the same.

    Where `ended` is not None, `until` and `superseded_by` are its end too. It came last `at` a
    position of the log; others know of no change since `before`.
    """

    audience: Audience
    ended: bool | None = None
    until: Instant | None = None
    superseded_by: str | None = None
    level: CanonLevel | None = None
    replaced_by: str | None = None
    retcon_reason: str | None = None
    evidence: tuple[Evidence, ...] = ()
    causes: tuple[EventId, ...] = ()
    again: tuple[SaidAgain, ...] = ()
    at: int = 0
    before: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationDraft:
    """An edge; `until` is set when a later one superseded it or it was withdrawn.

    One that is said again grows: `told` counts how often something new was said, `told_at` is when
    that was last, and `origins` name what brought each property that came later.
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
    place: StoryPlace | None = None
    proposal_id: ProposalId | None = None
    audience: Audience = EVERYBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation(RelationDraft):
    """A relation in the log, with what became of it, and when it was said `again`."""

    again: tuple[SaidAgain, ...] = ()
    replaced_by: RelationId | None = None
    superseded_by: RelationId | None = None
    retcon_reason: str | None = None
    told: int = 1
    told_at: Instant | None = None
    origins: Mapping[str, str] = field(default_factory=dict)
    veils: tuple[Veil, ...] = ()
    created_at: Instant
    position: int
    changed_at: int

    @property
    def moment(self) -> Moment:
        """When it begins to hold."""
        return moment_of(self.since, self.place, self.position)

    @property
    def current(self) -> bool:
        """Whether it is canon and nothing has ended it."""
        return self.level is CanonLevel.CANON and not self.ended
