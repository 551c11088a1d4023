"""Read all pages of a query, without keeping other calls waiting."""

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
"""So many of the newest are looked at."""


async def every_item(ask: Callable[..., Awaitable[Page[T]]]) -> AsyncIterator[T]:
    """The items in their order; `ask` takes `limit` and `offset` and gives that page."""
    offset, total = 0, 1
    while offset < total:
        page = await ask(limit=PAGE_MAX, offset=offset)
        for item in page.items:
            yield item
        if not page.items:
            return
        offset, total = offset + len(page.items), page.total


def paged(ask: Callable[[Q], Awaitable[Page[T]]], query: Q) -> Callable[..., Awaitable[Page[T]]]:
    """Asks for a page of all that matches a query, whatever its own `limit` and `offset`."""
    return lambda limit, offset: ask(replace(query, limit=limit, offset=offset))


def every_match(ask: Callable[[Q], Awaitable[Page[T]]], query: Q) -> AsyncIterator[T]:
    """All that matches a query, whatever its own `limit` and `offset`."""
    return every_item(paged(ask, query))


async def first_items(ask: Callable[..., Awaitable[Page[T]]], pages: int) -> tuple[list[T], bool]:
    """The items of the first so many pages, and whether there are more."""
    found: list[T] = []
    for number in range(pages):
        page = await ask(limit=PAGE_MAX, offset=number * PAGE_MAX)
        found += page.items
        if (number + 1) * PAGE_MAX >= page.total:
            return found, False
    return found, True


async def every_turn(documents: Documents, scene_id: SceneId) -> AsyncIterator[Turn]:
    """The turns of a scene, in their order."""
    after = -1
    while page := await documents.turns(scene_id, after=after, limit=PAGE_MAX):
        for turn in page:
            yield turn
        after = page[-1].index


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
