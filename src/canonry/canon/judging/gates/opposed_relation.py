"""gate:opposed-relation - a pair is not allied and hostile at once; what comes later takes over."""

from collections.abc import Iterator
from typing import Final

from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.contents import RelationshipContent
from canonry.canon.judging.gates.kit import Gate, Objection, Weight
from canonry.canon.judging.relation_lines import RelationLine, line_of, word_behind
from canonry.canon.judging.slices import SliceView
from canonry.log.items.facts import Relation
from canonry.log.schemas.narrative import relation_type


def _examine(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    content = candidate.content
    if not isinstance(content, RelationshipContent):
        return
    start, end = view.entity(content.from_entity), view.entity(content.to_entity)
    kind = relation_type(content.rel_type)
    if start is None or end is None or not kind.excludes:
        return
    line = line_of(view, kind, start, end, candidate.moment)
    pair = f"{start.name} and {end.name}"
    for relation in (one for one in line.against if one.rel_type in kind.excludes):
        yield _objection(line, relation, pair, kind.name, Weight.CONTRADICTS)
    for relation in (one for one in line.ends if one.rel_type in kind.excludes):
        yield _objection(line, relation, pair, kind.name, Weight.SUPERSEDES)


def _objection(
    line: RelationLine, relation: Relation, pair: str, name: str, weight: Weight
) -> Objection:
    held = "were" if weight is Weight.SUPERSEDES else "are"
    return Objection(
        weight=weight,
        rationale=f"{pair} {held} {relation.rel_type} by {relation.id}, which excludes {name}",
        conflicts=(relation.id,),
        rivals=(relation.id,),
        authority=word_behind(line, relation),
    )


GATE: Final = Gate(id="gate:opposed-relation", examine=_examine)
