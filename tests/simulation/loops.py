"""Simulate: one seeded order of steps, and faults of ledgers and views."""

import asyncio
import random
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from heapq import heappop
from typing import Any, TypeVar

from typing_extensions import override

from canonry.log.commits import Append, Outcome, Stale
from canonry.log.ports.ledger import Ledger
from canonry.log.sealing import Sealed
from canonry.values.errors import Unavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """The odds of each fault, for each append or restore; each waits up to `delay` seconds."""

    delay: float = 1.0
    refused: float = 0.0
    """Unavailable, and nothing was written."""
    lost: float = 0.0
    """Unavailable, though it was written."""
    twice: float = 0.0
    """Delivered a second time, later, while others write."""
    stale: float = 0.0
    """Stale though nothing was touched: a backend may be cautious."""


def _after_a_wait(name: str) -> Any:
    """The method of that name, asked of the ledger behind the line."""

    async def ask(self: "FaultyLedger", *args: Any, **more: Any) -> Any:
        await self._wait_somewhat()
        return await getattr(self._inner, name)(*args, **more)

    return ask


class FaultyLedger(Ledger):
    """Any ledger behind a line with seeded faults; the record itself never lies."""

    def __init__(self, inner: Ledger, lots: random.Random, faults: Faults) -> None:
        """Draw every fault from `lots`."""
        self._inner = inner
        self._lots = lots
        self._faults = faults
        self._late: set[asyncio.Task[None]] = set()
        self.appends = 0

    head_position = _after_a_wait("head_position")
    list_heads = _after_a_wait("list_heads")
    find_commit = _after_a_wait("find_commit")
    position_at = _after_a_wait("position_at")
    read_sealed = _after_a_wait("read_sealed")
    touched_since = _after_a_wait("touched_since")

    async def await_settled(self) -> None:
        """Wait for whatever is still on the line."""
        while self._late:
            await asyncio.gather(*self._late)

    async def _wait_somewhat(self) -> None:
        await asyncio.sleep(self._lots.random() * self._faults.delay)

    def _fault_happens(self, odds: float) -> bool:
        return self._lots.random() < odds

    @override
    async def append_drafts(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        self.appends += 1
        await self._pass_time()
        if self._fault_happens(self._faults.stale):
            return [Stale(head=await self._inner.head_position(item.draft.space)) for item in batch]
        outcomes = await self._inner.append_drafts(batch)
        if self._fault_happens(self._faults.twice):
            late = asyncio.ensure_future(self._deliver_again(batch))
            self._late.add(late)
            late.add_done_callback(self._late.discard)
        await self._answer_call()
        return outcomes

    @override
    async def restore_commits(
        self, sealed: Sequence[Sealed], touched: Sequence[frozenset[str]] | None = None
    ) -> None:
        await self._pass_time()
        await self._inner.restore_commits(sealed, touched)
        if self._fault_happens(self._faults.twice):
            await self._inner.restore_commits(sealed, touched)
        await self._answer_call()

    async def _pass_time(self) -> None:
        await self._wait_somewhat()
        if self._fault_happens(self._faults.refused):
            raise Unavailable("ledger.busy", "the ledger is busy; send the request again")

    async def _answer_call(self) -> None:
        await self._wait_somewhat()
        if self._fault_happens(self._faults.lost):
            raise Unavailable("ledger.no-answer", "the ledger did not answer; send it again")

    async def _deliver_again(self, batch: Sequence[Append]) -> None:
        await self._wait_somewhat()
        await self._inner.append_drafts(batch)

    @override
    @asynccontextmanager
    async def lock_appends(self) -> AsyncIterator[None]:
        await self._wait_somewhat()
        async with self._inner.lock_appends():
            yield


T = TypeVar("T")

STEPS_MAX = 1_000_000
"""More steps than any simulated test needs: whoever reaches it turns in circles."""


class SeededLoop(asyncio.BaseEventLoop):
    """Runs one callback at a time, drawn from all that are ready; there is no I/O to wait for.

    Threads, sockets and processes are missing on purpose: what needs them is not simulated.
    """

    def __init__(self, lots: random.Random) -> None:
        """Draw every choice from `lots`."""
        super().__init__()
        self._lots = lots
        self._now = 0.0
        self._steps = 0
        self.choices = 0
        self.failures: list[str] = []

    @override
    def time(self) -> float:
        return self._now

    @override
    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.failures.append(f"{context.get('message')}: {context.get('exception')!r}")

    def _run_once(self) -> None:
        """Run the next callback, in place of all that the base class would run in order."""
        ready: deque[asyncio.Handle] = self._ready  # type: ignore[attr-defined]
        timers: list[asyncio.TimerHandle] = self._scheduled  # type: ignore[attr-defined]
        self._steps += 1
        assert self._steps < STEPS_MAX, "the simulation turns in circles"
        while not ready:
            assert timers, "everybody waits for somebody: a deadlock"
            timer = heappop(timers)
            self._now = timer.when()
            if not timer.cancelled():
                ready.append(timer)
        if len(ready) > 1:
            self.choices += 1
        drawn = self._lots.randrange(len(ready))
        handle = ready[drawn]
        del ready[drawn]
        if not handle.cancelled():
            handle._run()


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """The parts that a simulated test uses instead of the real world."""

    seed: int
    lots: random.Random
    loop: SeededLoop

    def assert_interleaved(self) -> None:
        """A schedule without a choice proves nothing about concurrency."""
        assert self.loop.choices > 0, "nothing interleaved"


def run_simulated(main: Callable[[Simulation], Coroutine[Any, Any, T]], *, seed: int) -> T:
    """Run `main` under the schedule of `seed`; a failure names the seed."""
    lots = random.Random(seed)
    loop = SeededLoop(lots)
    try:
        result: T = loop.run_until_complete(main(Simulation(seed=seed, lots=lots, loop=loop)))
        assert not loop.failures, loop.failures
    except BaseException as error:
        error.add_note(f"replay with seed={seed}")
        raise
    finally:
        loop.close()
    return result
