"""Find the newest: the last page of a list that begins with the oldest."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from canonry.ports.views.pages import PAGE_MAX, Page

T = TypeVar("T")


async def find_newest(ask: Callable[[int], Awaitable[Page[T]]]) -> Sequence[T]:
    """The last `PAGE_MAX` items, in their order; `ask` gives the page at an offset."""
    page = await ask(0)
    if page.total > PAGE_MAX:
        page = await ask(page.total - PAGE_MAX)
    return page.items
