"""Timelines of records, and duplicate edges after merges."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from canonry.log.items.entities import Entity
from canonry.log.items.facts import Relation
from canonry.log.items.secret_parts import in_compartment
from canonry.values.fields import with_changes
from canonry.values.ids import EntityId, ObservationId, SourceId, SpaceId, content_id
from canonry.values.merge_policies import CHOICES, PROPERTY
from canonry.values.moments import Instant
from canonry.values.observations import LAST, Elements, Held, Observation
from canonry.values.provenance import CanonLevel

# The timeline: events at the dates in entities' fields, derived from observations.
#
# Entries of one source, event type and instant are one event, for any entities. An entry is current
# while its entity's snapshot shows the field as observed.

NO_SOURCE: Final = SourceId("")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEntry:
    """A dated field of an entity; `entity_id` is the entity that was observed."""

    space: SpaceId
    event_type: str
    instant: Instant
    source_id: SourceId
    entity_id: EntityId
    field: str
    observation_id: ObservationId

    @property
    def event_id(self) -> str:
        """Return the id of the entry's event."""
        return _event_id(self.source_id, self.event_type, self.instant)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEvent:
    """An event of a source at an instant, with an entry for each field that states it."""

    id: str
    space: SpaceId
    event_type: str
    instant: Instant
    source_id: SourceId
    entries: tuple[TimelineEntry, ...]


@lru_cache(maxsize=4096)  # records of one import share dates: bench compare, bulk
def _event_id(source_id: str, event_type: str, instant: int) -> str:
    return content_id("timeline", source_id, event_type, str(instant))


def observation_entries(observation: Observation) -> Iterator[TimelineEntry]:
    """Yield the entries of an observation, whether current or not."""
    space = in_compartment(observation).space if observation.dates else observation.space
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
    """Yield the entries in an entity's snapshot; none if it was merged or retconned."""
    if entity.merged_into is not None or entity.level is CanonLevel.RETCONNED:
        return
    space = in_compartment(entity).space
    for name, elements in entity.snapshot.items():
        held = _shown_date(elements)
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


def item_entries(item: object) -> Iterator[tuple[TimelineEntry, bool]]:
    """Yield an observation's entries, or an entity's current ones; other items have none."""
    match item:
        case Observation():
            yield from ((entry, False) for entry in observation_entries(item))
        case Entity():
            yield from ((entry, True) for entry in entries_current(item))
        case _:
            return


def event_of(entries: tuple[TimelineEntry, ...]) -> TimelineEvent:
    """Return the event of its entries, in the order of their entities and fields."""
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


def _shown_date(elements: Elements) -> Held | None:
    """Return the dated value that the field's merge policy selects, or None."""
    if len(elements) == 1:
        return elements.get(LAST)
    policy = next((h.date.policy for h in elements.values() if h.date is not None), None)
    if policy is None:
        return None
    shown = CHOICES[policy].credit(elements)[""][0]
    return next((h for h in elements.values() if h.observation == shown), None)


def join_edges(edges: Iterable[Relation], moved: Mapping[str, EntityId]) -> Iterable[Relation]:
    """Return the edges between survivors, each once, in the order of their first occurrence.

    `moved` maps merged entities to their survivors. Of duplicates the oldest remains, with the
    values of all of them; later values win.
    """
    found: dict[tuple[str, EntityId, EntityId], list[Relation]] = {}
    for edge in edges:
        ends = moved.get(edge.from_id, edge.from_id), moved.get(edge.to_id, edge.to_id)
        if ends[0] != ends[1]:
            found.setdefault((edge.rel_type, *ends), []).append(edge)
    return [_join_edge(several, *ends) for (_, *ends), several in found.items()]


def _join_edge(several: Iterable[Relation], from_id: EntityId, to_id: EntityId) -> Relation:
    first, *others = sorted(several, key=lambda edge: (edge.position, edge.id))
    changes: dict[str, object] = {"from_id": from_id, "to_id": to_id}
    if others:
        changes["properties"] = {k: v for e in (first, *others) for k, v in e.properties.items()}
        changes["origins"] = {
            **first.origins,
            **{k: e.origins.get(k, e.id) for e in others for k in e.properties},
        }
        changes["told"] = first.told + sum(each.told for each in others)
        changes["told_at"] = max(each.told_at or each.created_at for each in (first, *others))
    return with_changes(first, **changes)
