"""gate:replacement-outranks - a fact that replaces another has more standing than that one."""

from collections.abc import Iterator
from typing import Final

from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.contents import FactContent
from canonry.canon.judging.gates.kit import Gate, Objection, Weight
from canonry.canon.judging.slices import SliceView
from canonry.log.items.facts import Fact


def _examine(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    content = candidate.content
    if not isinstance(content, FactContent) or content.replaces is None:
        return
    fact = view.referred(content.replaces)
    if isinstance(fact, Fact):
        yield Objection(
            weight=Weight.CONTRADICTS,
            rationale=f"it would replace the fact {fact.id}, said by {fact.authority}",
            conflicts=(fact.id,),
            rivals=(fact.id,),
            authority=fact.authority,
        )


GATE: Final = Gate(id="gate:replacement-outranks", examine=_examine)
