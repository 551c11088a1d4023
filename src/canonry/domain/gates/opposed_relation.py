"""gate:opposed-relation - a pair is not allied and hostile at once; a later date takes over."""

from collections.abc import Iterator
from typing import Final

from canonry.domain.gates.kit import Gate, Objection, Weight
from canonry.domain.judging.candidates import Candidate
from canonry.domain.judging.contents import RelationshipContent
from canonry.domain.judging.slices import SliceView
from canonry.domain.things.entities import family_of
from canonry.domain.things.moments import is_dated_after, moment_of, overlaps, same_scene
from canonry.domain.time import Instant
from canonry.domain.vocabularies.narrative_relations import relation_type


def _examine(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    content = candidate.content
    if not isinstance(content, RelationshipContent):
        return
    start, end = view.entity(content.from_entity), view.entity(content.to_entity)
    if start is None or end is None:
        return
    for opposed in sorted(relation_type(content.rel_type).excludes):
        for relation in view.relations(start, opposed):
            if family_of(end).isdisjoint((relation.from_id, relation.to_id)):
                continue
            if relation.ended and not _reached(candidate, relation.since, relation.until):
                continue
            began = moment_of(relation.since, view.scene(relation.scene_id))
            later = not relation.ended and (
                same_scene(candidate.moment, began) or is_dated_after(candidate.moment, began)
            )
            yield Objection(
                weight=Weight.SUPERSEDES if later else Weight.CONTRADICTS,
                rationale=f"{start.name} and {end.name} are {opposed} by {relation.id}, "
                f"which excludes {content.rel_type}",
                conflicts=(relation.id,),
                rivals=(relation.id,),
                authority=relation.authority,
            )


def _reached(candidate: Candidate, since: Instant | None, until: Instant | None) -> bool:
    """Whether a proposal with a time reaches into the interval of a relation that has ended."""
    known = candidate.at is not None and until is not None
    return known and overlaps(candidate.at, None, since, until)


GATE: Final = Gate(id="gate:opposed-relation", examine=_examine)
