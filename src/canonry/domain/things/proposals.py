"""Proposals: changes that somebody wants; only the gates turn one into canon."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from canonry.domain.ids import ProposalId, SceneId, SpaceId, TurnId
from canonry.domain.provenance import Authority, Evidence
from canonry.domain.time import Instant


class ProposalType(StrEnum):
    """What a proposal would add."""

    FACT = "fact"
    ENTITY = "entity"
    RELATIONSHIP = "relationship"
    STATE_CHANGE = "state_change"
    EVENT = "event"


class ProposalStatus(StrEnum):
    """Whether it has been decided, and how."""

    PENDING = "pending"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionDraft:
    """How a proposal was decided.

    `rule` is the id of the rule that decided, `conflicts` the ids that it conflicts with,
    `canonical_id` the thing that it became, `made` everything that came with it.
    """

    status: ProposalStatus
    rule: str
    rationale: str
    score: float | None = None
    conflicts: tuple[str, ...] = ()
    canonical_id: str | None = None
    made: tuple[str, ...] = ()
    decided_by: str = ""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal(ProposalDraft):
    """A proposal in the log, with how it was decided."""

    decision: Decision | None = None
    created_at: Instant
    position: int
    changed_at: int
