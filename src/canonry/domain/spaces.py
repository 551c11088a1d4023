"""Spaces: the isolation boundary of everything; a narrative space is a universe or a multiverse."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from canonry.domain.ids import SpaceId
from canonry.domain.time import Instant


class SpaceKind(StrEnum):
    """What a space is to its users."""

    UNIVERSE = "universe"
    MULTIVERSE = "multiverse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """A closed world of its own; `parent` is the multiverse that contains a universe."""

    id: SpaceId
    kind: SpaceKind
    name: str
    description: str
    parent: SpaceId | None
    properties: Mapping[str, Any] = field(default_factory=dict)
    created_at: Instant
    position: int
    changed_at: int

    @property
    def space(self) -> SpaceId:
        """A space lies in itself."""
        return self.id
