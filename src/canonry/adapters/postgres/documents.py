"""Scenes, turns, proposals, memories and snippets in PostgreSQL."""

from collections.abc import Sequence
from typing import Final

from typing_extensions import override

from canonry.adapters.postgres.keeping import PostgresView
from canonry.domain.ids import SceneId, SourceId, SpaceId
from canonry.domain.things.memories import Memory
from canonry.domain.things.proposals import Proposal
from canonry.domain.things.scenes import Scene, Turn
from canonry.domain.things.sources import Snippet
from canonry.domain.views.listing import List
from canonry.ports.views import selections
from canonry.ports.views.documents import Documents, MemoryQuery, ProposalQuery, SceneQuery
from canonry.ports.views.pages import Page

_TURNS: Final = (
    "SELECT t.kind, t.body FROM (SELECT rank, id FROM listing WHERE owner = %s"
    f" AND list = {int(List.TURNS)} AND rank > %s"
    " ORDER BY rank {turn} LIMIT %s) l LEFT JOIN things t ON t.id = l.id ORDER BY l.rank"
)


class PostgresDocuments(PostgresView, Documents):
    """Reads what the ledger folded in its own transactions."""

    @override
    async def scenes(self, query: SceneQuery) -> Page[Scene]:
        return await self._page(selections.scenes_of(query), query.limit, query.offset)

    @override
    async def turns(
        self, scene_id: SceneId, *, last: int | None = None, after: int = -1, limit: int = 500
    ) -> Sequence[Turn]:
        statement = _TURNS.format(turn="ASC" if last is None else "DESC")
        most = limit if last is None else max(last, 0)
        return await self._things(statement, (scene_id, after, most))

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
