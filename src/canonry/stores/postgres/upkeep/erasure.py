"""Erasure: payloads are dropped, and what the views then differ in is put right in the same step.

The space is folded afresh without the payloads while others go on writing; only the differences,
which are few, are written while nobody else appends.
"""

from dataclasses import dataclass, field, replace
from typing import Final

from psycopg import sql

from canonry.log.commits import ORIGIN, Position
from canonry.log.sealing import Sealed, require_unaltered
from canonry.stores.postgres.database import Database, PgConnection, PgRow, fetched, run
from canonry.stores.postgres.records import COLUMNS
from canonry.stores.postgres.upkeep.folding import PAGE, fold_rows, looking_in
from canonry.stores.postgres.upkeep.preparing import ALONE, begin_views
from canonry.stores.postgres.views import Loading, loaded_in
from canonry.values.ids import SpaceId
from canonry.values.json_values import decode_json

_ERASED: Final = "space.erased"
_CHUNK: Final = 500
_OF_SPACE: Final = (
    f"SELECT seq, {COLUMNS} FROM commits WHERE space = %s AND position > %s"
    " ORDER BY position LIMIT %s"
)
# Arrays begin at 1.
_DROP: Final = (
    "UPDATE commits SET salts[%(entry)s] = NULL, payloads[%(entry)s] = NULL"
    " WHERE space = %(space)s AND position = %(position)s"
)
_CHANGED: Final = (
    "SELECT f.id, f.kind, f.body FROM {fresh}.things f LEFT JOIN {views}.things m ON m.id = f.id"
    " WHERE m.id IS NULL OR m.kind <> f.kind OR m.body <> f.body"
)
_NEVER_WERE: Final = (
    "DELETE FROM {views}.versions v WHERE v.id IN (SELECT id FROM {fresh}.things) AND NOT EXISTS"
    " (SELECT 1 FROM {fresh}.versions f WHERE f.id = v.id AND f.since = v.since"
    " AND f.kind = v.kind AND f.body = v.body)"
)
_WERE: Final = "INSERT INTO {views}.versions SELECT * FROM {fresh}.versions ON CONFLICT DO NOTHING"


@dataclass(slots=True, kw_only=True)
class SpaceErasure:
    """The erasure of everything about `targets` in one space."""

    database: Database
    space: SpaceId
    targets: frozenset[str]
    shown: dict[SpaceId, Position] = field(default_factory=dict)
    dropped: set[tuple[Position, int]] = field(default_factory=set)

    async def done(self, db: PgConnection) -> int:
        """Drop the payloads and mend the views; how many were dropped."""
        fresh = f"{self.database.views}_erasing"
        async with db.transaction():
            await begin_views(db, self.database, fresh)
            await self._fold(db)
        async with db.transaction():
            await db.execute(ALONE, (self.database.name,))
            await looking_in(db, fresh, self.database.name)
            await self._fold(db)
            for position, entry in sorted(self.dropped):
                place = {"entry": entry + 1, "space": self.space, "position": position}
                await run(db, _DROP, place)
            await self._mend(db, fresh)
            await db.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(fresh)))
        return len(self.dropped)

    async def _fold(self, db: PgConnection) -> None:
        """Fold the commits of the space that were not yet, without what is to be dropped."""
        while rows := await self._page(db):
            await fold_rows(db, rows, self.shown, self._without)

    async def _page(self, db: PgConnection) -> list[PgRow]:
        after = self.shown.get(self.space, ORIGIN)
        return await fetched(db, _OF_SPACE, (self.space, after, PAGE))

    def _without(self, sealed: Sealed) -> Sealed:
        """A commit without the entries that are about the targets.

        The entry that records the erasure stays: it tells which ids are gone, and why.
        """
        parts = list(require_unaltered(sealed).parts)
        for entry, (kind, _, ids, _) in enumerate(decode_json(sealed.body)["entries"]):
            about = kind != _ERASED and not self.targets.isdisjoint(ids)
            if about and parts[entry] is not None:
                self.dropped.add((sealed.position, entry))
                parts[entry] = None
        return replace(sealed, parts=tuple(parts))

    async def _mend(self, db: PgConnection, fresh: str) -> None:
        names = {
            "fresh": sql.Identifier(fresh).as_string(db),
            "views": sql.Identifier(self.database.views).as_string(db),
        }
        changed = list(loaded_in(await fetched(db, _CHANGED.format(**names))).values())
        await looking_in(db, self.database.views, self.database.name)
        for start in range(0, len(changed), _CHUNK):
            some = changed[start : start + _CHUNK]
            loading = Loading(db, {}, set())
            await loading.for_things(some)
            loading.change({thing.id: thing for thing in some})
            await loading.store()
        # Storing keeps what was there before as a version; these were never versions of anything.
        for statement in (_NEVER_WERE, _WERE):
            await run(db, statement.format(**names))
