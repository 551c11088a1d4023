"""Following: a store that keeps a log itself copies the log of another, and its views come along.

So a machine answers from its own folder what another engine records: whatever was appended there
is restored here, byte for byte, and checked link by link. What was erased there is erased here.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar, cast

from canonry.log.commits import Commit, Position
from canonry.log.entries import Erased
from canonry.log.ports.ledger import Ledger
from canonry.log.sealing import Sealed, unseal
from canonry.values.errors import CanonryError, Conflict
from canonry.values.ids import SpaceId

P = TypeVar("P")

PAGE: Final = 100

Purge = Callable[[SpaceId, Sequence[str]], Awaitable[int]]
"""Erases from the copy what is about these targets."""


class Follower:
    """Brings a copy to where the log is; `close` must be awaited before the copy is closed."""

    def __init__(self, *, log: Ledger, copy: Ledger, purge: Purge) -> None:
        """Restore into `copy` what `log` holds."""
        self._log = log
        self._copy = copy
        self._purge = purge
        self._purging: set[asyncio.Task[None]] = set()
        self._handed: defaultdict[SpaceId, dict[Position, Sealed]] = defaultdict(dict)
        log.hand_to(self._take)

    def view(self, view: P) -> P:
        """A view of the copy, as one that others bring up."""
        return cast("P", _FollowingView(view, self))

    async def cursor(self, space: SpaceId) -> Position:
        """Up to where the copy shows the log of `space`."""
        return await self._copy.head(space)

    async def reach(self, space: SpaceId, position: Position) -> None:
        """Copy the log of `space` up to `position`; another process may be quicker.

        Raises:
            Conflict: `ledger.chain-broken`, the copy holds something else than the log.
            Unavailable: one of them cannot be reached.
        """
        while (here := await self._copy.head(space)) < position:
            sealed = self._handed_after(space, here)
            sealed = sealed or await self._log.read_sealed(space, after=here, limit=PAGE)
            if not sealed:
                return
            try:
                await self._copy.restore(sealed)
            except Conflict:
                if await self._copy.head(space) == here:
                    raise
                continue  # somebody else on this machine restored it
            self._erase([unseal(each) for each in sealed])
        self._handed_after(space, here)

    def _take(self, written: Sequence[Sealed]) -> None:
        """Keep what was appended here until the copy has it, as far as that is soon."""
        for each in written:
            handed = self._handed[each.space]
            if len(handed) >= PAGE:
                handed.clear()
            handed[each.position] = each

    def _handed_after(self, space: SpaceId, here: Position) -> Sequence[Sealed]:
        """What was handed over and follows `here` at once; what is past is let go."""
        handed, found = self._handed.pop(space, {}), list[Sealed]()
        while (position := Position(here + len(found) + 1)) in handed:
            found.append(handed.pop(position))
        if later := {at: each for at, each in handed.items() if at > here}:
            self._handed[space] = later
        return found

    def _erase(self, commits: Sequence[Commit]) -> None:
        for commit in commits:
            targets = [
                each
                for entry in commit.entries
                if isinstance(entry, Erased)
                for each in entry.targets
            ]
            if targets:
                purging = asyncio.create_task(self._erased(commit.space, targets), name="erasing")
                self._purging.add(purging)
                purging.add_done_callback(self._purging.discard)

    async def _erased(self, space: SpaceId, targets: Sequence[str]) -> None:
        with suppress(CanonryError):  # `verify` tells of what is left, and `rebuild` erases it
            await self._purge(space, targets)

    async def close(self) -> None:
        """Finish what is being erased."""
        await asyncio.gather(*self._purging)


class _FollowingView:
    """A view of the copy, whose cursor is that of the copy."""

    def __init__(self, view: Any, follower: Follower) -> None:
        self._view = view
        self._follower = follower

    async def cursor(self, space: SpaceId) -> Position:
        return await self._follower.cursor(space)

    async def reach(self, space: SpaceId, position: Position) -> None:
        await self._follower.reach(space, position)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)
