"""Follow the log of another engine into views."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar, cast, runtime_checkable

from typing_extensions import override

from canonry.log.canon import needs
from canonry.log.commits import Commit, Position
from canonry.log.entries import Entry, Erased, Thing
from canonry.log.observing import BESIDE_ROUNDS, beside
from canonry.log.ports.ledger import Ledger, Touched
from canonry.log.sealing import Sealed, unseal
from canonry.readmodels.follow_log import heads_of
from canonry.readmodels.keywords import Figures
from canonry.readmodels.ports.state import State
from canonry.readmodels.ports.text import Hit, Text, TextFound, TextQuery
from canonry.readmodels.ports.view import Folded, Projection
from canonry.values.errors import CanonryError, Conflict, Unavailable
from canonry.values.ids import SpaceId

# Following: a store that keeps a log itself copies the log of another, and its views come along.
#
# So a machine answers from its own folder what another engine records: whatever was appended there
# is restored here, byte for byte, and checked link by link. What was erased there is erased here.

P = TypeVar("P")

PAGE: Final = 100
"""Commits that are read and applied together."""

Purge = Callable[[SpaceId, Sequence[str]], Awaitable[int]]
"""Erases from the copy what is about these targets."""


class Follower:
    """Brings a copy to where the log is; await `erased` before you close the copy."""

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

    async def erased(self) -> None:
        """Wait until the copy has erased what the log said by now."""
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


# The projector: brings views to where the log is; any process may run it, also several at once.
#
# It holds nothing that must not be lost. What a view shows is in the view's own cursor, and
# applying a commit again changes nothing.

LOOKS_EVERY: Final = 0.5
"""Seconds between two looks at a log that nobody tells of."""

ATTEMPTS_MAX: Final = 8
"""After so many failures without progress a view counts as behind."""


@runtime_checkable
class Following(Protocol):
    """A view that takes from the log by itself what it is to show."""

    async def cursor(self, space: SpaceId) -> Position:
        """The position up to which `space` shows."""

    async def reach(self, space: SpaceId, position: Position) -> None:
        """Show `space` up to `position` at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Projector:
    """Brings `state` up, if it follows the log, and shows the `others` what came of it."""

    ledger: Ledger
    state: State
    others: Sequence[Projection]
    copied: Ledger | None = None
    """The log of the store in which the state follows: what others are to show is read there."""
    _turns: Mapping[SpaceId, asyncio.Lock] = field(
        default_factory=lambda: defaultdict(asyncio.Lock)
    )

    async def reach(self, space: SpaceId, position: Position) -> None:
        """Let every view show `space` up to `position` at least.

        Raises:
            Unavailable: `view.behind`, a view refuses or does not answer; try again later.
        """
        async with self._turns[space]:
            if isinstance(self.state, Following):
                await self._bring(self.state, space, position)
            for view in self.others:
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

    async def _bring(
        self, view: Following | Projection, space: SpaceId, position: Position
    ) -> None:
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

    async def _step(
        self,
        view: Following | Projection,
        space: SpaceId,
        cursor: Position,
        position: Position,
    ) -> None:
        if isinstance(view, Following):
            await view.reach(space, position)
            return
        # What was appended past that meanwhile may not be in the state yet.
        limit = min(PAGE, position - cursor)
        commits = await (self.copied or self.ledger).read(space, after=cursor, limit=limit)
        await view.apply(await self.as_they_are(commits))

    async def as_they_are(self, commits: Sequence[Commit]) -> Sequence[Folded]:
        """The things that these commits of one space look at, as the state shows them now."""
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
    things: dict[str, Thing] = {}
    await load(state, entries, things)
    return things


async def load(state: State, entries: Sequence[Entry], things: dict[str, Thing]) -> None:
    """Add to `things` what folding these entries looks at besides, as it is shown."""
    wanted: Iterable[str] = needs(entries)
    for _round in range(BESIDE_ROUNDS + 1):
        if missing := set(wanted).difference(things):
            things |= await state.things(missing)
        elif _round:
            break
        wanted = beside(entries, things)


# Shared words: a text view that many machines share, beside the one that each has for itself.
#
# Whatever the shared one does not answer in time is asked of one's own, which is never behind what
# this machine knows; so nobody who writes or looks waits for a server that is away.

R = TypeVar("R")

PATIENCE: Final = 2.0
"""Seconds that a question waits for the shared view, to show what this machine knows and answer."""

PAUSE: Final = 5.0
"""Seconds in which it is not asked again after it did not answer."""


class SharedText(Text):
    """Asks the `shared` view, which `projector` brings up, and one's `own` where it is away."""

    def __init__(self, shared: Text, *, own: Text, projector: Projector) -> None:
        """Nobody closes either here; `projector` shows `shared` what the log has."""
        self._shared = shared
        self._own = own
        self._projector = projector
        self._asked_again = 0.0

    @override
    async def cursor(self, space: SpaceId) -> Position:
        return await self._own.cursor(space)

    @override
    async def search(self, query: TextQuery) -> TextFound:
        return await self._either(query, lambda view: view.search(query))

    @override
    async def figures(self, stems: Iterable[str], query: TextQuery) -> Figures:
        sought = tuple(stems)
        return await self._either(query, lambda view: view.figures(sought, query))

    @override
    async def placed(self, ids: Iterable[str], query: TextQuery) -> Sequence[Hit]:
        wanted = tuple(ids)
        return await self._either(query, lambda view: view.placed(wanted, query))

    async def _either(self, query: TextQuery, ask: Callable[[Text], Awaitable[R]]) -> R:
        loop = asyncio.get_running_loop()
        if loop.time() >= self._asked_again:
            try:
                async with asyncio.timeout(PATIENCE):
                    await self._bring_up(query)
                    return await ask(self._shared)
            except (Unavailable, TimeoutError):
                self._asked_again = loop.time() + PAUSE
        return await ask(self._own)

    async def _bring_up(self, query: TextQuery) -> None:
        """Let the shared view show, of the spaces asked for, what one's own shows."""
        spaces = query.spaces
        if spaces is None:
            spaces = frozenset(await heads_of(self._projector.ledger))
        for space in spaces:
            await self._projector.reach(space, await self._own.cursor(space))
