"""Proposals, and what somebody asks of who decides; only the gates turn one into canon."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeAlias

from canonry.values.audience import EVERYBODY, Audience
from canonry.values.ids import ProposalId, SceneId, SpaceId, TurnId
from canonry.values.moments import Instant
from canonry.values.provenance import Authority, Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Merging:
    """Two entities are one: `kept` answers for `merged`."""

    kept: str
    merged: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Retconning:
    """A thing never was."""

    thing: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Correcting:
    """A field of an entity is otherwise: its name, its description or a property."""

    entity: str
    field: str
    value: Any


UpkeepAct: TypeAlias = Merging | Retconning | Correcting


def ids_of(asked: UpkeepAct) -> tuple[str, ...]:
    """The things that it is about."""
    match asked:
        case Merging():
            return (asked.kept, asked.merged)
        case Retconning():
            return (asked.thing,)
        case Correcting():
            return (asked.entity,)


def render_upkeep(asked: UpkeepAct, reason: str) -> dict[str, Any]:
    """The content of a proposal that asks for it; `reason` is why, in words."""
    does: dict[str, Any]
    match asked:
        case Merging():
            does = {"does": "merge", "from_entity_id": asked.merged, "to_entity_id": asked.kept}
        case Retconning():
            does = {"does": "retcon", "thing_id": asked.thing}
        case Correcting():
            does = {"does": "correction", "entity_id": asked.entity}
            does |= {"field": asked.field, "value": asked.value}
    return {**does, "reason": reason}


def read_upkeep(content: Mapping[str, Any]) -> UpkeepAct:
    """What the content of a proposal asks for."""
    match content:
        case {"does": "merge", "from_entity_id": merged, "to_entity_id": kept}:
            return Merging(kept=kept, merged=merged)
        case {"does": "retcon", "thing_id": thing}:
            return Retconning(thing=thing)
        case _:
            return Correcting(
                entity=content["entity_id"], field=content["field"], value=content["value"]
            )


class ProposalType(StrEnum):
    """What a proposal would add.

    `world`: actions in a world, which pass gates of their own. `upkeep`: a merge, a retcon or a
    correction, which only who decides can carry out.
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
"""What scenes and sources propose, and the canon's gates judge."""


class ProposalStatus(StrEnum):
    """Whether it has been decided, and how."""

    PENDING = "pending"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


class Grade(StrEnum):
    """How sure it is that two things do not go together."""

    CONTRADICTION = "contradiction"
    POSSIBLE = "possible"


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedConflict:
    """A thing that a proposal does not go with, or perhaps not, and why."""

    id: str
    grade: Grade
    reason: str
    audience: Audience = EVERYBODY


class Ask(StrEnum):
    """What a proposal asks somebody to look at.

    `NEEDS_REVIEW`: it was judged and waits for a decision. `PENDING`: nobody has judged it yet.
    `POSSIBLE`: it is or may become canon beside something that it perhaps conflicts with.
    """

    NEEDS_REVIEW = "needs_review"
    PENDING = "pending"
    POSSIBLE = "possible"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionDraft:
    """How a proposal was decided, or why it waits for somebody who does.

    `rule` is the id of the rule that decided, `conflicts` the ids that contradict it, `graded`
    these and those that perhaps do, with the reasons; `audience` are those who may know why.
    `canonical_id` is the thing that it became, `made` everything that came with it; `details` say
    more where the rule's room has more to say.
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
        """The graded conflicts; of what was decided before they had grades, all contradict."""
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
    """A staged change; `content` is normalised, `original` as it came.

    A proposal from ingestion has no scene. `turn_index` is the position within the scene, which
    dates the proposal where its content has no time.
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
    """A proposal in the log, with how it was decided.

    `review` says why it was not decided when it was judged last, and `waived` are the things that
    it perhaps conflicts with and is meant to.
    """

    decision: Decision | None = None
    review: Decision | None = None
    waived: tuple[str, ...] = ()
    created_at: Instant
    position: int
    changed_at: int

    @property
    def doubts(self) -> tuple[GradedConflict, ...]:
        """The possible conflicts that nobody has waived, of those that everybody may know of."""
        ruling = self.decision or self.review
        found = () if ruling is None else ruling.all_conflicts
        return tuple(
            [
                one
                for one in found
                if one.grade is Grade.POSSIBLE and one.id not in self.waived and not one.audience
            ]
        )

    @property
    def asks(self) -> tuple[Ask, ...]:
        """What it asks somebody to look at."""
        found: list[Ask] = []
        if self.status is ProposalStatus.PENDING:
            found.append(Ask.PENDING if self.review is None else Ask.NEEDS_REVIEW)
        if self.doubts and self.status is not ProposalStatus.REJECTED:
            found.append(Ask.POSSIBLE)
        return tuple(found)
