"""gate:axiom-holds - no state and no relation breaks a law of the world that has a constraint.

No authority helps: a law is changed first, then what it forbids.
"""

from collections.abc import Iterator
from typing import Final

from canonry.domain.gates.kit import Gate, Objection, Weight
from canonry.domain.judging.candidates import Candidate
from canonry.domain.judging.contents import EntityContent, RelationshipContent, StateChangeContent
from canonry.domain.judging.namesakes import known_as
from canonry.domain.judging.slices import SliceView
from canonry.domain.things.entities import Entity
from canonry.domain.things.facts import Axiom, Constraint


def _examine(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    if not isinstance(candidate.content, EntityContent | StateChangeContent | RelationshipContent):
        return
    for axiom in view.axioms():
        if axiom.constraint is not None and _breaks(candidate, axiom.constraint, view):
            yield _objection(axiom)


def _breaks(candidate: Candidate, law: Constraint, view: SliceView) -> bool:
    match candidate.content:
        case EntityContent() as content:
            new = frozenset(content.state_tags)
            known = known_as(candidate, content, view) if new else None
            held = new if known is None else new | set(known.state_tags)
            return _governs(law, content.entity_type) and _forbids(law, new, held)
        case StateChangeContent() as content:
            entity = view.entity(content.entity)
            if entity is None or not _governs(law, entity.entity_type):
                return False
            new = frozenset(content.add)
            return _forbids(law, new, (new | set(entity.state_tags)) - set(content.remove))
        case RelationshipContent() as content:
            ends = (view.entity(content.from_entity), view.entity(content.to_entity))
            governed = any(isinstance(e, Entity) and _governs(law, e.entity_type) for e in ends)
            named = content.rel_type in {value.upper() for value in law.values}
            return law.kind == "forbidden_relation" and governed and named
        case _:
            return False


def _governs(law: Constraint, entity_type: str) -> bool:
    return law.entity_type in {None, entity_type}


def _forbids(law: Constraint, new: frozenset[str], all_held: frozenset[str]) -> bool:
    """Whether a change that adds `new`, so that `all_held` holds, breaks the law."""
    added = {tag.casefold() for tag in new} & {value.casefold() for value in law.values}
    if law.kind == "forbidden_tag":
        return bool(added)
    if law.kind == "exclusive_tags":
        held = {tag.casefold() for tag in all_held} & {v.casefold() for v in law.values}
        return bool(added) and len(held) > 1
    return False


def _objection(axiom: Axiom) -> Objection:
    rationale = f"the axiom {axiom.id} forbids it: {axiom.statement}"
    return Objection(weight=Weight.REFUSES, rationale=rationale, conflicts=(axiom.id,))


GATE: Final = Gate(id="gate:axiom-holds", examine=_examine)
