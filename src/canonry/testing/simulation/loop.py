"""An event loop without a world: a seed chooses who runs next, and time passes only in sleep."""

import asyncio
import contextvars
import random
from asyncio import events
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, TypeVar

from typing_extensions import TypeVarTuple, Unpack, override

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

STEPS_MAX = 1_000_000
"""More steps than any simulated test needs: whoever reaches it turns in circles."""


class SeededLoop(asyncio.AbstractEventLoop):
    """Runs one callback at a time, drawn from all that are ready; there is no I/O to wait for.

    Threads, sockets and processes are missing on purpose: what needs them is not simulated.
    """

    def __init__(self, lots: random.Random) -> None:
        """Draw every choice from `lots`."""
        self._lots = lots
        self._now = 0.0
        self._ready: list[asyncio.Handle] = []
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._made = 0
        self._running = False
        self.choices = 0
        self.failures: list[str] = []

    @override
    def time(self) -> float:
        return self._now

    @override
    def call_soon(
        self,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    @override
    def call_later(
        self,
        delay: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    @override
    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._made += 1
        heappush(self._timers, (when, self._made, handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """A cancelled timer stays in the heap and is skipped when its time comes."""

    @override
    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    @override
    def create_task(self, coro: Any, **options: Any) -> asyncio.Task[Any]:
        return asyncio.Task(coro, loop=self, **options)

    @override
    def get_debug(self) -> bool:
        return False

    @override
    def is_running(self) -> bool:
        return self._running

    @override
    def is_closed(self) -> bool:
        return False

    @override
    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.failures.append(f"{context.get('message')}: {context.get('exception')!r}")

    @override
    def run_until_complete(self, future: Any) -> Any:
        main = asyncio.ensure_future(future, loop=self)
        self._running = True
        events._set_running_loop(self)
        try:
            for _ in range(STEPS_MAX):
                if main.done():
                    return main.result()
                self._step()
        finally:
            events._set_running_loop(None)
            self._running = False
        raise AssertionError("the simulation turns in circles")

    def _step(self) -> None:
        while not self._ready:
            if not self._timers:
                raise AssertionError("everybody waits for somebody: a deadlock")
            self._now, _, timer = heappop(self._timers)
            if not timer.cancelled():
                self._ready.append(timer)
        if len(self._ready) > 1:
            self.choices += 1
        handle = self._ready.pop(self._lots.randrange(len(self._ready)))
        if not handle.cancelled():
            handle._run()


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """What a simulated test may use instead of the real world."""

    seed: int
    lots: random.Random
    loop: SeededLoop

    def assert_interleaved(self) -> None:
        """A schedule without a choice proves nothing about concurrency."""
        assert self.loop.choices > 0, "nothing interleaved"


def simulate(main: Callable[[Simulation], Coroutine[Any, Any, T]], *, seed: int) -> T:
    """Run `main` under the schedule of `seed`; a failure names the seed."""
    lots = random.Random(seed)
    loop = SeededLoop(lots)  # type: ignore[abstract]  # what it lacks is what it must not do
    try:
        result: T = loop.run_until_complete(main(Simulation(seed=seed, lots=lots, loop=loop)))
        assert not loop.failures, loop.failures
    except BaseException as error:
        error.add_note(f"replay with seed={seed}")
        raise
    return result
