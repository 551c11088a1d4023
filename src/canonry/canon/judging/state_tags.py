"""State tags: their intervals, the facts that state them, and the writing of changes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import Final, TypeAlias

from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.contents import FactContent, StateChangeContent
from canonry.canon.judging.known_items import Backing, make_fact, make_observation, tag_statement
from canonry.canon.judging.slices import SliceView
from canonry.language.reading.reading import READER
from canonry.language.texts.sentences import plain_statement
from canonry.language.texts.stems import is_part_of
from canonry.log.entries import Entry, FactRead, FactResumed, FactRetconned, FactSuperseded, Made
from canonry.log.items.entities import Entity, EntityClass, family_of, normalised_name
from canonry.log.items.facts import Fact, FactDraft, FactType, Relation
from canonry.log.schemas.narrative import STATE_TAGS
from canonry.values.attributes.table import attribute_of_word, statements_of_tag
from canonry.values.fields import Reference
from canonry.values.ids import EntityId, FactId, NewId, ObservationId
from canonry.values.json_values import fold_text
from canonry.values.merge_policies import TagChange, changes_in, order_changes
from canonry.values.moments import (
    Instant,
    Moment,
    are_simultaneous,
    comes_after,
    sort_by_story,
    split_at,
)
from canonry.values.observations import Observation
from canonry.values.provenance import Authority, highest_authority
from canonry.values.state_tags import ended_by, is_gone, normal_tag
from canonry.values.statements import timeline_key

Bonds: TypeAlias = frozenset[frozenset[str]]
"""The two ends of each bond of which something follows, such as that a spouse is married."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TagHeld:
    """A state tag that holds through a change; `facts` document it."""

    entity_id: EntityId
    tag: str
    change: TagChange
    facts: tuple[FactId, ...] = ()


def changes_of(entity: Entity) -> Sequence[TagChange]:
    """Return all changes of an entity's tags in story order."""
    tags = entity.snapshot.get(STATE_TAGS)
    return changes_in(tags) if tags else ()


def own_spelling(entity: Entity, tags: Iterable[str]) -> tuple[str, ...]:
    """Return the tags in the entity's own spelling."""
    spelled = {normal_tag(one.tag): one.tag for one in changes_of(entity)}
    standing = {normal_tag(tag): tag for tag in entity.state_tags}
    found = ((normal_tag(tag), tag) for tag in tags)
    return tuple(sorted({standing.get(form, spelled.get(form, tag)) for form, tag in found}))


def tags_held_at(entity: Entity, moment: Moment) -> dict[str, TagChange]:
    """Return the tags that hold when a moment begins, with the changes behind them."""
    changes = changes_of(entity)
    before = split_at(moment, changes, attrgetter("moment"))[0] if changes else ()
    last = {change.tag: change for change in before}
    return {tag: change for tag, change in last.items() if change.holds}


def excluded_changes(
    changes: Iterable[TagChange], groups: tuple[tuple[str, ...], ...]
) -> list[TagChange]:
    """Return the tags that end implicitly because an exclusive one begins."""
    ordered = list(changes)
    held: set[str] = set()
    missing: list[TagChange] = []
    for change in ordered:
        if not change.holds:
            held.discard(change.tag)
            continue
        for other in ended_by(change.tag, groups, held):
            held.discard(other)
            is_stated = any(
                (one.tag, one.holds) == (other, False) and is_same_moment(one.moment, change.moment)
                for one in ordered
            )
            if not is_stated:
                missing.append(replace(change, tag=other, holds=False))
        held.add(change.tag)
    return missing


def held_tag_of(view: SliceView, entity: Entity, change: TagChange) -> TagHeld:
    """Return the tag that holds through `change`, with the fact that documents it."""
    fact = fact_for(view, entity, change)
    facts = () if fact is None else (fact.id,)
    return TagHeld(entity_id=entity.id, tag=change.tag, change=change, facts=facts)


def fact_for(view: SliceView, entity: Entity, change: TagChange) -> Fact | None:
    """Return the newest fact before or at a change that states its result."""
    return newest_until(change, facts_stating_tag(view, entity, change.tag, holds=change.holds))


