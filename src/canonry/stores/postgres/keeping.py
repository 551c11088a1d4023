"""Keeping views: where they stand, and what others folded becomes rows in one transaction."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

from typing_extensions import override

from canonry.log.commits import Position
from canonry.readmodels.ports.pages import Page
from canonry.readmodels.ports.selections import Selection
from canonry.readmodels.ports.view import Folded, View
from canonry.stores.postgres.database import Database, PgConnection, run, together
from canonry.stores.postgres.pages import page_of, things_in
from canonry.stores.postgres.views import Loading
from canonry.values.errors import Conflict
from canonry.values.ids import SpaceId

T = TypeVar("T")

_CURSOR: Final = (
    "SELECT greatest((SELECT position FROM shown WHERE space = %(space)s),"
    " (SELECT position FROM heads WHERE space = %(space)s), 0)"
)
_TURN: Final = (
    "INSERT INTO shown VALUES (%s, 0) ON CONFLICT (space) DO UPDATE SET space = shown.space"
)
_SHOW: Final = "UPDATE shown SET position = %s WHERE space = %s"


class PostgresView(View):
    """A view of the store: all of them are written together, so that they share a cursor."""

    def __init__(self, database: Database) -> None:
        """Share `database` with the ledger."""
        self._database = database

    @override
    async def cursor(self, space: SpaceId) -> Position:
        ((position,),) = await self._database.rows(_CURSOR, {"space": space})
        return Position(position)

    @override
    async def apply(self, folded: Sequence[Folded]) -> None:
        async def write(db: PgConnection) -> None:
            await _show(db, folded)

        if folded:
            await self._database.writing(write)

    async def _ask(self, question: Callable[[PgConnection], Awaitable[T]]) -> T:
        """What a question of one statement is answered."""
        return await self._database.attempt(question)

    async def _page(self, selection: Selection, limit: int, offset: int) -> Page[Any]:
        return await self._ask(lambda db: page_of(db, selection, limit, offset))

    async def _things(self, statement: str, values: Any) -> list[Any]:
        """The things that a statement gives by kind and body."""
        return things_in(await self._database.rows(statement, values))


async def _show(db: PgConnection, folded: Sequence[Folded]) -> None:
    """Let the views show what commits made of things, those past the cursor."""
    space = folded[0].space
    _, ((cursor,),) = await together(
        db, (_TURN + " RETURNING 1", (space,)), (_CURSOR, {"space": space})
    )
    loading, start = Loading(db, {}, set()), cursor
    for each in folded:
        if each.position <= cursor:
            continue
        if each.position > cursor + 1:
            raise Conflict("view.gap", "commits are missing: apply those after the cursor first")
        await loading.for_things(each.things)
        loading.change({thing.id: thing for thing in each.things})
        cursor = each.position
    if cursor > start:
        await loading.store()
        await run(db, _SHOW, (cursor, space))
