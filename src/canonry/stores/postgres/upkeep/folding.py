"""Folding stored commits into views: for an empty schema, for rebuilding and for verifying."""

from collections.abc import AsyncIterator, Callable, Mapping
from importlib.resources import files
from typing import Final

from psycopg import sql

from canonry.log.canon import fold
from canonry.log.commits import Position
from canonry.log.keys import key_hash
from canonry.log.sealing import Sealed, require_unaltered, unseal
from canonry.stores.postgres.database import PgConnection, PgRow, fetched
from canonry.stores.postgres.records import COLUMNS, sealed_in
from canonry.stores.postgres.views import Loading
from canonry.values.ids import SpaceId

PAGE: Final = 200

FOLDER: Final = files("canonry.stores.postgres")
_PAGE: Final = f"SELECT seq, {COLUMNS} FROM commits WHERE seq > %s ORDER BY seq LIMIT %s"
_NEW: Final = (
    f"SELECT seq, {COLUMNS} FROM commits c WHERE position > coalesce((SELECT k.position"
    " FROM unnest(%s::text[], %s::bigint[]) AS k (space, position) WHERE k.space = c.space), 0)"
    " ORDER BY seq"
)


async def looking_in(db: PgConnection, *schemas: str) -> None:
    """Let the tables of this transaction be looked for, and made, in these schemas."""
    path = sql.SQL(", ").join(map(sql.Identifier, schemas))
    await db.execute(sql.SQL("SET LOCAL search_path = {}").format(path))


async def make_views(db: PgConnection) -> None:
    """Make empty views where tables are made."""
    text = (FOLDER / "views.sql").read_text(encoding="utf-8")
    await db.execute(text)


async def pages_of(db: PgConnection) -> AsyncIterator[list[PgRow]]:
    """All commits in the order of their causes, page by page: (seq, the columns of a commit)."""
    after = 0
    while rows := await fetched(db, _PAGE, (after, PAGE)):
        yield rows
        after = rows[-1][0]


async def not_among(db: PgConnection, shown: Mapping[SpaceId, Position]) -> list[PgRow]:
    """The commits that follow what was shown of each space."""
    return await fetched(db, _NEW, (list(shown), list(shown.values())))


async def fold_rows(
    db: PgConnection,
    rows: list[PgRow],
    shown: dict[SpaceId, Position],
    check: Callable[[Sealed], Sealed] = require_unaltered,
) -> list[list[int]]:
    """Fold commits into the views of this transaction; the hashes of the keys that each touches.

    `shown` is where the views stand then.
    """
    loading, touched = Loading(db, {}, set()), list[list[int]]()
    for _, *row in rows:
        sealed = check(sealed_in(tuple(row)))
        commit = unseal(sealed)
        changes = fold(commit, await loading.for_entries(commit.entries))
        loading.change(changes.things)
        shown[sealed.space] = sealed.position
        touched.append(sorted(map(key_hash, changes.touched)))
    await loading.store()
    return touched
