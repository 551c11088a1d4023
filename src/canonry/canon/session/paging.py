"""Read all pages of a query, without keeping other calls waiting."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from canonry.canon.session.caller import Progress
from canonry.readmodels.ports.view import PAGE_MAX, Page

Q = TypeVar("Q", bound=Any)
T = TypeVar("T")
NEWEST_MAX: Final = PAGE_MAX
"""So many of the newest are looked at."""


async def every_item(ask: Callable[..., Awaitable[Page[T]]]) -> AsyncIterator[T]:
    """The items in their order; `ask` takes `limit` and `offset` and gives that page."""
    async for items in _pages(ask):
        for item in items:
            yield item


async def _pages(ask: Callable[..., Awaitable[Page[T]]]) -> AsyncIterator[Sequence[T]]:
    offset, total = 0, 1
    while offset < total:
        page = await ask(limit=PAGE_MAX, offset=offset)
        yield page.items
        if not page.items:
            return
        offset, total = offset + len(page.items), page.total


async def every_match(ask: Callable[[Q], Awaitable[Page[T]]], query: Q) -> AsyncIterator[T]:
    """All that matches a query, whatever its own `limit` and `offset`."""

    async def page_of(limit: int, offset: int) -> Page[T]:
        return await ask(replace(query, limit=limit, offset=offset))

    async for items in _pages(page_of):
        for item in items:
            yield item


async def newest_match(ask: Callable[[Q], Awaitable[Page[T]]], query: Q) -> Sequence[T]:
    """The last `NEWEST_MAX` of all that matches a query, in their order."""
    page = await ask(replace(query, limit=NEWEST_MAX, offset=0))
    if page.total > NEWEST_MAX:
        page = await ask(replace(query, limit=NEWEST_MAX, offset=page.total - NEWEST_MAX))
    return page.items


# Pacing: heavy work lets others have a turn, by its weight, and tells its caller how far it is.
#
# Pure work over values that nobody changes is done beside the event loop, where a deadline passes
# without it; work on many items is done in turns, at which whoever gives up or is stopped is heard.

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
