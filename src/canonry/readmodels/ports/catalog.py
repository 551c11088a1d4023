"""The catalog port: what is asked of projects and the graph of their items, one state a call."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from canonry.log.items.entities import Entity
from canonry.log.items.facts import Relation
from canonry.readmodels.ports.state import Spaces
from canonry.readmodels.ports.view import View
from canonry.values.ids import Space, SpaceId

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
