"""Laws: what no state and no relation may be, in proposals and direct writes alike."""

from collections.abc import Iterable, Iterator
from typing import Final

from canonry.canon.judging.relation_lines import standing_line
from canonry.canon.judging.slices import SliceView
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Constraint
from canonry.log.schemas.narrative import EntityType, RelationType
from canonry.values.fields import Reference
from canonry.values.moments import Moment
from canonry.values.state_tags import excluded_by

PLACE: Final = "LOCATED_IN"
NESTED_MAX: Final = 100
"""So many places within places are followed."""


def opposed_tags(tags: Iterable[str], groups: Iterable[tuple[str, ...]]) -> tuple[str, str] | None:
    """Two of these tags that cannot hold at once."""
    every = tuple(tags)
    for tag in every if len(every) > 1 else ():
        others = excluded_by(tag, groups, every)
        if others:
            return tag, others[0]
    return None


def laws_against_state(
    view: SliceView, entity_type: str, new: Iterable[str], held: Iterable[str] = ()
) -> Iterator[Axiom]:
    """The axioms that forbid to add the tags `new` beside those `held`."""
    added = frozenset(new)
    for axiom in view.axioms() if added else ():
        law = axiom.constraint
        if law is not None and _governs(law, entity_type) and _forbids(law, added, added | {*held}):
            yield axiom


def laws_against_relation(
    view: SliceView, rel_type: str, ends: Iterable[Entity | None]
) -> Iterator[Axiom]:
    """The axioms that forbid a relation of this type at one of these ends."""
    types = [one.entity_type for one in ends if one is not None]
    for axiom in view.axioms():
        law = axiom.constraint
        if law is None or law.kind != "forbidden_relation":
            continue
        governed = any(_governs(law, one) for one in types)
        if governed and rel_type in {value.upper() for value in law.values}:
            yield axiom


def misplacing(
    view: SliceView, kind: RelationType, start: Entity, end: Entity, moment: Moment
) -> tuple[str, tuple[str, ...]] | None:
    """Why `start` cannot be located in `end`, and the ids that stand against it."""
    if kind.name != PLACE:
        return None
    if start.entity_type == end.entity_type == EntityType.CHARACTER:
        return "a character is no place for another one; relate both to a location", (end.id,)
    seen: list[str] = []
    here: Entity | None = end
    for _step in range(NESTED_MAX):
        if here is None:
            return None
        outer = standing_line(view, here, PLACE, moment)
        if not outer:
            return None
        seen.append(outer[-1].id)
        here = view.entity(Reference(outer[-1].to_id))
        if here is not None and here.id == start.id:
            message = (
                "the place lies within what is to be located in it; end one of those relations"
            )
            return message, tuple(seen)
    return None


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
