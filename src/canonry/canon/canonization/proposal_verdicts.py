"""Proposal verdicts: how proposals fared in a canonization, also one that could not be finished."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from canonry.canon.canonization.complete_scene import SceneOutcome
from canonry.canon.canonization.decide_proposals import Undecided
from canonry.log.items.proposals import (
    Grade,
    GradedConflict,
    Proposal,
    ProposalStatus,
    ProposalType,
)
from canonry.values.errors import Unavailable
from canonry.values.ids import ProposalId


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalVerdict:
    """How one proposal fared; `made` is all that it brought into being.

    One that `needs_review` was judged and stays pending; one that was not judged does as well.
    """

    proposal_id: ProposalId
    type: ProposalType
    status: ProposalStatus
    rule: str
    rationale: str
    score: float | None = None
    needs_review: bool = False
    graded: tuple[GradedConflict, ...] = ()
    canonical_id: str | None = None
    made: tuple[str, ...] = ()

    @property
    def conflicts(self) -> tuple[str, ...]:
        """The ids of what contradicts it."""
        return tuple(one.id for one in self.graded if one.grade is Grade.CONTRADICTION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A verdict for each proposal, and the things that are canon by them."""

    verdicts: tuple[ProposalVerdict, ...]
    outcomes: tuple[SceneOutcome, ...]

    def with_status(self, status: ProposalStatus) -> tuple[ProposalId, ...]:
        """The proposals that were decided so, in the order of the verdicts."""
        return tuple(one.proposal_id for one in self.verdicts if one.status is status)

    def ids(self, kind: type[SceneOutcome]) -> tuple[str, ...]:
        """The ids of the outcomes of a kind."""
        return tuple(each.id for each in self.outcomes if isinstance(each, kind))


def verdict_on(proposal: Proposal) -> ProposalVerdict:
    """How a proposal fared, by its decision, or why it waits for one."""
    ruling = proposal.decision or proposal.review
    if ruling is None:
        return ProposalVerdict(
            proposal_id=proposal.id,
            type=proposal.type,
            status=proposal.status,
            rule="",
            rationale="it was not judged",
        )
    return ProposalVerdict(
        proposal_id=proposal.id,
        type=proposal.type,
        status=proposal.status,
        rule=ruling.rule,
        rationale=ruling.rationale,
        score=ruling.score,
        needs_review=proposal.decision is None,
        graded=ruling.all_conflicts,
        canonical_id=ruling.canonical_id,
        made=ruling.made,
    )


def partial(
    undecided: Undecided, proposals: Sequence[Proposal], *, scene_id: str | None = None
) -> Unavailable:
    """The error that tells which proposals could not be decided, and how the others fared."""
    message = (
        f"{len(undecided.failed)} proposals could not be decided and stay pending; "
        "the others are; send the request again"
    )
    where = {} if scene_id is None else {"scene_id": scene_id}
    return Unavailable(
        "canonization.partial",
        message,
        **where,
        accepted=_those(proposals, ProposalStatus.ACCEPTED),
        rejected=_those(proposals, ProposalStatus.REJECTED),
        failed=[
            {"proposal_id": one, "reason": reason}
            for one, reason in sorted(undecided.failed.items())
        ],
    )


def _those(proposals: Iterable[Proposal], status: ProposalStatus) -> list[str]:
    return [one.id for one in proposals if one.status is status]
