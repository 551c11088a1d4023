"""Follow the log of another engine into views, and join a ledger and views to one canon."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, Final, Generic, Protocol, TypeVar, cast, runtime_checkable

from typing_extensions import override

from canonry.log.commits import (
    ORIGIN,
    Append,
    Appended,
    Commit,
    Outcome,
    Position,
    PredictedKeys,
    Stale,
)
from canonry.log.entries import Entry, Erased, StoredItem
from canonry.log.fold_commit import fold_commit, ids_needed
from canonry.log.folding import ANY, item_key
from canonry.log.observations import EXTRA_ROUNDS, ids_needed_next
from canonry.log.ports.ledger import Head, Ledger, Touched
from canonry.log.ports.world import RunningWork, current_scope
from canonry.log.sealing import GENESIS, Sealed, unseal
from canonry.readmodels.follow_log import heads_of
from canonry.readmodels.ports.documents import Engine
from canonry.readmodels.ports.state import State
from canonry.readmodels.ports.text import Hit, Text, TextFound, TextQuery
from canonry.readmodels.ports.view import Folded, Projection
from canonry.readmodels.ranking import Figures
from canonry.values.errors import BrokenInvariant, CanonryError, Conflict, Unavailable
from canonry.values.fields import field_values
from canonry.values.ids import CommitId, SpaceId
from canonry.values.moments import Instant

# Following: a store with its own log copies the log of another store and updates its views.
#
# A machine then answers from its own folder what another engine records. Each remote commit is
# restored byte for byte and checked against the chain. Data that is erased remotely is erased here.

P = TypeVar("P")

PAGE: Final = 100
"""Commits that are read and applied together."""

Purge = Callable[[SpaceId, Sequence[str]], Awaitable[int]]
"""Erases all data about these targets from the copy and returns the number of entries."""


class Follower:
    """Copies a log. Await `await_erasures` before you close the copy."""

    def __init__(self, *, log: Ledger, copy: Ledger, purge: Purge) -> None:
        """Copy from `log` into `copy`."""
        self._log = log
        self._copy = copy
        self._purge = purge
        self._purging: set[asyncio.Task[None]] = set()
        self._handed: defaultdict[SpaceId, dict[Position, Sealed]] = defaultdict(dict)
        log.pass_commits_to(self._keep_commits)

    def wrap_view(self, view: P) -> P:
        """Wrap a view of the copy for use in a `Projector`."""
        return cast("P", _FollowingView(view, self))

    async def cursor(self, space: SpaceId) -> Position:
        """Return the position up to which the copy has the log of `space`."""
        return await self._copy.head_position(space)

    async def advance_to(self, space: SpaceId, position: Position) -> None:
        """Copy the log of `space` up to `position`. Other processes may copy at the same time.

        Raises:
            Conflict: `ledger.chain-broken`, the copy differs from the log.
            Unavailable: one of them cannot be reached.
        """
        while (here := await self._copy.head_position(space)) < position:
            sealed = self._pop_handed(space, here)
            sealed = sealed or await self._log.read_sealed(space, after=here, limit=PAGE)
            if not sealed:
                return
            try:
                await self._copy.restore_commits(sealed)
            except Conflict:
                if await self._copy.head_position(space) == here:
                    raise
                continue  # another process on this machine restored it
            self._start_erasures([unseal(each) for each in sealed])
        self._pop_handed(space, here)

    def _keep_commits(self, written: Sequence[Sealed]) -> None:
        """Keep commits that were appended here until the copy has them."""
        for each in written:
            handed = self._handed[each.space]
            if len(handed) >= PAGE:
                handed.clear()
            handed[each.position] = each

    def _pop_handed(self, space: SpaceId, here: Position) -> Sequence[Sealed]:
        """Return the kept commits that directly follow `here`, and drop older ones."""
        handed, found = self._handed.pop(space, {}), list[Sealed]()
        while (position := Position(here + len(found) + 1)) in handed:
            found.append(handed.pop(position))
        if later := {at: each for at, each in handed.items() if at > here}:
            self._handed[space] = later
        return found

    def _start_erasures(self, commits: Sequence[Commit]) -> None:
        for commit in commits:
            targets = [
                each
                for entry in commit.entries
                if isinstance(entry, Erased)
                for each in entry.targets
            ]
            if targets:
                purging = asyncio.create_task(
                    self._erase_targets(commit.space, targets), name="erasing"
                )
                self._purging.add(purging)
                purging.add_done_callback(self._purging.discard)

    async def _erase_targets(self, space: SpaceId, targets: Sequence[str]) -> None:
        with suppress(CanonryError):  # `verify` reports what is left, and `rebuild` erases it
            await self._purge(space, targets)

    async def await_erasures(self) -> None:
        """Wait until the copy has erased everything that the log has erased so far."""
        await asyncio.gather(*self._purging)


class _FollowingView:
    """A view of the copy, whose cursor is that of the copy."""

    def __init__(self, view: Any, follower: Follower) -> None:
        self._view = view
        self._follower = follower

    async def cursor(self, space: SpaceId) -> Position:
        return await self._follower.cursor(space)

    async def advance_to(self, space: SpaceId, position: Position) -> None:
        await self._follower.advance_to(space, position)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)


# The projector updates views to the state of the log. Any number of processes may run it.
#
# It holds no state that must not be lost. Each view stores its own cursor, and applying a commit
# again changes nothing.

POLL_SECONDS: Final = 0.5
"""Seconds between two polls of a log that sends no notifications."""

ATTEMPTS_MAX: Final = 8
"""Failures without progress after which a view counts as behind."""


@runtime_checkable
class LogFollowingView(Protocol):
    """A view that reads the log itself."""

    async def cursor(self, space: SpaceId) -> Position:
        """Return the position up to which the view shows `space`."""

    async def advance_to(self, space: SpaceId, position: Position) -> None:
        """Update the view of `space` to at least `position`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Projector:
    """Updates `state`, if it follows the log, and then applies its items to the `others`."""

    ledger: Ledger
    state: State
    others: Sequence[Projection]
    copied: Ledger | None = None
    """The log of the copy that the state follows. The other views read commits from it."""
    _locks: Mapping[SpaceId, asyncio.Lock] = field(
        default_factory=lambda: defaultdict(asyncio.Lock)
    )

    async def advance_to(self, space: SpaceId, position: Position) -> None:
        """Update every view of `space` to at least `position`.

        Raises:
            Unavailable: `view.behind`, a view refuses or does not answer; try again later.
        """
        async with self._locks[space]:
            if isinstance(self.state, LogFollowingView):
                await self._advance_view(self.state, space, position)
            for view in self.others:
                await self._advance_view(view, space, position)

    async def catch_up(self, touched: Touched | None = None) -> None:
        """Update every view to the present end of the log, or for the `touched` spaces only.

        Raises:
            Unavailable: as `advance_to` says.
        """
        reached = None if touched is None or touched.keys is None else touched.reached
        for space, head in (await heads_of(self.ledger) if reached is None else reached).items():
            await self.advance_to(space, head)

    async def keep_up(self) -> None:
        """Keep every view current with all processes' writes until this task is cancelled."""
        cursor = 0
        while True:
            with suppress(CanonryError):  # readers get the error; this loop tries again
                touched = await self.ledger.touched_since(cursor, limit=PAGE)
                if touched.keys is None or touched.keys:
                    await self.catch_up(touched)
                cursor = touched.cursor
            await self.ledger.await_news(POLL_SECONDS)

    async def _advance_view(
        self, view: LogFollowingView | Projection, space: SpaceId, position: Position
    ) -> None:
        failures, best = 0, Position(-1)
        while True:
            try:
                cursor = await view.cursor(space)
                if cursor >= position:
                    return
                failures = 0 if cursor > best else failures + 1
                best = max(best, cursor)
                if isinstance(view, LogFollowingView):
                    await view.advance_to(space, position)
                    continue
                # The state may not show later commits yet.
                limit, log = min(PAGE, position - cursor), self.copied or self.ledger
                commits = await log.read_commits(space, after=cursor, limit=limit)
                await view.apply(await self.pair_with_items(commits))
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

    async def pair_with_items(self, commits: Sequence[Commit]) -> Sequence[Folded]:
        """Pair the commits of one space with the present state of the items that they touch."""
        items = await load_items(self.state, [e for commit in commits for e in commit.entries])
        named = {
            c.position: ids_needed(c.entries) | ids_needed_next(c.entries, items) for c in commits
        }
        return [
            Folded(
                space=commit.space,
                position=commit.position,
                items=tuple(items[i] for i in sorted(named[commit.position]) if i in items),
            )
            for commit in commits
        ]


