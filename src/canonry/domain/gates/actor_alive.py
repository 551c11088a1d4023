"""gate:actor-alive - the dead do nothing after their death; that they are involved is only told."""

from collections.abc import Iterator
from typing import Final

from canonry.domain.gates.kit import Gate, Objection, Weight
from canonry.domain.judging.candidates import Candidate
from canonry.domain.judging.contents import EventContent, FactContent
from canonry.domain.judging.slices import SliceView
from canonry.domain.judging.standing_tags import authority_of, conflicts_of, held_at, tag_held
from canonry.domain.moments import same_scene
from canonry.domain.things.entities import Entity
from canonry.domain.vocabularies.state_tags import DEAD


def _examine(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    content = candidate.content
    if not isinstance(content, EventContent | FactContent):
        return
    for reference in content.involved:
        entity = view.entity(reference)
        acts = reference in content.actors
        if entity is not None and (acts or isinstance(content, EventContent)):
            yield from _of(candidate, entity, view, acts=acts)


def _of(
    candidate: Candidate, entity: Entity, view: SliceView, *, acts: bool
) -> Iterator[Objection]:
    now = candidate.moment
    for tag, change in held_at(entity, now).items():
        if tag.casefold() not in DEAD or same_scene(now, change.moment):
            continue
        held = tag_held(view, entity, change)
        verb = "acts in it" if acts else "is involved in it"
        yield Objection(
            weight=Weight.CONTRADICTS if acts else Weight.WARNS,
            rationale=f"{entity.name} {verb} but is {tag} then",
            conflicts=conflicts_of(held),
            rivals=(held,) if acts else (),
            authority=authority_of(view, entity, change, now),
        )


GATE: Final = Gate(id="gate:actor-alive", examine=_examine)
