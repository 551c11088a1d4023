"""The timeline: what happens at the dates that entities' fields say, derived from observations.

Entries of one source, event type and instant are one event, whoever they are about. An entry is
current while the snapshot of its entity still shows the field as that observation said it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from canonry.log.items.entities import Entity
from canonry.log.items.veils import homed
from canonry.values.ids import EntityId, ObservationId, SourceId, SpaceId, content_id
from canonry.values.merge import CHOICES
from canonry.values.merge.kit import PROPERTY
from canonry.values.observations import Observation
from canonry.values.provenance import CanonLevel
from canonry.values.snapshots import Elements, Held
from canonry.values.time import Instant
from canonry.values.winners import LAST

NO_SOURCE: Final = SourceId("")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEntry:
    """One field of one entity that dates an event; `entity_id` is as it was observed."""

    space: SpaceId
    event_type: str
    instant: Instant
    source_id: SourceId
    entity_id: EntityId
    field: str
    observation_id: ObservationId

    @property
    def event_id(self) -> str:
        """The event that the entry belongs to."""
        return _event_id(self.source_id, self.event_type, self.instant)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEvent:
    """What a source says happens at an instant, with an entry for each field that says so."""

    id: str
    space: SpaceId
    event_type: str
    instant: Instant
    source_id: SourceId
    entries: tuple[TimelineEntry, ...]


@lru_cache(maxsize=4096)
def _event_id(source_id: str, event_type: str, instant: int) -> str:
    return content_id("timeline", source_id, event_type, str(instant))


def entries_said(observation: Observation) -> Iterator[TimelineEntry]:
    """The entries of an observation, whether or not anybody has said otherwise since."""
    space = homed(observation).space if observation.dates else observation.space
    for name, date in observation.dates.items():
        yield TimelineEntry(
            space=space,
            event_type=date.event_type,
            instant=date.instant,
            source_id=observation.source_id or NO_SOURCE,
            entity_id=observation.entity_id,
            field=name,
            observation_id=observation.id,
        )


def entries_current(entity: Entity) -> Iterator[TimelineEntry]:
    """The entries that the snapshot of an entity shows; none if it was merged away or retconned."""
    if entity.merged_into is not None or entity.level is CanonLevel.RETCONNED:
        return
    space = homed(entity).space
    for name, elements in entity.snapshot.items():
        held = _shown(elements)
        if held is not None and held.date is not None:
            yield TimelineEntry(
                space=space,
                event_type=held.date.event_type,
                instant=held.date.instant,
                source_id=held.source or NO_SOURCE,
                entity_id=entity.id,
                field=name.removeprefix(PROPERTY),
                observation_id=held.observation,
            )


def entries_told(thing: object) -> Iterator[tuple[TimelineEntry, bool]]:
    """The entries of an observation, and of an entity those that are current; others have none."""
    match thing:
        case Observation():
            yield from ((entry, False) for entry in entries_said(thing))
        case Entity():
            yield from ((entry, True) for entry in entries_current(thing))
        case _:
            return


def event_of(entries: tuple[TimelineEntry, ...]) -> TimelineEvent:
    """The event of entries that have the same one, in the order of their entities and fields."""
    first = entries[0]
    ordered = sorted(entries, key=lambda e: (e.entity_id, e.field, e.observation_id))
    return TimelineEvent(
        id=first.event_id,
        space=first.space,
        event_type=first.event_type,
        instant=first.instant,
        source_id=first.source_id,
        entries=tuple(ordered),
    )


def _shown(elements: Elements) -> Held | None:
    """The dated value that the field's policy shows, if there is one."""
    if len(elements) == 1:
        return elements.get(LAST)
    policy = next((h.date.policy for h in elements.values() if h.date is not None), None)
    if policy is None:
        return None
    shown = CHOICES[policy].credit(elements)[""][0]
    return next((h for h in elements.values() if h.observation == shown), None)
