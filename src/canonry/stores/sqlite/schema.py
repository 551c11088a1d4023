"""The schema: records are migrated step by step, views are dropped and folded again."""

from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any, Final

import apsw

from canonry.log.keys import key_hash
from canonry.log.upcasters import ENCODING_VERSION, MIN_READER
from canonry.stores.sqlite.faults import newer, not_canonry, transaction, translated
from canonry.stores.sqlite.folding import fold_all
from canonry.stores.sqlite.ledger.records import Stored
from canonry.stores.sqlite.lookups import number
from canonry.stores.sqlite.packing import pack_keys
from canonry.stores.sqlite.text.waiting import index_waiting

APPLICATION_ID: Final = 0x43414E4F
VIEWS_VERSION: Final = 16
"""Grows when a view changes its shape or what it holds; older views are then folded again."""

_FOLDER: Final = files("canonry.stores.sqlite")
_MIGRATIONS: Final = tuple(
    sorted(
        (item for item in (_FOLDER / "migrations").iterdir() if item.name.endswith(".sql")),
        key=lambda item: item.name,
    )
)
SCHEMA_VERSION: Final = len(_MIGRATIONS)
_TOUCHED: Final = "UPDATE commits SET touched = ? WHERE seq = ? AND touched <> ?"
_VIEWS: Final = (
    "SELECT name FROM main.sqlite_schema WHERE type = 'table'"
    " AND name NOT IN ('meta', 'commits', 'parts') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    " ORDER BY sql LIKE '%fts5vocab%' DESC, sql LIKE '%fts5%' DESC"
)
"""Every table but those of the records, of whatever version; those that lean on others first."""


def prepare(db: apsw.Connection, fetch: Callable[[str], bytes]) -> None:
    """Bring the store to this version; the caller holds the turn.

    Raises:
        BrokenInvariant: `store.not-canonry`, `store.newer` or `store.corrupt`.
    """
    with translated(), transaction(db, "BEGIN IMMEDIATE"):
        version = _version(db)
        if version == 0:
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        for migration in _MIGRATIONS[version:]:
            db.execute(migration.read_text(encoding="utf-8"))
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        if _stated(db, "min_reader") < MIN_READER:
            _state(db, "min_reader", MIN_READER)
        if _stated(db, "views") != VIEWS_VERSION:
            make_views(db)
            fold_all(db, fetch, touched=_Touched(db))
            index_waiting(db)
            _state(db, "views", VIEWS_VERSION)


class _Touched:
    """Writes anew which keys a commit touches, as a fold of another version told other ones.

    What was erased does not tell it any more, nor do the commits that follow in its space.
    """

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._redacted: set[str] = set()

    def __call__(self, stored: Stored, keys: frozenset[str]) -> None:
        space = stored.sealed.space
        if None in stored.sealed.parts:
            self._redacted.add(space)
        if space not in self._redacted:
            packed = pack_keys(map(key_hash, keys))
            self._db.execute(_TOUCHED, (packed, stored.seq, packed))


def is_current(db: apsw.Connection) -> bool:
    """Whether nothing is left to prepare.

    Raises:
        BrokenInvariant: `store.not-canonry` or `store.newer`.
    """
    with translated():
        return _version(db) == SCHEMA_VERSION and _stated(db, "views") == VIEWS_VERSION


def require_reader(db: apsw.Connection) -> None:
    """Refuse to write where a later Canonry has forbidden it to readers as old as this.

    Raises:
        BrokenInvariant: `store.newer`.
    """
    if _stated(db, "min_reader") > ENCODING_VERSION:
        raise newer()


def statements_of(version: int, *, views: bool = True) -> Sequence[str]:
    """What makes the records of a version, and the views of this one."""
    texts = [migration.read_text(encoding="utf-8") for migration in _MIGRATIONS[:version]]
    return [*texts, (_FOLDER / "views.sql").read_text(encoding="utf-8")] if views else texts


def make_views(db: apsw.Connection) -> None:
    """Empty views, in place of those that there are."""
    for (name,) in list[Any](db.execute(_VIEWS)):
        db.execute(f"DROP TABLE IF EXISTS main.{name}")
    db.execute((_FOLDER / "views.sql").read_text(encoding="utf-8"))


def _version(db: apsw.Connection) -> int:
    application, version = int(db.pragma("application_id")), int(db.pragma("user_version"))
    if application not in {0, APPLICATION_ID}:
        raise not_canonry()
    if application == 0 and db.execute("SELECT 1 FROM sqlite_schema").fetchone() is not None:
        raise not_canonry()
    if version > SCHEMA_VERSION:
        raise newer()
    if version:
        require_reader(db)
    return version


def _stated(db: apsw.Connection, name: str) -> int:
    return number(db, "SELECT max(value) FROM meta WHERE name = ?", (name,))


def _state(db: apsw.Connection, name: str, value: int) -> None:
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
