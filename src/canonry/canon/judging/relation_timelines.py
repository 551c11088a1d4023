"""Lines of successive relations: their order, their quantities, and the axioms that apply."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final, TypeAlias

from canonry.canon.judging.contents import RelationshipContent
from canonry.canon.judging.known_items import Backing, make_relation
from canonry.canon.judging.slices import SliceView
from canonry.canon.judging.state_tags import is_same_moment
from canonry.log.entries import Entry, Made, RelationEnded, RelationResumed
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Axiom, Constraint, Relation, RelationDraft, Repetition
from canonry.log.schemas.narrative import EntityType, RelationType
from canonry.values.fields import Reference
from canonry.values.ids import NewId
from canonry.values.moments import (
    Instant,
    Moment,
    are_simultaneous,
    moment_of,
    sort_by_story,
    split_at,
)
from canonry.values.provenance import Authority, CanonLevel, highest_authority
from canonry.values.state_tags import excluded_by

# Quantities: the amounts of an item that its owners have, if it is counted.
#
# A counted item can have several owners with parts; any other item has one owner.

QUANTITY: Final = "quantity"


def has_quantity(properties: Mapping[str, Any]) -> bool:
    """Return whether an ownership has a quantity."""
    value = properties.get(QUANTITY)
    return isinstance(value, int | float) and not isinstance(value, bool)


def exact_decimal(value: float) -> Decimal:
    """Convert by the shortest digits, so that 0.1 is exactly a tenth."""
    return Decimal(str(value))


def total_of(relations: Iterable[Relation]) -> Decimal:
    """Return the sum of the ownerships."""
    each_properties = (one.properties for one in relations)
    return sum((exact_decimal(e[QUANTITY]) for e in each_properties if has_quantity(e)), Decimal())


def plain_number(amount: Decimal) -> int | float:
    """Return the number for replies: an integer if it is whole."""
    return int(amount) if amount == amount.to_integral_value() else float(amount)


# Relation lines: relations that supersede each other because only one holds at a time.
#
# Another place follows a place, another owner an owner, a war an alliance. A relation ends the one
# before it at its start, and holds until the next one starts, whatever the order of acceptance. A
# repeated statement ends nothing, but shows that the relation held then.

What: TypeAlias = tuple[str, frozenset[str]]
"""The content of a relation: its type and its ends."""

End: TypeAlias = tuple[Instant | None, str]
"""The end of a relation, and the relation that ended it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationStatement:
    """A statement that a relation holds from a moment on; `again` for a repetition."""

    what: What
    moment: Moment
    authority: Authority
    relation: RelationDraft
    again: Repetition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationTimeline:
    """The timeline of a relation as seen at one moment.

    `same` is the relation with the same ends that holds then, `ends` are the others that hold until
    then, `against` those with exactly this start. `statements` are all of the timeline.
    """

    what: What
    moment: Moment
    statements: tuple[RelationStatement, ...]
    same: Relation | None = None
    ends: tuple[Relation, ...] = ()
    against: tuple[Relation, ...] = ()


def timeline_of(
    view: SliceView,
    kind: RelationType,
    start: Entity,
    end: Entity,
    moment: Moment,
    *,
    properties: Mapping[str, Any],
) -> RelationTimeline:
    """Return the timeline that a relation of this type between these two belongs to, in order.

    If one end can have only one such relation, it is the timeline of that end. Otherwise it is that
    of the pair, with all types that exclude this one. Counted items have several owners with the
    quantities in `properties`.
    """
    found: dict[str, Relation] = {}
    if kind.one_target:
        found |= {one.id: one for one in view.find_relations(start, kind.name, "out")}
    if kind.one_origin:
        owned = view.find_relations(end, kind.name, "in")
        part = has_quantity(properties)
        found |= {
            one.id: one
            for one in owned
            if _is_between(one, start, end) or not (part and has_quantity(one.properties))
        }
    if not kind.one_target and not kind.one_origin:
        direction = "any" if kind.symmetric else "out"
        own = {one.id: one for one in view.find_relations(start, kind.name, direction)}
        found |= {one: each for one, each in own.items() if _is_between(each, start, end)}
    for name in sorted(kind.excludes):
        opposed = view.find_relations(start, name)
        found |= {one.id: one for one in opposed if _is_between(one, start, end)}
    what: What = (kind.name, frozenset((start.id, end.id)))
    return _timeline_at(_statements_of(view, found.values()), what, moment)


