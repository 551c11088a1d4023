"""Lines of successive relations: their order, their quantities, and the axioms that apply."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final, TypeAlias

from canonry.canon.judging.contents import RelationshipContent
from canonry.canon.judging.known_things import Backing, make_relation
from canonry.canon.judging.slices import SliceView
from canonry.canon.judging.state_tags import together
from canonry.log.entries import Entry, Made, RelationEnded, RelationResumed
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Axiom, Constraint, Relation, RelationDraft, SaidAgain
from canonry.log.schemas.narrative import EntityType, RelationType
from canonry.values.fields import Reference
from canonry.values.ids import NewId
from canonry.values.moments import Instant, Moment, arranged, at_once, moment_of, split_at
from canonry.values.provenance import Authority, CanonLevel, strongest
from canonry.values.state_tags import excluded_by

# Quantities: the amounts of an item that its owners have, if it is counted.
#
# A counted item can have several owners with parts; any other item has one owner.

QUANTITY: Final = "quantity"


def counted(properties: Mapping[str, Any]) -> bool:
    """Tell whether an ownership has a quantity."""
    value = properties.get(QUANTITY)
    return isinstance(value, int | float) and not isinstance(value, bool)


def exact(value: float) -> Decimal:
    """Convert by the shortest digits, so that 0.1 is exactly a tenth."""
    return Decimal(str(value))


def total_of(relations: Iterable[Relation]) -> Decimal:
    """Return the sum of the ownerships."""
    told = (one.properties for one in relations)
    return sum((exact(each[QUANTITY]) for each in told if counted(each)), Decimal())


def plain(amount: Decimal) -> int | float:
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
class Telling:
    """A statement that a relation holds from a moment on; `again` for a repetition."""

    what: What
    moment: Moment
    authority: Authority
    relation: RelationDraft
    again: SaidAgain | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationLine:
    """A line as seen at one moment.

    `same` is the relation with the same ends that holds then, `ends` are the others that hold until
    then, `against` those with exactly this start. `words` are all statements of the line.
    """

    what: What
    moment: Moment
    words: tuple[Telling, ...]
    same: Relation | None = None
    ends: tuple[Relation, ...] = ()
    against: tuple[Relation, ...] = ()


def line_of(
    view: SliceView,
    kind: RelationType,
    start: Entity,
    end: Entity,
    moment: Moment,
    *,
    properties: Mapping[str, Any],
) -> RelationLine:
    """Return the line that a relation of this type between these two belongs to, in order.

    If one end can have only one such relation, it is the line of that end. Otherwise it is the line
    of the pair, with all types that exclude this one. Counted items have several owners with the
    quantities in `properties`.
    """
    found: dict[str, Relation] = {}
    if kind.one_target:
        found |= {one.id: one for one in view.relations(start, kind.name, "out")}
    if kind.one_origin:
        owned = view.relations(end, kind.name, "in")
        part = counted(properties)
        found |= {
            one.id: one
            for one in owned
            if _joins(one, start, end) or not (part and counted(one.properties))
        }
    if not kind.one_target and not kind.one_origin:
        direction = "any" if kind.symmetric else "out"
        own = {one.id: one for one in view.relations(start, kind.name, direction)}
        found |= {one: each for one, each in own.items() if _joins(each, start, end)}
    for name in sorted(kind.excludes):
        opposed = view.relations(start, name)
        found |= {one.id: one for one in opposed if _joins(one, start, end)}
    what: What = (kind.name, frozenset((start.id, end.id)))
    return _cut(_words(view, found.values()), what, moment)


def restates(relation: Relation, content: RelationshipContent) -> bool:
    """Tell whether a content adds to a relation that canon already has."""
    return {**relation.properties, **content.properties} != dict(relation.properties)


def is_told_of(relation: Relation, start: Entity, end: Entity) -> bool:
    """Tell whether a relation was stated of these two, not of entities merged into them."""
    return {relation.from_id, relation.to_id} == {start.id, end.id}


def _words(view: SliceView, relations: Iterable[Relation]) -> list[Telling]:
    words: list[Telling] = []
    for one in relations:
        what = (one.rel_type, view.roots((one.from_id, one.to_id)))
        first = Telling(what=what, moment=one.moment, authority=one.authority, relation=one)
        words.append(first)
    for first in tuple(words):
        if not isinstance(first.relation, Relation):
            continue
        for again in first.relation.again:
            moment = moment_of(again.at, again.place, again.place.told)
            if not any(w.what == first.what and together(w.moment, moment) for w in words):
                more = replace(first, moment=moment, authority=again.authority, again=again)
                words.append(more)
    return arranged(words, lambda word: word.moment)


def _cut(words: Sequence[Telling], what: What, moment: Moment) -> RelationLine:
    told = [word.relation for word in words if word.again is None]
    known = [one for one in told if isinstance(one, Relation)]
    says = {word.relation.id: word.what for word in words}
    holding = _holding(words, moment)
    against = [one for one in known if at_once(moment, one.moment) and says[one.id] != what]
    return RelationLine(
        what=what,
        moment=moment,
        words=tuple(words),
        same=next((one for one in reversed(holding) if says[one.id] == what), None),
        ends=tuple(one for one in holding if says[one.id] != what and one not in against),
        against=tuple(against),
    )


def word_behind(line: RelationLine, relation: Relation) -> Authority:
    """Return the highest authority that states the relation before the line's moment."""
    before, _after = split_at(line.moment, line.words, lambda word: word.moment)
    run: list[Telling] = []
    for word in before:
        parted = word.again is None and bool(run) and _ended_alone(run[-1].relation)
        run = [*run, word] if run and run[0].what == word.what and not parted else [word]
    own = any(word.relation.id == relation.id for word in run)
    said = [word.authority for word in run if own]
    return strongest(said or (relation.authority,))


