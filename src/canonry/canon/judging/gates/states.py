"""Gates on entities: identity, axioms, state tags, properties and relations."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final, TypeAlias

from canonry.canon.judging import state_tags
from canonry.canon.judging.candidates import Candidate, time_of
from canonry.canon.judging.conflicts import Order
from canonry.canon.judging.contents import (
    NOBODY,
    Content,
    EntityContent,
    EventContent,
    FactContent,
    RelationshipContent,
    StateChangeContent,
    time_text_of,
)
from canonry.canon.judging.gates.statements import objections_to, order_of, sources_of
from canonry.canon.judging.gates.verdicts import Objection, Weight, make_gate
from canonry.canon.judging.known_items import changed_fields, find_repeated_event
from canonry.canon.judging.relation_timelines import (
    LOCATED_IN,
    RelationTimeline,
    adds_properties,
    authority_behind,
    find_opposed_tags,
    laws_against_relation,
    laws_against_state,
    standing_relations,
    timeline_of,
)
from canonry.canon.judging.slices import SliceView, texts_of, texts_of_names
from canonry.canon.judging.standing_statements import (
    entity_of,
    is_within,
    statements_of,
    statements_of_tags,
    states_of,
)
from canonry.language.texts.stems import name_parts, query_stems, untitled_words
from canonry.log.items.entities import Entity, EntityClass, all_names, family_of, normalised_name
from canonry.log.items.facts import Axiom, Event, Relation
from canonry.log.items.proposals import Proposal
from canonry.log.schemas import narrative
from canonry.log.schemas.identity_keys import PART_MARK, part_mark
from canonry.values.attributes.table import find_attribute
from canonry.values.calendars.declaring import time_as_given
from canonry.values.calendars.reckoning import GREGORIAN, span_of
from canonry.values.fields import PROPOSAL_PREFIX, Reference
from canonry.values.merge_policies import TagChange
from canonry.values.moments import Instant, Moment, are_simultaneous, is_same_scene
from canonry.values.moments import time_of as clock_of
from canonry.values.observations import Observation
from canonry.values.provenance import Authority, highest_authority
from canonry.values.state_tags import (
    HELPLESS,
    ended_by,
    excluded_by,
    is_gone,
    normal_tag,
    tag_meaning,
)
from canonry.values.statements import Phase


@make_gate()
def axiom_holds(candidate: Candidate, content: Content, view: SliceView) -> Iterator[Objection]:
    """Refuse a state or relation that violates the constraint of an axiom.

    No authority helps: the axiom must be changed first.
    """
    for axiom in _broken_axioms(candidate, content, view):
        rationale = f"the axiom {axiom.id} forbids it: {axiom.statement}"
        yield Objection(weight=Weight.REFUSES, rationale=rationale, conflicts=(axiom.id,))


def _broken_axioms(candidate: Candidate, content: Content, view: SliceView) -> Iterator[Axiom]:
    match content:
        case EntityContent() | StateChangeContent():
            entity, add, remove = _tags_stated(candidate, content, view)
            held = set() if entity is None else set(entity.state_tags) - set(remove)
            kind = content if isinstance(content, EntityContent) else entity
            if kind is not None:
                yield from laws_against_state(view, kind.entity_type, add, held)
        case FactContent():
            for about, tag, holds in states_of(statements_of(content, view), view):
                if holds:
                    held = set(about.state_tags)
                    yield from laws_against_state(view, about.entity_type, (tag,), held)
        case RelationshipContent():
            ends = (view.find_entity(content.from_entity), view.find_entity(content.to_entity))
            yield from laws_against_relation(view, content.rel_type, ends)
        case _:
            return


_StatesTags: TypeAlias = EntityContent | StateChangeContent


def _tags_stated(
    candidate: Candidate, content: _StatesTags, view: SliceView
) -> tuple[Entity | None, tuple[str, ...], tuple[str, ...]]:
    """Return the known entity of a claim, and the tags that begin and end for it."""
    if isinstance(content, StateChangeContent):
        return view.find_entity(content.entity), content.add, content.remove
    tags = content.state_tags
    return find_known_entity(candidate, content, view) if tags else None, tags, ()


@make_gate(EntityContent, StateChangeContent)
def state_tags_exclusive(
    candidate: Candidate, content: _StatesTags, view: SliceView
) -> Iterator[Objection]:
    """Let at most one of several exclusive tags hold at a time.

    A later change supersedes the earlier tag; an earlier one holds until the next. Two tags of the
    same time contradict each other.
    """
    entity, add, remove = _tags_stated(candidate, content, view)
    opposed = find_opposed_tags(add, view.policy.exclusive_tags)
    if opposed is not None:
        rationale = f"{opposed[0]} and {opposed[1]} cannot hold at once"
        yield Objection(weight=Weight.REFUSES, rationale=rationale)
    if entity is not None:
        yield from _object_to_held(candidate, entity, add, remove, view)


def _object_to_held(
    candidate: Candidate,
    entity: Entity,
    add: tuple[str, ...],
    remove: tuple[str, ...],
    view: SliceView,
) -> Iterator[Objection]:
    add, remove = state_tags.own_spelling(entity, add), state_tags.own_spelling(entity, remove)
    now, groups = candidate.moment, view.policy.exclusive_tags
    held = state_tags.tags_held_at(entity, now)
    begun_then = {
        one.tag: one
        for one in state_tags.changes_of(entity)
        if one.holds and are_simultaneous(now, one.moment)
    }
    removed = held.keys() & set(remove)
    beginning = [tag for tag in add if tag not in held]
    against = {other: tag for tag in beginning for other in excluded_by(tag, groups, begun_then)}
    for other, tag in sorted(against.items()):
        if other not in removed:
            yield _object_to_tag(view, entity, now, begun_then[other], by=tag)
    staying = held.keys() - removed - against.keys()
    ended = {other: tag for tag in beginning for other in ended_by(tag, groups, staying)}
    for other, tag in sorted(ended.items()):
        yield _object_to_tag(view, entity, now, held[other], by=tag)
    yield from (_object_to_tag(view, entity, now, held[tag]) for tag in sorted(removed))


def _object_to_tag(
    view: SliceView, entity: Entity, now: Moment, change: TagChange, *, by: str | None = None
) -> Objection:
    """Object if a tag ends or contradicts another one; None: it repeats the same tag."""
    held, name, tag = state_tags.held_tag_of(view, entity, change), entity.name, change.tag
    follows = by is not None and not excluded_by(by, view.policy.exclusive_tags, [tag])
    became = "" if follows else f" until it became {by}"
    authority = state_tags.authority_of(view, entity, change, now)
    authority = Authority.SYSTEM if follows else authority
    weight, rationale = Weight.SUPERSEDES, f"{name} was {tag}{became}"
    if by is None:
        weight, rationale = Weight.ENDS, f"{name} was {tag} until then"
    elif are_simultaneous(now, change.moment):
        weight, rationale = Weight.CONTRADICTS, f"{name} is {tag} at that time, which excludes {by}"
    return Objection(
        weight=weight,
        rationale=rationale,
        conflicts=state_tags.conflicts_of(held),
        conflicting=(held,),
        authority=authority,
    )


@make_gate(EntityContent)
def entity_restated(
    candidate: Candidate, content: EntityContent, view: SliceView
) -> Iterator[Objection]:
    """Let a new value of equal or higher authority replace the old value.

    A value of lower authority waits for review.
    """
    entity = find_known_entity(candidate, content, view)
    changed = {} if entity is None else changed_fields(content, entity)[1]
    if entity is None or not changed:
        return
    seen = [view.find_item(entity.provenance.get(name, "")) for name in sorted(changed)]
    authorities = [one.authority for one in seen if isinstance(one, Observation)]
    yield Objection(
        weight=Weight.SUPERSEDES,
        rationale=f"{entity.name} already has other values for {', '.join(sorted(changed))}",
        conflicts=(entity.id,),
        authority=highest_authority((*authorities, *(() if authorities else (entity.authority,)))),
    )


@make_gate(RelationshipContent)
def functional_relation(
    candidate: Candidate, content: RelationshipContent, view: SliceView
) -> Iterator[Objection]:
    """Let only one relation hold at a time if its type allows one, such as a place or an owner.

    A relation has one value for each property. A later relation supersedes the earlier one; an
    earlier one holds until the next. Two relations of the same time contradict each other.
    """
    for kind, start, end, timeline in claimed_timelines(candidate, content, view):
        if timeline.same is not None and adds_properties(timeline.same, content):
            then = are_simultaneous(candidate.moment, timeline.same.moment)
            weight = Weight.CONTRADICTS if then else Weight.SUPERSEDES
            message = f"{timeline.same.id} is the same relation with other properties"
            yield _object_to_relation(timeline.same, weight, message, timeline.same.authority)
        lined = kind.one_target or kind.one_origin
        for relation, usual in _conflicting_relations(timeline) if lined else ():
            whose = start if relation.from_id in family_of(start) else end
            open_order = _is_order_missing(candidate, relation, view)
            weight = Weight.CONTRADICTS if open_order else usual
            held = "held until then" if weight is Weight.SUPERSEDES else "holds at that time"
            message = f"{relation.id} {held}; {whose.name} has only one at a time"
            authority = authority_behind(timeline, relation)
            yield _object_to_relation(relation, weight, message, authority)


def _is_order_missing(candidate: Candidate, relation: Relation, view: SliceView) -> bool:
    """Return whether one source gives two values outside of scenes, and a time of neither."""
    now, held_at = candidate.moment, relation.moment
    one, other = (sources_of(each.evidence, view) for each in (candidate.proposal, relation))
    apart = bool(one) and bool(other) and one.isdisjoint(other)
    return now.position.scene == 0 and order_of(now, held_at) is Order.ONE and not apart


def claimed_timelines(
    candidate: Candidate, content: RelationshipContent, view: SliceView
) -> Iterator[tuple[narrative.RelationType, Entity, Entity, RelationTimeline]]:
    """Yield the type, the ends and the timeline of a claimed relation, if both ends are known.

    A relation that began within the day or other span of the claim is the claimed one: the
    timeline is then that of its beginning.
    """
    start, end = view.find_entity(content.from_entity), view.find_entity(content.to_entity)
    if start is None or end is None:
        return
    kind, reported = narrative.relation_type(content.rel_type), content.properties
    line = timeline_of(view, kind, start, end, candidate.moment, properties=reported)
    first, last = _claimed_span(candidate)
    if line.same is None and first < last:
        late = replace(candidate.moment, at=Instant(last - 1))
        same = timeline_of(view, kind, start, end, late, properties=reported).same
        if same is not None and same.since is not None and first <= same.since < last:
            line = timeline_of(view, kind, start, end, same.moment, properties=reported)
    yield kind, start, end, line


def _claimed_span(candidate: Candidate) -> tuple[Instant, Instant]:
    """Return the time of a content and the end of the span that it names; empty if it names none.

    Words of another calendar than the Gregorian one name no span here.
    """
    at, proposal = time_of(candidate.content), candidate.proposal
    if at is None:
        return Instant(0), Instant(0)
    said = time_as_given(at, time_text_of(proposal.type, proposal.original), GREGORIAN)
    return at, span_of(said, GREGORIAN)[1]


def _conflicting_relations(timeline: RelationTimeline) -> Iterator[tuple[Relation, Weight]]:
    """Yield the relations that contradict the new one of a timeline, and those that it ends."""
    yield from ((relation, Weight.CONTRADICTS) for relation in timeline.against)
    yield from ((relation, Weight.SUPERSEDES) for relation in timeline.ends)


def _object_to_relation(
    relation: Relation, weight: Weight, message: str, authority: Authority
) -> Objection:
    plain = Objection(weight=weight, rationale=message, authority=authority)
    return replace(plain, conflicts=(relation.id,), conflicting=(relation.id,))


@make_gate(RelationshipContent)
def opposed_relation(
    candidate: Candidate, content: RelationshipContent, view: SliceView
) -> Iterator[Objection]:
    """Object to opposed relations of a pair at one time; a later one supersedes the earlier."""
    for kind, start, end, timeline in claimed_timelines(candidate, content, view):
        for relation, weight in _conflicting_relations(timeline) if kind.excludes else ():
            if relation.rel_type in kind.excludes:
                held = f"{start.name} and {end.name}"
                held = f"{held} {'until then' if weight is Weight.SUPERSEDES else 'then'}"
                message = f"{relation.id} is {relation.rel_type} of {held}"
                message += f", which excludes {kind.name}"
                authority = authority_behind(timeline, relation)
                yield _object_to_relation(relation, weight, message, authority)


# Identity: an entity that may be a known one waits for an answer.


def texts_asked(content: EntityContent) -> frozenset[str]:
    """Return the texts of a new entity by which it may be known; a person's name has parts."""
    found = texts_of_names(content.entity_type, (content.name,), content.properties)
    whole = frozenset(one for one in found if not one.startswith(PART_MARK))
    single = untitled_words(content.name)
    parts = name_parts(content.name).union(() if " " in single else (part_mark(single),))
    return whole | parts if content.entity_type is narrative.EntityType.CHARACTER else whole


