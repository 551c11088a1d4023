"""Follow the log of another engine into views, and join a ledger and such views to one canon."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, Final, Generic, Protocol, TypeVar, cast, runtime_checkable

from typing_extensions import override

from canonry.log.canon import fold, needs
from canonry.log.commits import ORIGIN, Append, Appended, Commit, Foreseen, Outcome, Position, Stale
from canonry.log.entries import Entry, Erased, Thing
from canonry.log.folding import ANY, thing_key
from canonry.log.observing import BESIDE_ROUNDS, beside
from canonry.log.ports.ledger import Head, Ledger, Touched
from canonry.log.ports.world import WorkUnderWay, scope
from canonry.log.sealing import GENESIS, Sealed, unseal
from canonry.readmodels.follow_log import heads_of
from canonry.readmodels.ports.documents import Engine
from canonry.readmodels.ports.state import State
from canonry.readmodels.ports.text import Hit, Text, TextFound, TextQuery
from canonry.readmodels.ports.view import Folded, Projection
from canonry.readmodels.ranking import Figures
from canonry.values.errors import BrokenInvariant, CanonryError, Conflict, Unavailable
from canonry.values.fields import spread
from canonry.values.ids import CommitId, SpaceId
from canonry.values.moments import Instant

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
                if isinstance(view, Following):
                    await view.reach(space, position)
                    continue
                # The state may not show yet what was appended past that meanwhile.
                limit, log = min(PAGE, position - cursor), self.copied or self.ledger
                commits = await log.read(space, after=cursor, limit=limit)
                await view.apply(await self.as_they_are(commits))
            except CanonryError as error:
                if not error.retryable and error.code != "view.gap":
                    raise
                failures += 1
                if failures >= ATTEMPTS_MAX:
                    message = "The write is durable, but a view does not show it yet. Ask again."
                    raise Unavailable("view.behind", message) from error
            if failures >= ATTEMPTS_MAX:
                message = "The write is durable, but other calls keep changing a view. Ask again."
                raise Unavailable("view.behind", message)

    async def as_they_are(self, commits: Sequence[Commit]) -> Sequence[Folded]:
        """The things that these commits of one space look at, as the state shows them now."""
        things = await load(self.state, [e for commit in commits for e in commit.entries])
        named = {c.position: needs(c.entries) | beside(c.entries, things) for c in commits}
        return [
            Folded(
                space=commit.space,
                position=commit.position,
                things=tuple(things[i] for i in sorted(named[commit.position]) if i in things),
            )
            for commit in commits
        ]


async def load(
    state: State, entries: Sequence[Entry], things: dict[str, Thing] | None = None
) -> dict[str, Thing]:
    """Add to `things` what folding these entries looks at besides, as it is shown."""
    things = {} if things is None else things
    wanted: Iterable[str] = needs(entries)
    for _round in range(BESIDE_ROUNDS + 1):
        if missing := set(wanted).difference(things):
            things |= await state.things(missing)
        elif _round:
            break
        wanted = beside(entries, things)
    return things


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


# The joined ledger: the log of one engine in front of views that others keep.
#
# Before anybody judges, or is told what was touched, the views stand where the log does. After an
# append they are brought there; where one cannot be, whoever reads next waits. A view that is dead
# for longer refuses reads, and never a commit.

_FEW: Final = 200
"""Of so few commits a server tells at once what they touched."""

FORESEEN_MAX: Final = 5
"""So often a draft is foreseen anew while others change what it changes."""


class JoinedLedger(Ledger):
    """Says what drafts touch, which needs the views, and waits for the views, which need them."""

    def __init__(self, projector: Projector) -> None:
        """Append to the projector's ledger."""
        self._log = projector.ledger
        self._projector = projector
        self._follows = isinstance(projector.state, Following)
        """Whether the state is a copy's; else the log keeps it, and folds each draft itself."""
        self._views = _Debt(projector)
        self._cursor = 0
        self._work = WorkUnderWay()

    async def finish(self) -> None:
        """Let what was begun be written, and nothing after it; for whoever closes the engines."""
        await self._work.end(None)

    async def settle(self) -> None:
        """Let the views show what this process was told to be written, before a call others' too.

        Raises:
            Unavailable: `view.behind`.
        """
        call = scope()
        if call is not None and not call.told.is_up:
            self._cursor = (await self.touched_since(self._cursor, limit=_FEW)).cursor
        await self._views.pay()

    @override
    async def head(self, space: SpaceId) -> Position:
        if (call := scope()) is not None:
            # A verdict may rest on what the views show by now: an append tells if that is stale.
            state = self._projector.state
            await self.settle()
            if call.told.is_up and isinstance(state, Following):
                return await state.cursor(space)
            if call.told.is_up and space in self._views.shown:
                return self._views.shown[space]
        head = await self._log.head(space)
        await self._views.reach(space, head)
        return head

    @override
    async def append(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        if not batch:
            return []
        with self._work.begun():
            return await self._append(batch)

    async def _append(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        for _attempt in range(FORESEEN_MAX):
            told = await self._foreseen(batch) if self._follows else batch
            outcomes = await self._log.append(told)
            if not isinstance(outcomes[0], Stale):
                break
            if (call := scope()) is not None:
                call.told.is_up = False
            first = batch[0]  # it may be what was foreseen that is stale, and not the verdict
            if first.reads and await self._log.head(first.draft.space) > first.judged_at:
                break
        for item, outcome in zip(batch, outcomes, strict=True):
            space, is_new = item.draft.space, False
            if isinstance(outcome, Appended):
                is_new = not outcome.replayed
                # A replayed commit may lie in another space, where its position means nothing here.
                self._views.owe(space, outcome.position if is_new else await self._log.head(space))
            if not is_new and (call := scope()) is not None:
                call.told.is_up = False
        with suppress(Unavailable):  # it is durable; who reads next waits
            await self.settle()
        return outcomes

    @override
    async def restore(
        self, sealed: Sequence[Sealed], touched: Sequence[frozenset[str]] | None = None
    ) -> None:
        if self._follows:
            touched = await self._touched_by_each(sealed)
        await self._log.restore(sealed, touched)
        for item in sealed:
            self._views.owe(item.space, item.position)
        await self.settle()

    async def _touched_by_each(self, sealed: Sequence[Sealed]) -> Sequence[frozenset[str]]:
        for space in sorted({item.space for item in sealed}):
            await self.head(space)
        things, told = dict[str, Thing](), list[frozenset[str]]()
        for item in sealed:
            commit = unseal(item)
            await load(self._projector.state, commit.entries, things)
            told.append(_touched(commit, things))
        return told

    async def _foreseen(self, batch: Sequence[Append]) -> Sequence[Append]:
        """Each with what it touches, which holds while nobody else changes what it changes."""
        heads = {item.draft.space: await self.head(item.draft.space) for item in batch}
        spaces = dict(heads)
        entries = [entry for item in batch for entry in item.draft.entries]
        things = await load(self._projector.state, entries)
        told: list[Append] = []
        for item in batch:
            draft = item.draft
            spaces[draft.space] = Position(spaces[draft.space] + 1)
            commit = Commit(
                **spread(draft),
                position=spaces[draft.space],
                recorded_at=Instant(0),
                previous=GENESIS,
                hash=GENESIS,
            )
            over = needs(draft.entries) | beside(draft.entries, things)
            try:
                touched = _touched(commit, things)
            except BrokenInvariant:
                if await self._log.find(commit.id) is None:
                    raise
                touched = frozenset((ANY,))  # it stands in the log already, and is written no more
            foreseen = Foreseen(
                touched=touched,
                over=frozenset(map(thing_key, over)),
                at=heads[draft.space],
            )
            told.append(replace(item, foreseen=foreseen))
        return told

    @override
    async def heads(self, *, after: SpaceId | None = None, limit: int) -> Sequence[Head]:
        return await self._log.heads(after=after, limit=limit)

    @override
    async def find(self, commit_id: CommitId) -> Commit | None:
        log, copied, call = self._log, self._projector.copied, scope()
        if copied is not None and call is not None and call.told.is_up:
            log = copied  # who writes the same meanwhile is told so by the append
        return await log.find(commit_id)

    @override
    async def position_at(self, space: SpaceId, instant: Instant) -> Position:
        return await self._log.position_at(space, instant)

    @override
    async def read_sealed(self, space: SpaceId, *, after: Position, limit: int) -> Sequence[Sealed]:
        return await self._log.read_sealed(space, after=after, limit=limit)

    @override
    async def touched_since(self, cursor: int, *, limit: int) -> Touched:
        touched = await self._log.touched_since(cursor, limit=limit)
        if touched.keys is None or touched.keys:
            # A reply that is made after this rests on all of it.
            await self._bring_up(None if touched.keys is None else touched.reached)
        elif (call := scope()) is not None:
            call.told.is_up = True
        return touched

    async def _bring_up(self, reached: Mapping[SpaceId, Position] | None = None) -> None:
        for space, head in (await heads_of(self._log) if reached is None else reached).items():
            await self._views.reach(space, head)
        if (call := scope()) is not None:
            call.told.is_up = True

    @override
    async def await_news(self, seconds: float) -> None:
        await self._log.await_news(seconds)

    @override
    def exclusive(self) -> AbstractAsyncContextManager[None]:
        return self._log.exclusive()


class _Debt:
    """Views that are to show what was written, and how far they are known to do so."""

    def __init__(self, projector: Projector) -> None:
        self.shown: dict[SpaceId, Position] = {}
        self._projector = projector
        self._owed: dict[SpaceId, Position] = {}
        self._turns: defaultdict[SpaceId, asyncio.Lock] = defaultdict(asyncio.Lock)

    def owe(self, space: SpaceId, position: Position) -> None:
        """Show a space up to `position`, when it is asked for."""
        if self.shown.get(space, ORIGIN) < position:
            self._owed[space] = max(position, self._owed.get(space, position))

    async def pay(self) -> None:
        """Show what is owed."""
        for space, position in list(self._owed.items()):
            await self.reach(space, position)
            if self._owed.get(space, ORIGIN) <= self.shown[space]:
                self._owed.pop(space, None)

    async def reach(self, space: SpaceId, position: Position) -> None:
        """Show a space up to `position`, and what else this process wrote to it."""
        async with self._turns[space]:
            if self.shown.get(space, ORIGIN) < position:
                position = max(position, self._owed.get(space, position))
                await self._projector.reach(space, position)
                self.shown[space] = position


def _touched(commit: Commit, things: dict[str, Thing]) -> frozenset[str]:
    """The keys that a commit touches; `things` are afterwards as it leaves them."""
    changes = fold(commit, things)
    things.update(changes.things)
    return changes.touched


C = TypeVar("C", bound=Engine)


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined(Generic[C]):
    """The canon, and the projector that a process may also run in the background.

    Await `finish` before you close the engines: it waits for calls that have begun.
    """

    canon: C
    projector: Projector
    finish: Callable[[], Awaitable[None]]


def join(canon: C, *, copied: Ledger | None = None) -> Joined[C]:
    """A canon over the same ports that waits for views which the ledger does not write itself.

    They are those of a copy, or projections; `copied` is the log of the copy.
    """
    views = (canon.documents, canon.text, canon.catalog, canon.places)
    others = [each for each in views if isinstance(each, Projection)]
    projector = Projector(ledger=canon.ledger, state=canon.state, others=others, copied=copied)
    ledger = JoinedLedger(projector)
    names = ("state", "documents", "text", "catalog", "places")
    settled = {name: _Settled(getattr(canon, name), ledger) for name in names}
    joined = replace(cast("Any", canon), ledger=ledger, **settled)
    return Joined(canon=joined, projector=projector, finish=ledger.finish)


class _Settled:
    """A view whose questions wait until it shows what this process wrote."""

    def __init__(self, view: Any, ledger: JoinedLedger) -> None:
        self._view = view
        self._ledger = ledger

    def __getattr__(self, name: str) -> Callable[..., Any]:
        ask = getattr(self._view, name)

        @wraps(ask)
        async def settled(*args: Any, **kwargs: Any) -> Any:
            await self._ledger.settle()
            return await ask(*args, **kwargs)

        return settled
