"""The state tags of an entity: when each holds, and the statements that say only that."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Final

from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.contents import FactContent, StateChangeContent
from canonry.canon.judging.known_things import tag_statement
from canonry.canon.judging.slices import SliceView
from canonry.language.texts.sentences import plain_statement
from canonry.language.texts.stems import is_part_of
from canonry.log.items.entities import Entity, EntityClass, family_of, normalised_name
from canonry.log.items.facts import Fact
from canonry.log.schemas.narrative import STATE_TAGS
from canonry.values.fields import Reference
from canonry.values.ids import EntityId, FactId
from canonry.values.json_values import folded
from canonry.values.merge import TagChange, changes_in
from canonry.values.moments import Moment, arranged, comes_after, split_at
from canonry.values.observations import Observation
from canonry.values.provenance import Authority, strongest
from canonry.values.state_tags import excluded_by, normal_tag


@dataclass(frozen=True, slots=True, kw_only=True)
class TagHeld:
    """A state tag that holds for an entity by a change of it; `facts` document it."""

    entity_id: EntityId
    tag: str
    change: TagChange
    facts: tuple[FactId, ...] = ()


def changes_of(entity: Entity) -> Sequence[TagChange]:
    """All changes of the tags of an entity, in the order of the stories."""
    return changes_in(entity.snapshot.get(STATE_TAGS, {}))


def around(entity: Entity, moment: Moment) -> tuple[list[TagChange], list[TagChange]]:
    """The changes before a moment and those after it."""
    return split_at(moment, changes_of(entity), attrgetter("moment"))


def as_held(entity: Entity, tags: Iterable[str]) -> tuple[str, ...]:
    """The tags as the entity has them, where it has them in another spelling."""
    spelled = {normal_tag(one.tag): one.tag for one in changes_of(entity)}
    standing = {normal_tag(tag): tag for tag in entity.state_tags}
    found = ((normal_tag(tag), tag) for tag in tags)
    return tuple(sorted({standing.get(form, spelled.get(form, tag)) for form, tag in found}))


def held_at(entity: Entity, moment: Moment) -> dict[str, TagChange]:
    """The tags that hold as a moment begins, each with the change by which it does."""
    before, _after = around(entity, moment)
    last = {change.tag: change for change in before}
    return {tag: change for tag, change in last.items() if change.holds}


def excluded_in(
    changes: Iterable[TagChange], groups: tuple[tuple[str, ...], ...]
) -> list[TagChange]:
    """The tags that cease where one begins that excludes them, and of which nobody said so."""
    ordered = list(changes)
    held: set[str] = set()
    missing: list[TagChange] = []
    for change in ordered:
        if not change.holds:
            held.discard(change.tag)
            continue
        for other in excluded_by(change.tag, groups, held):
            held.discard(other)
            said = any(
                (one.tag, one.holds) == (other, False) and together(one.moment, change.moment)
                for one in ordered
            )
            if not said:
                missing.append(replace(change, tag=other, holds=False))
        held.add(change.tag)
    return missing


def tag_held(view: SliceView, entity: Entity, change: TagChange) -> TagHeld:
    """The tag that holds by `change`, with the fact that documents it."""
    fact = fact_for(view, entity, change)
    facts = () if fact is None else (fact.id,)
    return TagHeld(entity_id=entity.id, tag=change.tag, change=change, facts=facts)


def fact_for(view: SliceView, entity: Entity, change: TagChange) -> Fact | None:
    """The newest fact until a change that states what it brought about."""
    return newest_until(change, told_of(view, entity, change.tag, holds=change.holds))


def newest_until(change: TagChange, told: Sequence[Fact]) -> Fact | None:
    """The newest of facts in the order of the stories until a change."""
    return next((fact for fact in reversed(told) if not _after(fact, change)), None)


def _after(fact: Fact, change: TagChange) -> bool:
    """Whether the fact is of a later change."""
    moment, changed = fact.moment, change.moment
    if together(moment, changed):
        return False
    return bool(split_at(moment, (changed,), lambda one: one)[0])


def told_of(view: SliceView, entity: Entity, tag: str, *, holds: bool) -> list[Fact]:
    """The facts, in the order of the stories, which state that the tag holds, or that it does not.

    Of a tag that no observation of the entity mentions, no fact denies anything.
    """
    if not holds and all(change.tag != tag for change in changes_of(entity)):
        return []
    others = [view.thing(member) for member in entity.members]
    members = [one for one in others if isinstance(one, Entity)]
    names = {name for one in (entity, *members) for name in one.known_as}
    found = [
        fact
        for name in sorted(names)
        for fact in view.stating(tag_statement(name, tag, holds=holds))
        if documents(fact, entity, tag, holds=holds)
    ]
    return arranged(found, lambda fact: fact.moment)


def authority_of(view: SliceView, entity: Entity, change: TagChange, moment: Moment) -> Authority:
    """By whose word a tag holds at a moment: the highest of those who said so until then.

    Who says so with the very time of that moment says it then too.
    """
    before, after = around(entity, moment)
    said: list[TagChange] = []
    for one in (*before, *after):
        if one.tag == change.tag:
            said = [*said, one] if one.holds else []
        if one == change:
            break
    found = [seen for one in said if isinstance(seen := view.thing(one.observation), Observation)]
    return strongest([seen.authority for seen in found] or [entity.authority])


def conflicts_of(held: TagHeld) -> tuple[str, ...]:
    """The ids to name in a conflict: the facts that document the tag, or else its entity."""
    return held.facts or (held.entity_id,)


def still_stands(view: SliceView, fact: Fact, moment: Moment) -> bool:
    """Whether no later change of the state, and no other fact, has ended what a fact states.

    Where the fact was superseded at a known time, its interval says whether it holds at a time.
    Without a time it holds at what was told before what took its place.
    """
    if fact.superseded and (fact.until is None or moment.at is None):
        heir = view.thing(fact.superseded_by or "")
        if not isinstance(heir, Fact) or not comes_after(heir.moment, moment):
            return False
    said = fact.properties
    if fact.until is not None or "tag" not in said:
        return True
    entity_id, tag, holds = said.get("entity_id"), said["tag"], said.get("holds")
    if not isinstance(entity_id, str) or not isinstance(holds, bool):
        return True
    entity = view.entity(Reference(entity_id))
    return entity is None or (tag in held_at(entity, moment)) is holds


def documents(fact: Fact, entity: Entity, tag: str, *, holds: bool) -> bool:
    """Whether a fact states this, by its properties or its words alone."""
    said, family = fact.properties, family_of(entity)
    if "tag" in said:
        told = (said["tag"], said.get("holds"))
        return said.get("entity_id") in family and told == (tag, holds)
    words = normalised_name(fact.statement)
    names = entity.known_as
    same = any(words == normalised_name(tag_statement(n, tag, holds=holds)) for n in names)
    return same and bool(fact.involved) and family.issuperset(fact.involved)


def together(one: Moment, other: Moment) -> bool:
    """Whether both are one moment, told at one place."""
    return (one.at, one.place) == (other.at, other.place)


# Statements of tags: what a sentence says of a state.
#
# Who says in words that somebody is dead says the same as who changes their state.

_ANEW: Final = frozenset({"again", "now", "still"})
"""Words that say of a state when, and not which."""


def stated_tag(
    statement: str, entity: Entity, groups: Iterable[tuple[str, ...]]
) -> tuple[str, bool] | None:
    """The tag that a statement says of the entity, as far as it is known as a tag, and whether so.

    Known are the tags of `groups`, and those that the entity has or had.
    """
    subject, verb, said = folded(statement).rstrip(" .!").rpartition(" is ")
    if not verb or entity.entity_class is EntityClass.ARCHETYPE:
        return None
    if not _names(plain_statement(subject), entity):
        return None
    words = said.split()
    holds = words[:2] != ["no", "longer"]
    tag = " ".join(word for word in words[0 if holds else 2 :] if word not in _ANEW)
    known = {normal_tag(one): one for group in groups for one in group}
    known |= {normal_tag(one.tag): one.tag for one in changes_of(entity)}
    return (known[tag], holds) if tag in known else None


def _names(subject: str, entity: Entity) -> bool:
    """Whether the subject of a statement about this entity alone is it, by its name or a part."""
    names = entity.known_as
    return subject in map(plain_statement, names) or any(is_part_of(subject, n) for n in names)


def as_state(candidate: Candidate, view: SliceView) -> Candidate:
    """The candidate; a fact that says no more than that a tag holds is a change of that state."""
    content = candidate.content
    if not isinstance(content, FactContent) or len(set(content.involved)) != 1:
        return candidate
    entity = view.entity(content.involved[0])
    if entity is None or content.replaces or content.duration is not None or content.properties:
        return candidate
    stated = stated_tag(content.statement, entity, view.policy.exclusive_tags)
    if stated is None:
        return candidate
    tag, holds = stated
    add, remove = ((tag,), ()) if holds else ((), (tag,))
    change = StateChangeContent(
        entity=content.involved[0], add=add, remove=remove, time_ref=content.time_ref
    )
    return replace(candidate, content=change)
