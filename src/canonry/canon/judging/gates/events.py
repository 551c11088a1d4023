"""Gates on events: causes, living actors, and duplicates."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.contents import Content, EventContent, FactContent
from canonry.canon.judging.gates.verdicts import Objection, Weight, make_gate
from canonry.canon.judging.known_items import find_repeated_event
from canonry.canon.judging.relation_timelines import LOCATED_IN, is_within, standing_relations
from canonry.canon.judging.slices import SliceView
from canonry.canon.judging.standing_statements import entity_of, statements_of
from canonry.canon.judging.state_tags import authority_of, conflicts_of, held_tag_of, tags_held_at
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event
from canonry.values.attributes.table import find_attribute
from canonry.values.fields import Reference
from canonry.values.moments import Moment, is_same_scene
from canonry.values.state_tags import is_gone
from canonry.values.statements import Phase, Statement

WALK_MAX: Final = 500  # each event is one lookup while a proposal is judged


@make_gate(EventContent)
def causes_acyclic(_: Candidate, content: EventContent, view: SliceView) -> Iterator[Objection]:
    """Refuse an event that causes its own cause, even through other events."""
    if not content.caused_by:
        return
    causes = {found for one in content.caused_by if (found := view.resolve_id(one)) is not None}
    frontier = [found for one in content.causes if (found := view.resolve_id(one)) is not None]
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
        event = view.find_item(here)
        frontier.extend(event.causes if isinstance(event, Event) else ())
    if frontier:
        rationale = f"more than {WALK_MAX} events follow from it: name closer effects"
        yield Objection(weight=Weight.REFUSES, rationale=rationale)


@make_gate(EventContent)
def causes_in_order(
    candidate: Candidate, content: EventContent, view: SliceView
) -> Iterator[Objection]:
    """Object to an event that is dated before its cause."""
    at = candidate.moment.at
    if at is None:
        return
    for effect in _referred_events(content.causes, view):
        if effect.time_ref is not None and effect.time_ref < at:
            yield _out_of_order(candidate, effect, "is dated before this event, its cause")
    for cause in _referred_events(content.caused_by, view):
        if cause.time_ref is not None and cause.time_ref > at:
            yield _out_of_order(candidate, cause, "is dated after this event, its effect")


def _referred_events(references: tuple[Reference, ...], view: SliceView) -> Iterator[Event]:
    for reference in references:
        event = view.referred_item(reference)
        if isinstance(event, Event):
            yield event


def _out_of_order(candidate: Candidate, event: Event, how: str) -> Objection:
    together = event.scene_id is not None and event.scene_id == candidate.proposal.scene_id
    return Objection(
        weight=Weight.REFUSES if together else Weight.CONTRADICTS,
        rationale=f"the event {event.id} {how}",
        conflicts=(event.id,),
        conflicting=() if together else (event.id,),
        authority=event.authority,
    )


@make_gate()
def actor_alive(candidate: Candidate, content: Content, view: SliceView) -> Iterator[Objection]:
    """Object to acts of the dead after their death, and to the use of what is destroyed.

    The dead begin nothing that only the living do: they join nobody and become angry no more. An
    involvement without an act only causes a warning.
    """
    acting, living = _actor_ids(content, view), _living_ids(content, view)
    involved = list[Reference]()
    if isinstance(content, EventContent):
        involved += (*content.involved, *([content.location] if content.location else ()))
    ids = sorted(acting | living | _claimed_locations(content, view))
    named = (*map(view.find_entity, involved), *map(partial(entity_of, view), ids))
    for entity in {one.id: one for one in named if one is not None}.values():
        deeds = isinstance(content, FactContent) and entity.id not in acting | _living_ids(
            content, view, deeds=False
        )
        acts = entity.id in acting or entity.id in living
        yield from _object_to_dead(candidate, entity, view, acts=acts, certain=not deeds)


def _claimed_locations(content: Content, view: SliceView) -> frozenset[str]:
    """Return the ids of the places in which a claim says that somebody or something is."""
    statements = statements_of(content, view)
    values = [one.value for one in statements if one.attribute == "location" and one.holds_then]
    return frozenset(str(each).rpartition("of:")[2].split()[0] for each in values if each)


def _actor_ids(content: Content, view: SliceView) -> frozenset[str]:
    """Return the ids of the actors that a claim names."""
    actors = content.actors if isinstance(content, EventContent | FactContent) else ()
    named = (view.find_entity(reference) for reference in actors)
    return frozenset(one.id for one in named if one is not None)


def _living_ids(content: Content, view: SliceView, *, deeds: bool = True) -> frozenset[str]:
    """Return the ids of those that begin something that only the living do.

    Without `deeds`, what no relation can say is left out: words may say it figuratively.
    """
    statements = statements_of(content, view)
    dated = not isinstance(content, FactContent) or content.time_ref is not None
    # Without a time, the past tense may tell of the entity's life.
    past = {one.subject for one in statements if one.phase is Phase.WAS and not dated}
    return frozenset(
        each
        for one in statements
        if not one.implied and (one.holds_then or (dated and one.holds and one.phase is Phase.WAS))
        if deeds or find_attribute(one.attribute).relations
        for each in _living_ends(one)
        if each not in past
    )


_SUFFERED: Final = "does:be_"
"""How attributes begin that name what is done to the subject, such as `does:be_mourn`."""


def _living_ends(statement: Statement) -> Iterator[str]:
    living = find_attribute(statement.attribute).living
    if "subject" in living and not statement.attribute.startswith(_SUFFERED):
        yield statement.subject
    if "value" in living and isinstance(statement.value, str):
        yield statement.value


def _object_to_dead(
    candidate: Candidate, entity: Entity, view: SliceView, *, acts: bool, certain: bool
) -> Iterator[Objection]:
    now = candidate.moment
    for tag, change in tags_held_at(entity, now).items():
        if not is_gone(tag) or is_same_scene(now, change.moment):
            continue
        held = held_tag_of(view, entity, change)
        # Of an end without a date and an act with one, nobody said which came first.
        unordered = now.at is not None and change.moment.at is None
        certain = certain and acts and not unordered
        verb = "acts in it" if acts else "is involved in it"
        yield Objection(
            weight=Weight.CONTRADICTS if certain else Weight.WARNS,
            rationale=f"{entity.name} {verb} but is {tag} then",
            conflicts=conflicts_of(held),
            conflicting=(held,) if certain else (),
            authority=authority_of(view, entity, change, now),
        )


@make_gate(EventContent)
def actor_present(
    candidate: Candidate, content: EventContent, view: SliceView
) -> Iterator[Objection]:
    """Object to actors who are neither at the event's location nor within it.

    Only an event with a place can contradict; a participant of a scene is at the scene's place.
    """
    location = None if content.location is None else view.find_entity(content.location)
    if location is None:
        return
    for reference in content.actors:
        actor = view.find_entity(reference)
        scene = candidate.scene
        here = () if scene is None or scene.location_ref != location.id else scene.participants
        if actor is not None and actor.id not in here:
            yield from _object_to_elsewhere(candidate.moment, actor, location, view)


def _object_to_elsewhere(
    now: Moment, actor: Entity, location: Entity, view: SliceView
) -> Iterator[Objection]:
    timeline = standing_relations(view, actor, LOCATED_IN, now)
    for relation in timeline:
        if is_same_scene(now, relation.moment):
            continue
        there = view.find_entity(Reference(relation.to_id))
        if there is None:
            continue
        if is_within(there, location, view) or is_within(location, there, view):
            continue
        yield Objection(
            weight=Weight.CONTRADICTS,
            rationale=f"{actor.name} acts in {location.name} but {relation.id} places it elsewhere",
            conflicts=(relation.id,),
            conflicting=(relation.id,),
            authority=relation.authority,
        )


@make_gate(EventContent)
def event_told_before(
    candidate: Candidate, content: EventContent, view: SliceView
) -> Iterator[Objection]:
    """Warn of an event that another scene records in the same words.

    A person decides whether it happened twice; with equal times it is one event.
    """
    if content.causes or content.caused_by:
        return
    where = () if content.location is None else (content.location,)
    entities = [view.find_entity(one) for one in (*content.involved, *where)]
    involved = {entity.id for entity in entities if entity is not None}
    scene_id = candidate.proposal.scene_id
    at = candidate.moment.at
    for event in find_repeated_event(content, involved, view, at=at, scene_id=scene_id)[1]:
        yield Objection(
            weight=Weight.WARNS,
            rationale=f"this may be the event {event.id} of another scene",
            conflicts=(event.id,),
            authority=event.authority,
        )
