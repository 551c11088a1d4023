"""gate:opposed-relation - a pair is not allied and hostile at once; what comes later takes over."""

from collections.abc import Iterator
from typing import Final

from canonry.domain.gates.kit import Gate, Objection, Weight
from canonry.domain.judging.candidates import Candidate
from canonry.domain.judging.contents import RelationshipContent
from canonry.domain.judging.relation_lines import opposed_line
from canonry.domain.judging.slices import SliceView
from canonry.domain.things.relations import Relation
from canonry.domain.vocabularies.narrative_relations import relation_type


def _examine(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    content = candidate.content
    if not isinstance(content, RelationshipContent):
        return
    start, end = view.entity(content.from_entity), view.entity(content.to_entity)
    kind = relation_type(content.rel_type)
    if start is None or end is None or not kind.excludes:
        return
    line = opposed_line(view, kind, start, end, candidate.moment)
    pair = f"{start.name} and {end.name}"
    for relation in line.against:
        yield _objection(relation, pair, kind.name, Weight.CONTRADICTS)
    for relation in line.ends:
        yield _objection(relation, pair, kind.name, Weight.SUPERSEDES)


def _objection(relation: Relation, pair: str, name: str, weight: Weight) -> Objection:
    held = "were" if weight is Weight.SUPERSEDES else "are"
    return Objection(
        weight=weight,
        rationale=f"{pair} {held} {relation.rel_type} by {relation.id}, which excludes {name}",
        conflicts=(relation.id,),
        rivals=(relation.id,),
        authority=relation.authority,
    )


GATE: Final = Gate(id="gate:opposed-relation", examine=_examine)