def newest_until(change: TagChange, facts: Sequence[Fact]) -> Fact | None:
    """Return the newest fact in story order before or at a change."""
    for fact in reversed(facts):
        earlier, _later = split_at(fact.moment, (change.moment,), lambda one: one)
        if not earlier or is_same_moment(fact.moment, change.moment):
            return fact
    return None


def facts_stating_tag(view: SliceView, entity: Entity, tag: str, *, holds: bool) -> list[Fact]:
    """Return the facts in story order that state that the tag holds, or that it does not.

    A tag without any observation is denied by no fact.
    """
    if not holds and all(change.tag != tag for change in changes_of(entity)):
        return []
    others = [view.find_item(member) for member in entity.members]
    members = [one for one in others if isinstance(one, Entity)]
    names = {name for one in (entity, *members) for name in one.known_as}
    found = [
        fact
        for name in sorted(names)
        for fact in view.facts_stating(tag_statement(name, tag, holds=holds))
        if states_tag(fact, entity, tag, holds=holds)
    ]
    return sort_by_story(found, lambda fact: fact.moment)


def authority_of(view: SliceView, entity: Entity, change: TagChange, moment: Moment) -> Authority:
    """Return the highest authority that stated the tag up to a moment.

    A statement at exactly that time counts.
    """
    before, after = split_at(moment, changes_of(entity), attrgetter("moment"))
    changes: list[TagChange] = []
    for one in (*before, *after):
        if one.tag == change.tag:
            changes = [*changes, one] if one.holds else []
        if one == change:
            break
    found = [
        seen for one in changes if isinstance(seen := view.find_item(one.observation), Observation)
    ]
    return highest_authority([seen.authority for seen in found] or [entity.authority])


def conflicts_of(held: TagHeld) -> tuple[str, ...]:
    """Return the conflicting ids: the facts that document the tag, else its entity."""
    return held.facts or (held.entity_id,)


def still_stands(view: SliceView, fact: Fact, moment: Moment) -> bool:
    """Return whether no later state change or fact has ended the fact's statement.

    A fact that was superseded at a known time holds within its interval. Without a time it holds
    for statements made before its successor.
    """
    if fact.was_called_off:
        return False
    if fact.superseded and (fact.until is None or moment.at is None):
        successor = view.find_item(fact.superseded_by or "")
        if not isinstance(successor, Fact | Relation) or not comes_after(successor.moment, moment):
            return False
    properties = fact.properties
    if fact.until is not None or "tag" not in properties:
        return True
    entity_id, tag, holds = properties.get("entity_id"), properties["tag"], properties.get("holds")
    if not isinstance(entity_id, str) or not isinstance(holds, bool):
        return True
    entity = view.find_entity(Reference(entity_id))
    if is_gone(tag) and comes_after(fact.moment, moment):
        return True  # it ends more than its own tag, as a death ends a marriage
    return entity is None or (tag in tags_held_at(entity, moment)) is holds


def states_tag(fact: Fact, entity: Entity, tag: str, *, holds: bool) -> bool:
    """Return whether a fact states this by its properties or its words."""
    properties, family = fact.properties, family_of(entity)
    if "tag" in properties:
        stated = (properties["tag"], properties.get("holds"))
        return properties.get("entity_id") in family and stated == (tag, holds)
    statement, names = normalised_name(fact.statement), entity.known_as
    same = any(statement == normalised_name(tag_statement(n, tag, holds=holds)) for n in names)
    return same and bool(fact.involved) and family.issuperset(fact.involved)


def is_same_moment(one: Moment, other: Moment) -> bool:
    """Return whether both have the same story time and story position."""
    return (one.at, one.position) == (other.at, other.position)


# Statements of tags: sentences that describe a state.
#
# A statement that somebody is dead equals a change of that state.

_CHANGED: Final = frozenset({"again", "now", "done", "finished", "completed"})


