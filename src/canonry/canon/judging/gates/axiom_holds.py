"""gate:axiom-holds - no state and no relation breaks a law of the world that has a constraint.

No authority helps: a law is changed first, then what it forbids.
"""

from collections.abc import Iterator
from typing import Final

from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.contents import EntityContent, RelationshipContent, StateChangeContent
from canonry.canon.judging.gates.kit import Gate, Objection, Weight
from canonry.canon.judging.known_things import known_as
from canonry.canon.judging.relation_lines import laws_against_relation, laws_against_state
from canonry.canon.judging.slices import SliceView
from canonry.log.items.facts import Axiom


def _examine(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    for axiom in _broken(candidate, view):
        rationale = f"the axiom {axiom.id} forbids it: {axiom.statement}"
        yield Objection(weight=Weight.REFUSES, rationale=rationale, conflicts=(axiom.id,))


def _broken(candidate: Candidate, view: SliceView) -> Iterator[Axiom]:
    match candidate.content:
        case EntityContent() as content:
            known = known_as(candidate, content, view) if content.state_tags else None
            held = set() if known is None else set(known.state_tags)
            yield from laws_against_state(view, content.entity_type, content.state_tags, held)
        case StateChangeContent() as content:
            entity = view.entity(content.entity)
            if entity is not None:
                held = set(entity.state_tags) - set(content.remove)
                yield from laws_against_state(view, entity.entity_type, content.add, held)
        case RelationshipContent() as content:
            ends = (view.entity(content.from_entity), view.entity(content.to_entity))
            yield from laws_against_relation(view, content.rel_type, ends)
        case _:
            return


GATE: Final = Gate(id="gate:axiom-holds", examine=_examine)
