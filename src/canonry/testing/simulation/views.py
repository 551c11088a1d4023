"""A view behind a bad line: what is applied is delayed, refused, heard twice, or not answered."""

import asyncio
import random
from collections.abc import Sequence
from typing import Any, TypeVar, cast

from canonry.domain.errors import Unavailable
from canonry.domain.ids import SpaceId
from canonry.domain.log.commits import Position
from canonry.ports.views.view import Folded, View
from canonry.testing.simulation.faults import Faults

V = TypeVar("V", bound=View)


def faulty(view: V, lots: random.Random, faults: Faults) -> V:
    """`view`, whose questions pass and whose writing suffers; every fault is drawn from `lots`."""
    return cast("V", _FaultyView(view, lots, faults))


class _FaultyView:
    def __init__(self, inner: View, lots: random.Random, faults: Faults) -> None:
        self._inner = inner
        self._lots = lots
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def cursor(self, space: SpaceId) -> Position:
        await self._line()
        return await self._inner.cursor(space)

    async def apply(self, folded: Sequence[Folded]) -> None:
        await self._line()
        some = self._lots.randint(1, len(folded)) if folded else 0
        await self._inner.apply(folded[:some])  # the line breaks in the middle of the batch
        if self._happens(self._faults.lost):
            raise Unavailable("view.no-answer", "the view did not answer")
        if self._happens(self._faults.twice):
            await self._inner.apply(folded[:some])
        await self._line()
        await self._inner.apply(folded[some:])

    async def _line(self) -> None:
        await asyncio.sleep(self._lots.random() * self._faults.delay)
        if self._happens(self._faults.refused):
            raise Unavailable("view.refused", "the view cannot be written now")

    def _happens(self, odds: float) -> bool:
        return self._lots.random() < odds
