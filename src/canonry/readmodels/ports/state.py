"""The state port: the graph of entities, relations, facts, events and what they rest on."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Protocol

from canonry.log.commits import Position
from canonry.log.entries import Thing
from canonry.log.items.entities import Entity, EntityClass
from canonry.log.items.facts import Axiom, Event, Fact, FactType, Relation
from canonry.log.items.scenes import Story
from canonry.log.items.sources import InterpretationRun, Source
from canonry.log.schemas.identity_keys import Bearer
from canonry.log.schemas.schemas import RegisteredSchema
from canonry.readmodels.ports.view import Page, View
from canonry.readmodels.timeline import TimelineEvent
from canonry.values.ids import EntityId, SourceId, Space, SpaceId, SpaceKind
from canonry.values.moments import Instant
from canonry.values.observations import Observation
from canonry.values.provenance import Authority, CanonLevel

STATING_MAX: Final = 1000
"""So often one statement is found: a state that begins in every scene is stated in every scene."""

Spaces = frozenset[SpaceId] | None
"""The spaces that a query covers; None: all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityQuery:
    """Entities, ordered by (created_at, id): within a space, by the position of their birth.

    Tags are in the form of `canonry.values.state_tags.normal_tag`, however they stand.
    Those that were merged away are left out, unless `include_merged` and no tag is asked for.
    `name_pattern` is a case-insensitive substring of their names, also of former ones, in which
    `*` and `%` stand for any characters.
    """

    spaces: Spaces = None
    entity_type: str | None = None
    entity_class: EntityClass | None = None
    level: CanonLevel | None = None
    all_of: frozenset[str] = frozenset()
    any_of: frozenset[str] = frozenset()
    none_of: frozenset[str] = frozenset()
    name_pattern: str | None = None
    include_merged: bool = False
    limit: int = 50
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentifierQuery:
    """Entities by texts in the normal form of `canonry.log.schemas.identity_keys`.

    `begins` asks also for those under a longer text that begins so, after all others. One that was
    merged away is found under its own texts as the entity that it became.
    """

    spaces: Spaces = None
    keys: tuple[str, ...]
    entity_type: str | None = None
    begins: bool = False
    limit: int = 50


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
    was retconned; `newest_first` turns the order of created_at around, not that of the id.
    """

    spaces: Spaces = None
    entities: frozenset[EntityId] = frozenset()
    rel_type: str | None = None
    direction: str = "any"
    current: bool = False
    newest_first: bool = False
    limit: int = 50
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineQuery:
    """Events at the dates that entities' fields say, ordered by (instant descending, id).

    `start` and `end` are inclusive; `superseded` asks also for what no snapshot shows any longer.
    """

    spaces: Spaces = None
    event_type: str | None = None
    source_id: SourceId | None = None
    start: Instant | None = None
    end: Instant | None = None
    superseded: bool = False
    limit: int = 50
    offset: int = 0


class State(View, Protocol):
    """The behaviour is stated in `canonry.testing.conformance` under `state:*`.

    Every method sees all commits that any process has acknowledged.
    """

    @abstractmethod
    async def things(self, ids: Iterable[str]) -> Mapping[str, Thing]:
        """The things of any kind, also of the documents view, under those of `ids` that exist."""

    @abstractmethod
    async def ids_beginning(self, text: str, *, limit: int) -> Sequence[str]:
        """The first of the ids of things that begin with `text`, a part of a UUID, in order."""

    @abstractmethod
    async def things_as_known_at(
        self, ids: Iterable[str], position: Position
    ) -> Mapping[str, Thing]:
        """The same as the view stood after `position` of their space.

        Covers entities, relations, facts, events, axioms, sources, stories and spaces.
        """

    @abstractmethod
    async def spaces(
        self, *, kind: SpaceKind | None, parent: SpaceId | None, limit: int, offset: int
    ) -> Page[Space]:
        """Spaces by (created_at, id)."""

    @abstractmethod
    async def compartments(self) -> frozenset[SpaceId]:
        """Where anything lies that is not the same to everybody, apart from the spaces themselves.

        See `canonry.values.audience`. A query that covers a space covers no compartment of it: who
        may see what lies there names it too. A thing that is not the same to all lies, with what it
        is to each, in one compartment for each kind of viewer; its passages, the texts that it
        bears and its dates lie where all do who may see it.
        """

    @abstractmethod
    async def entities(self, query: EntityQuery) -> Page[Entity]:
        """The entities that match."""

    @abstractmethod
    async def entities_named(self, space: SpaceId, entity_type: str, name: str) -> Sequence[Entity]:
        """Canon entities of a type with the normalised form of `name`, oldest first; at most 50.

        Those that only bore it before, or beside another name, come after all others.
        """

    @abstractmethod
    async def observations(
        self, entity_id: EntityId, *, after: Position, limit: int
    ) -> Sequence[Observation]:
        """Observations of exactly this entity past `after`, in log order."""

    @abstractmethod
    async def entities_identified(self, query: IdentifierQuery) -> Mapping[str, Page[Entity]]:
        """For each key the canon entities that bear it, oldest first; no key without any."""

    @abstractmethod
    async def bearers(self, query: IdentifierQuery) -> Mapping[str, Page[Bearer]]:
        """The same as `entities_identified`, of each entity only who it is and what it bears."""

    @abstractmethod
    async def entity_types(self, spaces: Spaces) -> Mapping[str, int]:
        """How many canon entities, not merged away, there are of each type that has any."""

    @abstractmethod
    async def entities_seen_until(
        self, entity_ids: Iterable[EntityId], instant: Instant
    ) -> Mapping[str, Entity]:
        """Each entity as its own observations that were seen until `instant` make it.

        `own` and `sightings` are of those alone, whatever was merged into the entity; all else of
        it is as it is now.
        """

    @abstractmethod
    async def observations_newest(
        self, entity_ids: Iterable[EntityId], *, limit: int, offset: int
    ) -> Page[Observation]:
        """The observations of exactly these entities by (seen_at, position descending; id)."""

    @abstractmethod
    async def observations_from(
        self, source_id: SourceId, *, limit: int, offset: int
    ) -> Page[Observation]:
        """The observations that were read from a source, by (position, id)."""

    @abstractmethod
    async def timeline(self, query: TimelineQuery) -> Page[TimelineEvent]:
        """The events that match, each with all its entries that match."""

    @abstractmethod
    async def facts(self, query: FactQuery) -> Page[Fact]:
        """The facts that match."""

    @abstractmethod
    async def facts_stating(self, space: SpaceId, statements: AbstractSet[str]) -> Sequence[Fact]:
        """Facts that say one of these but for case, signs and articles, oldest first.

        Of each statement at most 1000.
        """

    @abstractmethod
    async def facts_framed(self, space: SpaceId, keys: Mapping[str, int]) -> Sequence[Fact]:
        """Canon facts that have any of these frame keys, oldest first.

        Of each key at most so many as `keys` says, which are the newest.
        """

    @abstractmethod
    async def events(self, query: EventQuery) -> Page[Event]:
        """The events that match."""

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

    @abstractmethod
    async def schemas(
        self, spaces: Spaces, entity_type: str | None, *, limit: int, offset: int
    ) -> Page[RegisteredSchema]:
        """The registered versions of schemas by (created_at, id)."""

    @abstractmethod
    async def runs(
        self, source_id: SourceId, *, limit: int, offset: int
    ) -> Page[InterpretationRun]:
        """The interpretation runs over a source by (created_at, id)."""

    @abstractmethod
    async def runs_newest(
        self, spaces: Spaces, *, limit: int, offset: int
    ) -> Page[InterpretationRun]:
        """The interpretation runs by (created_at descending, id)."""
