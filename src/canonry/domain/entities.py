"""Entities: the nouns of a world; an archetype is timeless, an instance has state."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from canonry.domain.ids import EntityId, ObservationId, SpaceId
from canonry.domain.provenance import Authority, CanonLevel, Evidence
from canonry.domain.snapshots import Accumulator
from canonry.domain.time import Instant
from canonry.domain.vocabularies.narrative_fields import (
    DESCRIPTION,
    NAME,
    PROPERTY_PREFIX,
    STATE_TAGS,
    policy_of,
)

_SPACES: Final = re.compile(r"\s+")


class EntityClass(StrEnum):
    """Whether an entity is a kind of thing or one thing."""

    ARCHETYPE = "EntityArchetype"
    INSTANCE = "EntityInstance"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """An entity with its current snapshot.

    `own` folds this entity's observations; `snapshot` also those of `members`, the entities merged
    into it. `merged_into` names the root where this one was merged away: readers follow it.
    `entity_type` never changes; which types there are is for each vocabulary to say.
    """

    id: EntityId
    space: SpaceId
    entity_class: EntityClass
    entity_type: str
    derives_from: EntityId | None
    level: CanonLevel
    authority: Authority
    confidence: float
    evidence: tuple[Evidence, ...]
    own: Accumulator = field(default_factory=dict)
    snapshot: Accumulator = field(default_factory=dict)
    members: tuple[EntityId, ...] = ()
    merged_into: EntityId | None = None
    replaced_by: EntityId | None = None
    created_at: Instant
    updated_at: Instant
    position: int
    changed_at: int

    @property
    def name(self) -> str:
        """The current name."""
        return str(self._shown(NAME, ""))

    @property
    def description(self) -> str:
        """The current description."""
        return str(self._shown(DESCRIPTION, ""))

    @property
    def state_tags(self) -> tuple[str, ...]:
        """The tags that hold, sorted."""
        tags: tuple[str, ...] = self._shown(STATE_TAGS, ())
        return tags

    @property
    def properties(self) -> Mapping[str, Any]:
        """The type-specific properties."""
        start = len(PROPERTY_PREFIX)
        return {
            name[start:]: policy_of(name).show(elements)
            for name, elements in self.snapshot.items()
            if name.startswith(PROPERTY_PREFIX)
        }

    @property
    def provenance(self) -> Mapping[str, ObservationId]:
        """Field (or `state_tags.<tag>`) -> the observation that its value comes from."""
        found: dict[str, ObservationId] = {}
        for name, elements in self.snapshot.items():
            for element, held in elements.items():
                found[f"{name}.{element}" if element else name] = held.observation
        return found

    def _shown(self, name: str, default: Any) -> Any:
        elements = self.snapshot.get(name)
        return policy_of(name).show(elements) if elements else default


def normalised_name(name: str) -> str:
    """The form under which two names count as the same: folded case, accents kept, one space."""
    return _SPACES.sub(" ", unicodedata.normalize("NFKC", name)).strip().casefold()
