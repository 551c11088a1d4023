"""Verification: every chain link by link, every view row by row, all of one moment.

The views are folded again into tables that only this transaction sees, and compared.
"""

from dataclasses import dataclass, field
from typing import Final

from psycopg import sql

from canonry.log.commits import Position
from canonry.log.sealing import GENESIS, Sealed, fault_in
from canonry.readmodels.ports.upkeep import Finding, UpkeepProgress, Verification
from canonry.stores.postgres.database import Database, PgConnection, PgRow, fetched
from canonry.stores.postgres.records import sealed_in
from canonry.stores.postgres.upkeep.folding import fold_rows, looking_in, make_views, pages_of
from canonry.stores.postgres.views import VIEW_TABLES
from canonry.values.errors import BrokenInvariant
from canonry.values.ids import SpaceId

_FINDINGS_MAX: Final = 20
_SCRATCH: Final = "pg_temp"
_DIFFERENT: Final = (
    "SELECT (SELECT count(*) FROM (TABLE pg_temp.{table} EXCEPT ALL TABLE {views}.{table}) a),"
    " (SELECT count(*) FROM (TABLE {views}.{table} EXCEPT ALL TABLE pg_temp.{table}) b)"
)
_HEADS: Final = "SELECT space, position, hash FROM heads WHERE position > 0"
_TOUCHED: Final = "SELECT space, position, touched FROM commits WHERE seq >= %s AND seq <= %s"


@dataclass(slots=True)
class Check:
    """One pass over the store; the last commit that was right of each space is in `heads`."""

    db: PgConnection
    database: Database
    told: UpkeepProgress
    heads: dict[SpaceId, tuple[int, str]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    redacted: set[SpaceId] = field(default_factory=set)
    shown: dict[SpaceId, Position] = field(default_factory=dict)
    commits: int = 0
    folds: bool = True

    async def done(self) -> Verification:
        """What is wrong with the store."""
        async with self.db.transaction(force_rollback=True):
            await self.db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            await self.db.execute("SET LOCAL statement_timeout = 0")
            await looking_in(self.db, _SCRATCH, self.database.name)
            await make_views(self.db)
            async for rows in pages_of(self.db):
                await self._look_at(rows)
                self.told(self.commits, None)
            await self._compare_heads()
            if self.folds:
                await self._compare_views()
            else:
                self._find("views", "not compared, because the records are damaged")
            ((things,),) = await fetched(self.db, "SELECT count(*) FROM things")
        return Verification(
            commits=self.commits,
            things=things,
            heads=self.heads,
            findings=tuple(self.findings[:_FINDINGS_MAX]),
        )

    async def _look_at(self, rows: list[PgRow]) -> None:
        self.commits += len(rows)
        for _, *row in rows:
            where = f"{row[0]} at {row[1]}"
            try:
                sealed = sealed_in(tuple(row))
                fault = self._fault(sealed)
            except (BrokenInvariant, ValueError, KeyError, TypeError, IndexError):
                fault = "the sealed bytes cannot be read"
            if fault is not None:
                self._find(where, fault)
                self.folds = False
        if not self.folds:
            return
        keys = {row[:2]: sorted(row[2]) for row in await self._touched(rows)}
        try:
            touched = await fold_rows(self.db, rows, self.shown)
        except BrokenInvariant as error:
            self._find(f"after {rows[0][1]} at {rows[0][2]}", f"it cannot be folded: {error.code}")
            self.folds = False
            return
        for (_, space, position, *_, payloads), found in zip(rows, touched, strict=True):
            if None in payloads:
                self.redacted.add(space)  # what was erased does not tell which keys it touched
            if space not in self.redacted and keys[space, position] != found:
                self._find(f"{space} at {position}", "it touches other keys than it is said to")

    async def _touched(self, rows: list[PgRow]) -> list[PgRow]:
        return await fetched(self.db, _TOUCHED, (rows[0][0], rows[-1][0]))

    def _fault(self, sealed: Sealed) -> str | None:
        position, previous = self.heads.get(sealed.space, (0, GENESIS))
        self.heads[sealed.space] = (sealed.position, sealed.hash)
        return fault_in(sealed, position=Position(position + 1), previous=previous)

    async def _compare_heads(self) -> None:
        said = {row[0]: (row[1], row[2].hex()) for row in await fetched(self.db, _HEADS)}
        for space in sorted({*said, *self.heads}):
            if said.get(space) != self.heads.get(SpaceId(space)):
                self._find(f"head of {space}", "the log ends elsewhere than it is said to")

    async def _compare_views(self) -> None:
        views = sql.Identifier(self.database.views).as_string(self.db)
        for table in VIEW_TABLES:
            statement = _DIFFERENT.format(table=table, views=views)
            ((missing, strange),) = await fetched(self.db, statement)
            if missing or strange:
                self._find(table, f"{missing} rows are missing, {strange} are not from the records")

    def _find(self, where: str, what: str) -> None:
        self.findings.append(Finding(where=where, what=what))