def find_known_entity(
    candidate: Candidate, content: EntityContent, view: SliceView
) -> Entity | None:
    """Return the only known entity without a contradiction, or the one that a claim names."""
    if content.same_as is not None:
        return None if content.same_as == NOBODY else view.find_entity(content.same_as)
    same = [one for one, doubts in _possible_entities(candidate, content, view) if not doubts]
    return same[0] if len(same) == 1 else None


def _possible_entities(
    candidate: Candidate, content: EntityContent, view: SliceView
) -> Iterator[tuple[Entity, list[str]]]:
    """Yield the known entities that the claim may mean, with what speaks against each."""
    proposal, own = candidate.proposal, normalised_name(content.name)
    asked, stored = texts_asked(content), view.find_item(proposal.id)
    found = view.entities_named(asked)
    apart = set(stored.waived) if isinstance(stored, Proposal) else set[str]()
    refs = candidate.declared.items() if found and content.ref is not None else ()
    others = [one for ref, one in refs if ref != content.ref and one != proposal.id]
    made = [view.referred_item(Reference(PROPOSAL_PREFIX + one)) for one in others]
    apart |= {one.id for one in made if one is not None}
    for entity in found:
        exact = (entity.entity_type, entity.known_as[0]) == (content.entity_type, own)
        is_same_proposal = entity.position == proposal.position and not exact
        if entity.id in apart or is_same_proposal or content.derives_from == Reference(entity.id):
            continue
        if not asked.isdisjoint(texts_of(entity)):  # else only other readers know it by them
            yield entity, list(_doubts_about(entity, candidate, content, view))