async def load_items(
    state: State, entries: Sequence[Entry], items: dict[str, StoredItem] | None = None
) -> dict[str, StoredItem]:
    """Add the present state of further items that folding these entries reads to `items`."""
    items = {} if items is None else items
    wanted: Iterable[str] = ids_needed(entries)
    for _round in range(EXTRA_ROUNDS + 1):
        if missing := set(wanted).difference(items):
            items |= await state.items_by_id(missing)
        elif _round:
            break
        wanted = ids_needed_next(entries, items)
    return items


# Shared keyword search: a text view on a server for many machines, besides each machine's own.
#
# If the shared view does not answer in time, this machine's own view answers, which shows
# everything that the machine knows. Neither writers nor readers wait for an absent server.

R = TypeVar("R")

PATIENCE: Final = 2.0
"""Seconds that a query waits for the shared view to catch up and answer."""

PAUSE: Final = 5.0
"""Seconds without queries to the shared view after it did not answer."""


class SharedText(Text):
    """Queries the `shared` view, which `projector` updates, or the `own` view if it is away."""

    def __init__(self, shared: Text, *, own: Text, projector: Projector) -> None:
        """Use both views without closing them. `projector` updates `shared` from the log."""
        self._shared = shared
        self._own = own
        self._projector = projector
        self._asked_again = 0.0

    @override
    async def cursor(self, space: SpaceId) -> Position:
        return await self._own.cursor(space)

    @override
    async def search(self, query: TextQuery) -> TextFound:
        return await self._ask_either(query, lambda view: view.search(query))

    @override
    async def figures(self, stems: Iterable[str], query: TextQuery) -> Figures:
        sought = tuple(stems)
        return await self._ask_either(query, lambda view: view.figures(sought, query))

    @override
    async def hits_of_items(self, ids: Iterable[str], query: TextQuery) -> Sequence[Hit]:
        wanted = tuple(ids)
        return await self._ask_either(query, lambda view: view.hits_of_items(wanted, query))

    async def _ask_either(self, query: TextQuery, ask: Callable[[Text], Awaitable[R]]) -> R:
        loop = asyncio.get_running_loop()
        if loop.time() >= self._asked_again:
            try:
                async with asyncio.timeout(PATIENCE):
                    spaces = query.spaces
                    if spaces is None:
                        spaces = frozenset(await heads_of(self._projector.ledger))
                    for space in spaces:
                        await self._projector.advance_to(space, await self._own.cursor(space))
                    return await ask(self._shared)
            except (Unavailable, TimeoutError):
                self._asked_again = loop.time() + PAUSE
        return await ask(self._own)


