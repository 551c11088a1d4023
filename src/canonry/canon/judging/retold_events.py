"""Retold events: what is told once more in the same words is one event, where its time agrees.

Told in two scenes and not with one time, it may have happened twice; somebody has to look.
"""

from collections.abc import Collection
from dataclasses import dataclass

from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.contents import EventContent
from canonry.canon.judging.slices import SliceView
from canonry.log.items.entities import normalised_name
from canonry.log.items.facts import Event
from canonry.values.ids import SceneId
from canonry.values.moments import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTelling:
    """An event as somebody tells it now."""

    title: str
    description: str
    severity: int
    at: Instant | None
    scene_id: SceneId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retold:
    """The event that is told once more, or else those that it may be."""

    same: Event | None = None
    perhaps: tuple[Event, ...] = ()


def telling_of(candidate: Candidate, content: EventContent) -> EventTelling:
    """What a proposal of an event tells."""
    return EventTelling(
        title=content.title,
        description=content.description,
        severity=content.severity,
        at=candidate.at,
        scene_id=candidate.proposal.scene_id,
    )


def retold(telling: EventTelling, involved: Collection[str], view: SliceView) -> Retold:
    """What canon knows of an event in these words, of exactly these entities."""
    title, told = map(normalised_name, (telling.title, telling.description))
    known = [
        event
        for event in view.events_of(involved, title=title, scene_id=telling.scene_id)
        if event.severity == telling.severity and normalised_name(event.description) == told
    ]
    same = next((event for event in known if _agrees(telling, event)), None)
    if same is not None:
        return Retold(same=same)
    return Retold(perhaps=tuple(one for one in known if _may_agree(telling, one)))


def _agrees(telling: EventTelling, event: Event) -> bool:
    """Whether nothing of when and where both were told speaks against it."""
    at, scene_id = telling.at, telling.scene_id
    if event.scene_id == scene_id or None not in {at, event.time_ref}:
        return event.time_ref == at
    return None in {event.scene_id, scene_id}


def _may_agree(telling: EventTelling, event: Event) -> bool:
    """Whether two scenes tell it, and not both with a time."""
    return event.scene_id != telling.scene_id and None in {telling.at, event.time_ref}
