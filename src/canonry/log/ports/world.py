"""Clock, identities, the scope of a call, and write locks."""

import asyncio
from abc import abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import Context, ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias

from canonry.log.commits import Append, Outcome
from canonry.values.errors import Unavailable
from canonry.values.ids import SpaceId
from canonry.values.moments import Instant


class Clock(Protocol):
    """Tells the time."""

    @abstractmethod
    def now(self) -> Instant:
        """The current instant; it may stand still or jump, but is never far off."""

    @abstractmethod
    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back."""


class Identities(Protocol):
    """Makes what must not be guessed or repeated."""

    @abstractmethod
    def fresh(self) -> str:
        """A new UUID; later ones sort after earlier ones, nearly always."""

    @abstractmethod
    def salt(self) -> bytes:
        """`canonry.log.sealing.SALT_BYTES` unpredictable bytes."""


# The call under way, for engines that are far away: when it ends, and what it has been told.
#
# An engine may stop by itself what runs longer, and remember what it has learned within the call.


@dataclass(slots=True)
class ToldAnswers:
    """What a call, and all calls that it is made of, were told."""

    answers: dict[Hashable, Any] = field(default_factory=dict)
    is_up: bool = False
    """Whether views that follow a log show what was in it when the call began, or later."""


@dataclass(slots=True)
class CallScope:
    """A call: `ends` is a time of its event loop; what it leaves behind has no `is_open` scope.

    Whether it `writes` says whoever knows; an engine may then ask ahead for what a write needs.
    """

    ends: float
    writes: bool = False
    is_part: bool = False
    told: ToldAnswers = field(default_factory=ToldAnswers)
    is_open: bool = True


_SCOPE: Final[ContextVar[CallScope | None]] = ContextVar("call_scope", default=None)


def scope() -> CallScope | None:
    """The call under way, if this is part of one."""
    found = _SCOPE.get()
    return found if found is not None and found.is_open else None


class entered:  # noqa: N801 - a context manager, and four times as quick as one made of a generator
    """Be a call, or a part of one, that ends at a time of the event loop."""

    __slots__ = ("_scope", "_token")

    def __init__(self, ends: float, *, writes: bool = False) -> None:
        """A part ends with the whole at the latest, and is told what that is told."""
        outer = scope()
        if outer is None:
            self._scope = CallScope(ends, writes)
        else:
            self._scope = CallScope(min(ends, outer.ends), writes, is_part=True, told=outer.told)

    def __enter__(self) -> CallScope:
        """Begin."""
        self._token = _SCOPE.set(self._scope)
        return self._scope

    def __exit__(self, *_: object) -> None:
        """End; tasks that go on are no part of it any more."""
        self._scope.is_open = False
        _SCOPE.reset(self._token)


def answers() -> dict[Hashable, Any]:
    """What the call under way was told; empty, and kept by nobody, where this is part of none."""
    found = scope()
    return {} if found is None else found.told.answers


# Turns: what one process appends to one space while others write there is written together.
#
# Each space has its own groups: whoever asks while one is written is in the next one. Nobody waits
# for a group to fill, so that a lone write goes at once. How a group is written is the engine's.

ENTRIES_MAX: Final = 500
"""A group takes no further call after so many entries: their payloads are in memory at once."""


@dataclass(eq=False, slots=True)
class Call:
    """Drafts that one caller appends; `tried` are the hashes of what was written of them.

    Where the answer of an attempt was lost, the next one knows by these what is the caller's own.
    """

    batch: Sequence[Append]
    tried: set[str] = field(default_factory=set)
    answer: "asyncio.Future[Sequence[Outcome]]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    @property
    def weight(self) -> int:
        """How many entries it has."""
        return sum(len(item.draft.entries) for item in self.batch)


WriteGroup: TypeAlias = Callable[[Sequence[Call]], Awaitable[Sequence[Sequence[Outcome]]]]
"""Writes the calls of a group, all of one space, in order: one transaction, or one insert."""


@dataclass(eq=False, slots=True)
class _Turn:
    """One space: who waits, who is written now, and the task that does it."""

    waiting: deque[Call] = field(default_factory=deque)
    group: Sequence[Call] = ()
    writing: "asyncio.Future[None] | None" = None
    running: "asyncio.Task[None] | None" = None


class Turns:
    """The appends of this process that wait, by their space."""

    def __init__(self, write: WriteGroup) -> None:
        """Write groups by `write`."""
        self._write = write
        self._spaces: dict[SpaceId, _Turn] = {}

    async def append(self, call: Call) -> Sequence[Outcome]:
        """Append what a call asks for in its turn.

        Whoever is cancelled is left out of a group that has not begun; a group that nobody waits
        for any more is stopped.
        """
        space = call.batch[0].draft.space
        turn = self._spaces.setdefault(space, _Turn())
        turn.waiting.append(call)
        if turn.running is None:
            # What the first caller is bound by, such as its deadline, binds none of the others.
            turn.running = asyncio.create_task(self._run(space, turn), context=Context())
        try:
            return await call.answer
        except asyncio.CancelledError:
            if turn.writing is not None and all(each.answer.done() for each in turn.group):
                turn.writing.cancel()
            raise

    async def _run(self, space: SpaceId, turn: _Turn) -> None:
        while group := _group_of(turn.waiting):
            turn.group, turn.writing = group, asyncio.ensure_future(self._answered(group))
            await asyncio.wait([turn.writing])
        del self._spaces[space]

    async def _answered(self, group: Sequence[Call]) -> None:
        """Write a group and answer each; where one cannot be written, each has one of its own."""
        try:
            outcomes = await self._write(group)
        except Exception as error:  # noqa: BLE001 - whatever it is, those who wait must hear of it
            if len(group) > 1 and not isinstance(error, Unavailable):
                for call in group:
                    if not call.answer.done():
                        await self._answered([call])
                return
            for call in group:
                if not call.answer.done():
                    call.answer.set_exception(error)
        else:
            for call, told in zip(group, outcomes, strict=True):
                if not call.answer.done():
                    call.answer.set_result(told)


def _group_of(waiting: deque[Call]) -> list[Call]:
    """The next calls of which somebody still wants to hear, at least one where there is any."""
    group, weight = list[Call](), 0
    while waiting:
        call = waiting[0]
        if not call.answer.done():
            if group and weight + call.weight > ENTRIES_MAX:
                break
            weight += call.weight
            group.append(call)
        waiting.popleft()
    return group


def closed() -> Unavailable:
    """The error of whoever asks after the end."""
    return Unavailable("ledger.closed", "the store is closed; open it again")


class WorkUnderWay:
    """What of an engine is under way, so that whoever closes it can wait."""

    def __init__(self) -> None:
        """Nothing is under way."""
        self.is_closed = False
        self._count = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @contextmanager
    def begun(self) -> Iterator[None]:
        """Let whoever closes wait for the block.

        Raises:
            Unavailable: `ledger.closed`.
        """
        if self.is_closed:
            raise closed()
        with self.counted():
            yield

    @contextmanager
    def counted(self) -> Iterator[None]:
        """The same, also while somebody closes."""
        self._count += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._count -= 1
            if not self._count:
                self._idle.set()

    async def end(self, seconds: float | None) -> None:
        """Let nothing begin any more, and wait for what has begun; None: however long it takes."""
        self.is_closed = True
        with suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), seconds)
