"""Sighting: what an entity becomes when more of it is observed."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from canonry.log.items.entities import Entity, Sightings
from canonry.log.schemas.narrative import policy_of
from canonry.values.merge import accumulate, join
from canonry.values.merge.kit import PROPERTY
from canonry.values.observations import Observation


def seen_also(entity: Entity, observations: Iterable[Observation]) -> Entity:
    """The entity with these observations of its own beside those that it has."""
    seen = tuple(observations)
    own, sightings = entity.own, entity.sightings
    for each in _telling(seen):
        own = join(own, accumulate(each, policy_of), policy_of)
    for each in seen:
        sightings = sightings + sighting_of(each)
    return replace(entity, own=own, sightings=sightings)


def sighting_of(observation: Observation) -> Sightings:
    """One observation, counted."""
    when = observation.seen_at
    return Sightings(count=1, first=when, last=when)


def _telling(observations: Iterable[Observation]) -> Iterator[Observation]:
    """The observations with only those fields in which they can win.

    Of those with the same weight the last in time wins under every policy that goes by time, so
    that of many only few fields have to be joined.
    """
    told: set[tuple[str, int, int, float]] = set()
    for each in sorted(observations, key=lambda o: (o.seen_at, o.position, o.id), reverse=True):
        weight = (int(each.correction), each.priority, each.specificity)
        fields: dict[str, Any] = {}
        for name, value in each.fields.items():
            whole = not name.startswith(PROPERTY) or isinstance(value, list | tuple)
            if whole or (name, *weight) not in told:
                fields[name] = value
            if not whole:
                told.add((name, *weight))
        if fields or each.fragments:
            yield each if len(fields) == len(each.fields) else replace(each, fields=fields)
