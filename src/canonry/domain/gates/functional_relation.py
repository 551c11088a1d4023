"""gate:functional-relation - who can be at one place only, or have one owner only, does.

A later relation takes over from the one that held; at an earlier or at the same instant it
contradicts. So nobody is at two places at once.
"""

from collections.abc import Iterator
from typing import Final

from canonry.domain.gates.kit import Gate, Objection, Weight
from canonry.domain.judging.candidates import Candidate
from canonry.domain.judging.contents import RelationshipContent
from canonry.domain.judging.slices import SliceView
from canonry.domain.things.entities import Entity, family_of
from canonry.domain.things.moments import comes_after, moment_of, overlaps
from canonry.domain.things.relations import Relation
from canonry.domain.vocabularies.narrative_relations import relation_type


def _examine(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    content = candidate.content
    if not isinstance(content, RelationshipContent):
        return
    start, end = view.entity(content.from_entity), view.entity(content.to_entity)
    if start is None or end is None:
        return
    kind = relation_type(content.rel_type)
    if kind.one_target:
        for relation in view.relations(start, kind.name, "out"):
            if relation.to_id not in family_of(end):
                yield from _against(candidate, relation, start, view)
    if kind.one_origin:
        for relation in view.relations(end, kind.name, "in"):
            if relation.from_id not in family_of(start):
                yield from _against(candidate, relation, end, view)


def _against(
    candidate: Candidate, relation: Relation, whose: Entity, view: SliceView
) -> Iterator[Objection]:
    if relation.ended and not overlaps(candidate.at, None, relation.since, relation.until):
        return
    if relation.ended and (candidate.at is None or relation.until is None):
        return
    began = moment_of(relation.since, view.scene(relation.scene_id))
    later = not relation.ended and comes_after(candidate.moment, began)
    said = f"{whose.name} has one {relation.rel_type} at a time, and {relation.id} "
    yield Objection(
        weight=Weight.SUPERSEDES if later else Weight.CONTRADICTS,
        rationale=said + ("held until then" if later else "holds at that time"),
        conflicts=(relation.id,),
        rivals=(relation.id,),
        authority=relation.authority,
    )


GATE: Final = Gate(id="gate:functional-relation", examine=_examine)
