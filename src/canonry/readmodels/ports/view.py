"""What every view is: it shows what commits made of things, up to a cursor, and may lag behind.

A view may be kept by another engine than the ledger's, in another process, on another machine. The
projector of `canonry.stores.following` then brings it to where the log is.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from canonry.log.commits import Position
from canonry.log.entries import Thing
from canonry.values.ids import SpaceId


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """What the commit at `position` made of the things that it is about.

    They are of every kind: a view keeps those that it shows. Each replaces what was kept under its
    id, as a `Tombstone` does for the thing that was erased; no thing is taken away without one.
    `State` is given each thing as that commit left it. The other views may be given one as a later
    commit left it: they show the present, so that what is newer is never wrong, only early.
    """

    space: SpaceId
    position: Position
    things: tuple[Thing, ...]


class View(Protocol):
    """The behaviour is stated in `canonry.testing.conformance` under `view:*`."""

    @abstractmethod
    async def cursor(self, space: SpaceId) -> Position:
        """The position up to which every commit of `space` shows; `ORIGIN` before the first."""

    @abstractmethod
    async def apply(self, folded: Sequence[Folded]) -> None:
        """Show what these commits of one space made of things, in the order of their positions.

        Each is applied whole or not at all, and moves the cursor in the same step. One at or
        before the cursor changes nothing, so that applying again is always safe.

        Raises:
            Conflict: `view.gap`, the first of them does not follow the cursor.
            Unavailable: the view cannot be written now; any number of them may have been applied.
        """