def settled_line(
    view: SliceView,
    new_id: NewId,
    backing: Backing,
    line: RelationLine,
    *,
    fresh: Collection[SaidAgain] = (),
    parted: Iterable[str] = (),
) -> tuple[Entry, ...]:
    """Return the remaining entries, so that each relation ends where the next one begins.

    `fresh` are repetitions in the change itself, after all explicit ends; `parted` are relations
    that were in the line before it.
    """
    words, anew = _begun_anew(new_id, backing, line.words, fresh=fresh)
    heirs = [view.thing(one) for w in words if (one := _heir_of(w.relation)) is not None]
    fallen = (h.id for h in heirs if isinstance(h, Relation) and h.level is not CanonLevel.CANON)
    return (*anew, *_following(words, (*fallen, *parted)))


def _following(words: Sequence[Telling], beside: Iterable[str]) -> Iterator[Entry]:
    """End each relation where the next one begins.

    Other explicit ends remain: ends without a successor, or by an item outside `words` and `beside`
    that begins before the next one.
    """
    ends = _ends(words)
    known = {None, *ends, *beside}
    for one in (word.relation for word in words if word.again is None):
        end, by = ends[one.id], _heir_of(one)
        over, then = getattr(one, "until", None), end[0] if end else None
        sooner = then is not None and over is not None and then < over
        if by not in known and not sooner:
            continue
        if by is None and isinstance(one, Relation) and one.ended:
            continue
        said = isinstance(one, Relation) and one.said_ends and by not in ends
        if by is not None and (end is None or said):
            yield RelationResumed(relation_id=one.id, fallen=by)
        elif end is not None and (one.until, by) != end:
            yield RelationEnded(
                relation_id=one.id,
                until=end[0],
                superseded_by=end[1],
                reason="another relation takes its place",
            )


def ended_by(relation: RelationDraft, until: Instant | None, by: str) -> RelationEnded:
    """Return the entry that ends a relation because of an item of another form."""
    return RelationEnded(
        relation_id=relation.id,
        until=until,
        superseded_by=by,
        reason="a later statement takes its place",
    )


def _ended_alone(relation: RelationDraft) -> bool:
    return isinstance(relation, Relation) and relation.ended and relation.superseded_by is None


def _heir_of(relation: RelationDraft) -> str | None:
    return relation.superseded_by if isinstance(relation, Relation) else None


