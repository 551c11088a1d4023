"""Evaluate a proposal by hand: the canon keeper accepts or rejects it; the graph is not written."""

from dataclasses import dataclass
from typing import Final

from canonry.domain.errors import Conflict
from canonry.domain.ids import NewId
from canonry.domain.log.entries import ProposalDecided
from canonry.domain.log.keys import thing_key
from canonry.domain.provenance import CanonLevel
from canonry.domain.things.proposals import Decision, DecisionDraft, Proposal, ProposalStatus
from canonry.domain.time import Instant
from canonry.usecases.canonization.finalize_scene import require_canonical
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.commit_change import Change, commit_change
from canonry.usecases.kernel.lookup import require

RULE: Final = "keeper:evaluation"
"""The rule that such a decision names: nothing but the canon keeper's own word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeeperVerdict:
    """What the canon keeper decides; an acceptance names the thing that the proposal became."""

    status: ProposalStatus
    rationale: str
    canonical_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The proposal's status, and when it got it."""

    proposal: Proposal
    status: ProposalStatus
    evaluated_at: Instant


async def evaluate_proposal(
    canon: Canon, caller: Caller, proposal_id: str, verdict: KeeperVerdict
) -> Evaluation:
    """Decide a pending proposal; the same decision again changes nothing.

    Raises:
        NotFound: `proposal.unknown` or `outcome.unknown`.
        Conflict: `proposal.decided`, `space.foreign` or `outcome.retconned`.
    """
    proposal = await require(canon, caller, Proposal, proposal_id)
    space = proposal.space

    async def prepare(_: NewId) -> Change:
        current = await require(canon, caller, Proposal, proposal_id)
        if current.decision is not None:
            _require_same(current.decision, verdict)
            return Change(entries=(), reads=frozenset())
        reads = {thing_key(current.id)}
        if verdict.canonical_id is not None:
            path, wanted = "/canonical_id", (verdict.canonical_id,)
            (outcome,) = await require_canonical(canon, caller, space, wanted, path=path)
            if outcome.level is CanonLevel.RETCONNED:
                message = "/canonical_id names something retconned; name what holds instead"
                raise Conflict(
                    "outcome.retconned", message, path=path, conflicts=[verdict.canonical_id]
                )
            reads.add(thing_key(verdict.canonical_id))
        decision = _decision(verdict, caller)
        decided = ProposalDecided(proposal_id=current.id, decision=decision)
        return Change(entries=(decided,), reads=frozenset(reads))

    receipt = await commit_change(canon, caller, space, prepare)
    if not receipt.replayed:
        return Evaluation(
            proposal=proposal, status=verdict.status, evaluated_at=receipt.recorded_at
        )
    known = await require(canon, caller, Proposal, proposal_id)
    at = known.decision.decided_at if known.decision is not None else receipt.recorded_at
    return Evaluation(proposal=known, status=known.status, evaluated_at=at)


def _require_same(decision: Decision, verdict: KeeperVerdict) -> None:
    same_thing = decision.canonical_id == verdict.canonical_id
    if decision.status is verdict.status and same_thing:
        return
    message = f"this proposal is already {decision.status}; propose again if it should change"
    raise Conflict(
        "proposal.decided",
        message,
        status=decision.status.value,
        canonical_id=decision.canonical_id,
        conflicts=[decision.canonical_id] if decision.canonical_id else [],
    )


def _decision(verdict: KeeperVerdict, caller: Caller) -> DecisionDraft:
    return DecisionDraft(
        status=verdict.status,
        rule=RULE,
        rationale=verdict.rationale,
        canonical_id=verdict.canonical_id,
        decided_by=caller.actor.agent_id,
    )
