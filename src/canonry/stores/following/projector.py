"""The projector: brings views to where the log is; any process may run it, also several at once.

It holds nothing that must not be lost. What a view shows is in the view's own cursor, and applying
a commit again changes nothing.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Protocol, runtime_checkable

from canonry.log.canon import BESIDE_ROUNDS, beside, fold, needs
from canonry.log.commits import Commit, Position
from canonry.log.entries import Entry, Thing
from canonry.log.ports.ledger import Ledger, Touched
from canonry.readmodels.follow_log import heads_of
from canonry.readmodels.ports.state import State
from canonry.readmodels.ports.view import Folded, View
from canonry.values.errors import CanonryError, Unavailable
from canonry.values.ids import SpaceId

PAGE: Final = 100
"""Commits that are read and applied together."""

LOOKS_EVERY: Final = 0.5
"""Seconds between two looks at a log that nobody tells of."""

ATTEMPTS_MAX: Final = 8
"""After so many failures without progress a view counts as behind."""


@runtime_checkable
class Following(Protocol):
    """A view that takes from the log by itself what it is to show."""

    async def reach(self, space: SpaceId, position: Position) -> None:
        """Show `space` up to `position` at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Projector:
    """Folds the log into `state`, and shows the `others` what came of it."""

    ledger: Ledger
    state: State
    others: Sequence[View]
    copied: Ledger | None = None
    """The log of the store in which the state follows: what others are to show is read there."""
    _turns: Mapping[SpaceId, asyncio.Lock] = field(
        default_factory=lambda: defaultdict(asyncio.Lock)
    )

    async def reach(
        self, space: SpaceId, position: Position, views: Sequence[View] | None = None
    ) -> None:
        """Let every view show `space` up to `position` at least; or these, once the state does.

        Raises:
            Unavailable: `view.behind`, a view refuses or does not answer; try again later.
        """
        async with self._turns[space]:
            for view in (self.state, *self.others) if views is None else views:
                await self._bring(view, space, position)

    async def catch_up(self, touched: Touched | None = None) -> None:
        """Let every view show everything that is in the log by now, or what was just `touched`.

        Raises:
            Unavailable: as `reach` says.
        """
        told = None if touched is None or touched.keys is None else touched.reached
        for space, head in (await heads_of(self.ledger) if told is None else told).items():
            await self.reach(space, head)

    async def keep_up(self) -> None:
        """Let every view show what any process writes, soon after; until this is cancelled."""
        cursor = 0
        while True:
            with suppress(CanonryError):  # whoever reads is told; this tries again
                touched = await self.ledger.touched_since(cursor, limit=PAGE)
                if touched.keys is None or touched.keys:
                    await self.catch_up(touched)
                cursor = touched.cursor
            await self.ledger.await_news(LOOKS_EVERY)

    async def _bring(self, view: View, space: SpaceId, position: Position) -> None:
        failures, best = 0, Position(-1)
        while True:
            try:
                cursor = await view.cursor(space)
                if cursor >= position:
                    return
                failures = 0 if cursor > best else failures + 1
                best = max(best, cursor)
                await self._step(view, space, cursor, position)
            except CanonryError as error:
                if not error.retryable and error.code != "view.gap":
                    raise
                failures += 1
                if failures >= ATTEMPTS_MAX:
                    message = "a view does not show what was written; it is durable: ask again"
                    raise Unavailable("view.behind", message) from error
            if failures >= ATTEMPTS_MAX:
                message = "others keep moving a view; what was written is durable: ask again"
                raise Unavailable("view.behind", message)

    async def _step(self, view: View, space: SpaceId, cursor: Position, position: Position) -> None:
        if isinstance(view, Following):
            await view.reach(space, position)
            return
        if view is not self.state:
            # What was appended past that meanwhile may not be in the state yet.
            limit = min(PAGE, position - cursor)
            log = self.copied or self.ledger
            commits = await log.read(space, after=cursor, limit=limit)
            await view.apply(await self._as_they_are(commits))
            return
        commits = await self.ledger.read(space, after=cursor, limit=PAGE)
        loaded = await looked_at(self.state, [e for commit in commits for e in commit.entries])
        if await self.state.cursor(space) == cursor:  # else what was loaded may be newer than that
            await self.state.apply(folded(commits, loaded))

    async def _as_they_are(self, commits: Sequence[Commit]) -> Sequence[Folded]:
        things = await looked_at(self.state, [e for commit in commits for e in commit.entries])
        named = {c.position: needs(c.entries) | beside(c.entries, things) for c in commits}
        return [
            Folded(
                space=commit.space,
                position=commit.position,
                things=tuple(things[i] for i in sorted(named[commit.position]) if i in things),
            )
            for commit in commits
        ]


async def looked_at(state: State, entries: Sequence[Entry]) -> dict[str, Thing]:
    """All things that folding these entries looks at, as they are shown."""
    loaded = dict(await state.things(needs(entries)))
    for _round in range(BESIDE_ROUNDS):
        more = beside(entries, loaded).difference(loaded)
        if not more:
            break
        loaded |= await state.things(more)
    return loaded


def folded(commits: Sequence[Commit], loaded: Mapping[str, Thing]) -> Sequence[Folded]:
    """What each commit makes of things, given those before the first of them.

    Raises:
        BrokenInvariant: `canon.dangling-entry`.
    """
    now, made = dict(loaded), list[Folded]()
    for commit in commits:
        changes = fold(commit, now)
        now.update(changes.things)
        things = tuple(changes.things.values())
        made.append(Folded(space=commit.space, position=commit.position, things=things))
    return made
