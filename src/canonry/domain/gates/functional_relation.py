"""gate:functional-relation - who can be at one place only, or have one owner only, does.

A later relation takes over from the one that held until then, and an earlier one holds until the
next; two that were told with the same time contradict each other.
"""

from collections.abc import Iterator
from typing import Final

from canonry.domain.gates.kit import Gate, Objection, Weight
from canonry.domain.judging.candidates import Candidate
from canonry.domain.judging.contents import RelationshipContent
from canonry.domain.judging.relation_lines import functional_line
from canonry.domain.judging.slices import SliceView
from canonry.domain.things.entities import Entity, family_of
from canonry.domain.things.relations import Relation
from canonry.domain.vocabularies.narrative_relations import relation_type


def _examine(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    content = candidate.content
    if not isinstance(content, RelationshipContent):
        return
    start, end = view.entity(content.from_entity), view.entity(content.to_entity)
    kind = relation_type(content.rel_type)
    if start is None or end is None or not (kind.one_target or kind.one_origin):
        return
    line = functional_line(view, kind, start, end, candidate.moment)
    for relation in line.against:
        yield _objection(relation, start, end, Weight.CONTRADICTS)
    for relation in line.ends:
        yield _objection(relation, start, end, Weight.SUPERSEDES)


def _objection(relation: Relation, start: Entity, end: Entity, weight: Weight) -> Objection:
    whose = start if relation.from_id in family_of(start) else end
    held = "held until then" if weight is Weight.SUPERSEDES else "holds at that time"
    return Objection(
        weight=weight,
        rationale=f"{whose.name} has one {relation.rel_type} at a time, and {relation.id} {held}",
        conflicts=(relation.id,),
        rivals=(relation.id,),
        authority=relation.authority,
    )


GATE: Final = Gate(id="gate:functional-relation", examine=_examine)