def _doubts_about(
    entity: Entity, candidate: Candidate, content: EntityContent, view: SliceView
) -> Iterator[str]:
    """Yield what speaks against the claim meaning this entity, in words."""
    kinds = [narrative.own_type(e.entity_type, e.properties) for e in (entity, content)]
    if entity.entity_type != content.entity_type or (all(kinds) and kinds[0] != kinds[1]):
        yield f"it is a {entity.shown_type}"
    elif entity.entity_class is not content.entity_class:
        yield "it is a kind" if entity.entity_class is EntityClass.ARCHETYPE else "it is no kind"
    brought = all_names(entity.absorbed.get(narrative.NAME, {}))
    if normalised_name(content.name) not in map(normalised_name, (entity.name, *brought)):
        yield "that is not its name now"
    held = state_tags.tags_held_at(entity, candidate.moment)
    for tag in state_tags.own_spelling(entity, content.state_tags):
        excluding = excluded_by(tag, view.policy.exclusive_tags, held)
        yield from (f"it is {excluder}, which excludes {tag}" for excluder in excluding)
    gone = [tag for tag in held if is_gone(tag)] if candidate.acts else []
    yield from (f"it is {tag}, but acts" for tag in gone if tag not in content.state_tags)
    for name in changed_fields(content, entity)[1]:
        attribute = normal_tag(name.removeprefix(narrative.PROPERTY_PREFIX)).replace(" ", "_")
        if name != narrative.DESCRIPTION and find_attribute(attribute).fixed:
            yield f"it has another {attribute}"
    texts, named = (entity.description, content.description), query_stems(content.name)
    one, other = (set(query_stems(each)).difference(named) for each in texts)
    if one and other and one.isdisjoint(other):  # a description without a common word
        yield f"it is described as {entity.description!r}"
    text, about = f"{entity.name} is {content.description}", (Reference(entity.id),)
    claim = FactContent(statement=text, properties=content.properties, involved=about)
    tags = statements_of_tags(entity.id, content.state_tags, hold=True)
    statements = (*statements_of(claim, view), *tags)
    for objection in objections_to(content, statements, candidate.moment, view):
        if objection.weight is Weight.CONTRADICTS:
            yield objection.rationale


