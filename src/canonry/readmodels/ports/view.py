"""The ports of an engine: its views, pages of their answers, and its upkeep."""

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar, runtime_checkable

from canonry.log.commits import Position
from canonry.log.entries import Thing
from canonry.values.errors import Conflict
from canonry.values.ids import SpaceId

T_co = TypeVar("T_co", covariant=True)

PAGE_MAX = 500
"""The most items that one page holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T_co]):
    """`items` in the order that the query states; `total` counts all matches, not only these."""

    items: Sequence[T_co]
    total: int


# Every view shows what commits made of things, up to a cursor.
#
# A ledger writes its own views with each commit. A projection is kept by another engine than the
# ledger's, in another process, on another machine, and may lag behind: the projector of
# `canonry.stores.following` brings it to where the log is.


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """What the commit at `position` made of the things that it is about.

    They are of every kind: a view keeps those that it shows. Each replaces what was kept under its
    id, as a `Tombstone` does for the thing that was erased; no thing is taken away without one.
    It may be given as a later commit left it: a projection shows the present, so that what is newer
    is never wrong, only early.
    """

    space: SpaceId
    position: Position
    things: tuple[Thing, ...]


class View(Protocol):
    """Shows what the commits of a space made of things."""

    @abstractmethod
    async def cursor(self, space: SpaceId) -> Position:
        """The position up to which every commit of `space` shows; `ORIGIN` before the first."""


@runtime_checkable
class Projection(View, Protocol):
    """The behaviour is stated in `canonry.testing.conformance` under `view:*`."""

    @abstractmethod
    async def apply(self, folded: Sequence[Folded]) -> None:
        """Show what these commits of one space made of things, in the order of their positions.

        Each is applied whole or not at all, and moves the cursor in the same step. One at or
        before the cursor changes nothing, so that applying again is always safe.

        Raises:
            Conflict: `view.gap`, the first of them does not follow the cursor.
            Unavailable: the view cannot be written now; any number of them may have been applied.
        """


def following(folded: Iterable[Folded], cursor: Position) -> Iterator[Folded]:
    """Those past the cursor, which moves with each of them.

    Raises:
        Conflict: `view.gap`, one does not follow.
    """
    for each in folded:
        if each.position > cursor + 1:
            raise Conflict("view.gap", "Commits are missing. Apply those after the cursor first.")
        if each.position > cursor:
            cursor = each.position
            yield each


UpkeepProgress = Callable[[int, int | None], None]
"""Told (done, total or None) now and then."""

TouchedThere = Callable[[SpaceId, Position, int], Awaitable[Mapping[Position, frozenset[int]]]]
"""Gives the keys touched by so many commits of a space past a position, as a copy folded them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong: where, and what."""

    where: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What `verify` looked at and the first differences that it found; none: all is well."""

    commits: int
    things: int
    heads: Mapping[SpaceId, tuple[int, str]]
    findings: tuple[Finding, ...]


class Upkeep(Protocol):
    """The behaviour is stated in `canonry.testing.conformance` under `upkeep:*`."""

    @abstractmethod
    async def verify(self, told: UpkeepProgress) -> Verification:
        """Check every chain, and every view against a fresh fold of the records."""

    @abstractmethod
    async def glance(self) -> Sequence[Finding]:
        """What a quick look finds wrong with the views; it reads no payload and folds nothing.

        It compares how many rows the views have with how many they are said to have, so that a
        view that was lost is seen after every backup. Only `verify` sees what a row says.
        """

    @abstractmethod
    async def rebuild(self, told: UpkeepProgress) -> int:
        """Fold all views from the records again; the number of commits folded."""

    @abstractmethod
    async def backup(self, target: Path, told: UpkeepProgress) -> Mapping[SpaceId, tuple[int, str]]:
        """Copy the store into the new folder `target` while it serves; the heads that it holds.

        Raises:
            Conflict: `backup.exists`, the target is not empty.
        """

    @abstractmethod
    async def purge(self, space: SpaceId, targets: Sequence[str]) -> int:
        """Drop payload and salt of every entry that is about `targets`, in records and views.

        The tombstone commit must have been appended before; the number of entries dropped.
        """

    @abstractmethod
    async def collect_orphans(self) -> int:
        """Delete blobs that no commit refers to and that are older than a day; how many."""

    @abstractmethod
    async def facts_about_store(self) -> Mapping[str, str | int]:
        """Version, sizes, counts and settings of the store, for `canonry doctor`."""
