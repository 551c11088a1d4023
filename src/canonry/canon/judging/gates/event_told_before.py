"""gate:event-told-before - an event that another scene tells in the same words is pointed out.

Whether it happened once or twice is for somebody to say; with one and the same time it is one.
"""

from collections.abc import Iterator
from typing import Final

from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.contents import EventContent
from canonry.canon.judging.gates.kit import Gate, Objection, Weight
from canonry.canon.judging.known_things import retold
from canonry.canon.judging.slices import SliceView


def _examine(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    content = candidate.content
    if not isinstance(content, EventContent) or content.causes or content.caused_by:
        return
    where = () if content.location is None else (content.location,)
    entities = [view.entity(one) for one in (*content.involved, *where)]
    involved = {entity.id for entity in entities if entity is not None}
    scene_id = candidate.proposal.scene_id
    for event in retold(content, involved, view, at=candidate.at, scene_id=scene_id).perhaps:
        yield Objection(
            weight=Weight.WARNS,
            rationale=f"perhaps this is the event {event.id}, which another scene tells",
            conflicts=(event.id,),
            authority=event.authority,
        )


GATE: Final = Gate(id="gate:event-told-before", examine=_examine)
"""The same event in two scenes."""
