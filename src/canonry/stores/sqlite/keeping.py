"""Keeping views: where they stand, and what others folded becomes rows in one transaction.

In a store that keeps its own log the views are written with each commit, and stand where it does.
Beside the log of another engine they stand where `shown` says.
"""

from collections.abc import Sequence
from typing import Any, Final, TypeVar

import apsw
from typing_extensions import override

from canonry.log.commits import ORIGIN, Position
from canonry.readmodels.ports.pages import Page
from canonry.readmodels.ports.selections import Selection
from canonry.readmodels.ports.view import Folded, View, following
from canonry.stores.sqlite import views
from canonry.stores.sqlite.bodies import pack
from canonry.stores.sqlite.ledger import records
from canonry.stores.sqlite.ledger.pump import Pump
from canonry.stores.sqlite.lookups import things_found
from canonry.stores.sqlite.pages import page_of
from canonry.stores.sqlite.readers import Query, Readers
from canonry.values.errors import NotSupported
from canonry.values.ids import SpaceId

T = TypeVar("T")

_SHOWN: Final = "SELECT position FROM shown WHERE space = ?"
_SHOW: Final = "INSERT OR REPLACE INTO shown VALUES (?, ?)"


class SqliteView(View):
    """A view of the store: all of them are written together, so that they share a cursor."""

    def __init__(
        self, readers: Readers, writing: tuple[Pump, apsw.Connection] | None = None
    ) -> None:
        """Read through `readers`; without `writing`, nothing can be applied."""
        self._readers = readers
        self._writing = writing

    @override
    async def cursor(self, space: SpaceId) -> Position:
        return await self._readers.short(lambda db: cursor_of(db, space))

    @override
    async def apply(self, folded: Sequence[Folded]) -> None:
        if self._writing is None:
            message = "this store is open for reading only; serve it with a toolset that writes"
            raise NotSupported("store.reading-only", message)
        pump, db = self._writing
        await pump.submit(lambda: show(db, folded), sum(len(each.things) for each in folded))

    async def _read(self, query: Query[T]) -> T:
        """What a short query of several statements finds in one state."""
        return await self._readers.consistent(query)

    async def _page(self, selection: Selection, limit: int, offset: int) -> Page[Any]:
        return await self._read(lambda db: page_of(db, selection, limit, offset))

    async def _things(self, sql: str, values: Sequence[Any]) -> Sequence[Any]:
        """The things whose ids a statement gives."""
        return await self._read(lambda db: things_found(db, sql, values))


def cursor_of(db: apsw.Connection, space: SpaceId) -> Position:
    """Where the views of `space` stand."""
    row: Any = db.execute(_SHOWN, (pack(space),)).fetchone()
    shown = ORIGIN if row is None else Position(row[0])
    return max(shown, records.tip_of(db, space).position)


def show(db: apsw.Connection, folded: Sequence[Folded]) -> None:
    """Let the views show what commits made of things, those past the cursor."""
    if not folded:
        return
    for each in following(folded, cursor_of(db, folded[0].space)):
        views.store(
            db,
            [[thing] for thing in each.things],
            views.load(db, [thing.id for thing in each.things]),
        )
        db.execute(_SHOW, (pack(each.space), each.position))
