"""Ports of documents, of the places of worlds, of catalogs, and of the engine that has them."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Relation
from canonry.log.items.proposals import NARRATED, Ask, Proposal, ProposalStatus, ProposalType
from canonry.log.items.scenes import Memory, Scene, SceneStatus, Turn
from canonry.log.items.sources import Snippet
from canonry.log.ports.ledger import Ledger
from canonry.readmodels.edges import Way
from canonry.readmodels.ports.state import Spaces, State
from canonry.readmodels.ports.text import Text
from canonry.readmodels.ports.view import Page, View
from canonry.values.ids import EntityId, SceneId, SourceId, Space, SpaceId, StoryId
from canonry.values.moments import Instant


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


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeQuery:
    """Relations of one of `WORLD_RELATIONS` with an end in `entities` that hold at `at`.

    `outward` looks at those that begin there, else at those that end there. `kinds` selects by the
    property `kind` (where a relation has none, it is empty); None: whatever it is. At most `limit`
    for each entity and each kind that is named. A relation holds from `since` (None: always) until
    just before `until`; one that was retconned never held, nor did one that ended at a time that
    nobody knows. `newest_first`: of each entity and kind those that began last, the last one first.
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
    """The behaviour is stated in `canonry.testing.conformance` under `places:*`."""

    @abstractmethod
    async def edges(self, query: EdgeQuery) -> Sequence[Relation]:
        """The edges that match: by entity as asked, by kind as asked, then by (since, id).

        So what happens later does not alter the order in which the past is told. Where no kind is
        named, the kinds come in the order of their letters.
        """

    @abstractmethod
    async def ways(self, space: SpaceId, places: Iterable[EntityId], at: Instant) -> Sequence[Way]:
        """The exits of these places that hold at `at` and are not blocked.

        By place as asked, then in the order of the letters of their directions. Much cheaper than
        the edges themselves, for searches that look at many.
        """

    @abstractmethod
    async def events_until(
        self, space: SpaceId, entity: EntityId, at: Instant, *, limit: int
    ) -> Sequence[Event]:
        """The canon events of `space` that involve `entity`, dated at or before `at`.

        The newest first: by (time_ref, or created_at where it has none; id), downwards.
        """

    @abstractmethod
    async def entities_after(
        self, space: SpaceId, entity_type: str, last: Entity | None, *, limit: int
    ) -> Sequence[Entity]:
        """Canon entities of a type that were not merged away, those that follow `last`.

        By (created_at, id): each page costs as much as the first one, and what is written between
        two pages neither repeats nor hides what stood before.
        """

    @abstractmethod
    async def events_after(
        self, space: SpaceId, last: Event | None, *, limit: int
    ) -> Sequence[Event]:
        """The canon events of `space` that follow `last`, by (time_ref or created_at; id)."""


Triple: TypeAlias = tuple[str, str, str]
"""(source, type, target) of a relation; both ends are ids of things."""

PLACE_BEFORE_ALL: Final = ("", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogQuery:
    """Entities of `project` whose folded title, slug or summary contains the folded `text`.

    Ordered by (updatedAt, newest first; id). No `kinds` means all of them.
    """

    project: SpaceId
    text: str
    kinds: frozenset[str] = frozenset()
    limit: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogFound:
    """The first entities that match, and how many do."""

    entities: Sequence[Entity]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEntry:
    """An entity, and how many relations lead from it and to it, whatever is at their other end."""

    entity: Entity
    outgoing: int
    incoming: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphQuery:
    """What surrounds an entity, up to `depth` steps along relations in either direction.

    No `rel_types` means all of them; others are not followed at any step.
    """

    project: SpaceId
    entity_id: str
    depth: int = 1
    rel_types: frozenset[str] = frozenset()
    nodes_max: int = 100
    edges_max: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode:
    """An entity, and how many steps it is away."""

    entity: Entity
    depth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphEdge:
    """A relation with the ids that a contract shows of its ends."""

    relation: Relation
    source: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogGraph:
    """Nodes by (depth, title without regard to case, title, id), edges by (ends, type).

    The root is always there. Nodes are taken step by step in their order until there is no more
    room; an edge joins two of them, of which at least one was looked at. `more_nodes` and
    `more_edges` tell that some had no room.
    """

    nodes: Sequence[GraphNode]
    edges: Sequence[GraphEdge]
    more_nodes: bool
    more_edges: bool


class Catalog(View, Protocol):
    """The behaviour is stated in `canonry.testing.conformance` under `catalog:*`.

    Every method sees one state of the store, with all commits that any process has acknowledged.
    """

    @abstractmethod
    async def projects(self, spaces: Spaces, *, limit: int) -> Sequence[Space]:
        """The first projects by (name without regard to case, name, id)."""

    @abstractmethod
    async def search(self, query: CatalogQuery) -> CatalogFound:
        """The entities that match.

        Raises:
            NotFound: `project.unknown`.
        """

    @abstractmethod
    async def entry(self, project: SpaceId, entity_id: str) -> CatalogEntry:
        """The entity that bears this id in the project.

        Raises:
            NotFound: `project.unknown` or `entity.unknown`.
        """

    @abstractmethod
    async def graph(self, query: GraphQuery) -> CatalogGraph:
        """What surrounds an entity.

        Raises:
            NotFound: `project.unknown` or `entity.unknown`.
        """

    @abstractmethod
    async def bearers(
        self, project: SpaceId, words: Iterable[tuple[str, str]]
    ) -> Mapping[tuple[str, str], str]:
        """(kind, slug or address) -> the id of the item that bears it, for those that are borne.

        Of several, which a store never accepts, the first id.
        """

    @abstractmethod
    async def projects_called(self, slugs: Iterable[str]) -> Mapping[str, SpaceId]:
        """Slug -> the project that bears it, the first id of several."""

    @abstractmethod
    async def joined(self, triples: Iterable[Triple]) -> Mapping[Triple, str]:
        """Triple -> the id of the relation that holds between these, where one does."""

    @abstractmethod
    async def items(
        self, project: SpaceId, kind: str, *, after: tuple[str, str], limit: int
    ) -> Sequence[Entity]:
        """Items of a kind past `after`, by (slug or address, id); see `PLACE_BEFORE_ALL`."""

    @abstractmethod
    async def relations_from(
        self, source: str, *, after: tuple[str, str], limit: int
    ) -> Sequence[Relation]:
        """Relations from an item that hold, past `after`, by (target, type)."""


class Engine(Protocol):
    """An open store of any engine; a `Canon` over it is one as well."""

    @property
    def ledger(self) -> Ledger:
        """The log, which commits are appended to."""

    @property
    def state(self) -> State:
        """Items, and questions about entities, facts and relations."""

    @property
    def documents(self) -> Documents:
        """Scenes, turns, proposals and sources."""

    @property
    def text(self) -> Text:
        """Passages by their words."""

    @property
    def catalog(self) -> Catalog:
        """Rows of catalogs."""

    @property
    def places(self) -> Places:
        """Edges of worlds."""
