"""Namesakes: the entity of canon that a proposed entity is, and what it says anew of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.contents import EntityContent
from canonry.canon.judging.slices import SliceView
from canonry.log.items.entities import Entity, normalised_name
from canonry.log.items.proposals import ProposalStatus
from canonry.log.schemas.narrative import DESCRIPTION, PROPERTY_PREFIX
from canonry.values.fields import PROPOSAL_PREFIX, Reference


@dataclass(frozen=True, slots=True, kw_only=True)
class Restated:
    """Fields of which a value is new, and those of which it takes the place of another one."""

    fresh: Mapping[str, Any] = field(default_factory=dict)
    changed: Mapping[str, Any] = field(default_factory=dict)


def known_as(candidate: Candidate, content: EntityContent, view: SliceView) -> Entity | None:
    """The oldest entity of canon that has this type, class and name.

    What another proposal of the scene became is somebody else, where both declare a `ref`.
    """
    found = [
        one
        for one in view.named(content.entity_type, content.name)
        if one.entity_class is content.entity_class
    ]
    taken = set(_taken(candidate, content, view)) if found else set()
    return next((one for one in found if one.id not in taken), None)


def _taken(candidate: Candidate, content: EntityContent, view: SliceView) -> Iterator[str]:
    if content.ref is None:
        return
    for ref, proposal_id in candidate.declared.items():
        if ref == content.ref or proposal_id == candidate.proposal.id:
            continue
        other = view.proposal(Reference(PROPOSAL_PREFIX + proposal_id))
        if other is None or other.status is not ProposalStatus.ACCEPTED or other.decision is None:
            continue
        became = view.referred(Reference(PROPOSAL_PREFIX + proposal_id))
        if isinstance(became, Entity):
            yield became.id


def restated(content: EntityContent, entity: Entity) -> Restated:
    """What a content says of an entity beyond what is canon; an empty description says nothing."""
    said = {PROPERTY_PREFIX + name: value for name, value in content.properties.items()}
    held = {PROPERTY_PREFIX + name: value for name, value in entity.properties.items()}
    if content.description.strip():
        said[DESCRIPTION] = content.description
    if entity.description.strip():
        held[DESCRIPTION] = entity.description
    return Restated(
        fresh={name: value for name, value in said.items() if name not in held},
        changed={
            name: value
            for name, value in said.items()
            if name in held and not _same(name, held[name], value)
        },
    )


def _same(name: str, old: Any, new: Any) -> bool:
    if name == DESCRIPTION:
        return normalised_name(str(old)) == normalised_name(str(new))
    return type(old) is type(new) and bool(old == new)
