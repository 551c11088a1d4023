"""gate:causes-in-order - nothing is brought about by what happens after it."""

from collections.abc import Iterator
from typing import Final

from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.contents import EventContent
from canonry.canon.judging.gates.kit import Gate, Objection, Weight
from canonry.canon.judging.slices import SliceView
from canonry.log.items.facts import Event
from canonry.values.fields import Reference


def _examine(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    content, at = candidate.content, candidate.at
    if not isinstance(content, EventContent) or at is None:
        return
    for effect in _events(content.causes, view):
        if effect.time_ref is not None and effect.time_ref < at:
            yield _objection(candidate, effect, "is dated before it, which causes it")
    for cause in _events(content.caused_by, view):
        if cause.time_ref is not None and cause.time_ref > at:
            yield _objection(candidate, cause, "is dated after it, which it causes")


def _events(references: tuple[Reference, ...], view: SliceView) -> Iterator[Event]:
    for reference in references:
        event = view.referred(reference)
        if isinstance(event, Event):
            yield event


def _objection(candidate: Candidate, event: Event, how: str) -> Objection:
    together = event.scene_id is not None and event.scene_id == candidate.proposal.scene_id
    return Objection(
        weight=Weight.REFUSES if together else Weight.CONTRADICTS,
        rationale=f"the event {event.id} {how}",
        conflicts=(event.id,),
        rivals=() if together else (event.id,),
        authority=event.authority,
    )


GATE: Final = Gate(id="gate:causes-in-order", examine=_examine)
