"""Evaluate a proposal by hand: the canon keeper accepts or rejects it, and says why.

Who accepts it names what they wrote for it, or has it written over whatever stood against it.
"""

from dataclasses import dataclass
from typing import Final

from canonry.canon.canonization.finalize_scene import require_canonical
from canonry.canon.canonization.judgement import Judgement, overrule
from canonry.canon.canonization.read_candidates import read_candidates
from canonry.canon.judging.slices import Slice
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change
from canonry.canon.session.extend_slice import extend_slice
from canonry.canon.session.lookup import require
from canonry.log.entries import Entry, ProposalDecided
from canonry.log.items.proposals import Decision, DecisionDraft, Proposal, ProposalStatus
from canonry.log.items.scenes import Scene, SceneStatus
from canonry.log.keys import thing_key
from canonry.log.scene_entries import SceneExtended
from canonry.values.errors import Conflict
from canonry.values.ids import NewId
from canonry.values.provenance import CanonLevel
from canonry.values.time import Instant

RULE: Final = "keeper:evaluation"
"""The rule that such a decision names: nothing but the canon keeper's own word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeeperVerdict:
    """What the canon keeper decides.

    An acceptance names the thing that the proposal became, or else has the proposal written, which
    overrules what the gates said.
    """

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
    """Decide a pending proposal, or accept a rejected one; the same again changes nothing.

    The log keeps that it was rejected, by which rule, and why the keeper decided otherwise.

    Raises:
        NotFound: `proposal.unknown` or `outcome.unknown`.
        Conflict: `proposal.decided`, `space.foreign`, `outcome.retconned`, or
            `proposal.not-writable`, no word of anybody makes it fit.
    """
    proposal = await require(canon, caller, Proposal, proposal_id)
    space = proposal.space

    async def prepare(_: NewId) -> Change:
        current = await require(canon, caller, Proposal, proposal_id)
        if current.decision is not None and not _overrides(current.decision, verdict):
            _require_same(current.decision, verdict)
            return Change(entries=(), reads=frozenset())
        if verdict.status is ProposalStatus.ACCEPTED and verdict.canonical_id is None:
            return await _overruled(canon, caller, current, verdict)
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
        entries: list[Entry] = [ProposalDecided(proposal_id=current.id, decision=decision)]
        if verdict.canonical_id is not None and current.scene_id is not None:
            scene = await canon.within(space).thing(current.scene_id)
            reads.add(thing_key(current.scene_id))
            if isinstance(scene, Scene) and scene.status is SceneStatus.COMPLETED:
                outcomes = (verdict.canonical_id,)
                entries.append(SceneExtended(scene_id=scene.id, outcomes=outcomes))
        return Change(entries=tuple(entries), reads=frozenset(reads))

    receipt = await commit_change(canon, caller, space, prepare)
    if not receipt.replayed:
        return Evaluation(
            proposal=proposal, status=verdict.status, evaluated_at=receipt.recorded_at
        )
    known = await require(canon, caller, Proposal, proposal_id)
    at = known.decision.decided_at if known.decision is not None else receipt.recorded_at
    return Evaluation(proposal=known, status=known.status, evaluated_at=at)


async def _overruled(
    canon: Canon, caller: Caller, proposal: Proposal, verdict: KeeperVerdict
) -> Change:
    """The proposal with all its effects, and what stood against it fallen or ended."""
    (candidate,) = await read_candidates(canon, proposal.space, (proposal,))

    def judged(known: Slice) -> Judgement:
        return overrule(
            candidate,
            known,
            canon.policy,
            decided_by=caller.actor.agent_id,
            reason=verdict.rationale,
            rule=RULE,
        )

    empty = Slice(space=proposal.space)
    known = await extend_slice(canon, empty, lambda known: judged(known).wanted)
    judgement = judged(known)
    if not judgement.entries:
        why = judgement.verdict
        message = f"it cannot be written: {why.rationale}; change that first, or reject it"
        raise Conflict(
            "proposal.not-writable", message, rule=why.rule, conflicts=list(why.conflicts)
        )
    return Change(entries=judgement.entries, reads=judgement.reads)


def _overrides(decision: Decision, verdict: KeeperVerdict) -> bool:
    """Whether the keeper accepts what was rejected, and says why."""
    rejected = decision.status is ProposalStatus.REJECTED
    reason = verdict.rationale.strip()
    return rejected and verdict.status is ProposalStatus.ACCEPTED and bool(reason)


def _require_same(decision: Decision, verdict: KeeperVerdict) -> None:
    written = verdict.canonical_id is None and decision.rule == RULE
    same_thing = written or decision.canonical_id == verdict.canonical_id
    if decision.status is verdict.status and same_thing:
        return
    message = (
        f"this proposal is already {decision.status}; say in rationale why it is accepted all the "
        "same where it was rejected, or retcon what it became where it was accepted"
    )
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
