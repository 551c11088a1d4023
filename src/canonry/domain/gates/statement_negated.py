"""gate:statement-negated - canon does not say and deny the same of the same entities at once.

A state that excludes the one stated denies it too; a state that has ended denies nothing.
"""

from collections.abc import Iterator
from typing import Final

from canonry.domain.gates.kit import Gate, Objection, Weight
from canonry.domain.judging.candidates import Candidate
from canonry.domain.judging.contents import FactContent
from canonry.domain.judging.slices import SliceView
from canonry.domain.judging.standing_tags import still_stands
from canonry.domain.judging.statements import contraries_of, opposites_of
from canonry.domain.moments import is_dated_after, overlaps, same_scene
from canonry.domain.things.facts import Fact
from canonry.domain.time import SECOND, Instant


def _examine(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    content = candidate.content
    if not isinstance(content, FactContent):
        return
    entities = [view.entity(reference) for reference in content.involved]
    about = {entity.id for entity in entities if entity is not None}
    groups = view.policy.exclusive_tags
    said = content.statement
    for opposite in (*opposites_of(said), *contraries_of(said, groups)):
        for fact in view.stating(opposite):
            same = view.roots(fact.involved) == about and _at_once(candidate, content, fact)
            if same and still_stands(view, fact, candidate.moment):
                yield _objection(candidate, fact)


def _at_once(candidate: Candidate, content: FactContent, fact: Fact) -> bool:
    start, end = candidate.at, None
    if start is not None and content.duration is not None:
        end = Instant(start + content.duration * SECOND)
    return overlaps(start, end, fact.time_ref, fact.ends_at)


def _objection(candidate: Candidate, fact: Fact) -> Objection:
    now, said = candidate.moment, fact.moment
    later = is_dated_after(now, said)
    same = same_scene(now, said)
    weight = Weight.SUPERSEDES if later else Weight.WARNS if same else Weight.CONTRADICTS
    return Objection(
        weight=weight,
        rationale=f"the fact {fact.id} says that {fact.statement}",
        conflicts=(fact.id,),
        rivals=() if weight is Weight.WARNS else (fact.id,),
        authority=fact.authority,
    )


GATE: Final = Gate(id="gate:statement-negated", examine=_examine)
