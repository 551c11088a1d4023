"""gate:functional-relation - who can be at one place only, or have one owner only, does.

Nor has one relation two values of a property. A later relation takes over from the one that held
until then, and an earlier one holds until the next; two that were told with the same time
contradict each other.
"""

from collections.abc import Iterator
from typing import Final

from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.contents import RelationshipContent
from canonry.canon.judging.gates.kit import Gate, Objection, Weight
from canonry.canon.judging.relation_lines import RelationLine, line_of, restates, word_behind
from canonry.canon.judging.slices import SliceView
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Relation
from canonry.log.schemas.narrative import relation_type
from canonry.values.moments import at_once


def _examine(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
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
        yield _objection(line, relation, start, end, Weight.CONTRADICTS)
    for relation in line.ends:
        yield _objection(line, relation, start, end, Weight.SUPERSEDES)


def _objection(
    line: RelationLine, relation: Relation, start: Entity, end: Entity, weight: Weight
) -> Objection:
    whose = start if relation.from_id in family_of(start) else end
    held = "held until then" if weight is Weight.SUPERSEDES else "holds at that time"
    return Objection(
        weight=weight,
        rationale=f"{whose.name} has one {relation.rel_type} at a time, and {relation.id} {held}",
        conflicts=(relation.id,),
        rivals=(relation.id,),
        authority=word_behind(line, relation),
    )


def _otherwise(relation: Relation, weight: Weight) -> Objection:
    return Objection(
        weight=weight,
        rationale=f"{relation.id} says the same relation with other properties",
        conflicts=(relation.id,),
        rivals=(relation.id,),
        authority=relation.authority,
    )


GATE: Final = Gate(id="gate:functional-relation", examine=_examine)
