"""The schema of a file beside the one that Canonry's own statements make.

A file that somebody else wrote may hold a trigger or a view that acts whenever the store is read or
written. Nothing of the file is run here: only the list of its objects is read.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, TypeAlias

import apsw

from canonry.stores.sqlite import store as schema
from canonry.stores.sqlite.connections import RAISED, connect
from canonry.stores.sqlite.lookups import number
from canonry.values.errors import CanonryError

_OBJECTS: Final = "SELECT type, name, tbl_name, sql FROM {}.sqlite_schema"
_SHADOWS: Final = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow'"
_BOOKKEEPING: Final = re.compile(r"sqlite_(sequence|stat[134]|autoindex_\w+)")
"""What SQLite itself adds when it needs to."""

_MADE_IN_MEMORY: Final = ":memory:"
_PASSIVE: Final = frozenset({"table", "index"})

_Objects: TypeAlias = dict[tuple[str, str], tuple[str, str]]
"""By kind and name: on which table, and the statement without its spaces."""


def check_store_file(path: Path) -> Sequence[str]:
    """What the store at `path` has, or lacks, beside what its version makes.

    An unreadable file, or one that is not Canonry's, is left to those who open it.
    """
    try:
        with closing(connect(path)) as db:
            if int(db.pragma("application_id")) != schema.APPLICATION_ID:
                return ()
            return check_store(db, "main")
    except (*RAISED, CanonryError):
        return ()


def check_file(path: Path, statements: str) -> Sequence[str]:
    """The same of a file whose whole schema these statements make."""
    try:
        with closing(connect(path)) as db:
            return tuple(_differences(_objects(db, "main"), *_made([statements])))
    except (*RAISED, CanonryError):
        return ()


def check_store(db: apsw.Connection, name: str) -> Sequence[str]:
    """The same of a store that a connection knows by `name`.

    Views of another version are dropped when the store is opened; of those only what is no table
    and no index counts, as only that can act.
    """
    found = _objects(db, name)
    version = number(db, f"PRAGMA {name}.user_version")
    wanted, shadows = _made(schema.statements_of(version))
    records, _ = _made(schema.statements_of(version, views=False))
    told = list(_differences(found, wanted, shadows))
    if not told or list(_differences(found, records, (), others=True)):
        return tuple(told)
    has = number(db, f"SELECT max(value) FROM {name}.meta WHERE name = 'views'")  # noqa: S608
    return tuple(told) if has == schema.VIEWS_VERSION else ()


def _made(statements: Sequence[str]) -> tuple[_Objects, Sequence[str]]:
    """The objects that statements make, and the names of tables that an engine adds to them."""
    with closing(apsw.Connection(_MADE_IN_MEMORY)) as db:
        for each in statements:
            db.execute(each)
        rows: Any = db.execute(_SHADOWS)
        return _objects(db, "main"), [name for (name,) in rows]


def _objects(db: apsw.Connection, name: str) -> _Objects:
    rows: Any = db.execute(_OBJECTS.format(name))
    return {
        (kind, object_name): (table, "".join((sql or "").split()))
        for kind, object_name, table, sql in rows
        if kind not in _PASSIVE or not _BOOKKEEPING.fullmatch(object_name)
    }


def _differences(
    found: _Objects, wanted: _Objects, shadows: Sequence[str], *, others: bool = False
) -> Iterator[str]:
    """In words; with `others`, tables and their indexes may be there that nobody wants.

    What an engine adds is wanted by its name alone: its statement changes with the engine.
    """
    own = {table for _, table in wanted}
    for (kind, name), made in sorted(found.items()):
        table = made[0]
        if (kind, name) in wanted:
            if name not in shadows and made != wanted[kind, name]:
                yield f"the {kind} {name} is not as Canonry makes it"
        elif not others or kind not in _PASSIVE or table in own:
            yield f"the {kind} {name} on {table} is none of Canonry's"
    for kind, name in sorted(wanted.keys() - found.keys()):
        yield f"the {kind} {name} is missing"
