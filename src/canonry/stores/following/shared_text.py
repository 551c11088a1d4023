"""Shared words: a text view that many machines share, beside the one that each has for itself.

Whatever the shared one does not answer in time is asked of one's own, which is never behind what
this machine knows; so nobody who writes or looks waits for a server that is away.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, TypeVar

from typing_extensions import override

from canonry.log.commits import Position
from canonry.readmodels.follow_log import heads_of
from canonry.readmodels.keywords import Figures
from canonry.readmodels.ports.text import Hit, Text, TextFound, TextQuery
from canonry.readmodels.ports.view import Folded
from canonry.stores.following.projector import Projector
from canonry.values.errors import Unavailable
from canonry.values.ids import SpaceId

R = TypeVar("R")

PATIENCE: Final = 2.0
"""Seconds that a question waits for the shared view, to show what this machine knows and answer."""

PAUSE: Final = 5.0
"""Seconds in which it is not asked again after it did not answer."""


class SharedText(Text):
    """Asks the `shared` view, which `projector` brings up, and one's `own` where it is away."""

    def __init__(self, shared: Text, *, own: Text, projector: Projector) -> None:
        """Nobody closes either here; `projector` shows `shared` what the log has."""
        self._shared = shared
        self._own = own
        self._projector = projector
        self._asked_again = 0.0

    @override
    async def cursor(self, space: SpaceId) -> Position:
        return await self._own.cursor(space)

    @override
    async def apply(self, folded: Sequence[Folded]) -> None:
        await self._own.apply(folded)

    @override
    async def search(self, query: TextQuery) -> TextFound:
        return await self._either(query, lambda view: view.search(query))

    @override
    async def figures(self, stems: Iterable[str], query: TextQuery) -> Figures:
        sought = tuple(stems)
        return await self._either(query, lambda view: view.figures(sought, query))

    @override
    async def placed(self, ids: Iterable[str], query: TextQuery) -> Sequence[Hit]:
        wanted = tuple(ids)
        return await self._either(query, lambda view: view.placed(wanted, query))

    async def _either(self, query: TextQuery, ask: Callable[[Text], Awaitable[R]]) -> R:
        loop = asyncio.get_running_loop()
        if loop.time() >= self._asked_again:
            try:
                async with asyncio.timeout(PATIENCE):
                    await self._bring_up(query)
                    return await ask(self._shared)
            except (Unavailable, TimeoutError):
                self._asked_again = loop.time() + PAUSE
        return await ask(self._own)

    async def _bring_up(self, query: TextQuery) -> None:
        """Let the shared view show, of the spaces asked for, what one's own shows."""
        spaces = query.spaces
        if spaces is None:
            spaces = frozenset(await heads_of(self._projector.ledger))
        for space in spaces:
            await self._projector.reach(space, await self._own.cursor(space))
