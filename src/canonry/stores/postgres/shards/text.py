"""Keyword search over several servers: what counts is counted in all that hold a space asked for.

So a passage scores what it would score if all of them were one server.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from typing_extensions import override

from canonry.log.commits import Position
from canonry.readmodels.keywords import Figures, sought_in
from canonry.readmodels.ports.state import Spaces
from canonry.readmodels.ports.text import Hit, Text, TextFound, TextQuery
from canonry.readmodels.ports.view import Folded
from canonry.readmodels.ranking import Asked
from canonry.stores.postgres.database import PgConnection
from canonry.stores.postgres.shards.servers import Server, Shards
from canonry.stores.postgres.text.text import AskAll, figures_in, search_in, silent
from canonry.values.errors import CanonryError
from canonry.values.ids import SpaceId

T = TypeVar("T")


class ShardedText(Text):
    """Asks the servers of the spaces that a query covers, each step of all of them at once."""

    def __init__(self, shards: Shards) -> None:
        """Nobody closes the servers here."""
        self._shards = shards

    @override
    async def cursor(self, space: SpaceId) -> Position:
        return await self._shards.at_home(space, lambda s: s.store.text.cursor(space))

    @override
    async def apply(self, folded: Sequence[Folded]) -> None:
        if folded:
            await self._shards.writing(folded[0].space, lambda s: s.store.text.apply(folded))

    @override
    async def search(self, query: TextQuery) -> TextFound:
        sought = sought_in(query.text)
        if not (sought.stems or sought.begun) or query.limit < 1:
            return TextFound(hits=(), asked=Asked(terms={}, strongest=0.0))
        try:
            return await search_in(self._everywhere(query), query, sought)
        except CanonryError as error:
            raise silent(error) from error

    @override
    async def figures(self, stems: Iterable[str], query: TextQuery) -> Figures:
        try:
            return (await figures_in(self._everywhere(query), frozenset(stems)))[0]
        except CanonryError as error:
            raise silent(error) from error

    @override
    async def placed(self, ids: Iterable[str], query: TextQuery) -> Sequence[Hit]:
        wanted = tuple(ids)
        found = await self._shards.gathered(
            query.spaces,
            lambda s, spaces, _: s.store.text.placed(wanted, replace(query, spaces=spaces)),
        )
        return list({hit.id: hit for _, hits in found for hit in hits}.values())

    def _everywhere(self, query: TextQuery) -> AskAll:
        async def asked(ask: Callable[[PgConnection, TextQuery], Awaitable[T]], /) -> Sequence[T]:
            def here(server: Server, spaces: Spaces, _: int) -> Awaitable[T]:
                part = replace(query, spaces=spaces)
                return server.database.reading(lambda db: ask(db, part))

            return [answer for _, answer in await self._shards.gathered(query.spaces, here)]

        return asked
