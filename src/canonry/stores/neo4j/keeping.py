"""Keeping views: where they stand, and what others folded becomes a graph in one transaction."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from typing_extensions import override

from canonry.log.commits import ORIGIN, Position
from canonry.log.ports.world import forget
from canonry.readmodels.ports.pages import Page
from canonry.readmodels.ports.selections import Selection
from canonry.readmodels.ports.view import Folded, View
from canonry.stores.neo4j.applying import portions, show
from canonry.stores.neo4j.database import Neo4jDatabase
from canonry.stores.neo4j.pages import page_of, things_in
from canonry.values.ids import SpaceId

# A reader of Neo4j may see one half of a commit before the other. Writing the same value changes
# nothing and waits for the lock of whoever applies: all that the cursor stands for shows then.
_CURSOR: Final = """
MATCH (c:_Cursor {store: $store, space: $space}) SET c.turn = true
RETURN c.position
"""


class Neo4jView(View):
    """A view of the graph: all of them are written together, so that they share a cursor."""

    def __init__(self, database: Neo4jDatabase) -> None:
        """Share `database`, which is opened and closed by whoever made it."""
        self._database = database

    @override
    async def cursor(self, space: SpaceId) -> Position:
        rows = await self._database.rows(_CURSOR, {"space": space})
        return Position(rows[0][0]) if rows else ORIGIN

    @override
    async def apply(self, folded: Sequence[Folded]) -> None:
        try:
            for portion in portions(folded) if folded else ():
                await show(self._database, portion)
        finally:
            forget()

    async def _page(self, selection: Selection, limit: int, offset: int) -> Page[Any]:
        return await page_of(self._database, selection, limit, offset)

    async def _things(self, statement: str, values: Mapping[str, Any]) -> list[Any]:
        """The things that a statement gives by kind and body."""
        return await self._database.read(statement, values, things_in)
