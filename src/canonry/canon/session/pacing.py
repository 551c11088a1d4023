"""Pacing: heavy work lets others have a turn, by its weight, and tells its caller how far it is.

Pure work over values that nobody changes is done beside the event loop, where a deadline passes
without it; work on many items is done in turns, at which whoever gives up or is stopped is heard.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeVar

from canonry.canon.session.caller import Progress

T = TypeVar("T")

LIGHT: Final = 20_000
"""Work up to this weight is done at once: a thread costs more than it."""

OF_RECORD: Final = 400
"""What a record weighs beside its characters."""

AT_ONCE: Final = 100
"""So many items are worked on before others have their turn; fewer are not worth telling of."""


async def aside(weight: int, work: Callable[[], T]) -> T:
    """What `work` comes to; `weight` is about how many characters it looks at."""
    return work() if weight <= LIGHT else await asyncio.to_thread(work)


async def in_turns(items: Iterable[T], every: int = AT_ONCE) -> AsyncIterator[T]:
    """The items; after so many of them others have their turn."""
    for number, item in enumerate(items, 1):
        yield item
        if number % every == 0:
            await asyncio.sleep(0)


@dataclass(slots=True, kw_only=True)
class Pace:
    """Tells of `total` steps; a step that is done again is not told again.

    `weight` is about how many characters each round of steps looks at (see `aside`): where a step
    is heavy others have their turn sooner.
    """

    progress: Progress
    total: int
    weight: int = 0
    done: int = 0
    _told: int = 0

    @property
    def every(self) -> int:
        """After so many steps others have their turn."""
        each = max(1, self.weight // max(1, self.total))
        return max(1, min(AT_ONCE, LIGHT // each))

    async def over(self, items: Iterable[T], message: str) -> AsyncIterator[T]:
        """The items in turns, each of them a step."""
        async for item in in_turns(items, self.every):
            yield item
            self.done += 1
            if self.done % AT_ONCE == 0:
                await self.tell(message)

    async def tell(self, message: str) -> None:
        """Tell how far the work is, where that is further than was told."""
        if self._told < self.done and self.total > AT_ONCE:
            self._told = self.done
            await self.progress(self.done, self.total, message)
