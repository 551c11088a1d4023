"""Find the entity of that name, or the same event, that canon has already for a proposal."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.contents import EntityContent, EventContent
from canonry.canon.judging.slices import SliceView
from canonry.log.items.entities import Entity, normalised_name
from canonry.log.items.facts import Event
from canonry.log.items.proposals import ProposalStatus
from canonry.log.schemas.narrative import DESCRIPTION, PROPERTY_PREFIX
from canonry.values.fields import PROPOSAL_PREFIX, Reference
from canonry.values.ids import SceneId
from canonry.values.moments import Instant


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


# Retold events: what is told once more in the same words is one event, where its time agrees.
#
# Told in two scenes and not with one time, it may have happened twice; somebody has to look.


@dataclass(frozen=True, slots=True, kw_only=True)
class Retold:
    """The event that is told once more, or else those that it may be."""

    same: Event | None = None
    perhaps: tuple[Event, ...] = ()


def retold(
    content: EventContent,
    involved: Collection[str],
    view: SliceView,
    *,
    at: Instant | None,
    scene_id: SceneId | None,
) -> Retold:
    """What canon knows of an event in these words, of exactly these entities."""
    title, told = map(normalised_name, (content.title, content.description))
    known = [
        event
        for event in view.events_of(involved, title=title, scene_id=scene_id)
        if event.severity == content.severity and normalised_name(event.description) == told
    ]
    for event in known:
        # Nothing of when and where both were told speaks against it.
        together = event.scene_id == scene_id or None not in {at, event.time_ref}
        if event.time_ref == at if together else None in {event.scene_id, scene_id}:
            return Retold(same=event)
    elsewhere = (one for one in known if one.scene_id != scene_id)
    return Retold(perhaps=tuple(one for one in elsewhere if None in {at, one.time_ref}))
