"""The state port: entities, relations, facts, events and their sources."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from canonry.log.commits import Position
from canonry.log.entries import StoredItem
from canonry.log.items.entities import Entity, EntityClass
from canonry.log.items.facts import Axiom, Event, Fact, FactType, Relation
from canonry.log.items.scenes import Story
from canonry.log.items.sources import InterpretationRun, Source
from canonry.log.schemas.identity_keys import IdentifierOwner
from canonry.log.schemas.schemas import RegisteredSchema
from canonry.readmodels.ports.view import Page, View
from canonry.readmodels.timeline import TimelineEvent
from canonry.values.ids import EntityId, SourceId, Space, SpaceId, SpaceKind
from canonry.values.moments import Instant
from canonry.values.observations import Observation
from canonry.values.provenance import Authority, CanonLevel
from canonry.values.state_tags import normal_tags

T = TypeVar("T")
STATING_MAX: Final = 1000
"""The most facts returned for one statement; a state that begins in each scene has one each."""

Spaces = frozenset[SpaceId] | None
"""The spaces that a query covers; None: all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageQuery:
    """A page of the items in these spaces; each query states their order."""

    spaces: Spaces = None
    limit: int = 50
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery(PageQuery):
    """Items of one kind, sorted by (created_at, id); observations by (position, id).

    `owner` is the source of runs and observations, and the parent of spaces. `named` is the kind
    of a space or the type of a schema. `newest_first` reverses the order, but not of ids.
    """

    owner: str | None = None
    named: str | None = None
    newest_first: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityQuery(PageQuery):
    """Entities, sorted by (created_at, id): within a space, by the position of their creation.

    Tags are in the form of `canonry.values.state_tags.normal_tag`, in any order. Merged entities
    are left out, unless `include_merged` is set and no tag is given. `name_pattern` is a
    case-insensitive substring of current or former names, with the wildcards `*` and `%`.
    """

    entity_type: str | None = None
    entity_class: EntityClass | None = None
    level: CanonLevel | None = None
    all_of: frozenset[str] = frozenset()
    any_of: frozenset[str] = frozenset()
    none_of: frozenset[str] = frozenset()
    name_pattern: str | None = None
    include_merged: bool = False

    def matches(self, one: Entity) -> bool:
        """Return whether the entity has what is asked, in whatever space."""
        tagged = bool(self.all_of or self.any_of or self.none_of)
        tags = frozenset(normal_tags(one.state_tags)) if tagged else frozenset[str]()
        return (
            (one.merged_into is None or (self.include_merged and not tagged))
            and self.entity_type in {None, one.entity_type}
            and self.entity_class in {None, one.entity_class}
            and self.level in {None, one.level}
            and self.all_of <= tags
            and (not self.any_of or not self.any_of.isdisjoint(tags))
            and self.none_of.isdisjoint(tags)
            and (self.name_pattern is None or one.has_name(self.name_pattern))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentifierQuery:
    """Entities by identifiers in the normal form of `canonry.log.schemas.identity_keys`.

    `begins` also returns entities whose identifier begins with the text, after all others. The
    identifiers of a merged entity find its survivor.
    """

    spaces: Spaces = None
    keys: tuple[str, ...]
    entity_type: str | None = None
    begins: bool = False
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class FactQuery(PageQuery):
    """Facts, sorted by (created_at, id).

    `start` and `end` select by overlap with [start, end]; each bound is optional, and a fact
    without time overlaps everything.
    """

    entities: frozenset[EntityId] = frozenset()
    start: Instant | None = None
    end: Instant | None = None
    level: CanonLevel | None = None
    authority: Authority | None = None
    fact_type: FactType | None = None

    def matches(self, one: Fact) -> bool:
        """Return whether the fact is as asked, in whatever space."""
        return (
            (not self.entities or not self.entities.isdisjoint(one.involved))
            and (self.end is None or one.time_ref is None or one.time_ref <= self.end)
            and (self.start is None or one.ends_at is None or one.ends_at > self.start)
            and self.level in {None, one.level}
            and self.authority in {None, one.authority}
            and self.fact_type in {None, one.fact_type}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EventQuery(PageQuery):
    """Events, sorted by (time_ref if known, else created_at; id)."""

    entities: frozenset[EntityId] = frozenset()
    scene_id: str | None = None
    level: CanonLevel | None = None

    def matches(self, one: Event) -> bool:
        """Return whether the event is as asked, in whatever space."""
        return (
            (not self.entities or not self.entities.isdisjoint(one.involved))
            and self.scene_id in {None, one.scene_id}
            and self.level in {None, one.level}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationQuery(PageQuery):
    """Relations that touch any of `entities` (empty: all), sorted by (created_at, id).

    `direction` is `out` (from them), `in` (to them) or `any`; `current` leaves out ended and
    retconned relations; `newest_first` reverses the order of created_at, not that of the id.
    """

    entities: frozenset[EntityId] = frozenset()
    rel_type: str | None = None
    direction: str = "any"
    current: bool = False
    newest_first: bool = False

    def matches(self, one: Relation) -> bool:
        """Return whether the relation is as asked, in whatever space."""
        ends = {"out": (one.from_id,), "in": (one.to_id,)}.get(
            self.direction, (one.from_id, one.to_id)
        )
        return (
            (not self.entities or not self.entities.isdisjoint(ends))
            and self.rel_type in {None, one.rel_type}
            and (one.current or not self.current)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineQuery(PageQuery):
    """Events at the dates in entities' fields, sorted by (instant descending, id).

    `start` and `end` are inclusive; `superseded` includes events that no current snapshot has.
    """

    event_type: str | None = None
    source_id: SourceId | None = None
    start: Instant | None = None
    end: Instant | None = None
    superseded: bool = False


class State(View, Protocol):
    """The current state; `state:*` in `canonry.testing.conformance` specifies it.

    Each method sees all acknowledged commits of all processes.
    """

    @abstractmethod
    async def items_by_id(self, ids: Iterable[str]) -> Mapping[str, StoredItem]:
        """Return the existing items of any kind by id, including those of the documents view."""

    @abstractmethod
    async def ids_beginning(self, text: str, *, limit: int) -> Sequence[str]:
        """Return the first item ids that begin with `text`, a part of a UUID, in order."""

    @abstractmethod
    async def items_as_known_at(
        self, ids: Iterable[str], position: Position
    ) -> Mapping[str, StoredItem]:
        """Return the items as the view had them after `position` of their space.

        It covers entities, relations, facts, events, axioms, sources, stories and spaces.
        """

    @abstractmethod
    async def list_items(self, kind: type[T], query: ListQuery) -> Page[T]:
        """Return the items of one kind. The methods that return such lists call this one."""

    async def spaces(
        self, *, kind: SpaceKind | None, parent: SpaceId | None, limit: int, offset: int
    ) -> Page[Space]:
        """Return spaces by (created_at, id)."""
        query = ListQuery(limit=limit, offset=offset, owner=parent, named=kind)
        return await self.list_items(Space, query)

    @abstractmethod
    async def compartments(self) -> frozenset[SpaceId]:
        """Return all compartments with items of restricted audience.

        See `canonry.values.audience`. A query covers a space without its compartments; callers add
        those that the viewer may read. An item with variants is stored in one compartment for each
        kind of viewer; its passages, identifiers and dates are stored with the variant.
        """

    @abstractmethod
    async def entities(self, query: EntityQuery) -> Page[Entity]:
        """Return matching entities."""

    @abstractmethod
    async def entities_named(self, space: SpaceId, entity_type: str, name: str) -> Sequence[Entity]:
        """Return canon entities of a type by normalised name, oldest first; at most 50.

        Entities with the name only as a former name or an alias come last.
        """

    @abstractmethod
    async def observations(
        self, entity_id: EntityId, *, after: Position, limit: int
    ) -> Sequence[Observation]:
        """Return observations of exactly this entity after `after`, in log order."""

    @abstractmethod
    async def entities_identified(self, query: IdentifierQuery) -> Mapping[str, Page[Entity]]:
        """Map each key to the canon entities that have it, oldest first; unused keys are absent."""

    @abstractmethod
    async def identifier_owners(
        self, query: IdentifierQuery
    ) -> Mapping[str, Page[IdentifierOwner]]:
        """Return the result of `entities_identified` with ids and identifiers only."""

    @abstractmethod
    async def entity_types(self, spaces: Spaces) -> Mapping[str, int]:
        """Count the unmerged canon entities of each type."""

    @abstractmethod
    async def entities_seen_until(
        self, entity_ids: Iterable[EntityId], instant: Instant
    ) -> Mapping[str, Entity]:
        """Return each entity as folded from its own observations seen until `instant`.

        `own` and `sightings` come from those alone, whatever was merged into the entity; all other
        attributes are current.
        """

    @abstractmethod
    async def observations_newest(
        self, entity_ids: Iterable[EntityId], *, limit: int, offset: int
    ) -> Page[Observation]:
        """Return observations of exactly these entities by (seen_at, position descending; id)."""

    async def observations_from(
        self, source_id: SourceId, *, limit: int, offset: int
    ) -> Page[Observation]:
        """Return the observations that were read from a source, by (position, id)."""
        query = ListQuery(limit=limit, offset=offset, owner=source_id)
        return await self.list_items(Observation, query)

    @abstractmethod
    async def timeline(self, query: TimelineQuery) -> Page[TimelineEvent]:
        """Return matching events, each with all its matching entries."""

    @abstractmethod
    async def facts(self, query: FactQuery) -> Page[Fact]:
        """Return matching facts."""

    @abstractmethod
    async def facts_stating(self, space: SpaceId, statements: AbstractSet[str]) -> Sequence[Fact]:
        """Return facts with one of these statements, oldest first.

        Case, signs and articles are ignored; at most 1000 for each statement.
        """

    @abstractmethod
    async def facts_framed(self, space: SpaceId, keys: Mapping[str, int]) -> Sequence[Fact]:
        """Return canon facts with statements under any of these keys, oldest first.

        `keys` gives the limit for each key; the newest facts are kept.
        """

    @abstractmethod
    async def events(self, query: EventQuery) -> Page[Event]:
        """Return matching events."""

    @abstractmethod
    async def relations(self, query: RelationQuery) -> Page[Relation]:
        """Return matching relations."""

    async def axioms(self, space: SpaceId, *, limit: int, offset: int) -> Page[Axiom]:
        """Return the axioms of `space` by (created_at, id)."""
        query = ListQuery(limit=limit, offset=offset, spaces=frozenset((space,)))
        return await self.list_items(Axiom, query)

    async def sources(self, space: SpaceId, *, limit: int, offset: int) -> Page[Source]:
        """Return the sources of `space` by (created_at, id)."""
        query = ListQuery(limit=limit, offset=offset, spaces=frozenset((space,)))
        return await self.list_items(Source, query)

    async def stories(self, space: SpaceId, *, limit: int, offset: int) -> Page[Story]:
        """Return the stories of `space` by (created_at, id)."""
        query = ListQuery(limit=limit, offset=offset, spaces=frozenset((space,)))
        return await self.list_items(Story, query)

    async def schemas(
        self, spaces: Spaces, entity_type: str | None, *, limit: int, offset: int
    ) -> Page[RegisteredSchema]:
        """Return the registered versions of schemas by (created_at, id)."""
        query = ListQuery(limit=limit, offset=offset, spaces=spaces, named=entity_type)
        return await self.list_items(RegisteredSchema, query)

    async def runs(
        self, source_id: SourceId, *, limit: int, offset: int
    ) -> Page[InterpretationRun]:
        """Return the interpretation runs over a source by (created_at, id)."""
        query = ListQuery(limit=limit, offset=offset, owner=source_id)
        return await self.list_items(InterpretationRun, query)

    async def runs_newest(
        self, spaces: Spaces, *, limit: int, offset: int
    ) -> Page[InterpretationRun]:
        """Return the interpretation runs by (created_at descending, id)."""
        query = ListQuery(limit=limit, offset=offset, spaces=spaces, newest_first=True)
        return await self.list_items(InterpretationRun, query)
