"""What became of a proposal, as its record tells it to whoever asks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.log.entries import Made, ProposalDecided
from canonry.log.items.proposals import (
    DecisionDraft,
    Proposal,
    ProposalDraft,
    ProposalStatus,
    ProposalType,
)
from canonry.values.ids import NewId, ProposalId, SpaceId
from canonry.values.json_values import read_value
from canonry.values.provenance import Authority
from canonry.values.time import Instant
from canonry.world.domain.admission.kit import (
    ORDER,
    POLICY_VERSION,
    GateName,
    Rejection,
    passed_before,
)

ADMITTED: Final = "gates:all-passed"
WITHDRAWN: Final = "proposal:withdrawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """How a proposal fared.

    Admitted without `commit_id`: it is recorded and will be applied, at `due_tick` where it has
    one. `duplicate_of` is the proposal whose answer this is. `withdrawn` tells why somebody took
    it back.
    """

    proposal_id: str
    correlation_id: str
    accepted: bool
    gates_passed: tuple[GateName, ...]
    rejection: Rejection | None = None
    duplicate_of: str | None = None
    commit_id: str | None = None
    event_ids: tuple[str, ...] = ()
    due_tick: int | None = None
    withdrawn: str | None = None
    policy_version: str = POLICY_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedProposal:
    """A proposal with what was sent, by whom, and when it was decided."""

    decided: Decided
    envelope: Any
    proposed_by: str
    decided_at: Instant


def recorded(proposal: Proposal) -> RecordedProposal:
    """A proposal as its record tells of it."""
    decision = proposal.decision
    return RecordedProposal(
        decided=decided(proposal),
        envelope=proposal.content.get("envelope"),
        proposed_by=proposal.proposed_by,
        decided_at=proposal.created_at if decision is None else decision.decided_at,
    )


def decided(proposal: Proposal) -> Decided:
    """How a recorded proposal fared until now."""
    details: Mapping[str, Any] = {} if proposal.decision is None else proposal.decision.details
    told = details.get("rejection")
    rejection = None if told is None else read_value(dict(told), Rejection)
    return Decided(
        proposal_id=proposal.id,
        correlation_id=str(proposal.content.get("correlationId") or proposal.id),
        accepted=rejection is None,
        gates_passed=ORDER if "withdrawn" in details else passed_before(rejection),
        rejection=rejection,
        commit_id=details.get("commitId"),
        event_ids=tuple(details.get("eventIds", ())),
        due_tick=proposal.content.get("dueTick"),
        withdrawn=details.get("withdrawn"),
    )


def draft_of(caller: Caller, space: SpaceId, proposal_id: str, content: Mapping[str, Any]) -> Made:
    """The record of a proposal, before anything is decided."""
    return Made(
        thing=ProposalDraft(
            id=ProposalId(proposal_id),
            space=space,
            scene_id=None,
            turn_id=None,
            type=ProposalType.WORLD,
            content=dict(content),
            evidence=(),
            confidence=1.0,
            authority=Authority.GM,
            proposed_by=caller.actor.agent_id,
            status=ProposalStatus.PENDING,
        )
    )


def refused_by(caller: Caller, proposal_id: str, rejection: Rejection) -> ProposalDecided:
    """The record that a proposal was refused."""
    told = {
        "gate": str(rejection.gate),
        "rule": rejection.rule,
        "reason": rejection.reason,
        "path": rejection.path,
        "admissible": rejection.admissible,
        "transient": rejection.transient,
        "retry_after_ms": rejection.retry_after_ms,
    }
    return ProposalDecided(
        proposal_id=ProposalId(proposal_id),
        decision=DecisionDraft(
            status=ProposalStatus.REJECTED,
            rule=f"{rejection.gate}:{rejection.rule}",
            rationale=rejection.reason,
            decided_by=caller.actor.agent_id,
            details={"rejection": told},
        ),
    )


def applied_by(
    caller: Caller, proposal_id: str, commit_id: str, made: tuple[str, ...], events: tuple[str, ...]
) -> ProposalDecided:
    """The record that a proposal became true."""
    return ProposalDecided(
        proposal_id=ProposalId(proposal_id),
        decision=DecisionDraft(
            status=ProposalStatus.ACCEPTED,
            rule=ADMITTED,
            rationale="every gate let it pass",
            canonical_id=next(iter(events), None),
            made=made,
            decided_by=caller.actor.agent_id,
            details={"commitId": commit_id, "eventIds": list(events)},
        ),
    )


def withdrawn_by(caller: Caller, proposal_id: str, reason: str) -> ProposalDecided:
    """The record that a proposal was taken back before it was due."""
    return ProposalDecided(
        proposal_id=ProposalId(proposal_id),
        decision=DecisionDraft(
            status=ProposalStatus.REJECTED,
            rule=WITHDRAWN,
            rationale=reason,
            decided_by=caller.actor.agent_id,
            details={"withdrawn": reason},
        ),
    )


def counted(new_id: NewId) -> NewId:
    """The same ids, where a label that comes again gives another one."""
    seen: dict[str, int] = {}

    def fresh(label: str) -> str:
        times = seen[label] = seen.get(label, 0) + 1
        return new_id(label if times == 1 else f"{label}#{times}")

    return fresh
