"""Join a ledger and views of any engines to one canon."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Final, Generic, TypeVar, cast

from typing_extensions import override

from canonry.log.canon import fold, needs
from canonry.log.commits import (
    ORIGIN,
    Append,
    Appended,
    Commit,
    Foreseen,
    Outcome,
    Position,
    Stale,
)
from canonry.log.entries import Thing
from canonry.log.folding import ANY, thing_key
from canonry.log.observing import beside
from canonry.log.ports.ledger import Head, Ledger, Touched
from canonry.log.ports.world import scope
from canonry.log.sealing import GENESIS, Sealed, unseal
from canonry.readmodels.follow_log import heads_of
from canonry.readmodels.ports.documents import Engine
from canonry.readmodels.ports.view import Projection
from canonry.stores.following.following import Following, Projector, load, looked_at
from canonry.values.errors import BrokenInvariant, Unavailable
from canonry.values.fields import spread
from canonry.values.ids import CommitId, SpaceId
from canonry.values.moments import Instant

# The joined ledger: the log of one engine in front of views that others keep.
#
# Before anybody judges, or is told what was touched, the views stand where the log does. After an
# append they are brought there; where one cannot be, whoever reads next waits. A view that is dead
# for longer refuses reads, and never a commit.

_FEW: Final = 200
"""Of so few commits a server tells at once what they touched."""

ATTEMPTS_MAX: Final = 5
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
        self._ended = False
        self._appending = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def finish(self) -> None:
        """Let what was begun be written, and nothing after it; for whoever closes the engines."""
        self._ended = True
        await self._idle.wait()

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
        if self._ended:
            raise Unavailable("ledger.closed", "the store is closed; open it again")
        with self._begun():
            return await self._append(batch)

    @contextmanager
    def _begun(self) -> Iterator[None]:
        self._appending += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._appending -= 1
            if not self._appending:
                self._idle.set()

    async def _append(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        for _attempt in range(ATTEMPTS_MAX):
            told = await self._foreseen(batch) if self._follows else batch
            outcomes = await self._log.append(told)
            if not isinstance(outcomes[0], Stale):
                break
            if (call := scope()) is not None:
                call.told.is_up = False
            if await self._is_stale(batch[0]):
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

    async def _is_stale(self, item: Append) -> bool:
        """Whether a verdict is stale, and not only what was foreseen; the views are asked anew."""
        return await self._log.head(item.draft.space) > item.judged_at and bool(item.reads)

    async def _foreseen(self, batch: Sequence[Append]) -> Sequence[Append]:
        """Each with what it touches, which holds while nobody else changes what it changes."""
        heads = {item.draft.space: await self.head(item.draft.space) for item in batch}
        spaces = dict(heads)
        entries = [entry for item in batch for entry in item.draft.entries]
        things = await looked_at(self._projector.state, entries)
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
            foreseen = Foreseen(
                touched=await self._touched_by(commit, things),
                over=frozenset(map(thing_key, over)),
                at=heads[draft.space],
            )
            told.append(replace(item, foreseen=foreseen))
        return told

    async def _touched_by(self, commit: Commit, things: dict[str, Thing]) -> frozenset[str]:
        try:
            return _touched(commit, things)
        except BrokenInvariant:
            if await self._log.find(commit.id) is None:
                raise
            return frozenset((ANY,))  # it stands in the log already, and is written no more

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


P = TypeVar("P")


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
    joined = replace(
        cast("Any", canon),
        ledger=ledger,
        state=_settled(canon.state, ledger),
        documents=_settled(canon.documents, ledger),
        text=_settled(canon.text, ledger),
        catalog=_settled(canon.catalog, ledger),
        places=_settled(canon.places, ledger),
    )
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


def _settled(view: P, ledger: JoinedLedger) -> P:
    return cast("P", _Settled(view, ledger))
