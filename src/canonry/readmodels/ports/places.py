"""The places port: which edges of a world hold at one instant, and what happened until then."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Relation
from canonry.readmodels.edges import Way
from canonry.readmodels.ports.view import View
from canonry.values.ids import EntityId, SpaceId
from canonry.values.moments import Instant


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
