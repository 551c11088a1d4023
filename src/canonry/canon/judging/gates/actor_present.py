"""gate:actor-present - who acts at a place is there, or in a place within it, at that time.

Only an event that names its place can contradict; a participant of a scene is where it is set.
"""

from collections.abc import Iterator
from typing import Final

from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.contents import EventContent
from canonry.canon.judging.gates.kit import Gate, Objection, Weight
from canonry.canon.judging.relation_lines import standing_line
from canonry.canon.judging.slices import SliceView
from canonry.log.items.entities import Entity
from canonry.values.fields import Reference
from canonry.values.ids import EntityId
from canonry.values.moments import Moment, same_scene

PLACE: Final = "LOCATED_IN"
DEPTH_MAX: Final = 8


def _examine(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    content = candidate.content
    if not isinstance(content, EventContent) or content.location is None:
        return
    place = view.entity(content.location)
    if place is None:
        return
    for reference in content.actors:
        actor = view.entity(reference)
        if actor is not None and not _plays_there(candidate, actor, place):
            yield from _elsewhere(candidate.moment, actor, place, view)


def _plays_there(candidate: Candidate, actor: Entity, place: Entity) -> bool:
    scene = candidate.scene
    return scene is not None and scene.location_ref == place.id and actor.id in scene.participants


def _elsewhere(now: Moment, actor: Entity, place: Entity, view: SliceView) -> Iterator[Objection]:
    line = standing_line(view, actor, PLACE, now)
    for relation in line:
        if same_scene(now, relation.moment):
            continue
        there = view.entity(Reference(relation.to_id))
        if there is None:
            continue
        if _within(there.id, place.id, view) or _within(place.id, there.id, view):
            continue
        yield Objection(
            weight=Weight.CONTRADICTS,
            rationale=f"{actor.name} acts in {place.name} but is elsewhere by {relation.id}",
            conflicts=(relation.id,),
            rivals=(relation.id,),
            authority=relation.authority,
        )


def _within(inner: EntityId, outer: EntityId, view: SliceView) -> bool:
    """Whether `inner` is `outer` or lies in it by a chain of places."""
    here = view.entity(Reference(inner))
    for _step in range(DEPTH_MAX):
        if here is None or here.id == outer:
            break
        above = [r for r in view.relations(here, PLACE, "out") if r.current]
        here = view.entity(Reference(above[-1].to_id)) if above else None
    return here is not None and here.id == outer


GATE: Final = Gate(id="gate:actor-present", examine=_examine)
