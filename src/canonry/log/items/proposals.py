"""Proposals and their decisions. Only the gates turn a proposal into canon."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from canonry.values.audience import EVERYBODY, Audience
from canonry.values.ids import ProposalId, SceneId, SpaceId, TurnId
from canonry.values.moments import Instant
from canonry.values.provenance import Authority, Evidence


class ProposalType(StrEnum):
    """The kind of change that a proposal would make.

    `world`: actions in a world, judged by gates of their own. `upkeep`: a merge, a retcon or a
    correction of a field (`does` in its content) that only a reviewer can carry out.
    """

    FACT = "fact"
    ENTITY = "entity"
    RELATIONSHIP = "relationship"
    STATE_CHANGE = "state_change"
    EVENT = "event"
    WORLD = "world"
    UPKEEP = "upkeep"


NARRATED: Final = tuple(
    each for each in ProposalType if each not in {ProposalType.WORLD, ProposalType.UPKEEP}
)
"""The types that scenes and sources propose and that the canon's gates judge."""


class ProposalStatus(StrEnum):
    """The decision about a proposal, or that it waits for one."""

    PENDING = "pending"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


class Grade(StrEnum):
    """The certainty of a conflict."""

    CONTRADICTION = "contradiction"
    POSSIBLE = "possible"


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedConflict:
    """An item that certainly or possibly conflicts with a proposal, and the reason."""

    id: str
    grade: Grade
    reason: str
    audience: Audience = EVERYBODY


class ReviewKind(StrEnum):
    """The kind of review that a proposal needs.

    `NEEDS_REVIEW`: it was judged and a person must decide. `PENDING`: it was not judged yet.
    `POSSIBLE`: it is or may become canon and has a possible conflict. `HIDDEN`: with something that
    only some readers know; ask for it only on behalf of those who may know everything.
    """

    NEEDS_REVIEW = "needs_review"
    PENDING = "pending"
    POSSIBLE = "possible"
    HIDDEN = "hidden"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionDraft:
    """The decision on a proposal, or the reason why it waits for one.

    `rule` is the id of the deciding rule and `conflicts` are the ids that contradict the proposal.
    `graded` also has the possible conflicts, with reasons; `audience` may know the reasons.
    `canonical_id` is the item that the proposal became, `made` all items that came with it;
    `details` are further data of the rule.
    """

    status: ProposalStatus
    rule: str
    rationale: str
    score: float | None = None
    conflicts: tuple[str, ...] = ()
    canonical_id: str | None = None
    made: tuple[str, ...] = ()
    decided_by: str = ""
    graded: tuple[GradedConflict, ...] = ()
    audience: Audience = EVERYBODY
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def all_conflicts(self) -> tuple[GradedConflict, ...]:
        """The graded conflicts. Decisions without grades count all conflicts as certain."""
        known = {one.id for one in self.graded}
        return self.graded + tuple(
            GradedConflict(id=one, grade=Grade.CONTRADICTION, reason=self.rationale)
            for one in self.conflicts
            if one not in known
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(DecisionDraft):
    """A decision in the log."""

    decided_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalDraft:
    """A proposed change; `content` is normalised, `original` is as received.

    A proposal from ingestion has no scene. `turn_index` is the position within the scene, which
    dates the proposal if its content has no time.
    """

    id: ProposalId
    space: SpaceId
    scene_id: SceneId | None
    turn_id: TurnId | None
    turn_index: int | None = None
    type: ProposalType
    content: Mapping[str, Any]
    original: Mapping[str, Any] = field(default_factory=dict)
    evidence: tuple[Evidence, ...]
    confidence: float
    authority: Authority
    proposed_by: str
    status: ProposalStatus
    audience: Audience = EVERYBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal(ProposalDraft):
    """A proposal in the log, with its decision.

    `review` is the reason why the last judgement left it undecided. `waived` are the possible
    conflicts that a reviewer accepted.
    """

    decision: Decision | None = None
    review: Decision | None = None
    waived: tuple[str, ...] = ()
    created_at: Instant
    position: int
    changed_at: int

    @property
    def doubts(self) -> tuple[GradedConflict, ...]:
        """The possible conflicts that are not waived."""
        ruling = self.decision or self.review
        found = () if ruling is None else ruling.all_conflicts
        return tuple([e for e in found if e.grade is Grade.POSSIBLE and e.id not in self.waived])

    @property
    def asks(self) -> tuple[ReviewKind, ...]:
        """The reviews that it needs."""
        found: list[ReviewKind] = []
        if self.status is ProposalStatus.PENDING:
            found.append(ReviewKind.PENDING if self.review is None else ReviewKind.NEEDS_REVIEW)
        if self.status is not ProposalStatus.REJECTED:
            found += dict.fromkeys(
                ReviewKind.HIDDEN if e.audience else ReviewKind.POSSIBLE for e in self.doubts
            )
        return tuple(found)