@make_gate(EntityContent)
def entity_known(
    candidate: Candidate, content: EntityContent, view: SliceView
) -> Iterator[Objection]:
    """Let an entity wait if it may be a known one and something speaks against that.

    Another type or state, a former name, another description, and facts speak against it.
    """
    known = find_known_entity(candidate, content, view)
    if known is not None:
        tags = tuple(statements_of_tags(known.id, content.state_tags, hold=True))
        yield from objections_to(content, tags, candidate.moment, view)
    elif content.same_as is None:
        doubts: dict[str, str] = {}
        for one, why in _possible_entities(candidate, content, view):
            but = f", but {', and '.join(why)}" if why else ""
            doubts[one.id] = f"the {one.shown_type} {one.name} {one.id}{but}"
        if doubts:
            may = f"needs review: {content.name} may be {'; or '.join(doubts.values())}"
            yield Objection(weight=Weight.ASKS, rationale=may, conflicts=tuple(doubts))


# Gates on events: causes, living actors, and duplicates.


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
    yield from object_to_the_dead(content, candidate.moment, view)


def object_to_the_dead(content: Content, now: Moment, view: SliceView) -> Iterator[Objection]:
    """Object to acts of the dead in a claim, whether or not it was proposed."""
    actors = content.actors if isinstance(content, EventContent | FactContent) else ()
    acting = {one.id for one in map(view.find_entity, actors) if one is not None}
    living, involved = _living_ids(content, view), list[Reference]()
    if isinstance(content, EventContent):
        involved += (*content.involved, *([content.location] if content.location else ()))
    statements = statements_of(content, view)
    there = {str(one.value) for one in statements if one.attribute == "location" and one.holds_then}
    raised = {e.subject for e in statements if (e.attribute, e.value) == ("life", "alive")}
    locations = {one.rpartition("of:")[2].split()[0] for one in there}
    ids = sorted(acting | living | locations)
    named = (*map(view.find_entity, involved), *map(partial(entity_of, view), ids))
    for entity in {one.id: one for one in named if one and one.id not in raised}.values():
        deeds = isinstance(content, FactContent) and entity.id not in acting | _living_ids(
            content, view, deeds=False
        )
        acts = entity.id in acting or entity.id in living
        yield from _object_to_dead(now, entity, view, acts=acts, certain=not deeds)


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
        if deeds or not all(each[-3:] == "_BY" for each in find_attribute(one.attribute).relations)
        for end, each in (("subject", one.subject), ("value", one.value))
        if end in find_attribute(one.attribute).living and isinstance(each, str)
        if each not in past and not (end == "subject" and one.attribute.startswith(_SUFFERED))
    )


