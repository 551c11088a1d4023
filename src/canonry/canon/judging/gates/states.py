"""Gates on entities: axioms, state tags, properties and relations."""

from collections.abc import Iterator
from typing import Final

from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.contents import EntityContent, RelationshipContent, StateChangeContent
from canonry.canon.judging.gates.kit import Gate, Objection, Weight
from canonry.canon.judging.known_things import known_as, restated
from canonry.canon.judging.relation_lines import (
    RelationLine,
    laws_against_relation,
    laws_against_state,
    line_of,
    opposed_tags,
    restates,
    word_behind,
)
from canonry.canon.judging.slices import SliceView
from canonry.canon.judging.state_tags import (
    as_held,
    authority_of,
    changes_of,
    conflicts_of,
    held_at,
    tag_held,
)
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Axiom, Relation
from canonry.log.schemas.narrative import relation_type
from canonry.values.merge import TagChange
from canonry.values.moments import Moment, at_once
from canonry.values.observations import Observation
from canonry.values.provenance import strongest
from canonry.values.state_tags import excluded_by


def _examine_axiom_holds(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    """Refuse a state or relation that violates the constraint of an axiom.

    No authority helps: the axiom must be changed first.
    """
    for axiom in _broken_axioms(candidate, view):
        rationale = f"the axiom {axiom.id} forbids it: {axiom.statement}"
        yield Objection(weight=Weight.REFUSES, rationale=rationale, conflicts=(axiom.id,))


def _broken_axioms(candidate: Candidate, view: SliceView) -> Iterator[Axiom]:
    match candidate.content:
        case EntityContent() as content:
            known = known_as(candidate, content, view) if content.state_tags else None
            held = set() if known is None else set(known.state_tags)
            yield from laws_against_state(view, content.entity_type, content.state_tags, held)
        case StateChangeContent() as content:
            entity = view.entity(content.entity)
            if entity is not None:
                held = set(entity.state_tags) - set(content.remove)
                yield from laws_against_state(view, entity.entity_type, content.add, held)
        case RelationshipContent() as content:
            ends = (view.entity(content.from_entity), view.entity(content.to_entity))
            yield from laws_against_relation(view, content.rel_type, ends)
        case _:
            return


AXIOM_HOLDS: Final = Gate(id="gate:axiom-holds", examine=_examine_axiom_holds)


def _examine_state_tags_exclusive(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    """Let at most one of several exclusive tags hold at a time.

    A later change supersedes the earlier tag; an earlier one holds until the next. Two tags of the
    same time contradict each other.
    """
    match candidate.content:
        case EntityContent(state_tags=tags) as content:
            yield from _among_themselves(tags, view)
            known = known_as(candidate, content, view) if tags else None
            if known is not None:
                yield from _against_held(candidate, known, tags, (), view)
        case StateChangeContent() as content:
            yield from _among_themselves(content.add, view)
            entity = view.entity(content.entity)
            if entity is not None:
                yield from _against_held(candidate, entity, content.add, content.remove, view)
        case _:
            return


def _among_themselves(tags: tuple[str, ...], view: SliceView) -> Iterator[Objection]:
    opposed = opposed_tags(tags, view.policy.exclusive_tags)
    if opposed is not None:
        rationale = f"{opposed[0]} and {opposed[1]} cannot hold at once"
        yield Objection(weight=Weight.REFUSES, rationale=rationale)


def _against_held(
    candidate: Candidate,
    entity: Entity,
    add: tuple[str, ...],
    remove: tuple[str, ...],
    view: SliceView,
) -> Iterator[Objection]:
    add, remove = as_held(entity, add), as_held(entity, remove)
    now, groups = candidate.moment, view.policy.exclusive_tags
    held = held_at(entity, now)
    told_then = {
        one.tag: one for one in changes_of(entity) if one.holds and at_once(now, one.moment)
    }
    removed = held.keys() & set(remove)
    beginning = [tag for tag in add if tag not in held]
    against = {rival: tag for tag in beginning for rival in excluded_by(tag, groups, told_then)}
    for rival, tag in sorted(against.items()):
        if rival not in removed:
            yield _object_to_tag(view, entity, now, told_then[rival], by=tag)
    staying = held.keys() - removed - against.keys()
    ended = {rival: tag for tag in beginning for rival in excluded_by(tag, groups, staying)}
    for rival, tag in sorted(ended.items()):
        yield _object_to_tag(view, entity, now, held[rival], by=tag)
    for tag in sorted(removed):
        yield _object_to_tag(view, entity, now, held[tag])


def _object_to_tag(
    view: SliceView, entity: Entity, now: Moment, change: TagChange, *, by: str | None = None
) -> Objection:
    """Object if a tag ends or contradicts another one; None: it repeats the same tag."""
    held = tag_held(view, entity, change)
    weight = Weight.ENDS if by is None else Weight.SUPERSEDES
    if by is not None and at_once(now, change.moment):
        weight = Weight.CONTRADICTS
    return Objection(
        weight=weight,
        rationale=_say_when(entity.name, change.tag, by, later=weight is Weight.SUPERSEDES),
        conflicts=conflicts_of(held),
        rivals=(held,),
        authority=authority_of(view, entity, change, now),
    )


def _say_when(name: str, rival: str, tag: str | None, *, later: bool) -> str:
    if tag is None:
        return f"{name} was {rival} until then"
    if later:
        return f"{name} was {rival} until it became {tag}"
    return f"{name} is {rival} at that time, which excludes {tag}"


STATE_TAGS_EXCLUSIVE: Final = Gate(
    id="gate:state-tags-exclusive", examine=_examine_state_tags_exclusive
)


def _examine_entity_restated(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    """Let a new value of equal or higher authority replace the old value.

    A value of lower authority waits for review.
    """
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
        rationale=f"{entity.name} already has other values for {', '.join(sorted(changed))}",
        conflicts=(entity.id,),
        authority=strongest((*said, *(() if said else (entity.authority,)))),
    )


ENTITY_RESTATED: Final = Gate(id="gate:entity-restated", examine=_examine_entity_restated)


def _examine_functional_relation(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    """Let only one relation hold at a time if its type allows one, such as a place or an owner.

    A relation has one value for each property. A later relation supersedes the earlier one; an
    earlier one holds until the next. Two relations of the same time contradict each other.
    """
    content = candidate.content
    if not isinstance(content, RelationshipContent):
        return
    start, end = view.entity(content.from_entity), view.entity(content.to_entity)
    kind = relation_type(content.rel_type)
    if start is None or end is None:
        return
    line = line_of(view, kind, start, end, candidate.moment, properties=content.properties)
    if line.same is not None and restates(line.same, content):
        then = at_once(candidate.moment, line.same.moment)
        yield _otherwise(line.same, Weight.CONTRADICTS if then else Weight.SUPERSEDES)
    if not (kind.one_target or kind.one_origin):
        return
    for relation in line.against:
        yield _one_at_a_time(line, relation, start, end, Weight.CONTRADICTS)
    for relation in line.ends:
        yield _one_at_a_time(line, relation, start, end, Weight.SUPERSEDES)


def _one_at_a_time(
    line: RelationLine, relation: Relation, start: Entity, end: Entity, weight: Weight
) -> Objection:
    whose = start if relation.from_id in family_of(start) else end
    held = "held until then" if weight is Weight.SUPERSEDES else "holds at that time"
    return Objection(
        weight=weight,
        rationale=f"{whose.name} can have one {relation.rel_type} at a time: {relation.id} {held}",
        conflicts=(relation.id,),
        rivals=(relation.id,),
        authority=word_behind(line, relation),
    )


def _otherwise(relation: Relation, weight: Weight) -> Objection:
    return Objection(
        weight=weight,
        rationale=f"{relation.id} is the same relation with other properties",
        conflicts=(relation.id,),
        rivals=(relation.id,),
        authority=relation.authority,
    )


FUNCTIONAL_RELATION: Final = Gate(
    id="gate:functional-relation", examine=_examine_functional_relation
)


def _examine_opposed_relation(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    """Object to opposed relations of a pair at one time; a later one supersedes the earlier."""
    content = candidate.content
    if not isinstance(content, RelationshipContent):
        return
    start, end = view.entity(content.from_entity), view.entity(content.to_entity)
    kind = relation_type(content.rel_type)
    if start is None or end is None or not kind.excludes:
        return
    line = line_of(view, kind, start, end, candidate.moment)
    pair = f"{start.name} and {end.name}"
    for relation in (one for one in line.against if one.rel_type in kind.excludes):
        yield _excluded(line, relation, pair, kind.name, Weight.CONTRADICTS)
    for relation in (one for one in line.ends if one.rel_type in kind.excludes):
        yield _excluded(line, relation, pair, kind.name, Weight.SUPERSEDES)


def _excluded(
    line: RelationLine, relation: Relation, pair: str, name: str, weight: Weight
) -> Objection:
    held = "until then" if weight is Weight.SUPERSEDES else "then"
    return Objection(
        weight=weight,
        rationale=f"{relation.id} is {relation.rel_type} of {pair} {held}, which excludes {name}",
        conflicts=(relation.id,),
        rivals=(relation.id,),
        authority=word_behind(line, relation),
    )


OPPOSED_RELATION: Final = Gate(id="gate:opposed-relation", examine=_examine_opposed_relation)