def _begun_anew(
    new_id: NewId, backing: Backing, words: Sequence[Telling], *, fresh: Collection[SaidAgain] = ()
) -> tuple[list[Telling], list[Made]]:
    """Turn repetitions of an ended relation into new relations."""
    found: list[Telling] = []
    made: list[Made] = []
    for index, word in enumerate(words):
        begins = not found or found[-1].what != word.what
        if word.again in fresh and not begins and _ended_alone(found[-1].relation):
            own = found[-1].relation.id
            later = (one for one in words[index + 1 :] if one.relation.id == own)
            begins = all(one.again is None or one.again in fresh for one in later)
        if not begins or word.again is None:
            found.append(word)
            continue
        again, old = word.again, word.relation
        entry = make_relation(
            new_id,
            backing.said_in(
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
            found.append(replace(word, relation=entry.thing, again=None))
    return found, made


def _ends(words: Sequence[Telling]) -> dict[str, End | None]:
    """Return each relation's end and successor; None: it still holds."""
    ends: dict[str, End | None] = {}
    for index, word in enumerate(words):
        if word.again is None:
            heir = next((one for one in words[index + 1 :] if one.again is None), None)
            ends[word.relation.id] = None if heir is None else (heir.moment.at, heir.relation.id)
    return ends


def standing_line(view: SliceView, entity: Entity, rel_type: str, moment: Moment) -> list[Relation]:
    """Return the relations of a type that leave `entity` and hold at or from a moment."""
    line = list(view.relations(entity, rel_type, "out"))
    held = _holding(_words(view, line), moment)
    from_then = [one for one in line if moment.at is not None and one.since == moment.at]
    return [*held, *(one for one in from_then if one not in held)]


def _joins(relation: Relation, start: Entity, end: Entity) -> bool:
    """Tell whether the relation joins these two; gates always ask about two entities."""
    ends = {relation.from_id, relation.to_id}
    return not ends.isdisjoint(family_of(start)) and not ends.isdisjoint(family_of(end))


def _holding(words: Sequence[Telling], moment: Moment) -> list[Relation]:
    """Return the relations that began before `moment` and hold until then.

    A repetition counts as a start if it is the first statement of its relation, and it shows that
    the relation had not ended before.
    """
    before, after = split_at(moment, words, lambda word: word.moment)
    told_on = {word.relation.id for word in after if word.again is not None}
    begun: list[Telling] = []
    for word in before:
        if word.again is None or not begun or begun[-1].what != word.what:
            begun.append(word)
    ends = _ends(words)
    return [
        one
        for word in begun
        if isinstance(one := word.relation, Relation)
        and (
            (word is begun[-1] and (word.again is not None or one.id in told_on))
            or (not one.ended and word.again is None)
            or _reaches(one, ends[one.id], moment, last=word is begun[-1])
        )
    ]


def _reaches(one: Relation, end: End | None, moment: Moment, *, last: bool) -> bool:
    """Tell whether an ended relation held at a moment, up to the next one in line."""
    if end is not None and _heir_of(one) is not None and one.until == end[0]:
        return last
    return one.until is not None and moment.at is not None and one.until > moment.at


PLACE: Final = "LOCATED_IN"
NESTED_MAX: Final = 100
"""The most nested places to follow."""


DEPTH_MAX: Final = 8
"""So many places are followed outwards to learn whether one lies within another."""


def lies_within(inner: Entity, outer: Entity, view: SliceView) -> bool:
    """Tell whether one place is the other, or lies in it through a chain of places."""
    here: Entity | None = inner
    for _step in range(DEPTH_MAX):
        if here is None or here.id == outer.id:
            break
        above = [one for one in view.relations(here, PLACE, "out") if one.current]
        here = view.entity(Reference(above[-1].to_id)) if above else None
    return here is not None and here.id == outer.id


def opposed_tags(tags: Iterable[str], groups: Iterable[tuple[str, ...]]) -> tuple[str, str] | None:
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
    for axiom in view.axioms() if added else ():
        law = axiom.constraint
        if law is not None and _governs(law, entity_type) and _forbids(law, added, added | {*held}):
            yield axiom


def laws_against_relation(
    view: SliceView, rel_type: str, ends: Iterable[Entity | None]
) -> Iterator[Axiom]:
    """Yield the axioms that forbid a relation of this type at one of these ends."""
    types = [one.entity_type for one in ends if one is not None]
    for axiom in view.axioms():
        law = axiom.constraint
        if law is None or law.kind != "forbidden_relation":
            continue
        governed = any(_governs(law, one) for one in types)
        if governed and rel_type in {value.upper() for value in law.values}:
            yield axiom


def misplacing(
    view: SliceView, kind: RelationType, start: Entity, end: Entity, moment: Moment
) -> tuple[str, tuple[str, ...]] | None:
    """Return the reason why `start` cannot be located in `end`, and the conflicting ids."""
    if kind.name != PLACE:
        return None
    if start.entity_type == end.entity_type == EntityType.CHARACTER:
        return "a character cannot contain another one: relate both to a location", (end.id,)
    seen: list[str] = []
    here: Entity | None = end
    for _step in range(NESTED_MAX):
        if here is None:
            return None
        outer = standing_line(view, here, PLACE, moment)
        if not outer:
            return None
        seen.append(outer[-1].id)
        here = view.entity(Reference(outer[-1].to_id))
        if here is not None and here.id == start.id:
            message = "the location lies within that entity already: end one of these relations"
            return message, tuple(seen)
    return None


def _governs(law: Constraint, entity_type: str) -> bool:
    return law.entity_type in {None, entity_type}


def _forbids(law: Constraint, new: frozenset[str], all_held: frozenset[str]) -> bool:
    """Tell whether adding `new`, so that `all_held` holds, violates the axiom."""
    added = {tag.casefold() for tag in new} & {value.casefold() for value in law.values}
    if law.kind == "forbidden_tag":
        return bool(added)
    if law.kind == "exclusive_tags":
        held = {tag.casefold() for tag in all_held} & {v.casefold() for v in law.values}
        return bool(added) and len(held) > 1
    return False
