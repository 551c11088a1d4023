"""What is served, on its way: begun after the greeting or at the first need, and only once."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from canonry.server.greeting import Handlers

if TYPE_CHECKING:  # importing them is a part of the opening
    from canonry.gateway.call import Gateway
    from canonry.gateway.principal import Principal

Close = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenGateway:
    """A gateway over an open canon, who calls it, and how the canon is closed."""

    gateway: "Gateway"
    principal: "Principal"
    close: Close


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """The same, ready to answer requests."""

    handlers: Handlers
    close: Close


class Opening:
    """Runs `work` once, however many wait for it; one who stops waiting does not stop it."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, Bound]]) -> None:
        """Nothing begins yet."""
        self._work = work
        self._task: asyncio.Task[Bound] | None = None

    def begin(self) -> asyncio.Task[Bound]:
        """Begin, unless it has begun."""
        if self._task is None:
            self._task = asyncio.create_task(self._work())
        return self._task

    async def settled(self) -> None:
        """Wait until the work has ended, well or not."""
        if not (task := self.begin()).done():
            await asyncio.wait((task,))

    async def result(self) -> Bound:
        """What the work gave.

        Raises:
            Exception: what the work raised, for each who asks.
        """
        await self.settled()
        return self.begin().result()
