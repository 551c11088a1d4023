"""Scenes, turns, proposals, memories and snippets in SQLite."""

from collections.abc import Sequence

from typing_extensions import override

from canonry.adapters.sqlite.keeping import SqliteView
from canonry.adapters.sqlite.packing import pack
from canonry.domain.ids import SceneId
from canonry.domain.things.scenes import Turn
from canonry.domain.views.listing import List
from canonry.ports.views.listed import ListedDocuments


class SqliteDocuments(SqliteView, ListedDocuments):
    """Reads what the ledger folded in its own transactions."""

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