def adds_properties(relation: Relation, content: RelationshipContent) -> bool:
    """Return whether a content adds to a relation that canon already has."""
    return {**relation.properties, **content.properties} != dict(relation.properties)


def is_stated_of(relation: Relation, start: Entity, end: Entity) -> bool:
    """Return whether a relation was stated of these two, not of entities merged into them."""
    return {relation.from_id, relation.to_id} == {start.id, end.id}


def _statements_of(view: SliceView, relations: Iterable[Relation]) -> list[RelationStatement]:
    statements: list[RelationStatement] = []
    for one in relations:
        what = (one.rel_type, view.root_ids((one.from_id, one.to_id)))
        first = RelationStatement(
            what=what, moment=one.moment, authority=one.authority, relation=one
        )
        statements.append(first)
    for first in tuple(statements):
        if not isinstance(first.relation, Relation):
            continue
        for again in first.relation.again:
            moment = moment_of(again.at, again.place, again.place.told)
            if not any(
                w.what == first.what and is_same_moment(w.moment, moment) for w in statements
            ):
                more = replace(first, moment=moment, authority=again.authority, again=again)
                statements.append(more)
    return sort_by_story(statements, lambda word: word.moment)


def _timeline_at(
    statements: Sequence[RelationStatement], what: What, moment: Moment
) -> RelationTimeline:
    relations = [statement.relation for statement in statements if statement.again is None]
    known = [one for one in relations if isinstance(one, Relation)]
    says = {statement.relation.id: statement.what for statement in statements}
    holding = _holding_until(statements, moment)
    against = [e for e in known if are_simultaneous(moment, e.moment) and says[e.id] != what]
    return RelationTimeline(
        what=what,
        moment=moment,
        statements=tuple(statements),
        same=next((one for one in reversed(holding) if says[one.id] == what), None),
        ends=tuple(one for one in holding if says[one.id] != what and one not in against),
        against=tuple(against),
    )


def authority_behind(timeline: RelationTimeline, relation: Relation) -> Authority:
    """Return the highest authority that states the relation before the timeline's moment."""
    before, _after = split_at(timeline.moment, timeline.statements, lambda word: word.moment)
    run: list[RelationStatement] = []
    for statement in before:
        parted = statement.again is None and bool(run) and _is_ended_alone(run[-1].relation)
        run = (
            [*run, statement]
            if run and run[0].what == statement.what and not parted
            else [statement]
        )
    own = any(statement.relation.id == relation.id for statement in run)
    authorities = [statement.authority for statement in run if own]
    return highest_authority(authorities or (relation.authority,))


def settle_timeline(
    view: SliceView,
    new_id: NewId,
    backing: Backing,
    timeline: RelationTimeline,
    *,
    fresh: Collection[Repetition] = (),
    parted: Iterable[str] = (),
) -> tuple[Entry, ...]:
    """Return the remaining entries, so that each relation ends where the next one begins.

    `fresh` are repetitions in the change itself, after all explicit ends; `parted` are relations
    that were in the timeline before it.
    """
    statements, anew = _begin_anew(new_id, backing, timeline.statements, fresh=fresh)
    successors = [
        view.find_item(one) for w in statements if (one := _successor_of(w.relation)) is not None
    ]
    retracted = (
        h.id for h in successors if isinstance(h, Relation) and h.level is not CanonLevel.CANON
    )
    return (*anew, *_end_at_next(statements, (*retracted, *parted)))


