"""The upkeep port: what an operator does to a whole store; each is safe while others use it."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from canonry.values.ids import SpaceId

UpkeepProgress = Callable[[int, int | None], None]
"""Told (done, total or None) now and then."""


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
