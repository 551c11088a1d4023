"""Relation lines: the relations that follow each other because only one of them holds at a time.

A place has another place after it, an owner another owner, an alliance a war. What begins at a
moment ends what held until then, and holds until the next one begins, whichever was known first.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from canonry.domain.judging.slices import SliceView
from canonry.domain.moments import Moment, at_once, split_at
from canonry.domain.things.entities import Entity, family_of
from canonry.domain.things.relations import Relation
from canonry.domain.vocabularies.narrative_relations import RelationType


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationLine:
    """A line as one moment cuts it.

    `same` is the relation of the same two that holds then, `ends` are the others that hold until
    then, `against` those that were told with the very same time, `next` what begins next.
    """

    same: Relation | None = None
    ends: tuple[Relation, ...] = ()
    against: tuple[Relation, ...] = ()
    next: Relation | None = None


def functional_line(
    view: SliceView, kind: RelationType, start: Entity, end: Entity, moment: Moment
) -> RelationLine:
    """What a relation meets of its own type: where one end may have only one such relation."""
    found: dict[str, Relation] = {}
    if kind.one_target:
        found |= {one.id: one for one in view.relations(start, kind.name, "out")}
    if kind.one_origin:
        found |= {one.id: one for one in view.relations(end, kind.name, "in")}
    if not kind.one_target and not kind.one_origin:
        direction = "any" if kind.symmetric else "out"
        found = {one.id: one for one in view.relations(start, kind.name, direction)}
        found = {one: each for one, each in found.items() if _joins(each, start, end)}
    return _cut(found.values(), kind, start, end, moment)


def opposed_line(
    view: SliceView, kind: RelationType, start: Entity, end: Entity, moment: Moment
) -> RelationLine:
    """What a relation meets of the types that exclude its own, between the same two."""
    found = [
        one
        for name in sorted(kind.excludes)
        for one in view.relations(start, name)
        if _joins(one, start, end)
    ]
    return _cut(found, kind, start, end, moment)


def _cut(
    relations: Iterable[Relation], kind: RelationType, start: Entity, end: Entity, moment: Moment
) -> RelationLine:
    line = list(relations)
    before, after = split_at(moment, line, lambda one: one.moment)

    def same(one: Relation) -> bool:
        return one.rel_type == kind.name and _joins(one, start, end)

    holding = [one for one in before if _reaches(one, moment, after)]
    against = [one for one in line if at_once(moment, one.moment) and not same(one)]
    return RelationLine(
        same=next((one for one in reversed(holding) if same(one)), None),
        ends=tuple(one for one in holding if not same(one) and one not in against),
        against=tuple(against),
        next=next((one for one in after if one not in against), None),
    )


def standing_line(view: SliceView, entity: Entity, rel_type: str, moment: Moment) -> list[Relation]:
    """The relations of a type that leave `entity` and hold at a moment, also from then on."""
    line = list(view.relations(entity, rel_type, "out"))
    before, after = split_at(moment, line, lambda one: one.moment)
    at_that_time = [one for one in after if moment.at is not None and one.since == moment.at]
    return [*(one for one in before if _reaches(one, moment, after)), *at_that_time]


def _joins(relation: Relation, start: Entity, end: Entity) -> bool:
    """Whether the relation is between these two; the gates never ask about one thing alone."""
    ends = {relation.from_id, relation.to_id}
    return not ends.isdisjoint(family_of(start)) and not ends.isdisjoint(family_of(end))


def _reaches(relation: Relation, moment: Moment, after: list[Relation]) -> bool:
    """Whether a relation that began before `moment` has not ended by then."""
    if not relation.ended:
        return True
    if relation.until is not None and moment.at is not None:
        return relation.until > moment.at
    return bool(after) and after[0].since == relation.until
