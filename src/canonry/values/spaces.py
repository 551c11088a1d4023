"""Spaces: the isolation boundary of everything, whatever its users call it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from canonry.values.ids import SpaceId
from canonry.values.time import Instant


class SpaceKind(StrEnum):
    """What a space is to its users.

    A universe is told, a multiverse holds universes, a world is played in; a project is a
    catalog's, an account is one user's own.
    """

    UNIVERSE = "universe"
    MULTIVERSE = "multiverse"
    WORLD = "world"
    PROJECT = "project"
    ACCOUNT = "account"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceDraft:
    """A closed world of its own; `parent` is the multiverse that contains a universe."""

    id: SpaceId
    kind: SpaceKind
    name: str
    description: str
    parent: SpaceId | None
    properties: Mapping[str, Any] = field(default_factory=dict)

    @property
    def space(self) -> SpaceId:
        """A space lies in itself."""
        return self.id

    @property
    def told(self) -> bool:
        """Whether stories can take place in it."""
        return self.kind in {SpaceKind.UNIVERSE, SpaceKind.WORLD}


@dataclass(frozen=True, slots=True, kw_only=True)
class Space(SpaceDraft):
    """A space that was opened."""

    created_at: Instant
    position: int
    changed_at: int