# The joined ledger: the log of one engine in front of views that others store.
#
# The views are brought up to the log before a draft is judged and before touched keys are reported.
# After an append they are updated too; if one fails, the next reader waits for it. A view that
# stays away refuses reads, but never a commit.

_FEW: Final = 200  # for up to this many commits, the server reports the touched keys directly

PREDICTIONS_MAX: Final = 5
"""Attempts to predict the keys of a draft while other calls change the same items."""


class JoinedLedger(Ledger):
    """Predicts the keys that drafts touch, from the views, and keeps the views current."""

    def __init__(self, projector: Projector) -> None:
        """Append to the projector's ledger."""
        self._log = projector.ledger
        self._projector = projector
        self._follows = isinstance(projector.state, LogFollowingView)
        """True if the state follows a copy. Otherwise the ledger updates it and folds drafts."""
        self._views = _ViewPositions(projector)
        self._cursor = 0
        self._work = RunningWork()

    async def finish_writes(self) -> None:
        """Wait for the writes that have begun and refuse new ones. Call this before closing."""
        await self._work.end_work(None)

    async def update_views(self) -> None:
        """Update the views to the writes of this process, and, before a call, of other processes.

        Raises:
            Unavailable: `view.behind`.
        """
        call = current_scope()
        if call is not None and not call.shared.is_up:
            self._cursor = (await self.touched_since(self._cursor, limit=_FEW)).cursor
        await self._views.update_views()

    @override
    async def head_position(self, space: SpaceId) -> Position:
        if (call := current_scope()) is not None:
            # A verdict may rest on older views: the append detects if it is stale.
            state = self._projector.state
            await self.update_views()
            if call.shared.is_up and isinstance(state, LogFollowingView):
                return await state.cursor(space)
            if call.shared.is_up and space in self._views.shown:
                return self._views.shown[space]
        head = await self._log.head_position(space)
        await self._views.advance_to(space, head)
        return head

    @override
    async def append_drafts(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        if not batch:
            return []
        with self._work.begin_work():
            return await self._append_joined(batch)

    async def _append_joined(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        for _attempt in range(PREDICTIONS_MAX):
            predicted = await self._predict_keys(batch) if self._follows else batch
            outcomes = await self._log.append_drafts(predicted)
            if not isinstance(outcomes[0], Stale):
                break
            if (call := current_scope()) is not None:
                call.shared.is_up = False
            first = batch[0]  # only the prediction may be stale, not the verdict
            if first.reads and await self._log.head_position(first.draft.space) > first.judged_at:
                break
        for item, outcome in zip(batch, outcomes, strict=True):
            space, is_new = item.draft.space, False
            if isinstance(outcome, Appended):
                is_new = not outcome.replayed
                # A replayed commit may be in another space, where its position means nothing here.
                self._views.require_position(
                    space, outcome.position if is_new else await self._log.head_position(space)
                )
            if not is_new and (call := current_scope()) is not None:
                call.shared.is_up = False
        with suppress(Unavailable):  # it is durable; the next reader waits
            await self.update_views()
        return outcomes

    @override
    async def restore_commits(
        self, sealed: Sequence[Sealed], touched: Sequence[frozenset[str]] | None = None
    ) -> None:
        if self._follows:
            for space in sorted({item.space for item in sealed}):
                await self.head_position(space)
            items, touched_keys = dict[str, StoredItem](), list[frozenset[str]]()
            for item in sealed:
                commit = unseal(item)
                await load_items(self._projector.state, commit.entries, items)
                touched_keys.append(_fold_commit(commit, items))
            touched = touched_keys
        await self._log.restore_commits(sealed, touched)
        for item in sealed:
            self._views.require_position(item.space, item.position)
        await self.update_views()

    async def _predict_keys(self, batch: Sequence[Append]) -> Sequence[Append]:
        """Predict the keys of each draft. They hold unless another call changes the same items."""
        heads = {item.draft.space: await self.head_position(item.draft.space) for item in batch}
        spaces = dict(heads)
        entries = [entry for item in batch for entry in item.draft.entries]
        items = await load_items(self._projector.state, entries)
        predicted: list[Append] = []
        for item in batch:
            draft = item.draft
            spaces[draft.space] = Position(spaces[draft.space] + 1)
            commit = Commit(
                **field_values(draft),
                position=spaces[draft.space],
                recorded_at=Instant(0),
                previous=GENESIS,
                hash=GENESIS,
            )
            over = ids_needed(draft.entries) | ids_needed_next(draft.entries, items)
            try:
                touched = _fold_commit(commit, items)
            except BrokenInvariant:
                if await self._log.find_commit(commit.id) is None:
                    raise
                touched = frozenset((ANY,))  # already in the log, not written again
            prediction = PredictedKeys(
                touched=touched, over=frozenset(map(item_key, over)), at=heads[draft.space]
            )
            predicted.append(replace(item, predicted=prediction))
        return predicted

    @override
    async def list_heads(self, *, after: SpaceId | None = None, limit: int) -> Sequence[Head]:
        return await self._log.list_heads(after=after, limit=limit)

    @override
    async def find_commit(self, commit_id: CommitId) -> Commit | None:
        log, copied, call = self._log, self._projector.copied, current_scope()
        if copied is not None and call is not None and call.shared.is_up:
            log = copied  # the append reports concurrent writes
        return await log.find_commit(commit_id)

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
            # A later reply depends on all of these.
            await self._advance_views(None if touched.keys is None else touched.reached)
        elif (call := current_scope()) is not None:
            call.shared.is_up = True
        return touched

    async def _advance_views(self, reached: Mapping[SpaceId, Position] | None = None) -> None:
        for space, head in (await heads_of(self._log) if reached is None else reached).items():
            await self._views.advance_to(space, head)
        if (call := current_scope()) is not None:
            call.shared.is_up = True

    @override
    async def await_news(self, seconds: float) -> None:
        await self._log.await_news(seconds)

    @override
    def lock_appends(self) -> AbstractAsyncContextManager[None]:
        return self._log.lock_appends()


class _ViewPositions:
    """Positions that views must show, and positions that they are known to show."""

    def __init__(self, projector: Projector) -> None:
        self.shown: dict[SpaceId, Position] = {}
        self._projector = projector
        self._required: dict[SpaceId, Position] = {}
        self._locks: defaultdict[SpaceId, asyncio.Lock] = defaultdict(asyncio.Lock)

    def require_position(self, space: SpaceId, position: Position) -> None:
        """Record that a space must be shown up to `position` before the next read."""
        if self.shown.get(space, ORIGIN) < position:
            self._required[space] = max(position, self._required.get(space, position))

    async def update_views(self) -> None:
        """Update the views to the recorded positions."""
        for space, position in list(self._required.items()):
            await self.advance_to(space, position)
            if self._required.get(space, ORIGIN) <= self.shown[space]:
                self._required.pop(space, None)

    async def advance_to(self, space: SpaceId, position: Position) -> None:
        """Update a space to `position` and to the other writes of this process."""
        async with self._locks[space]:
            if self.shown.get(space, ORIGIN) < position:
                position = max(position, self._required.get(space, position))
                await self._projector.advance_to(space, position)
                self.shown[space] = position


def _fold_commit(commit: Commit, items: dict[str, StoredItem]) -> frozenset[str]:
    """Return the keys that a commit touches, and update `items` by folding it."""
    changes = fold_commit(commit, items)
    items.update(changes.items)
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


def join_views(canon: C, *, copied: Ledger | None = None) -> Joined[C]:
    """Return a canon over the same ports that waits for views in other engines.

    They are views of a copy or projections. `copied` is the log of the copy.
    """
    views = (canon.documents, canon.text, canon.catalog, canon.places)
    others = [each for each in views if isinstance(each, Projection)]
    projector = Projector(ledger=canon.ledger, state=canon.state, others=others, copied=copied)
    ledger = JoinedLedger(projector)
    names = ("state", "documents", "text", "catalog", "places")
    settled = {name: _WaitingView(getattr(canon, name), ledger) for name in names}
    joined = replace(cast("Any", canon), ledger=ledger, **settled)
    return Joined(canon=joined, projector=projector, finish=ledger.finish_writes)


class _WaitingView:
    """A view whose queries wait until it shows the writes of this process."""

    def __init__(self, view: Any, ledger: JoinedLedger) -> None:
        self._view = view
        self._ledger = ledger

    def __getattr__(self, name: str) -> Callable[..., Any]:
        ask = getattr(self._view, name)

        @wraps(ask)
        async def ask_after_update(*args: Any, **kwargs: Any) -> Any:
            await self._ledger.update_views()
            return await ask(*args, **kwargs)

        return ask_after_update
