"""Standing tags: which state tags hold at a moment, by which change, and which facts say so."""

from collections.abc import Iterator
from dataclasses import dataclass

from canonry.domain.fields import Reference
from canonry.domain.ids import EntityId, FactId
from canonry.domain.judging.making import tag_statement
from canonry.domain.judging.slices import SliceView
from canonry.domain.merge.tag_set import TagChange, changes_in
from canonry.domain.moments import Moment, arranged, split_at
from canonry.domain.observations import Observation
from canonry.domain.provenance import Authority
from canonry.domain.things.entities import Entity, family_of, normalised_name
from canonry.domain.things.facts import Fact
from canonry.domain.vocabularies.narrative_fields import STATE_TAGS


@dataclass(frozen=True, slots=True, kw_only=True)
class TagHeld:
    """A state tag that holds for an entity by a change of it; `facts` document it."""

    entity_id: EntityId
    tag: str
    change: TagChange
    facts: tuple[FactId, ...] = ()


def changes_of(entity: Entity) -> list[TagChange]:
    """All changes of the tags of an entity, in the order of the stories."""
    return changes_in(entity.snapshot.get(STATE_TAGS, {}))


def around(entity: Entity, moment: Moment) -> tuple[list[TagChange], list[TagChange]]:
    """The changes before a moment and those after it."""
    return split_at(moment, changes_of(entity), lambda change: change.moment)


def held_at(entity: Entity, moment: Moment) -> dict[str, TagChange]:
    """The tags that hold as a moment begins, each with the change by which it does."""
    before, _after = around(entity, moment)
    last = {change.tag: change for change in before}
    return {tag: change for tag, change in last.items() if change.holds}


def tag_held(view: SliceView, entity: Entity, change: TagChange) -> TagHeld:
    """The tag that holds by `change`, with the fact that documents it."""
    fact = fact_for(view, entity, change)
    facts = () if fact is None else (fact.id,)
    return TagHeld(entity_id=entity.id, tag=change.tag, change=change, facts=facts)


def fact_for(view: SliceView, entity: Entity, change: TagChange) -> Fact | None:
    """The newest fact until a change that states what it brought about."""
    found = None
    for fact in told_of(view, entity, change.tag, holds=change.holds):
        if not _after(fact, change):
            found = fact
    return found


def _after(fact: Fact, change: TagChange) -> bool:
    """Whether the fact is of a later change."""
    if (fact.moment.at, fact.moment.place) == (change.moment.at, change.moment.place):
        return False
    return bool(split_at(fact.moment, (change.moment,), lambda one: one)[0])


def told_of(view: SliceView, entity: Entity, tag: str, *, holds: bool) -> list[Fact]:
    """The facts, in the order of the stories, which state that the tag holds, or that it does not.

    Of a tag that no observation of the entity mentions, no fact denies anything.
    """
    if not holds and all(change.tag != tag for change in changes_of(entity)):
        return []
    others = [view.thing(member) for member in entity.members]
    names = {entity.name, *(one.name for one in others if isinstance(one, Entity))}
    found = [
        fact
        for name in sorted(names)
        for fact in view.stating(tag_statement(name, tag, holds=holds))
        if documents(fact, entity, tag, holds=holds)
    ]
    return arranged(found, lambda fact: fact.moment)


def authority_of(view: SliceView, entity: Entity, change: TagChange) -> Authority:
    """By whose word a tag began to hold."""
    seen = view.thing(change.observation)
    return seen.authority if isinstance(seen, Observation) else entity.authority


def conflicts_of(held: TagHeld) -> tuple[str, ...]:
    """The ids to name in a conflict: the facts that document the tag, or else its entity."""
    return held.facts or (held.entity_id,)


def still_stands(view: SliceView, fact: Fact, moment: Moment) -> bool:
    """Whether no later change of the state, and no other fact, has ended what a fact states.

    Where the fact was superseded at a known time, its interval says whether it holds at a time.
    Without a time the question is about now, when a superseded fact does not hold.
    """
    if fact.superseded and (fact.until is None or moment.at is None):
        return False
    said = fact.properties
    entity_id, tag, holds = said.get("entity_id"), said.get("tag"), said.get("holds")
    if fact.until is not None or not isinstance(entity_id, str) or not isinstance(holds, bool):
        return True
    entity = view.entity(Reference(entity_id))
    return entity is None or (tag in held_at(entity, moment)) is holds


def documents(fact: Fact, entity: Entity, tag: str, *, holds: bool) -> bool:
    """Whether a fact states this, by its properties or its words alone."""
    said, family = fact.properties, family_of(entity)
    if "tag" in said:
        told = (said["tag"], said.get("holds"))
        return said.get("entity_id") in family and told == (tag, holds)
    words = tag_statement(entity.name, tag, holds=holds)
    same = normalised_name(fact.statement) == normalised_name(words)
    return same and bool(fact.involved) and family.issuperset(fact.involved)


def displaced_by(entity: Entity, change: TagChange) -> Iterator[str]:
    """The tags that ceased to hold when a change came, and that none changed since."""
    before, _after = around(entity, change.moment)
    held = {one.tag: one.holds for one in before if not _together(one, change)}
    last = {one.tag: one for one in changes_of(entity)}
    for tag, one in last.items():
        if not one.holds and held.get(tag) and _together(one, change):
            yield tag


def _together(one: TagChange, other: TagChange) -> bool:
    mine, theirs = one.moment, other.moment
    return (mine.at, mine.place) == (theirs.at, theirs.place)
