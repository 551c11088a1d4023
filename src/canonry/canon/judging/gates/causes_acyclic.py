"""gate:causes-acyclic - no event brings about its own cause, not even by a chain of others."""

from collections.abc import Iterator
from typing import Final

from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.contents import EventContent
from canonry.canon.judging.gates.kit import Gate, Objection, Weight
from canonry.canon.judging.slices import SliceView
from canonry.log.items.facts import Event

WALK_MAX: Final = 500


def _examine(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    content = candidate.content
    if not isinstance(content, EventContent) or not content.caused_by:
        return
    causes = {found for one in content.caused_by if (found := view.resolve(one)) is not None}
    frontier = [found for one in content.causes if (found := view.resolve(one)) is not None]
    seen: set[str] = set()
    while frontier and len(seen) < WALK_MAX:
        here = frontier.pop()
        if here in seen:
            continue
        seen.add(here)
        if here in causes:
            rationale = f"the event {here} would be among its causes and among its effects"
            yield Objection(weight=Weight.REFUSES, rationale=rationale, conflicts=(here,))
            return
        event = view.thing(here)
        frontier.extend(event.causes if isinstance(event, Event) else ())
    if frontier:
        rationale = f"more than {WALK_MAX} events follow from it; name nearer effects"
        yield Objection(weight=Weight.REFUSES, rationale=rationale)


GATE: Final = Gate(id="gate:causes-acyclic", examine=_examine)
