"""Scenes, turns, proposals, memories and snippets in SQLite."""

from collections.abc import Sequence

from typing_extensions import override

from canonry.adapters.sqlite.keeping import SqliteView
from canonry.adapters.sqlite.packing import pack
from canonry.domain.ids import SceneId, SourceId, SpaceId
from canonry.domain.things.memories import Memory
from canonry.domain.things.proposals import Proposal
from canonry.domain.things.scenes import Scene, Turn
from canonry.domain.things.sources import Snippet
from canonry.domain.views.listing import List
from canonry.ports.views import selections
from canonry.ports.views.documents import Documents, MemoryQuery, ProposalQuery, SceneQuery
from canonry.ports.views.pages import Page


class SqliteDocuments(SqliteView, Documents):
    """Reads what the ledger folded in its own transactions."""

    @override
    async def scenes(self, query: SceneQuery) -> Page[Scene]:
        return await self._page(selections.scenes_of(query), query.limit, query.offset)

    @override
    async def turns(
        self, scene_id: SceneId, *, last: int | None = None, after: int = -1, limit: int = 500
    ) -> Sequence[Turn]:
        newest = last is not None
        sql = (
            "SELECT id FROM listing WHERE list = ? AND owner = ?"  # noqa: S608 - ours
            " AND space = '' AND facet = '' AND rank > ?"
            f" ORDER BY rank {'DESC' if newest else 'ASC'} LIMIT ?"
        )
        values = (int(List.TURNS), pack(scene_id), after, last if last is not None else limit)
        turns = await self._things(sql, values)
        return turns[::-1] if newest else turns

    @override
    async def proposals(self, query: ProposalQuery) -> Page[Proposal]:
        return await self._page(selections.proposals_of(query), query.limit, query.offset)

    @override
    async def memories(self, query: MemoryQuery) -> Page[Memory]:
        return await self._page(selections.memories_of(query), query.limit, query.offset)

    @override
    async def snippets(self, source_id: SourceId, *, limit: int, offset: int) -> Page[Snippet]:
        return await self._page(selections.owned(List.SNIPPETS, source_id), limit, offset)

    @override
    async def open_scenes(self, space: SpaceId | None, *, limit: int) -> Sequence[Scene]:
        spaces = None if space is None else frozenset((space,))
        return (await self._page(selections.all_of(List.SCENES_OPEN, spaces), limit, 0)).items
