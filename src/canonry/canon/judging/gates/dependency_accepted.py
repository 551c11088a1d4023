"""gate:dependency-accepted - what a proposal builds on has become canon itself."""

from collections.abc import Iterator
from typing import Final

from canonry.canon.judging.candidates import Candidate, dependencies_of
from canonry.canon.judging.gates.kit import Gate, Objection, Weight
from canonry.canon.judging.slices import SliceView
from canonry.log.items.proposals import Proposal, ProposalStatus


def _examine(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    waiting: list[str] = []
    for needed in sorted(dependencies_of(candidate)):
        proposal = view.thing(needed)
        if not isinstance(proposal, Proposal):
            rationale = f"the proposal {needed} that it builds on does not exist"
        elif proposal.space != candidate.proposal.space:
            rationale = f"the proposal {needed} that it builds on belongs to another universe"
        elif proposal.status is ProposalStatus.REJECTED:
            rationale = f"the proposal {needed} that it builds on was rejected"
        elif proposal.status is ProposalStatus.PENDING and proposal.review is not None:
            waiting.append(needed)
            continue
        elif proposal.status is ProposalStatus.PENDING:
            rationale = f"the proposal {needed} that it builds on is not decided before it"
        else:
            continue
        yield Objection(weight=Weight.REFUSES, rationale=rationale, conflicts=(needed,))
    if waiting:
        named, does = ("proposal", "does") if len(waiting) == 1 else ("proposals", "do")
        rationale = (
            f"needs review: the {named} {', '.join(waiting)} that it builds on {does} as well"
        )
        yield Objection(weight=Weight.DEFERS, rationale=rationale, conflicts=tuple(waiting))


GATE: Final = Gate(id="gate:dependency-accepted", examine=_examine)
