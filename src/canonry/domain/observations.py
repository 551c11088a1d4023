"""Observations: what somebody said about an entity at one time; snapshots are folded from them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from canonry.domain.ids import EntityId, ObservationId, SpaceId
from canonry.domain.provenance import Authority, Evidence
from canonry.domain.time import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Fields seen together.

    `fields` maps a field's name to its value: `name`, `description`, `properties.<key>`; the field
    `state_tags` maps each tag to whether it holds. `observed_at` is the instant in the world's own
    time, where one was given; `recorded_at` the instant of the commit. A correction outranks every
    observation that is none.
    """

    id: ObservationId
    space: SpaceId
    entity_id: EntityId
    fields: Mapping[str, Any]
    authority: Authority
    confidence: float
    evidence: tuple[Evidence, ...]
    observed_at: Instant | None
    recorded_at: Instant
    correction: bool = False
    position: int
    changed_at: int = field(default=0)

    @property
    def effective_at(self) -> Instant:
        """When it holds from: the world's time if known, else the time of recording."""
        return self.recorded_at if self.observed_at is None else self.observed_at
