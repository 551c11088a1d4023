"""Ports of an engine: views, pages, and maintenance."""

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar, runtime_checkable

from canonry.log.commits import Position
from canonry.log.entries import StoredItem
from canonry.values.errors import Conflict
from canonry.values.ids import SpaceId

T_co = TypeVar("T_co", covariant=True)

PAGE_MAX = 500
"""The most items that one page holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T_co]):
    """`items` in the order of the query; `total` counts all matches, not only these."""

    items: Sequence[T_co]
    total: int


# A view shows the result of all commits up to a cursor.
#
# A ledger writes its own views with each commit. A projection is stored in another engine, process
# or machine and may lag behind; the projector of `canonry.stores.projections` updates it.


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """The items that the commit at `position` changed.

    They are of every kind, and a view stores its own kinds. Each replaces the stored item with its
    id; a `Tombstone` replaces an erased item. Items are not removed otherwise. An item may include
    later commits: a projection shows the present, so a newer item is early but not wrong.
    """

    space: SpaceId
    position: Position
    items: tuple[StoredItem, ...]


class View(Protocol):
    """Shows the items after the commits of a space."""

    @abstractmethod
    async def cursor(self, space: SpaceId) -> Position:
        """Return the position up to which all commits of `space` are applied, or `ORIGIN`."""


@runtime_checkable
class Projection(View, Protocol):
    """A view in another engine; `view:*` in `canonry.testing.conformance` specifies it."""

    @abstractmethod
    async def apply(self, folded: Sequence[Folded]) -> None:
        """Apply these commits of one space in the order of their positions.

        Each commit and its cursor move are applied atomically. A commit at or before the cursor
        changes nothing, so applying is idempotent.

        Raises:
            Conflict: `view.gap`, the first commit does not follow the cursor.
            Unavailable: the view cannot be written now; any number of commits may have been
                applied.
        """


def advance_items(
    folded: Iterable[Folded], cursor: Position
) -> tuple[Mapping[str, StoredItem], Position]:
    """Return the items after the commits past the cursor, and the new cursor.

    Raises:
        Conflict: `view.gap`, a commit does not follow.
    """
    items: dict[str, StoredItem] = {}
    for each in folded:
        if each.position > cursor + 1:
            raise Conflict("view.gap", "Commits are missing. Apply those after the cursor first.")
        if each.position > cursor:
            items |= {item.id: item for item in each.items}
            cursor = each.position
    return items, cursor


MaintenanceProgress = Callable[[int, int | None], None]
"""Receives (done, total or None, message) from time to time."""

TouchedThere = Callable[[SpaceId, Position, int], Awaitable[Mapping[Position, frozenset[int]]]]
"""Returns the keys touched by a number of commits of a space after a position, from a copy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A fault: its location and description."""

    where: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The checks of `verify` and the first differences found; none: the store is intact."""

    commits: int
    items: int
    heads: Mapping[SpaceId, tuple[int, str]]
    findings: tuple[Finding, ...]


class Maintenance(Protocol):
    """Maintenance of a store; `upkeep:*` in `canonry.testing.conformance` specifies it."""

    @abstractmethod
    async def verify(self, progress: MaintenanceProgress) -> Verification:
        """Check each hash chain, and each view against a fresh fold of the records."""

    @abstractmethod
    async def check_quickly(self) -> Sequence[Finding]:
        """Return faults of the views from a quick check, without reading payloads or folding.

        It compares the stored row counts with the actual ones, which shows a lost view after each
        backup. Only `verify` checks the contents of rows.
        """

    @abstractmethod
    async def rebuild(self, progress: MaintenanceProgress) -> int:
        """Fold all views from the records again; return the number of commits."""

    @abstractmethod
    async def backup(
        self, target: Path, progress: MaintenanceProgress
    ) -> Mapping[SpaceId, tuple[int, str]]:
        """Copy the store into the new folder `target` during service; return the copied heads.

        Raises:
            Conflict: `backup.exists`, the target is not empty.
        """

    @abstractmethod
    async def purge(self, space: SpaceId, targets: Sequence[str]) -> int:
        """Delete payload and salt of all entries about `targets`, in records and views.

        The tombstone commit must be appended before. Return the number of cleared entries.
        """

    @abstractmethod
    async def collect_orphans(self) -> int:
        """Delete unreferenced blobs older than a day; return their number."""

    @abstractmethod
    async def facts_about_store(self) -> Mapping[str, str | int]:
        """Return version, sizes, counts and settings of the store, for `canonry doctor`."""
