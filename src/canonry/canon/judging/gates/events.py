"""Gates on events: causes, living actors, and duplicates."""

from collections.abc import Iterator
from typing import Final

from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.contents import EventContent, FactContent
from canonry.canon.judging.gates.kit import Gate, Objection, Weight
from canonry.canon.judging.known_things import retold
from canonry.canon.judging.relation_lines import PLACE, standing_line
from canonry.canon.judging.slices import SliceView
from canonry.canon.judging.state_tags import authority_of, conflicts_of, held_at, tag_held
from canonry.language.clauses.frames import Standing, lemma, words_of
from canonry.language.clauses.keys import stems_in
from canonry.language.clauses.reading import frames_of
from canonry.language.words.frame_words import RESTING
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event
from canonry.values.fields import Reference
from canonry.values.ids import EntityId
from canonry.values.moments import Moment, same_scene
from canonry.values.state_tags import DEAD

WALK_MAX: Final = 500


def _examine_causes_acyclic(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    """Refuse an event that causes its own cause, even through other events."""
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
            rationale = f"the event {here} would be both a cause and an effect of it"
            yield Objection(weight=Weight.REFUSES, rationale=rationale, conflicts=(here,))
            return
        event = view.thing(here)
        frontier.extend(event.causes if isinstance(event, Event) else ())
    if frontier:
        rationale = f"more than {WALK_MAX} events follow from it: name closer effects"
        yield Objection(weight=Weight.REFUSES, rationale=rationale)


CAUSES_ACYCLIC: Final = Gate(id="gate:causes-acyclic", examine=_examine_causes_acyclic)


def _examine_causes_in_order(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    """Object to an event that is dated before its cause."""
    content, at = candidate.content, candidate.at
    if not isinstance(content, EventContent) or at is None:
        return
    for effect in _events_behind(content.causes, view):
        if effect.time_ref is not None and effect.time_ref < at:
            yield _out_of_order(candidate, effect, "is dated before this event, its cause")
    for cause in _events_behind(content.caused_by, view):
        if cause.time_ref is not None and cause.time_ref > at:
            yield _out_of_order(candidate, cause, "is dated after this event, its effect")


def _events_behind(references: tuple[Reference, ...], view: SliceView) -> Iterator[Event]:
    for reference in references:
        event = view.referred(reference)
        if isinstance(event, Event):
            yield event


def _out_of_order(candidate: Candidate, event: Event, how: str) -> Objection:
    together = event.scene_id is not None and event.scene_id == candidate.proposal.scene_id
    return Objection(
        weight=Weight.REFUSES if together else Weight.CONTRADICTS,
        rationale=f"the event {event.id} {how}",
        conflicts=(event.id,),
        rivals=() if together else (event.id,),
        authority=event.authority,
    )


CAUSES_IN_ORDER: Final = Gate(id="gate:causes-in-order", examine=_examine_causes_in_order)


def _examine_actor_alive(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    """Object to acts of the dead after their death.

    Their involvement only causes a warning, as do acts in the words of a fact.
    """
    content = candidate.content
    if not isinstance(content, EventContent | FactContent):
        return
    for reference in content.involved:
        entity = view.entity(reference)
        if entity is not None:
            yield from _object_to_dead(
                candidate, content, entity, view, acts=reference in content.actors
            )


def _object_to_dead(
    candidate: Candidate,
    content: EventContent | FactContent,
    entity: Entity,
    view: SliceView,
    *,
    acts: bool,
) -> Iterator[Objection]:
    now = candidate.moment
    for tag, change in held_at(entity, now).items():
        if tag.casefold() not in DEAD or same_scene(now, change.moment):
            continue
        if isinstance(content, FactContent) and not (acts or _is_told_to_act(content, entity)):
            continue
        held = tag_held(view, entity, change)
        involved = isinstance(content, EventContent) and not acts
        verb = "is involved in it" if involved else "acts in it"
        yield Objection(
            weight=Weight.CONTRADICTS if acts else Weight.WARNS,
            rationale=f"{entity.name} {verb} but is {tag} then",
            conflicts=conflicts_of(held),
            rivals=(held,) if acts else (),
            authority=authority_of(view, entity, change, now),
        )


def _is_told_to_act(content: FactContent, entity: Entity) -> bool:
    """Tell whether the words of a fact let the entity act at their time.

    An undated statement in the past tense may be about the entity's life.
    """
    named = stems_in(" ".join(sorted(entity.known_as)))
    return any(
        frame.verb not in _AT_REST
        and not (frame.negative or frame.modal or frame.standing is not Standing.TOLD)
        and (content.time_ref is not None or not (frame.past or frame.perfect))
        and bool(frame.subject)
        and words_of(frame.subject) <= named
        for frame in frames_of(content.statement)
    )


_AT_REST: Final = frozenset(("", "be", "have", *map(lemma, RESTING)))
"""Verbs of the states of the dead and of their fate."""

ACTOR_ALIVE: Final = Gate(id="gate:actor-alive", examine=_examine_actor_alive)


DEPTH_MAX: Final = 8


def _examine_actor_present(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    """Object to actors who are neither at the event's location nor within it.

    Only an event with a place can contradict; a participant of a scene is at the scene's place.
    """
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
        if _lies_within(there.id, place.id, view) or _lies_within(place.id, there.id, view):
            continue
        yield Objection(
            weight=Weight.CONTRADICTS,
            rationale=f"{actor.name} acts in {place.name} but {relation.id} places it elsewhere",
            conflicts=(relation.id,),
            rivals=(relation.id,),
            authority=relation.authority,
        )


def _lies_within(inner: EntityId, outer: EntityId, view: SliceView) -> bool:
    """Tell whether `inner` is `outer` or lies in it through a chain of places."""
    here = view.entity(Reference(inner))
    for _step in range(DEPTH_MAX):
        if here is None or here.id == outer:
            break
        above = [r for r in view.relations(here, PLACE, "out") if r.current]
        here = view.entity(Reference(above[-1].to_id)) if above else None
    return here is not None and here.id == outer


ACTOR_PRESENT: Final = Gate(id="gate:actor-present", examine=_examine_actor_present)


def _examine_event_told_before(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    """Warn of an event that another scene records in the same words.

    A person decides whether it happened twice; with equal times it is one event.
    """
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
            rationale=f"this may be the event {event.id} of another scene",
            conflicts=(event.id,),
            authority=event.authority,
        )


EVENT_TOLD_BEFORE: Final = Gate(id="gate:event-told-before", examine=_examine_event_told_before)