def stated_tag(
    statement: str, entity: Entity, groups: Iterable[tuple[str, ...]]
) -> tuple[str, bool] | None:
    """Return the known tag that a statement asserts or denies of the entity.

    Known tags are those in `groups`, and all that the entity has or had.
    """
    subject, verb, rest = fold_text(statement).rstrip(" .!").rpartition(" is ")
    if not verb or entity.entity_class is EntityClass.ARCHETYPE:
        return None
    subject, names = plain_statement(subject), entity.known_as
    if not (subject in map(plain_statement, names) or any(is_part_of(subject, n) for n in names)):
        return None
    words = rest.split()
    holds = words[:2] != ["no", "longer"]
    tag = " ".join(e for e in words[0 if holds else 2 :] if e not in {"again", "now", "still"})
    known = {normal_tag(one): one for group in groups for one in group}
    known |= {normal_tag(one.tag): one.tag for one in changes_of(entity)}
    meant = attribute_of_word(tag) if _CHANGED.intersection(words) else None
    if tag not in known or (meant and meant[0].name != "life"):
        return None  # the reader knows "is open again" and "is done" as changes
    return known[tag], holds


def as_state_change(candidate: Candidate, view: SliceView) -> Candidate:
    """Return the candidate; a fact that only states a tag becomes a state change."""
    content = candidate.content
    if not isinstance(content, FactContent) or len(set(content.involved)) != 1:
        return candidate
    entity = view.find_entity(content.involved[0])
    if entity is None or content.duration is not None or content.properties:
        return candidate
    stated = stated_tag(content.statement, entity, view.policy.exclusive_tags)
    if stated in {None, ("dead", False)}:  # who is no longer dead lives again, which the words say
        return candidate
    tag, holds = stated
    add, remove = ((tag,), ()) if holds else ((), (tag,))
    change = StateChangeContent(
        entity=content.involved[0],
        add=add,
        remove=remove,
        time_ref=content.time_ref,
        replaces=content.replaces,
        reason=content.reason,
    )
    return replace(candidate, content=change)


# Tag facts: the facts that state an entity's tags, derived from the changes.
#
# A tag holds in intervals. Each begins with a fact and ends with the fact of the next interval.


