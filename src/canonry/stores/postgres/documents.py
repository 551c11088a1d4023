"""Scenes, turns, proposals, memories and snippets in PostgreSQL."""

from collections.abc import Sequence
from typing import Final

from typing_extensions import override

from canonry.log.items.scenes import Turn
from canonry.readmodels.listing import List
from canonry.readmodels.ports.listed import ListedDocuments
from canonry.stores.postgres.keeping import PostgresView
from canonry.values.ids import SceneId

_TURNS: Final = (
    "SELECT t.kind, t.body FROM (SELECT rank, id FROM listing WHERE owner = %s"
    f" AND list = {int(List.TURNS)} AND rank > %s"
    " ORDER BY rank {turn} LIMIT %s) l LEFT JOIN things t ON t.id = l.id ORDER BY l.rank"
)


class PostgresDocuments(PostgresView, ListedDocuments):
    """Reads what the ledger folded in its own transactions."""

    @override
    async def turns(
        self, scene_id: SceneId, *, last: int | None = None, after: int = -1, limit: int = 500
    ) -> Sequence[Turn]:
        statement = _TURNS.format(turn="ASC" if last is None else "DESC")
        most = limit if last is None else max(last, 0)
        return await self._things(statement, (scene_id, after, most))
