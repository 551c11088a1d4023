"""Scoring: how much weight a proposal has; all numbers come from the policy."""

from dataclasses import dataclass
from typing import Final

from canonry.canon.judging.slices import SliceView
from canonry.log.items.proposals import Proposal
from canonry.log.items.sources import Snippet, Source
from canonry.values.policy import Scoring
from canonry.values.provenance import Authority, CanonLevel, EvidenceKind

_DIGITS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A score, the authority that it was computed with, and whether it reaches the threshold."""

    value: float
    authority: Authority
    passes: bool


def score_of(proposal: Proposal, authority: Authority, scoring: Scoring) -> Score:
    """Confidence x weight of the authority x evidence factor, and whether that is enough.

    The game master's word needs no threshold, but rank alone is not enough: somebody must believe
    it, and something must show it.
    """
    factor = 1.0 if proposal.evidence else scoring.without_evidence
    value = round(proposal.confidence * scoring.weights[authority] * factor, _DIGITS)
    ranked = authority is Authority.GM and bool(proposal.evidence)
    passes = proposal.confidence > 0 and (ranked or value >= scoring.threshold)
    return Score(value=value, authority=authority, passes=passes)


def standing_of(proposal: Proposal, view: SliceView) -> Authority:
    """The authority that counts: that of a source only where the proposal cites a canon source."""
    if proposal.authority is not Authority.SOURCE:
        return proposal.authority
    cited = any(
        _is_canon_source(evidence.kind, evidence.ref, view) for evidence in proposal.evidence
    )
    return Authority.SOURCE if cited else Authority.SYSTEM


def _is_canon_source(kind: EvidenceKind, ref: str, view: SliceView) -> bool:
    if kind not in {EvidenceKind.SOURCE, EvidenceKind.SNIPPET}:
        return False
    thing = view.thing(ref)
    if isinstance(thing, Snippet):
        thing = view.thing(thing.source_id)
    return isinstance(thing, Source) and thing.level in {
        CanonLevel.CANON,
        CanonLevel.AUTHORITATIVE,
    }