@dataclass(frozen=True, slots=True)
class TagWriter:
    """Writes the changes of an entity's tags, and the facts that follow from them."""

    view: SliceView
    new_id: NewId
    backing: Backing
    entity: Entity
    _facts_by_tag: dict[tuple[str, bool], list[Fact]] = field(default_factory=dict)

    @property
    def exclusive_groups(self) -> tuple[tuple[str, ...], ...]:
        """Return the tags that exclude each other."""
        return self.view.policy.exclusive_tags

    def facts_stating(self, tag: str, *, holds: bool) -> list[Fact]:
        """Return facts as `facts_stating_tag`, cached for all intervals of a long history."""
        key = (tag, holds)
        if key not in self._facts_by_tag:
            self._facts_by_tag[key] = facts_stating_tag(self.view, self.entity, tag, holds=holds)
        return self._facts_by_tag[key]

    def facts_stating_then(self, change: TagChange, *, holds: bool) -> list[Fact]:
        """Return the facts that state this of a change's tag at its moment."""
        facts = self.facts_stating(change.tag, holds=holds)
        return [fact for fact in facts if is_same_moment(fact.moment, change.moment)]

    def owner_of(self, change: TagChange) -> EntityId:
        """Return the entity that a change was recorded for, perhaps merged since."""
        seen = self.view.find_item(change.observation) if change.observation else None
        return seen.entity_id if isinstance(seen, Observation) else self.entity.id

    def make_observation(
        self,
        moment: Moment,
        tags: Mapping[str, bool],
        label: str,
        *,
        of: EntityId | None = None,
        backing: Backing | None = None,
    ) -> Made:
        """Return the observation of tags at a moment."""
        backing = backing or replace(self.backing, place=moment.position)
        about, fields, at = of or self.entity.id, {STATE_TAGS: tags}, moment.at
        return make_observation(self.new_id, backing, about, fields, label=label, observed_at=at)

    def change_facts(
        self,
        new: Sequence[TagChange],
        retracted: Iterable[FactId] = (),
        *,
        old: Sequence[TagChange] | None = None,
        removed: Iterable[str] = (),
    ) -> "TagFacts":
        """Return the changes of facts when the ordered changes turn into `new`.

        Only tags that changed are considered, or all if the `old` changes are given. The ends of
        tags that nobody `removed` are consequences, which end nothing by themselves.
        """
        before = begins_in(changes_of(self.entity) if old is None else old)
        stating, after = _FactChanges(self, new, frozenset(retracted)), begins_in(new)
        touched = [
            tag
            for tag in sorted(after)
            if old is not None or _change_keys(after[tag]) != _change_keys(before.get(tag, []))
        ]
        intervals = [one for tag in touched for one in stating.fact_intervals(after[tag], before)]
        ends = [entry for facts, end in intervals for entry in stating.end_facts(facts, end)]
        made = sorted(stating.made, key=lambda each: not each[0].holds)
        return TagFacts(
            entries=(
                *(entry for _change, entry in made),
                *map(partial(_read_tag, {*removed}), made),
                *ends,
            ),
            made=tuple((change, FactId(entry.thing.id)) for change, entry in made),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TagFacts:
    """The new facts with the changes that they document, and the changes of other facts."""

    entries: tuple[Entry, ...]
    made: tuple[tuple[TagChange, FactId], ...]


def supersede_fact(fact: FactDraft, until: Instant | None, by: str) -> FactSuperseded:
    """Return the entry that ends a fact; without a date if the end precedes the start."""
    backwards = until is not None and fact.time_ref is not None and until < fact.time_ref
    return FactSuperseded(fact_id=fact.id, until=None if backwards else until, superseded_by=by)


def _read_tag(removed: set[str], made: tuple[TagChange, Made]) -> FactRead:
    """Return what the fact of a tag says, as a statement."""
    change, entry = made
    about = entry.thing.involved[0] if isinstance(entry.thing, FactDraft) else ""
    follows = not (change.holds or change.tag in removed)
    said = statements_of_tag(about, change.tag, holds=change.holds)
    statements = tuple(replace(one, implied=follows) for one in said)
    return FactRead(fact_id=FactId(entry.thing.id), reader=READER, statements=statements)


def begins_in(changes: Iterable[TagChange]) -> dict[str, list[TagChange]]:
    """Return each tag's changes at which it begins or ends; initially no tag holds."""
    found: dict[str, list[TagChange]] = {}
    for change in changes:
        begun = found.setdefault(change.tag, [])
        if change.holds is not (begun[-1].holds if begun else False):
            begun.append(change)
    return found


def _change_keys(begins: list[TagChange]) -> list[tuple[object, ...]]:
    return [(one.holds, one.moment.at, one.moment.position) for one in begins]


@dataclass(frozen=True, slots=True)
class _FactChanges:
    """The facts that state the new changes, except `retracted` ones; `made` are the new facts."""

    pen: TagWriter
    new: Sequence[TagChange]
    retracted: frozenset[FactId]
    made: list[tuple[TagChange, Made]] = field(default_factory=list)

    def fact_intervals(
        self, begins: list[TagChange], before: dict[str, list[TagChange]]
    ) -> Iterator[tuple[list[FactDraft], TagChange | None]]:
        """Yield the facts of a tag's intervals, with their ends; a new interval gets a new fact."""
        known = _change_keys(before.get(begins[0].tag, [])) if begins else []
        stated = [self._facts_in(begins, holds=holds) for holds in (False, True)]
        for index, change in enumerate(begins):
            facts = [fact for interval, fact in stated[change.holds] if interval == index]
            is_stated = any(is_same_moment(fact.moment, change.moment) for fact in facts)
            drafts: list[FactDraft] = list(facts)
            if not is_stated and _change_keys([change])[0] not in known:
                drafts.append(self._state_fact(change))
            yield drafts, begins[index + 1] if index + 1 < len(begins) else None

    def _facts_in(self, begins: list[TagChange], *, holds: bool) -> list[tuple[int, Fact]]:
        """Return the facts that state this, with the index of their interval."""
        found = []
        for fact in self.pen.facts_stating(begins[0].tag, holds=holds) if begins else ():
            if fact.id in self.retracted:
                continue
            at = fact.moment
            own = next((n for n, one in enumerate(begins) if is_same_moment(one.moment, at)), None)
            if own is None or begins[own].holds is not holds:
                earlier, _later = split_at(at, self.new, lambda change: change.moment)
                own = max((n for n, one in enumerate(begins) if one in earlier), default=None)
            if own is not None:
                found.append((own, fact))
        return found

    def _state_fact(self, change: TagChange) -> FactDraft:
        """Create the fact that states the result of a change."""
        pen, backing = self.pen, self.pen.backing
        seen = pen.view.find_item(change.observation) if change.observation else None
        if isinstance(seen, Observation):
            backing = backing.with_support_of(seen)
        scene, about = change.moment.position.scene, pen.entity
        made = make_fact(
            pen.new_id,
            replace(backing, place=change.moment.position) if scene else backing,
            label=f"fact:{change.tag}:{len(self.made)}",
            statement=tag_statement(about.name, change.tag, holds=change.holds),
            involved=(about.id,),
            time_ref=change.moment.at,
            fact_type=FactType.STATE,
            properties={"entity_id": about.id, "tag": change.tag, "holds": change.holds},
        )
        self.made.append((change, made))
        if not isinstance(made.thing, FactDraft):
            raise TypeError(made.thing)
        return made.thing

    def end_facts(self, facts: Iterable[FactDraft], end: TagChange | None) -> Iterator[Entry]:
        """End each fact where the next interval begins."""
        successor = None if end is None else self._successor_of(end)
        for fact in facts:
            until = by = None
            if isinstance(fact, Fact):
                until, by = fact.until, fact.superseded_by
            if successor is not None and end is not None:
                entry = supersede_fact(fact, end.moment.at, successor)
                if (until, by) != (entry.until, entry.superseded_by):
                    yield entry
            elif by is not None and end is None:
                yield FactResumed(fact_id=fact.id, fallen=by)

    def _successor_of(self, change: TagChange) -> FactId | None:
        """Return the fact that ends an interval: of the exclusive tag, else of the change."""
        then = (one for one in self.new if one.holds and is_same_moment(one.moment, change.moment))
        begun = {one.tag: one for one in then}
        ends = partial(ended_by, groups=self.pen.exclusive_groups, held=[change.tag])
        excluded = [begun[tag] for tag in sorted(begun) if not change.holds and ends(tag)]
        for one in (*excluded, change):
            for other, made in self.made:
                if other.tag == one.tag and is_same_moment(other.moment, one.moment):
                    return FactId(made.thing.id)
            fact = newest_until(one, self.pen.facts_stating(one.tag, holds=one.holds))
            if fact is not None and fact.id not in self.retracted:
                return fact.id
        return None


# Tag changes: add and remove state tags at a moment, whatever the order of acceptance.
#
# A change is inserted between the canon changes. A tag that begins ends the tags that it excludes,
# and the facts follow from all changes in order. The result does not depend on the order in which
# changes become canon.

_NEW = ObservationId("")
"""A placeholder for the new observation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TagsChanged:
    """The entries, and the facts that document the changes; none: nothing changed."""

    entries: tuple[Entry, ...] = ()
    begun: tuple[FactId, ...] = ()
    ended: tuple[FactId, ...] = ()
    known: tuple[FactId, ...] = ()


def change_tags(
    pen: TagWriter,
    *,
    add: tuple[str, ...],
    remove: tuple[str, ...],
    moment: Moment,
    until: Instant | None = None,
    retracted: Iterable[TagHeld] = (),
    bonds: Bonds | None = None,
) -> TagsChanged:
    """Return the change of these tags at `moment`; tags in `retracted` are retconned with it.

    At `until` the tags are again what they were before. With `bonds`, the changes follow from what
    a fact or relation says, and those that follow from these bonds do not end with another bond.

    A new tag ends those that exclude it. Adding a current tag confirms it, and removing an absent
    one denies it, because an earlier change may become known later.
    """
    view, entity, gone = pen.view, pen.entity, tuple(retracted)
    held = tags_held_at(entity, moment)
    begun, again = sorted(set(add) - held.keys()), sorted(set(add) & held.keys())
    conflicting = {other for tag in add for other in ended_by(tag, pen.exclusive_groups, held)}
    ended = sorted((held.keys() & {*conflicting, *remove}) - set(add))
    known = [fact.id for tag in again if (fact := fact_for(view, entity, held[tag])) is not None]
    if not begun and not ended and not moment.position.scene and moment.at is None:
        return TagsChanged(known=tuple(known))
    denied = (set(remove) - held.keys()) if moment.position.scene else set[str]()
    apart = (one.change for one in gone if not is_same_moment(one.change.moment, moment))
    changes = [
        *((tag, True, moment) for tag in (*begun, *again)),
        *((tag, False, moment) for tag in (*ended, *sorted(denied))),
        *((one.tag, False, one.moment) for one in apart),
        *((tag, tag in ended, replace(moment, at=until)) for tag in (*begun, *ended) if until),
        *((tag, False, at) for tag in begun for at in _denial_moments(pen, tag, moment, bonds)),
    ]
    new_changes = [TagChange(tag=t, holds=h, moment=m, observation=_NEW) for t, h, m in changes]
    kept = [one for one in changes_of(entity) if all(one != each.change for each in gone)]
    new_changes += excluded_changes(order_changes((*kept, *new_changes)), pen.exclusive_groups)
    facts = pen.change_facts(
        order_changes((*kept, *new_changes)),
        {fact for one in gone for fact in one.facts},
        removed=remove if bonds is None else (),
    )
    return TagsChanged(
        entries=(*_observe_changes(pen, new_changes), *facts.entries),
        begun=_made_at(facts, moment, begun, holds=True),
        ended=_made_at(facts, moment, ended, holds=False),
        known=tuple(known),
    )


def _observe_changes(pen: TagWriter, changes: Iterable[TagChange]) -> Iterator[Made]:
    """Yield one observation for each moment, with all tags that change then."""
    moments: list[tuple[Moment, dict[str, bool]]] = []
    for change in changes:
        found = next((tags for at, tags in moments if is_same_moment(at, change.moment)), None)
        if found is None:
            moments.append((change.moment, found := {}))
        found[change.tag] = change.holds
    for number, (at, tags) in enumerate(moments):
        label = f"observation:{number}" if number else "observation"
        backing = None if number else pen.backing
        yield pen.make_observation(at, dict(sorted(tags.items())), label, backing=backing)


def _denial_moments(
    pen: TagWriter, tag: str, after: Moment, bonds: Bonds | None
) -> Iterator[Moment]:
    """Yield the moments after `after` at which facts deny a tag in words."""
    statement = statements_of_tag(pen.entity.id, tag, holds=True)[:1]
    family = family_of(pen.entity)
    keys = {timeline_key(one, each.attribute) for each in statement for one in family}
    for fact in pen.view.facts_with_keys(keys):
        said = () if "tag" in fact.properties else fact.statements
        over = {frozenset((one.subject, str(one.value))) for one in said if not one.holds_then}
        apart = bool(bonds and not over & bonds)
        denied = (
            one.value == normal_tag(tag) and one.holds_then is False and not (apart and one.implied)
            for one in said
        )
        if any(denied) and comes_after(fact.moment, after):
            yield fact.moment


def _made_at(
    facts: TagFacts, moment: Moment, tags: Iterable[str], *, holds: bool
) -> tuple[FactId, ...]:
    return tuple(
        fact_id
        for tag in tags
        for change, fact_id in facts.made
        if (change.tag, change.holds) == (tag, holds) and is_same_moment(change.moment, moment)
    )


def undo_tag(
    pen: TagWriter, held: TagHeld, *, label: str, reason: str, instead: str | None = None
) -> tuple[Entry, ...]:
    """Return the entries that undo a tag with all repetitions; `instead` holds in its place."""
    old = changes_of(pen.entity)
    gone = added_until(old, held.change)
    kept = [one for one in old if one not in gone]
    entries: list[Entry] = []
    new_changes: list[TagChange] = []
    for number, change in enumerate(gone):
        others = [e for e in kept if is_same_moment(e.moment, change.moment) and not e.holds]
        displaced = ended_by(held.tag, pen.exclusive_groups, (o.tag for o in others))
        kept = [one for one in kept if one not in others or one.tag not in displaced]
        back = list(displaced)
        tags = {held.tag: False, **dict.fromkeys(back, True)}
        if instead is not None and not number and instead not in back:
            # The state that the other tag sets: itself, and the exclusive tags that it ends.
            standing = {*tags_held_at(pen.entity, change.moment), *back, held.tag}
            tags |= dict.fromkeys(ended_by(instead, pen.exclusive_groups, standing), False)
            tags[instead] = True
        new_changes += [replace(change, tag=tag, holds=holds) for tag, holds in tags.items()]
        own, named = pen.owner_of(change), f"{label}:{number}" if number else label
        whose = {one.tag: pen.owner_of(one) for one in others}
        for n, owner in enumerate(dict.fromkeys((own, *whose.values()))):
            # A restored tag belongs to the entity that had it before.
            theirs = {tag: holds for tag, holds in tags.items() if whose.get(tag, own) == owner}
            if theirs:
                label_of_owner = f"{named}:of:{n}" if n else named
                entries.append(
                    pen.make_observation(change.moment, theirs, label_of_owner, of=owner)
                )
        denied = (fact for tag in back if tags[tag] for fact in pen.facts_stating(tag, holds=False))
        denials = (fact for fact in denied if are_simultaneous(fact.moment, change.moment))
        never = (*pen.facts_stating_then(change, holds=True), *denials)
        gone_facts = [one.id for one in never if one.id not in held.facts]
        entries += [FactRetconned(fact_id=e, replaced_by=None, reason=reason) for e in gone_facts]
    more = excluded_changes(order_changes((*old, *new_changes)), pen.exclusive_groups)
    entries += [
        pen.make_observation(
            one.moment, {one.tag: False}, f"{label}:ends:{number}", of=pen.owner_of(one)
        )
        for number, one in enumerate(more)
    ]
    retconned = (one.fact_id for one in entries if isinstance(one, FactRetconned))
    facts = pen.change_facts(order_changes((*old, *new_changes, *more)), (*held.facts, *retconned))
    return (*entries, *facts.entries)


def resume_tags(pen: TagWriter, ends: Sequence[TagChange], *, reason: str) -> tuple[Entry, ...]:
    """Return the entries by which tags hold on that had ended, until an exclusive one begins."""
    old = changes_of(pen.entity)
    new_changes = [replace(one, holds=True) for one in ends]
    new_changes += excluded_changes(order_changes((*old, *new_changes)), pen.exclusive_groups)
    denials = [fact.id for end in ends for fact in pen.facts_stating_then(end, holds=False)]
    facts = pen.change_facts(order_changes((*old, *new_changes)), denials)
    observed = (
        pen.make_observation(
            one.moment, {one.tag: one.holds}, f"resumed:{number}", of=pen.owner_of(one)
        )
        for number, one in enumerate(new_changes)
    )
    retcons = (FactRetconned(fact_id=one, replaced_by=None, reason=reason) for one in denials)
    return (*observed, *retcons, *facts.entries)


def added_until(changes: Sequence[TagChange], last: TagChange) -> list[TagChange]:
    """Return the uninterrupted changes that add a tag, up to the last one."""
    run: list[TagChange] = []
    for one in changes:
        if one.tag == last.tag:
            run = [*run, one] if one.holds else []
        if one == last:
            break
    return run
