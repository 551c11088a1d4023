"""gate:references-exist - whatever a proposal names exists in its own universe."""

from collections.abc import Iterator
from typing import Final

from canonry.canon.judging.candidates import Candidate, Unreadable
from canonry.canon.judging.contents import references_of
from canonry.canon.judging.gates.kit import Gate, Objection, Weight
from canonry.canon.judging.slices import SliceView
from canonry.log.entries import Tombstone


def _examine(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    if isinstance(candidate.content, Unreadable):
        return
    for reference in references_of(candidate.content):
        thing = view.referred(reference)
        if thing is None or isinstance(thing, Tombstone):
            rationale = f"it names {reference}, which does not exist"
            yield Objection(weight=Weight.REFUSES, rationale=rationale)
        elif thing.space != candidate.proposal.space:
            rationale = f"it names {reference}, which belongs to another universe"
            yield Objection(weight=Weight.REFUSES, rationale=rationale, conflicts=(thing.id,))


GATE: Final = Gate(id="gate:references-exist", examine=_examine)
