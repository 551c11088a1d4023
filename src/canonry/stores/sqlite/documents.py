"""Scenes, turns, proposals, memories and snippets in SQLite."""

from collections.abc import Sequence

from typing_extensions import override

from canonry.log.items.scenes import Turn
from canonry.readmodels.listing import List
from canonry.readmodels.ports.listed import ListedDocuments
from canonry.stores.sqlite.bodies import pack
from canonry.stores.sqlite.keeping import SqliteView
from canonry.values.ids import SceneId


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
