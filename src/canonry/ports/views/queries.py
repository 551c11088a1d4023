"""What the state port can be asked for, beyond single things."""

from dataclasses import dataclass

from canonry.domain.ids import EntityId, SourceId, SpaceId
from canonry.domain.provenance import Authority, CanonLevel
from canonry.domain.things.entities import EntityClass
from canonry.domain.things.facts import FactType
from canonry.domain.time import Instant

Spaces = frozenset[SpaceId] | None
"""The spaces that a query covers; None: all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityQuery:
    """Entities, ordered by (created_at, id): within a space, by the position of their birth.

    Those that were merged away are left out, unless `include_merged` and no tag is asked for.
    `name_pattern` is a
    case-insensitive substring in which `*` and `%` stand for any characters.
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
    """Entities by texts in the normal form of `canonry.domain.truth.identifiers`.

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
