"""Scenes, turns, proposals, memories and snippets in SQLite."""

from collections.abc import Sequence

from typing_extensions import override

from canonry.adapters.sqlite.keeping import SqliteView
from canonry.adapters.sqlite.packing import pack
from canonry.adapters.sqlite.pages import Selection
from canonry.domain.ids import SceneId, SourceId, SpaceId
from canonry.domain.things.memories import Memory
from canonry.domain.things.proposals import Proposal
from canonry.domain.things.scenes import Scene, Turn
from canonry.domain.things.sources import Snippet
from canonry.domain.views.listing import NOBODY, List
from canonry.ports.views.documents import Documents, MemoryQuery, ProposalQuery, SceneQuery
from canonry.ports.views.pages import Page


class SqliteDocuments(SqliteView, Documents):
    """Reads what the ledger folded in its own transactions."""

    @override
    async def scenes(self, query: SceneQuery) -> Page[Scene]:
        status = query.status
        selection = Selection(
            listed=List.SCENES if query.story_id is None else List.SCENES_OF,
            owners=(NOBODY if query.story_id is None else pack(query.story_id),),
            spaces=query.spaces,
            facet=None if status is None else lambda facet: facet == status,
        )
        return await self._page(selection, query.limit, query.offset)

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
        def fits(facet: str) -> bool:
            kind, _, status = facet.partition("/")
            return query.type in {None, kind} and query.status in {None, status}

        selection = Selection(
            listed=List.PROPOSALS if query.scene_id is None else List.PROPOSALS_OF,
            owners=(NOBODY if query.scene_id is None else pack(query.scene_id),),
            spaces=query.spaces,
            facet=fits,
        )
        return await self._page(selection, query.limit, query.offset)

    @override
    async def memories(self, query: MemoryQuery) -> Page[Memory]:
        selective = query.min_importance > 0
        selection = Selection(
            listed=List.MEMORIES,
            owners=(pack(query.entity_id),),
            where=" AND l.rank <= ?" if selective else "",
            values=(-query.min_importance,) if selective else (),
        )
        return await self._page(selection, query.limit, query.offset)

    @override
    async def snippets(self, source_id: SourceId, *, limit: int, offset: int) -> Page[Snippet]:
        selection = Selection(listed=List.SNIPPETS, owners=(pack(source_id),))
        return await self._page(selection, limit, offset)

    @override
    async def open_scenes(self, space: SpaceId | None, *, limit: int) -> Sequence[Scene]:
        spaces = None if space is None else frozenset((space,))
        selection = Selection(listed=List.SCENES_OPEN, spaces=spaces)
        return (await self._page(selection, limit, 0)).items
