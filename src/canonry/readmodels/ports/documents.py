"""Ports for documents, world maps and catalogs, and for the engine that implements all ports."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Relation
from canonry.log.items.proposals import NARRATED, Proposal, ProposalStatus, ProposalType, ReviewKind
from canonry.log.items.scenes import Memory, Scene, SceneStatus, Turn
from canonry.log.items.sources import Snippet
from canonry.log.ports.ledger import Ledger
from canonry.readmodels.edges import OpenExit
from canonry.readmodels.ports.state import PageQuery, Spaces, State
from canonry.readmodels.ports.text import Text
from canonry.readmodels.ports.view import Page, View
from canonry.values.ids import EntityId, SceneId, SourceId, Space, SpaceId, StoryId
from canonry.values.moments import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneQuery(PageQuery):
    """Scenes sorted by (order, created_at, id)."""

    story_id: StoryId | None = None
    status: SceneStatus | None = None

    def matches(self, one: Scene) -> bool:
        """Return whether the scene is as asked, in whatever space."""
        return self.story_id in {None, one.story_id} and self.status in {None, one.status}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalQuery(PageQuery):
    """Proposals sorted by (created_at, id); `scene_id` None covers all scenes and ingestion.

    `types` defaults to the types that the canon's gates judge. `asks` selects proposed actions of
    these kinds.
    """

    scene_id: SceneId | None = None
    types: frozenset[ProposalType] = frozenset(NARRATED)
    status: ProposalStatus | None = None
    asks: frozenset[ReviewKind] | None = None

    def matches(self, one: Proposal) -> bool:
        """Return whether the proposal is as asked, in whatever space."""
        return (
            self.scene_id in {None, one.scene_id}
            and one.type in self.types
            and self.status in {None, one.status}
            and (self.asks is None or not self.asks.isdisjoint(one.asks))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryQuery:
    """Memories of one character, sorted by (importance descending, created_at descending, id)."""

    entity_id: EntityId
    min_importance: float = 0.0
    limit: int = 20
    offset: int = 0

    def matches(self, one: Memory) -> bool:
        """Return whether the memory is as asked."""
        return one.entity_id == self.entity_id and one.importance >= self.min_importance


class Documents(View, Protocol):
    """Narrative documents; `documents:*` in `canonry.testing.conformance` specifies it.

    Read single items of any kind with `State.things`.
    """

    @abstractmethod
    async def scenes(self, query: SceneQuery) -> Page[Scene]:
        """Return matching scenes."""

    @abstractmethod
    async def turns(
        self, scene_id: SceneId, *, last: int | None = None, after: int = -1, limit: int = 500
    ) -> Sequence[Turn]:
        """Return turns by index: the `last` ones, or up to `limit` after the index `after`."""

    @abstractmethod
    async def proposals(self, query: ProposalQuery) -> Page[Proposal]:
        """Return matching proposals."""

    @abstractmethod
    async def memories(self, query: MemoryQuery) -> Page[Memory]:
        """Return matching memories."""

    @abstractmethod
    async def snippets(self, source_id: SourceId, *, limit: int, offset: int) -> Page[Snippet]:
        """Return the snippets of a source by (index, id)."""

    @abstractmethod
    async def open_scenes(self, space: SpaceId | None, *, limit: int) -> Sequence[Scene]:
        """Return finalizing scenes, oldest first, which a crash may have left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeQuery:
    """Relations of `WORLD_RELATIONS` with an end in `entities` that hold at `at`.

    `outward` selects relations that begin there, else those that end there. `kinds` selects by the
    property `kind` (empty if it is missing); None: all. `limit` applies to each entity and each
    named kind. A relation holds from `since` (None: always) until just before `until`. Retconned
    relations never held, nor did relations with an unknown end. `newest_first` returns the latest
    starts of each entity and kind, latest first.
    """

    space: SpaceId
    entities: tuple[EntityId, ...]
    rel_type: str
    at: Instant
    outward: bool = True
    kinds: tuple[str, ...] | None = ("",)
    limit: int = 100
    newest_first: bool = False


class Places(View, Protocol):
    """The map of a world; `places:*` in `canonry.testing.conformance` specifies it."""

    @abstractmethod
    async def edges(self, query: EdgeQuery) -> Sequence[Relation]:
        """Return matching edges: by entity as given, by kind as given, then by (since, id).

        Later changes do not alter the order of the past. Without kinds, they are in alphabetical
        order.
        """

    @abstractmethod
    async def open_exits(
        self, space: SpaceId, places: Iterable[EntityId], at: Instant
    ) -> Sequence[OpenExit]:
        """Return the open exits of these locations at `at`.

        They are sorted by location as given, then by direction in alphabetical order. This is much
        cheaper than `edges` for searches over many locations.
        """

    @abstractmethod
    async def events_until(
        self, space: SpaceId, entity: EntityId, at: Instant, *, limit: int
    ) -> Sequence[Event]:
        """Return the canon events of `space` that involve `entity`, dated at or before `at`.

        They are sorted descending by (time_ref, or created_at without one; id).
        """

    @abstractmethod
    async def entities_after(
        self, space: SpaceId, entity_type: str, last: Entity | None, *, limit: int
    ) -> Sequence[Entity]:
        """Return unmerged canon entities of a type after `last`.

        They are sorted by (created_at, id). Each page has the same cost, and writes between two
        pages neither repeat nor hide earlier entities.
        """

    @abstractmethod
    async def events_after(
        self, space: SpaceId, last: Event | None, *, limit: int
    ) -> Sequence[Event]:
        """Return the canon events of `space` after `last`, by (time_ref or created_at; id)."""


