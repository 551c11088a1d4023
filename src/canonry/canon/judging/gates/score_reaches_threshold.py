"""gate:score-reaches-threshold - a proposal has enough weight.

The game master's has, where there is any confidence in it and any evidence for it; else somebody
must look at it.
"""

from collections.abc import Iterator
from typing import Final

from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.gates.kit import Gate, Objection, Weight
from canonry.canon.judging.slices import SliceView, score_of, standing_of
from canonry.values.provenance import Authority


def _examine(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    proposal, scoring = candidate.proposal, view.policy.scoring
    score = score_of(proposal, standing_of(proposal, view), scoring)
    if score.passes:
        return
    rationale = (
        f"its score of {score.value:g} is below {scoring.threshold:g}: confidence "
        f"{proposal.confidence:g}, authority {score.authority}, "
        f"{'with' if proposal.evidence else 'without'} evidence"
    )
    if proposal.authority is not score.authority:
        rationale += f" (claimed {proposal.authority}, but cites no source that is canon)"
    by_rank = score.authority is Authority.GM
    if by_rank:
        rationale = f"needs review: the rank of gm is not enough by itself: {rationale}"
    defers = by_rank or scoring.below == "defer"
    yield Objection(weight=Weight.DEFERS if defers else Weight.REFUSES, rationale=rationale)


GATE: Final = Gate(id="gate:score-reaches-threshold", examine=_examine)
