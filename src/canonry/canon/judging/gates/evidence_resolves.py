"""gate:evidence-resolves - every piece of evidence that a proposal cites can be looked up."""

from collections.abc import Iterator
from typing import Final

from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.gates.kit import Gate, Objection, Weight
from canonry.canon.judging.slices import SliceView
from canonry.log.entries import THING_KINDS
from canonry.values.provenance import EvidenceKind

_KINDS: Final = {
    EvidenceKind.SOURCE: "source",
    EvidenceKind.TURN: "turn",
    EvidenceKind.SCENE: "scene",
    EvidenceKind.SNIPPET: "snippet",
    EvidenceKind.RULE: "axiom",
}


def _examine(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    for evidence in candidate.evidence:
        thing = view.cited(evidence.ref)
        if thing is None or THING_KINDS[type(thing)] != _KINDS[evidence.kind]:
            rationale = f"its evidence {evidence} does not exist"
            yield Objection(weight=Weight.REFUSES, rationale=rationale)
        elif thing.space != candidate.proposal.space:
            rationale = f"its evidence {evidence} belongs to another universe"
            yield Objection(weight=Weight.REFUSES, rationale=rationale, conflicts=(thing.id,))


GATE: Final = Gate(id="gate:evidence-resolves", examine=_examine)
