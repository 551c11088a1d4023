"""Clock, identities, the scope of a call, and write locks."""

import asyncio
from abc import abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import Context, ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from canonry.log.commits import Append, Outcome
from canonry.values.errors import BrokenInvariant, CanonryError, Unavailable
from canonry.values.ids import SpaceId
from canonry.values.moments import Instant


class Clock(Protocol):
    """Tells the time."""

    @abstractmethod
    def now(self) -> Instant:
        """Return the current instant; it may stand still or jump, but is never far off."""

    @abstractmethod
    def monotonic(self) -> float:
        """Return the seconds since an arbitrary start; they never decrease."""


class Identities(Protocol):
    """Makes unique ids and unpredictable bytes."""

    @abstractmethod
    def new_id(self) -> str:
        """Return a new UUID; later ones nearly always sort after earlier ones."""

    @abstractmethod
    def new_salt(self) -> bytes:
        """Return `canonry.log.sealing.SALT_BYTES` unpredictable bytes."""


# The current call, for remote engines: its deadline and the answers it has received.
#
# An engine may stop work that exceeds the deadline, and cache answers within the call.


@dataclass(slots=True)
class CallAnswers:
    """The answers that a call and its nested calls received."""

    answers: dict[Hashable, Any] = field(default_factory=dict)
    is_up: bool = False
    """True if the views show everything that was in the log when the call began."""


@dataclass(slots=True)
class CallScope:
    """A call; `ends` is a time of its event loop. `is_open` is False after its end.

    `writes` is set by the caller; an engine may then prefetch what a write needs.
    """

    ends: float
    writes: bool = False
    shared: CallAnswers = field(default_factory=CallAnswers)
    is_open: bool = True


_SCOPE: Final[ContextVar[CallScope | None]] = ContextVar("call_scope", default=None)


def current_scope() -> CallScope | None:
    """Return the scope of the current call; None outside of a call."""
    found = _SCOPE.get()
    return found if found is not None and found.is_open else None


def time_left(seconds: float) -> float:
    """Return the seconds until the current call ends, at most `seconds`."""
    call = current_scope()
    now = asyncio.get_running_loop().time()
    return seconds if call is None else min(seconds, call.ends - now)


class enter_scope:  # noqa: N801 - a context manager, four times faster than a generator's
    """Enter a call, or a nested one, with a deadline in the event loop's time."""

    __slots__ = ("_scope", "_token")

    def __init__(self, ends: float, *, writes: bool = False) -> None:
        """Use the outer deadline if it is earlier, and share the outer answers."""
        outer = current_scope()
        if outer is None:
            self._scope = CallScope(ends, writes)
        else:
            self._scope = CallScope(min(ends, outer.ends), writes, shared=outer.shared)

    def __enter__(self) -> CallScope:
        """Begin the call."""
        self._token = _SCOPE.set(self._scope)
        return self._scope

    def __exit__(self, *_: object) -> None:
        """End the call; tasks that still run no longer belong to it."""
        self._scope.is_open = False
        _SCOPE.reset(self._token)


def call_answers() -> dict[Hashable, Any]:
    """Return the answers of the current call; outside of a call, an empty throw-away dict."""
    found = current_scope()
    return {} if found is None else found.shared.answers


# Group commits: while one group of a space is written, the next appends form a new group.
#
# No append waits for a group to fill, so that a lone write starts at once. The engine decides how
# it writes a group.

ENTRIES_MAX: Final = 500
"""A group takes no further call after this many entries, whose payloads are all in memory."""


@dataclass(eq=False, slots=True)
class Call:
    """Drafts that one caller appends; `tried` are the hashes of the commits already sent.

    If the answer of an attempt was lost, the next attempt recognises its commits by them.
    """

    batch: Sequence[Append]
    tried: set[str] = field(default_factory=set)
    answer: "asyncio.Future[Sequence[Outcome]]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    @property
    def entry_count(self) -> int:
        """The number of entries."""
        return sum(len(item.draft.entries) for item in self.batch)


WriteGroup: TypeAlias = Callable[[Sequence[Call]], Awaitable[Sequence[Sequence[Outcome]]]]
"""Writes the calls of a group, all of one space, in order: one transaction, or one insert."""


