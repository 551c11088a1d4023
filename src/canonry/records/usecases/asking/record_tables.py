"""Tables: the rows of whole accounts in memory, each as of a position of its account's log."""

from asyncio import Lock
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from canonry.log.commits import ORIGIN, Position
from canonry.log.schemas.schemas import EntitySchema
from canonry.records.domain.asking.rows import RecordRow
from canonry.values.ids import SpaceId

ROWS_MAX: Final = 50_000
"""So many rows of all accounts together are kept between questions."""


@dataclass(slots=True, eq=False)
class RecordTable:
    """The rows of an account by their ids, and the schemas in force for their types.

    `ordered` are the rows as their records were first seen.
    """

    position: Position = ORIGIN
    rows: dict[str, RecordRow] = field(default_factory=dict[str, RecordRow])
    ordered: Sequence[RecordRow] = ()
    schemas: Mapping[str, EntitySchema] = field(default_factory=dict[str, EntitySchema])
    turn: Lock = field(default_factory=Lock)
    """Held by whoever brings the table up to date."""


@dataclass(slots=True, eq=False)
class RecordTables:
    """The tables of those accounts that were asked last."""

    _kept: dict[SpaceId, RecordTable] = field(default_factory=dict[SpaceId, RecordTable])

    def of(self, space: SpaceId) -> RecordTable:
        """The table of an account, which knows nothing yet where nobody has asked."""
        table = self._kept.pop(space, None) or RecordTable()
        self._kept[space] = table
        return table

    def let_go(self) -> None:
        """Forget the tables that were asked longest ago, until the others fit."""
        room = ROWS_MAX
        for space, table in reversed(tuple(self._kept.items())):
            room -= len(table.rows)
            if room < 0:
                del self._kept[space]
