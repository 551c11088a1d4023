"""Read all pages of a query without blocking other calls."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from canonry.canon.session.caller import Progress
from canonry.log.items.scenes import Turn
from canonry.readmodels.ports.documents import Documents
from canonry.readmodels.ports.view import PAGE_MAX, Page
from canonry.values.ids import SceneId

Q = TypeVar("Q", bound=Any)
T = TypeVar("T")
NEWEST_MAX: Final = PAGE_MAX
"""The number of newest items that are read."""


async def every_item(ask: Callable[..., Awaitable[Page[T]]]) -> AsyncIterator[T]:
    """Yield all items in order; `ask` takes `limit` and `offset` and returns that page."""
    offset, total = 0, 1
    while offset < total:
        page = await ask(limit=PAGE_MAX, offset=offset)
        for item in page.items:
            yield item
        if not page.items:
            return
        offset, total = offset + len(page.items), page.total


def page_reader(
    ask: Callable[[Q], Awaitable[Page[T]]], query: Q
) -> Callable[..., Awaitable[Page[T]]]:
    """Return a function that reads a page of a query, replacing the query's limit and offset."""
    return lambda limit, offset: ask(replace(query, limit=limit, offset=offset))


def every_match(ask: Callable[[Q], Awaitable[Page[T]]], query: Q) -> AsyncIterator[T]:
    """Yield all matches of a query, ignoring its `limit` and `offset`."""
    return every_item(page_reader(ask, query))


async def first_items(ask: Callable[..., Awaitable[Page[T]]], pages: int) -> tuple[list[T], bool]:
    """Return the items of the first `pages` pages, and whether more exist."""
    found: list[T] = []
    for number in range(pages):
        page = await ask(limit=PAGE_MAX, offset=number * PAGE_MAX)
        found += page.items
        if (number + 1) * PAGE_MAX >= page.total:
            return found, False
    return found, True


async def every_turn(documents: Documents, scene_id: SceneId) -> AsyncIterator[Turn]:
    """Yield the turns of a scene in order."""
    after = -1
    while page := await documents.turns(scene_id, after=after, limit=PAGE_MAX):
        for turn in page:
            yield turn
        after = page[-1].index


async def newest_match(ask: Callable[[Q], Awaitable[Page[T]]], query: Q) -> Sequence[T]:
    """Return the last `NEWEST_MAX` matches of a query, in order."""
    page = await ask(replace(query, limit=NEWEST_MAX, offset=0))
    if page.total > NEWEST_MAX:
        page = await ask(replace(query, limit=NEWEST_MAX, offset=page.total - NEWEST_MAX))
    return page.items


# Pacing: heavy work yields to other calls by its weight and reports progress.
#
# Pure work on immutable values runs in a thread, where a deadline can pass. Work on many items
# yields to the event loop regularly, where it can be cancelled.

LIGHT: Final = 20_000
"""Work up to this weight runs at once, because a thread costs more."""

OF_RECORD: Final = 400
"""The weight of a record in addition to its characters."""

AT_ONCE: Final = 100
"""The number of items between two yields; less work reports no progress."""


async def run_aside(weight: int, work: Callable[[], T]) -> T:
    """Run `work`, in a thread if it is heavy; `weight` is about its number of characters."""
    return work() if weight <= LIGHT else await asyncio.to_thread(work)


async def yield_regularly(items: Iterable[T], every: int = AT_ONCE) -> AsyncIterator[T]:
    """Yield the items, and let other tasks run after every `every` items."""
    for number, item in enumerate(items, 1):
        yield item
        if number % every == 0:
            await asyncio.sleep(0)


@dataclass(slots=True, kw_only=True)
class Pace:
    """Reports the progress of `total` steps; a repeated step is not reported again.

    `weight` is about the number of characters of each round of steps (see `run_aside`). Heavier
    steps yield to other tasks more often.
    """

    progress: Progress
    total: int
    weight: int = 0
    done: int = 0
    _reported: int = 0

    @property
    def steps_between(self) -> int:
        """Return the number of steps between two yields."""
        each = max(1, self.weight // max(1, self.total))
        return max(1, min(AT_ONCE, LIGHT // each))

    async def count_items(self, items: Iterable[T], message: str) -> AsyncIterator[T]:
        """Yield the items, each counted as one step."""
        async for item in yield_regularly(items, self.steps_between):
            yield item
            self.done += 1
            if self.done % AT_ONCE == 0:
                await self.report_progress(message)

    async def report_progress(self, message: str) -> None:
        """Report the progress if it has increased."""
        if self._reported < self.done and self.total > AT_ONCE:
            self._reported = self.done
            await self.progress(self.done, self.total, message)
