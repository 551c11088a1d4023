"""Scenes, turns, proposals, memories and snippets in memory."""

from collections.abc import Sequence

from typing_extensions import override

from canonry.log.items.memories import Memory
from canonry.log.items.proposals import Proposal
from canonry.log.items.scenes import Scene, SceneStatus, Turn
from canonry.log.items.sources import Snippet
from canonry.readmodels.ports.documents import Documents, MemoryQuery, ProposalQuery, SceneQuery
from canonry.readmodels.ports.pages import Page
from canonry.stores.memory.state import page
from canonry.stores.memory.store import MemoryView
from canonry.values.ids import SceneId, SourceId, SpaceId


class MemoryDocuments(MemoryView, Documents):
    """Reads what was folded."""

    @override
    async def scenes(self, query: SceneQuery) -> Page[Scene]:
        found = (
            s
            for s in self._store.of(Scene, query.spaces)
            if query.story_id in {None, s.story_id} and query.status in {None, s.status}
        )
        return page(found, query.limit, query.offset, key=lambda s: (s.order, s.created_at, s.id))

    @override
    async def turns(
        self, scene_id: SceneId, *, last: int | None = None, after: int = -1, limit: int = 500
    ) -> Sequence[Turn]:
        mine = (t for t in self._store.of(Turn, None) if t.scene_id == scene_id)
        turns = sorted((t for t in mine if t.index > after), key=lambda t: t.index)
        return turns[:limit] if last is None else turns[max(0, len(turns) - last) :]

    @override
    async def proposals(self, query: ProposalQuery) -> Page[Proposal]:
        found = (
            p
            for p in self._store.of(Proposal, query.spaces)
            if query.scene_id in {None, p.scene_id}
            and p.type in query.types
            and query.status in {None, p.status}
            and (query.asks is None or not query.asks.isdisjoint(p.asks))
        )
        return page(found, query.limit, query.offset)

    @override
    async def memories(self, query: MemoryQuery) -> Page[Memory]:
        found = (
            m
            for m in self._store.of(Memory, None)
            if m.entity_id == query.entity_id and m.importance >= query.min_importance
        )
        return page(
            found,
            query.limit,
            query.offset,
            key=lambda m: (-m.importance, -m.created_at, m.id),
        )

    @override
    async def snippets(self, source_id: SourceId, *, limit: int, offset: int) -> Page[Snippet]:
        mine = (s for s in self._store.of(Snippet, None) if s.source_id == source_id)
        return page(mine, limit, offset, key=lambda s: (s.index, s.id))

    @override
    async def open_scenes(self, space: SpaceId | None, *, limit: int) -> Sequence[Scene]:
        spaces = None if space is None else frozenset((space,))
        finalizing = SceneStatus.FINALIZING
        found = (s for s in self._store.of(Scene, spaces) if s.status is finalizing)
        return page(found, limit, 0).items
