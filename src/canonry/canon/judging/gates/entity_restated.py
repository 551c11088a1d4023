"""gate:entity-restated - what is said anew of a known entity is written as from a word that may.

What a lower word says otherwise than a higher one stays for review.
"""

from collections.abc import Iterator
from typing import Final

from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.contents import EntityContent
from canonry.canon.judging.gates.kit import Gate, Objection, Weight
from canonry.canon.judging.known_things import known_as, restated
from canonry.canon.judging.slices import SliceView
from canonry.values.observations import Observation
from canonry.values.provenance import strongest


def _examine(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    content = candidate.content
    if not isinstance(content, EntityContent):
        return
    entity = known_as(candidate, content, view)
    changed = {} if entity is None else restated(content, entity).changed
    if entity is None or not changed:
        return
    seen = [view.thing(entity.provenance.get(name, "")) for name in sorted(changed)]
    said = [one.authority for one in seen if isinstance(one, Observation)]
    yield Objection(
        weight=Weight.SUPERSEDES,
        rationale=f"{entity.name} was said to be otherwise in {', '.join(sorted(changed))}",
        conflicts=(entity.id,),
        authority=strongest((*said, *(() if said else (entity.authority,)))),
    )


GATE: Final = Gate(id="gate:entity-restated", examine=_examine)
"""A property or a description that takes the place of another one."""
