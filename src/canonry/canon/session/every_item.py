"""Every item of a list that a port gives page by page, or the newest, however many there are."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from canonry.readmodels.ports.pages import PAGE_MAX, Page

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