def _end_at_next(statements: Sequence[RelationStatement], others: Iterable[str]) -> Iterator[Entry]:
    """End each relation where the next one begins.

    Other explicit ends remain: ends without a successor, or by an item outside `statements` and
    `others` that begins before the next one.
    """
    ends = _ends_of(statements)
    known = {None, *ends, *others}
    for one in (statement.relation for statement in statements if statement.again is None):
        end, by = ends[one.id], _successor_of(one)
        over, then = getattr(one, "until", None), end[0] if end else None
        sooner = then is not None and over is not None and then < over
        if by not in known and not sooner:
            continue
        if by is None and isinstance(one, Relation) and one.ended:
            continue
        has_own_end = isinstance(one, Relation) and one.said_ends and by not in ends
        if by is not None and (end is None or has_own_end):
            yield RelationResumed(relation_id=one.id, fallen=by)
        elif end is not None and (one.until, by) != end:
            yield RelationEnded(
                relation_id=one.id,
                until=end[0],
                superseded_by=end[1],
                reason="another relation takes its place",
            )


def end_by(relation: RelationDraft, until: Instant | None, by: str) -> RelationEnded:
    """Return the entry that ends a relation because of an item of another form."""
    return RelationEnded(
        relation_id=relation.id,
        until=until,
        superseded_by=by,
        reason="a later statement takes its place",
    )


def _is_ended_alone(relation: RelationDraft) -> bool:
    return isinstance(relation, Relation) and relation.ended and relation.superseded_by is None


def _successor_of(relation: RelationDraft) -> str | None:
    return relation.superseded_by if isinstance(relation, Relation) else None


def _begin_anew(
    new_id: NewId,
    backing: Backing,
    statements: Sequence[RelationStatement],
    *,
    fresh: Collection[Repetition] = (),
) -> tuple[list[RelationStatement], list[Made]]:
    """Turn repetitions of an ended relation into new relations."""
    found: list[RelationStatement] = []
    made: list[Made] = []
    for index, statement in enumerate(statements):
        begins = not found or found[-1].what != statement.what
        if statement.again in fresh and not begins and _is_ended_alone(found[-1].relation):
            own = found[-1].relation.id
            later = (one for one in statements[index + 1 :] if one.relation.id == own)
            begins = all(one.again is None or one.again in fresh for one in later)
        if not begins or statement.again is None:
            found.append(statement)
            continue
        again, old = statement.again, statement.relation
        entry = make_relation(
            new_id,
            backing.with_support_of(
                again, scene_id=again.scene_id, place=again.place, proposal_id=again.proposal_id
            ),
            rel_type=old.rel_type,
            from_id=old.from_id,
            to_id=old.to_id,
            properties=old.properties,
            since=again.at,
            label=f"relation:{len(made)}",
        )
        made.append(entry)
        if isinstance(entry.thing, RelationDraft):
            found.append(replace(statement, relation=entry.thing, again=None))
    return found, made


def _ends_of(statements: Sequence[RelationStatement]) -> dict[str, End | None]:
    """Return each relation's end and successor; None: it still holds."""
    ends: dict[str, End | None] = {}
    for index, statement in enumerate(statements):
        if statement.again is None:
            successor = next((one for one in statements[index + 1 :] if one.again is None), None)
            ends[statement.relation.id] = (
                None if successor is None else (successor.moment.at, successor.relation.id)
            )
    return ends


def standing_relations(
    view: SliceView, entity: Entity, rel_type: str, moment: Moment
) -> list[Relation]:
    """Return the relations of a type that leave `entity` and hold at or from a moment."""
    relations = list(view.find_relations(entity, rel_type, "out"))
    held = _holding_until(_statements_of(view, relations), moment)
    from_then = [one for one in relations if moment.at is not None and one.since == moment.at]
    return [*held, *(one for one in from_then if one not in held)]


def _is_between(relation: Relation, start: Entity, end: Entity) -> bool:
    """Return whether the relation joins these two; gates always ask about two entities."""
    ends = {relation.from_id, relation.to_id}
    return not ends.isdisjoint(family_of(start)) and not ends.isdisjoint(family_of(end))