Triple: TypeAlias = tuple[str, str, str]
"""(source, type, target) of a relation; both ends are entity ids."""

BEFORE_ALL_ITEMS: Final = ("", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogQuery:
    """Entities of `project` whose folded title, slug or summary contains the folded `text`.

    They are sorted by (updatedAt, newest first; id). Empty `kinds` means all.
    """

    project: SpaceId
    text: str
    kinds: frozenset[str] = frozenset()
    limit: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEntry:
    """An entity, and the number of its outgoing and incoming relations."""

    entity: Entity
    outgoing: int
    incoming: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphQuery:
    """The neighbourhood of an entity, up to `depth` steps along relations in both directions.

    Empty `rel_types` means all; other types are not followed at any step.
    """

    project: SpaceId
    entity_id: str
    depth: int = 1
    rel_types: frozenset[str] = frozenset()
    nodes_max: int = 100
    edges_max: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode:
    """An entity and its distance."""

    entity: Entity
    depth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphEdge:
    """A relation with the contract's ids of its ends."""

    relation: Relation
    source: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogGraph:
    """Nodes by (depth, title without regard to case, title, id), edges by (ends, type).

    The root is always included. Nodes are added step by step in order up to the limit; an edge
    joins two of them, of which at least one was expanded. `more_nodes` and `more_edges` tell that
    the limit left some out.
    """

    nodes: Sequence[GraphNode]
    edges: Sequence[GraphEdge]
    more_nodes: bool
    more_edges: bool


class Catalog(View, Protocol):
    """Rows of catalogs; `catalog:*` in `canonry.testing.conformance` specifies it.

    Each method reads one consistent state with all acknowledged commits of all processes.
    """

    @abstractmethod
    async def projects(self, spaces: Spaces, *, limit: int) -> Sequence[Space]:
        """Return the first projects by (name without regard to case, name, id)."""

    @abstractmethod
    async def search(self, query: CatalogQuery) -> Page[Entity]:
        """Return the first matching entities, with the total.

        Raises:
            NotFound: `project.unknown`.
        """

    @abstractmethod
    async def find_entry(self, project: SpaceId, entity_id: str) -> CatalogEntry:
        """Return the entity with this id in the project.

        Raises:
            NotFound: `project.unknown` or `entity.unknown`.
        """

    @abstractmethod
    async def find_graph(self, query: GraphQuery) -> CatalogGraph:
        """Return the neighbourhood of an entity.

        Raises:
            NotFound: `project.unknown` or `entity.unknown`.
        """

    @abstractmethod
    async def handle_owners(
        self, project: SpaceId, handles: Iterable[tuple[str, str]]
    ) -> Mapping[tuple[str, str], str]:
        """Map each used (kind, slug or address) to the id of its item.

        If several items had it, which a store never accepts, the first id counts.
        """

    @abstractmethod
    async def projects_called(self, slugs: Iterable[str]) -> Mapping[str, SpaceId]:
        """Map each slug to its project; of several, the first id counts."""

    @abstractmethod
    async def current_relations(self, triples: Iterable[Triple]) -> Mapping[Triple, str]:
        """Map each triple to the id of its current relation, if any."""

    @abstractmethod
    async def list_items(
        self, project: SpaceId, kind: str, *, after: tuple[str, str], limit: int
    ) -> Sequence[Entity]:
        """Return items of a kind by (slug or address, id); see `BEFORE_ALL_ITEMS`."""

    @abstractmethod
    async def relations_from(
        self, source: str, *, after: tuple[str, str], limit: int
    ) -> Sequence[Relation]:
        """Return current relations from an item after `after`, by (target, type)."""


class Engine(Protocol):
    """An open store of any engine; a `Canon` over it is one too."""

    @property
    def ledger(self) -> Ledger:
        """Return the event log."""

    @property
    def state(self) -> State:
        """Return the port for items, entities, facts and relations."""

    @property
    def documents(self) -> Documents:
        """Return the port for scenes, turns, proposals and sources."""

    @property
    def text(self) -> Text:
        """Return the port for keyword search."""

    @property
    def catalog(self) -> Catalog:
        """Return the port for catalogs."""

    @property
    def places(self) -> Places:
        """Return the port for world maps."""
