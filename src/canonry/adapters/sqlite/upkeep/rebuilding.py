"""Rebuilding: views folded in a scratch file while others write, then put in place in one step.

Until that one transaction is committed the old views stand; so a process that is killed meanwhile,
or others that read, never see half of it.
"""

from typing import Any, Final

import apsw

from canonry.adapters.sqlite import schema
from canonry.adapters.sqlite.faults import transaction
from canonry.adapters.sqlite.folding import Fetch, fold_all
from canonry.adapters.sqlite.lookups import number
from canonry.adapters.sqlite.text.waiting import index_waiting
from canonry.ports.views.upkeep import UpkeepProgress

_TELL_EVERY: Final = 200
_TABLES: Final = (
    "SELECT name FROM fresh.sqlite_schema WHERE type = 'table'"
    " AND sql NOT LIKE 'CREATE VIRTUAL%' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
)
"""Every table that holds rows: an index of words keeps its own in tables beside its name."""


def fold_aside(
    db: apsw.Connection,
    fetch: Fetch,
    told: UpkeepProgress,
    *,
    after: int = 0,
) -> int:
    """Fold the commits past `after` into the scratch views of `db`; the last number."""
    total = number(db, "SELECT count(*) FROM live.commits")

    def seen(done: int) -> None:
        if done % _TELL_EVERY == 0:
            told(min(done, total), total)

    with transaction(db):
        last = fold_all(db, fetch, after=after, seen=seen)
        index_waiting(db)
    told(total, total)
    return last


def put_in_place(writer: apsw.Connection, fresh: str) -> None:
    """Replace the views by those in the file `fresh`; the caller holds the turn.

    The connection is to be closed afterwards: it remembers what the index of words looked like
    before its tables were filled, and every other one looks anew.
    """
    writer.execute("ATTACH ? AS fresh", (fresh,))
    try:
        with transaction(writer, "BEGIN IMMEDIATE"):
            schema.make_views(writer)
            # Whatever has rows is copied, so that no view can be forgotten here.
            for (table,) in list[Any](writer.execute(_TABLES)):
                writer.execute(f"DELETE FROM main.{table}")  # noqa: S608 - as the next
                writer.execute(f"INSERT INTO main.{table} SELECT * FROM fresh.{table}")  # noqa: S608
    finally:
        writer.execute("DETACH fresh")