def _holding_until(statements: Sequence[RelationStatement], moment: Moment) -> list[Relation]:
    """Return the relations that began before `moment` and hold until then.

    A repetition counts as a start if it is the first statement of its relation, and it shows that
    the relation had not ended before.
    """
    before, after = split_at(moment, statements, lambda word: word.moment)
    repeated_later = {statement.relation.id for statement in after if statement.again is not None}
    begun: list[RelationStatement] = []
    for statement in before:
        if statement.again is None or not begun or begun[-1].what != statement.what:
            begun.append(statement)
    ends = _ends_of(statements)
    return [
        one
        for statement in begun
        if isinstance(one := statement.relation, Relation)
        and (
            (statement is begun[-1] and (statement.again is not None or one.id in repeated_later))
            or (not one.ended and statement.again is None)
            or _reached_moment(one, ends[one.id], moment, last=statement is begun[-1])
        )
    ]


def _reached_moment(one: Relation, end: End | None, moment: Moment, *, last: bool) -> bool:
    """Return whether an ended relation held at a moment, up to the next one in its timeline."""
    if end is not None and _successor_of(one) is not None and one.until == end[0]:
        return last
    return one.until is not None and moment.at is not None and one.until > moment.at


LOCATED_IN: Final = "LOCATED_IN"
NESTED_MAX: Final = 100
"""The most nested places to follow."""


def find_opposed_tags(
    tags: Iterable[str], groups: Iterable[tuple[str, ...]]
) -> tuple[str, str] | None:
    """Return two of these tags that exclude each other, or None."""
    every = tuple(tags)
    for tag in every if len(every) > 1 else ():
        others = excluded_by(tag, groups, every)
        if others:
            return tag, others[0]
    return None


def laws_against_state(
    view: SliceView, entity_type: str, new: Iterable[str], held: Iterable[str] = ()
) -> Iterator[Axiom]:
    """Yield the axioms that forbid adding the tags `new` to those `held`."""
    added = frozenset(new)
    for axiom in view.list_axioms() if added else ():
        law = axiom.constraint
        if (
            law is not None
            and _applies_to_type(law, entity_type)
            and _is_forbidden(law, added, added | {*held})
        ):
            yield axiom


def laws_against_relation(
    view: SliceView, rel_type: str, ends: Iterable[Entity | None]
) -> Iterator[Axiom]:
    """Yield the axioms that forbid a relation of this type at one of these ends."""
    types = [one.entity_type for one in ends if one is not None]
    for axiom in view.list_axioms():
        law = axiom.constraint
        if law is None or law.kind != "forbidden_relation":
            continue
        governed = any(_applies_to_type(law, one) for one in types)
        if governed and rel_type in {value.upper() for value in law.values}:
            yield axiom


def misplacement_reason(
    view: SliceView, kind: RelationType, start: Entity, end: Entity, moment: Moment
) -> tuple[str, tuple[str, ...]] | None:
    """Return the reason why `start` cannot be located in `end`, and the conflicting ids."""
    if kind.name != LOCATED_IN:
        return None
    if start.entity_type == end.entity_type == EntityType.CHARACTER:
        return "a character cannot contain another one: relate both to a location", (end.id,)
    seen: list[str] = []
    here: Entity | None = end
    for _step in range(NESTED_MAX):
        if here is None:
            return None
        outer = standing_relations(view, here, LOCATED_IN, moment)
        if not outer:
            return None
        seen.append(outer[-1].id)
        here = view.find_entity(Reference(outer[-1].to_id))
        if here is not None and here.id == start.id:
            message = "the location lies within that entity already: end one of these relations"
            return message, tuple(seen)
    return None


def _applies_to_type(law: Constraint, entity_type: str) -> bool:
    return law.entity_type in {None, entity_type}


def _is_forbidden(law: Constraint, new: frozenset[str], all_held: frozenset[str]) -> bool:
    """Return whether adding `new`, so that `all_held` holds, violates the axiom."""
    added = {tag.casefold() for tag in new} & {value.casefold() for value in law.values}
    if law.kind == "forbidden_tag":
        return bool(added)
    if law.kind == "exclusive_tags":
        held = {tag.casefold() for tag in all_held} & {v.casefold() for v in law.values}
        return bool(added) and len(held) > 1
    return False
