"""The state port: the graph of entities, relations, facts, events and what they rest on."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from canonry.domain.commits import Position
from canonry.domain.entities import Entity, EntityClass
from canonry.domain.entries import Thing
from canonry.domain.facts import Axiom, Event, Fact, FactType
from canonry.domain.ids import EntityId, EventId, SpaceId
from canonry.domain.observations import Observation
from canonry.domain.provenance import Authority, CanonLevel
from canonry.domain.relations import Relation
from canonry.domain.scenes import Story
from canonry.domain.sources import Source
from canonry.domain.spaces import Space, SpaceKind
from canonry.domain.time import Instant
from canonry.ports.views.pages import Page

Spaces = frozenset[SpaceId] | None
"""The spaces that a query covers; None: all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityQuery:
    """Entities that were not merged away, ordered by (created_at, id).

    `name_pattern` is a case-insensitive substring in which `*` and `%` stand for any characters.
    """

    spaces: Spaces = None
    entity_type: str | None = None
    entity_class: EntityClass | None = None
    level: CanonLevel | None = None
    all_of: frozenset[str] = frozenset()
    any_of: frozenset[str] = frozenset()
    none_of: frozenset[str] = frozenset()
    name_pattern: str | None = None
    limit: int = 50
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FactQuery:
    """Facts, ordered by (created_at, id).

    `start` and `end` select by overlap with [start, end]; a fact without time is timeless and
    overlaps everything; each bound may be missing.
    """

    spaces: Spaces = None
    entities: frozenset[EntityId] = frozenset()
    start: Instant | None = None
    end: Instant | None = None
    level: CanonLevel | None = None
    authority: Authority | None = None
    fact_type: FactType | None = None
    limit: int = 50
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EventQuery:
    """Events, ordered by (time_ref where known, else created_at; id)."""

    spaces: Spaces = None
    entities: frozenset[EntityId] = frozenset()
    scene_id: str | None = None
    level: CanonLevel | None = None
    limit: int = 50
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationQuery:
    """Relations that touch any of `entities` (empty: all), ordered by (created_at, id).

    `direction` is `out` (from them), `in` (to them) or `any`; `current` leaves out what ended or
    was retconned.
    """

    spaces: Spaces = None
    entities: frozenset[EntityId] = frozenset()
    rel_type: str | None = None
    direction: str = "any"
    current: bool = False
    limit: int = 50
    offset: int = 0


class State(Protocol):
    """The behaviour is stated in `canonry.testing.conformance` under `state:*`.

    Every method sees all commits that any process has acknowledged.
    """

    @abstractmethod
    async def things(self, ids: Iterable[str]) -> Mapping[str, Thing]:
        """The things of any kind, also of the documents view, under those of `ids` that exist."""

    @abstractmethod
    async def things_as_known_at(
        self, ids: Iterable[str], position: Position
    ) -> Mapping[str, Thing]:
        """The same as the view stood after `position` of their space.

        Covers entities, relations, facts, events, axioms, sources, stories and spaces.
        """

    @abstractmethod
    async def position_at(self, space: SpaceId, instant: Instant) -> Position:
        """The last position of `space` recorded at or before `instant`."""

    @abstractmethod
    async def spaces(
        self, *, kind: SpaceKind | None, parent: SpaceId | None, limit: int, offset: int
    ) -> Page[Space]:
        """Spaces by (created_at, id)."""

    @abstractmethod
    async def entities(self, query: EntityQuery) -> Page[Entity]:
        """The entities that match."""

    @abstractmethod
    async def entities_named(self, space: SpaceId, entity_type: str, name: str) -> Sequence[Entity]:
        """Canon entities of a type whose normalised name is that of `name`, oldest first; <= 50."""

    @abstractmethod
    async def observations(
        self, entity_id: EntityId, *, after: Position, limit: int
    ) -> Sequence[Observation]:
        """Observations of exactly this entity past `after`, in log order."""

    @abstractmethod
    async def facts(self, query: FactQuery) -> Page[Fact]:
        """The facts that match."""

    @abstractmethod
    async def facts_stating(self, space: SpaceId, statement: str) -> Sequence[Fact]:
        """Facts whose normalised statement is that of `statement`, oldest first; at most 50."""

    @abstractmethod
    async def events(self, query: EventQuery) -> Page[Event]:
        """The events that match."""

    @abstractmethod
    async def causes_of(self, event_ids: Iterable[EventId]) -> Sequence[Event]:
        """The events that name any of `event_ids` among their effects; at most 500."""

    @abstractmethod
    async def relations(self, query: RelationQuery) -> Page[Relation]:
        """The relations that match."""

    @abstractmethod
    async def axioms(self, space: SpaceId, *, limit: int, offset: int) -> Page[Axiom]:
        """The axioms of `space` by (created_at, id)."""

    @abstractmethod
    async def sources(self, space: SpaceId, *, limit: int, offset: int) -> Page[Source]:
        """The sources of `space` by (created_at, id)."""

    @abstractmethod
    async def stories(self, space: SpaceId, *, limit: int, offset: int) -> Page[Story]:
        """The stories of `space` by (created_at, id)."""
