"""The documents port: scenes, turns, proposals, memories and snippets, as they were told."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from canonry.log.items.proposals import NARRATED, Ask, Proposal, ProposalStatus, ProposalType
from canonry.log.items.scenes import Memory, Scene, SceneStatus, Turn
from canonry.log.items.sources import Snippet
from canonry.readmodels.ports.pages import Page
from canonry.readmodels.ports.state import Spaces
from canonry.readmodels.ports.view import View
from canonry.values.ids import EntityId, SceneId, SourceId, SpaceId, StoryId


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneQuery:
    """Scenes by (order, created_at, id)."""

    spaces: Spaces = None
    story_id: StoryId | None = None
    status: SceneStatus | None = None
    limit: int = 50
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalQuery:
    """Proposals by (created_at, id); `scene_id` None covers all scenes and ingestion.

    `types` are those of them that the canon's gates judge unless others are asked for. With
    `asks` only those that ask for something of these.
    """

    spaces: Spaces = None
    scene_id: SceneId | None = None
    types: frozenset[ProposalType] = frozenset(NARRATED)
    status: ProposalStatus | None = None
    asks: frozenset[Ask] | None = None
    limit: int = 50
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryQuery:
    """Memories of one character by (importance descending, created_at descending, id)."""

    entity_id: EntityId
    min_importance: float = 0.0
    limit: int = 20
    offset: int = 0


class Documents(View, Protocol):
    """The behaviour is stated in `canonry.testing.conformance` under `documents:*`.

    Single things are read through `State.things`, whatever their kind.
    """

    @abstractmethod
    async def scenes(self, query: SceneQuery) -> Page[Scene]:
        """The scenes that match."""

    @abstractmethod
    async def turns(
        self, scene_id: SceneId, *, last: int | None = None, after: int = -1, limit: int = 500
    ) -> Sequence[Turn]:
        """Turns by index: the `last` ones, or up to `limit` past the index `after`."""

    @abstractmethod
    async def proposals(self, query: ProposalQuery) -> Page[Proposal]:
        """The proposals that match."""

    @abstractmethod
    async def memories(self, query: MemoryQuery) -> Page[Memory]:
        """The memories that match."""

    @abstractmethod
    async def snippets(self, source_id: SourceId, *, limit: int, offset: int) -> Page[Snippet]:
        """The snippets of a source by (index, id)."""

    @abstractmethod
    async def open_scenes(self, space: SpaceId | None, *, limit: int) -> Sequence[Scene]:
        """Scenes that are being canonized, oldest first: what a crash may have left."""