_SUFFERED: Final = "does:be_"
"""The beginning of attributes for an action done to the subject, such as `does:be_mourn`."""


def _object_to_dead(
    now: Moment, entity: Entity, view: SliceView, *, acts: bool, certain: bool
) -> Iterator[Objection]:
    changes = [(e.tag, e.moment) for e in state_tags.changes_of(entity)]
    here = {t for t, m in changes if is_same_scene(now, m) or now.position == m.position}
    for tag, change in state_tags.tags_held_at(entity, now).items():
        gone, helpless = is_gone(tag), acts and ":".join(tag_meaning(tag) or ()) in HELPLESS
        if not (gone or helpless) or tag in here:  # somebody can act before death, or once raised
            continue
        held = state_tags.held_tag_of(view, entity, change)
        # Of an end without a date and an act with one, nobody said which came first.
        unordered = isinstance(clock_of(now), int) > isinstance(clock_of(change.moment), int)
        certain = certain and acts and gone and not unordered
        verb = "acts in it" if acts else "is involved in it"
        yield Objection(
            weight=Weight.CONTRADICTS if certain else Weight.WARNS,
            rationale=f"{entity.name} {verb} but is {tag} then",
            conflicts=state_tags.conflicts_of(held),
            conflicting=(held,) if certain else (),
            authority=state_tags.authority_of(view, entity, change, now),
        )


@make_gate(EventContent)
def actor_present(
    candidate: Candidate, content: EventContent, view: SliceView
) -> Iterator[Objection]:
    """Object to actors who are neither at the event's location nor within it.

    Only an event with a place can contradict; a participant of a scene is at the scene's place.
    A later event only causes a warning: an actor who was elsewhere before may have moved.
    """
    location = None if content.location is None else view.find_entity(content.location)
    if location is None:
        return
    scene, now = candidate.scene, candidate.moment
    here = () if scene is None or scene.location_ref != location.id else scene.participants
    said = (one for one in statements_of(content, view) if one.attribute == "location")
    arrived = {one.subject for one in said if one.holds_then}
    actors = [view.find_entity(reference) for reference in content.actors]
    for actor in (one for one in actors if one is not None and one.id not in {*here, *arrived}):
        for relation in standing_relations(view, actor, LOCATED_IN, now):
            there = view.find_entity(Reference(relation.to_id))
            if there is None or is_same_scene(now, relation.moment):
                continue
            if is_within(there, location, view) or is_within(location, there, view):
                continue
            stays = relation.ended and relation.superseded_by is None  # somebody said until when
            left = order_of(now, relation.moment) is Order.LATER and not stays
            was, then = ("was", "before") if left else ("is", "then")
            yield Objection(
                weight=Weight.WARNS if left else Weight.CONTRADICTS,
                rationale=f"{actor.name} acts in {location.name} but {was} in {there.name} {then}",
                conflicts=(relation.id,),
                conflicting=() if left else (relation.id,),
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
    scene_id, at = candidate.proposal.scene_id, candidate.moment.at
    for event in find_repeated_event(content, involved, view, at=at, scene_id=scene_id)[1]:
        yield Objection(
            weight=Weight.WARNS,
            rationale=f"this may be the event {event.id} of another scene",
            conflicts=(event.id,),
            authority=event.authority,
        )