@dataclass(eq=False, slots=True)
class _SpaceQueue:
    """One space: waiting calls, the group being written, and the task that writes."""

    waiting: deque[Call] = field(default_factory=deque)
    group: Sequence[Call] = ()
    writing: "asyncio.Future[None] | None" = None
    running: "asyncio.Task[None] | None" = None


class AppendQueues:
    """The waiting appends of this process, by space."""

    def __init__(self, write: WriteGroup) -> None:
        """Write groups with `write`."""
        self._write = write
        self._spaces: dict[SpaceId, _SpaceQueue] = {}

    async def append_call(self, call: Call) -> Sequence[Outcome]:
        """Append the drafts of a call with the next group of its space.

        A cancelled call is left out of a group that has not started. A group is stopped if all its
        calls are cancelled.
        """
        space = call.batch[0].draft.space
        queue = self._spaces.setdefault(space, _SpaceQueue())
        queue.waiting.append(call)
        if queue.running is None:
            # An empty context: the deadline of the first caller does not bind the others.
            queue.running = asyncio.create_task(self._write_groups(space, queue), context=Context())
        try:
            return await call.answer
        except asyncio.CancelledError:
            if queue.writing is not None and all(each.answer.done() for each in queue.group):
                queue.writing.cancel()
            raise

    async def _write_groups(self, space: SpaceId, queue: _SpaceQueue) -> None:
        while group := _group_of(queue.waiting):
            queue.group, queue.writing = group, asyncio.ensure_future(self._answer_group(group))
            await asyncio.wait([queue.writing])
        del self._spaces[space]

    async def _answer_group(self, group: Sequence[Call]) -> None:
        """Write a group and answer each call. If that fails, write each call by itself."""
        try:
            outcomes = await self._write(group)
        except Exception as error:  # noqa: BLE001 - every waiting call must get it
            if len(group) > 1 and not isinstance(error, Unavailable):
                for call in group:
                    if not call.answer.done():
                        await self._answer_group([call])
                return
            for call in group:
                if not call.answer.done():
                    call.answer.set_exception(error)
        else:
            for call, outcome in zip(group, outcomes, strict=True):
                if not call.answer.done():
                    call.answer.set_result(outcome)


def _group_of(waiting: deque[Call]) -> list[Call]:
    """Take the next calls that are not cancelled, at least one if there is any."""
    group, weight = list[Call](), 0
    while waiting:
        call = waiting[0]
        if not call.answer.done():
            if group and weight + call.entry_count > ENTRIES_MAX:
                break
            weight += call.entry_count
            group.append(call)
        waiting.popleft()
    return group


def closed_store() -> Unavailable:
    """Return the error for a call after the store was closed."""
    return Unavailable("ledger.closed", "The store is closed. Open it again.")


E = TypeVar("E", bound=Exception)


def newer_store() -> BrokenInvariant:
    """Return the error for a store that a newer version of Canonry has written."""
    message = "A newer version of Canonry has written to this store. Update Canonry."
    return BrokenInvariant("store.newer", message)


def translate_errors(
    raised: tuple[type[E], ...], as_canonry: Callable[[E], CanonryError]
) -> Callable[[], AbstractContextManager[None]]:
    """Return a context manager that raises Canonry's errors in place of a driver's."""

    @contextmanager
    def translated() -> Iterator[None]:
        try:
            yield
        except raised as error:
            raise as_canonry(error) from error

    return translated


class RunningWork:
    """Counts the running work of an engine, so that closing it can wait."""

    def __init__(self) -> None:
        """Start without work."""
        self.is_closed = False
        self._count = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @contextmanager
    def begin_work(self) -> Iterator[None]:
        """Count the block as work; refuse it once the engine closes.

        Raises:
            Unavailable: `ledger.closed`.
        """
        if self.is_closed:
            raise closed_store()
        with self.count_work():
            yield

    @contextmanager
    def count_work(self) -> Iterator[None]:
        """Count the block as work, even while the engine closes."""
        self._count += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._count -= 1
            if not self._count:
                self._idle.set()

    async def end_work(self, seconds: float | None) -> None:
        """Refuse new work, and wait at most `seconds` for running work; None: without limit."""
        self.is_closed = True
        with suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), seconds)
