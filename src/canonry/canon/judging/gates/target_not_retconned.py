"""gate:target-not-retconned - nothing is built on what never was."""

from collections.abc import Iterator
from typing import Final

from canonry.canon.judging.candidates import Candidate, Unreadable
from canonry.canon.judging.contents import references_of
from canonry.canon.judging.gates.kit import Gate, Objection, Weight
from canonry.canon.judging.slices import SliceView
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact
from canonry.values.provenance import CanonLevel


def _examine(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    if isinstance(candidate.content, Unreadable):
        return
    for reference in references_of(candidate.content):
        thing = view.referred(reference)
        if isinstance(thing, Entity | Event | Fact) and thing.level is not CanonLevel.CANON:
            rationale = f"it names {reference}, which is {thing.level} and not canon"
            yield Objection(weight=Weight.REFUSES, rationale=rationale, conflicts=(thing.id,))


GATE: Final = Gate(id="gate:target-not-retconned", examine=_examine)
