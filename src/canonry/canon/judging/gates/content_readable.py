"""gate:content-readable - a proposal says something of its type, in a form that can be read."""

from collections.abc import Iterator
from typing import Final

from canonry.canon.judging.candidates import Candidate, Unreadable
from canonry.canon.judging.gates.kit import Gate, Objection, Weight
from canonry.canon.judging.slices import SliceView


def _examine(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    del view
    if isinstance(candidate.content, Unreadable):
        yield Objection(weight=Weight.REFUSES, rationale=candidate.content.reason)


GATE: Final = Gate(id="gate:content-readable", examine=_examine)
