"""Verify a store in SQLite: its tables, its log and its views."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, TypeAlias

import apsw

from canonry.log.commits import Position
from canonry.log.folding import key_hash
from canonry.log.sealing import GENESIS, Sealed, fault_in, unseal
from canonry.readmodels.ports.view import Finding, MaintenanceProgress, Verification
from canonry.stores.sqlite import store as schema
from canonry.stores.sqlite.backups import IN_MEMORY, count_purges, scratch_for, scratch_in
from canonry.stores.sqlite.commits import Stored
from canonry.stores.sqlite.connections import RAISED, OpenMode, as_canonry, open_connection
from canonry.stores.sqlite.rows import pack_id, pack_keys, payload_in, select_number, unpack_id
from canonry.stores.sqlite.store import UNWRITABLE, make_views
from canonry.stores.sqlite.text import index_queued
from canonry.stores.sqlite.views import PAGE, Fetch, complete_commit, fold_into, stored_commits
from canonry.values.data_files import read_toml
from canonry.values.errors import BrokenInvariant, CanonryError, Unavailable
from canonry.values.ids import SpaceId, is_uuid

# Compare the schema of a file with the schema that Canonry's own statements create.
#
# A foreign file may contain a trigger or a view that acts whenever the store is read or written.
# Only the list of its objects is read here; nothing of the file is executed.

_OBJECTS: Final = "SELECT type, name, tbl_name, sql FROM {}.sqlite_schema"
_SHADOWS: Final = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow'"
_BOOKKEEPING: Final = re.compile(r"sqlite_(sequence|stat[134]|autoindex_\w+)")
"""Objects that SQLite adds itself."""

_PASSIVE: Final = frozenset({"table", "index"})

_Objects: TypeAlias = dict[tuple[str, str], tuple[str, str]]
"""(kind, name) to (table, statement without spaces)."""


def check_store_file(path: Path) -> Sequence[str]:
    """Return the differences between the schema of the store at `path` and its version's schema.

    An unreadable or foreign file returns none, because opening it reports the fault.
    """
    try:
        with closing(open_connection(path)) as db:
            if int(db.pragma("application_id")) != schema.APPLICATION_ID:
                return ()
            return check_store(db, "main")
    except (*RAISED, CanonryError):
        return ()


def check_file(path: Path, statements: str) -> Sequence[str]:
    """Return the differences between a file's schema and the schema of these statements."""
    try:
        with closing(open_connection(path)) as db:
            return tuple(
                _schema_differences(_read_objects(db, "main"), *_objects_made_by([statements]))
            )
    except (*RAISED, CanonryError):
        return ()


def check_store(db: apsw.Connection, name: str) -> Sequence[str]:
    """Return the schema differences of a store that a connection has attached as `name`.

    Opening a store drops views of another version. Of those, only objects that can act count:
    neither tables nor indexes.
    """
    found = _read_objects(db, name)
    version = select_number(db, f"PRAGMA {name}.user_version")
    wanted, shadows = _objects_made_by(schema.statements_of(version))
    records, _ = _objects_made_by(schema.statements_of(version, views=False))
    found_faults = list(_schema_differences(found, wanted, shadows))
    if not found_faults or list(_schema_differences(found, records, (), others=True)):
        return tuple(found_faults)
    has = select_number(db, f"SELECT max(value) FROM {name}.meta WHERE name = 'views'")  # noqa: S608
    return tuple(found_faults) if has == schema.VIEWS_VERSION else ()


def _objects_made_by(statements: Sequence[str]) -> tuple[_Objects, Sequence[str]]:
    """Return the objects that statements create, and the names of tables that an engine adds."""
    with closing(apsw.Connection(":memory:")) as db:
        for each in statements:
            db.execute(each)
        rows: Any = db.execute(_SHADOWS)
        return _read_objects(db, "main"), [name for (name,) in rows]


def _read_objects(db: apsw.Connection, name: str) -> _Objects:
    rows: Any = db.execute(_OBJECTS.format(name))
    return {
        (kind, object_name): (table, "".join((sql or "").split()))
        for kind, object_name, table, sql in rows
        if kind not in _PASSIVE or not _BOOKKEEPING.fullmatch(object_name)
    }


def _schema_differences(
    found: _Objects, wanted: _Objects, shadows: Sequence[str], *, others: bool = False
) -> Iterator[str]:
    """Describe the differences. With `others`, unexpected tables and indexes are allowed.

    Tables that an engine adds are compared by name only, because their statements change with the
    engine.
    """
    own = {table for _, table in wanted}
    for (kind, name), made in sorted(found.items()):
        table = made[0]
        if (kind, name) in wanted:
            if name not in shadows and made != wanted[kind, name]:
                yield f"the {kind} {name} is not as Canonry creates it"
        elif not others or kind not in _PASSIVE or table in own:
            yield f"the {kind} {name} on {table} was not created by Canonry"
    for kind, name in sorted(wanted.keys() - found.keys()):
        yield f"the {kind} {name} is missing"


SHOWN: Final = 5
"""Differences that are reported of each sort."""


_TABLES: Final[dict[str, list[str]]] = read_toml(__package__, "compared.toml")["columns"]
"""For each table, the columns that identify a row and the columns that must be equal."""

_OTHERWISE: Final = {
    "body": "(l.body IS NOT s.body AND said(l.kind, l.body) IS NOT said(s.kind, s.body))"
}
"""Unpack bodies: another version of the compression library may have packed them."""

_STEMS: Final = (
    "SELECT t.id, s.id AS same, s.mark, s.scene, s.place, s.source, s.entities, s.stems"
    " FROM {schema}.passage_stems s LEFT JOIN {schema}.things t ON t.n = s.n"
)
_SEARCH_TEXTS: Final = (
    "SELECT w.term, coalesce(t.id, w.doc) AS id, w.col, w.offset"
    " FROM {words} w LEFT JOIN {schema}.things t ON t.n = w.doc"
)


def view_differences(db: apsw.Connection) -> Iterator[Finding]:
    """Return the differences between the views of `live` and the scratch views of `db`."""
    db.create_scalar_function("said", _payload_or_body, 2, deterministic=True)
    for name, columns in _TABLES.items():
        yield from _compare_rows(db, name, *(each.split() for each in columns))
    yield from _compare_texts(db, "passages")
    yield from _compare_texts(db, "catalog_grams")
    live, true = (_STEMS.format(schema=schema) for schema in ("live", "main"))
    more, less = "its stems are not those that the log produces", "its stems are missing"
    yield from _compare_both(db, "passage_stems", live, true, more, less)
    live = "SELECT coalesce(t.id, u.n) FROM live.unindexed u LEFT JOIN live.things t ON t.n = u.n"
    true = "SELECT t.id FROM main.unindexed u JOIN main.things t ON t.n = u.n"
    what = "it is queued for indexing but is not a passage"
    yield from _findings_of(db, "unindexed", f"{live} EXCEPT {true} LIMIT ?", what)


def _compare_rows(
    db: apsw.Connection, name: str, key: Sequence[str], rest: Sequence[str]
) -> Iterator[Finding]:
    same = " AND ".join(f"l.{column} = s.{column}" for column in key)
    differ = " OR ".join(_OTHERWISE.get(each, "l.{0} IS NOT s.{0}").format(each) for each in rest)
    live, true = f"live.{name} AS l", f"main.{name} AS s"
    absent = "SELECT {keys} FROM {one} WHERE NOT EXISTS (SELECT 1 FROM {two} WHERE {same}) LIMIT ?"
    of_live, of_true = (", ".join(f"{each}.{column}" for column in key) for each in "ls")
    both = f"SELECT {of_live} FROM {live} JOIN {true} ON {same} WHERE {differ} LIMIT ?"  # noqa: S608
    for sql, what in (
        (
            absent.format(keys=of_live, one=live, two=true, same=same),
            "the log does not produce this row",
        ),
        (absent.format(keys=of_true, one=true, two=live, same=same), "this row is missing"),
        (both, "the log produces another value"),
    ):
        yield from _findings_of(db, name, sql, what)


def _payload_or_body(*row: Any) -> Any:
    """Return the payload of a body, or the body itself if the row is damaged."""
    kind, body = row
    with suppress(BrokenInvariant):
        return payload_in(kind, body)
    return body


def _findings_of(db: apsw.Connection, name: str, sql: str, what: str) -> Iterator[Finding]:
    """Yield a finding for each of the first rows that a statement selects."""
    for row in db.execute(sql, (SHOWN,)):
        # The ids of a key, for a person to look up. Tags may be private and are left out.
        shown = [unpack_id(value) if isinstance(value, bytes) else value for value in row]
        ids = [str(value) for value in shown if isinstance(value, int) or is_uuid(str(value))]
        yield Finding(where=f"{name}: {(' '.join(ids) or 'a row')}", what=what)


def _compare_texts(db: apsw.Connection, index: str) -> Iterator[Finding]:
    """Compare a full-text index of `live` with the one that was built again."""
    for words, where in (("live_words", "live"), ("true_words", "main")):
        db.execute(f"DROP TABLE IF EXISTS temp.{words}")
        db.execute(
            f"CREATE VIRTUAL TABLE temp.{words} USING fts5vocab ({where}, {index}, instance)"
        )
    if _has_same_text(db):
        return
    live = _SEARCH_TEXTS.format(words="live_words", schema="live")
    true = _SEARCH_TEXTS.format(words="true_words", schema="main")
    more = "the index has a word that the text does not contain"
    yield from _compare_both(db, index, live, true, more, "a word of the text is not indexed")


def _compare_both(  # noqa: PLR0917 - two statements, each with the finding about the rows it alone has
    db: apsw.Connection, name: str, live: str, true: str, more: str, less: str
) -> Iterator[Finding]:
    for one, two, what in ((live, true, more), (true, live, less)):
        sql = f"SELECT DISTINCT id FROM ({one} EXCEPT {two}) LIMIT ?"  # noqa: S608 - our own SQL
        yield from _findings_of(db, name, sql, what)


def _has_same_text(db: apsw.Connection) -> bool:
    """Return whether both indexes are equal. Both are sorted alike and read in parallel."""
    sql = "SELECT count(*) FROM live.things l JOIN main.things s ON s.id = l.id WHERE s.n <> l.n"
    if select_number(db, sql):
        return False
    sql = "SELECT term, doc, col, offset FROM temp."
    one, two = db.execute(sql + "live_words"), db.execute(sql + "true_words")
    return all(here == there for here, there in zip_longest(one, two))


# Verification checks every link of the chains, every row of the views, and the file itself.
#
# It reports one consistent state while other calls write. A long read transaction keeps the
# write-ahead log from being emptied. Therefore the records, which never change, are read before in
# many short transactions; the consistent one covers only the rest and the views.

_FINDINGS_MAX = 20  # one cause often damages every row; the first findings name it


@dataclass(slots=True)
class _Check:
    """One pass over the store. `heads` has the last sound commit of each space."""

    db: apsw.Connection
    fetch: Fetch
    progress: MaintenanceProgress
    heads: dict[SpaceId, tuple[int, str]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    redacted: set[SpaceId] = field(default_factory=set)
    commits: int = 0
    seq: int = 0
    folds: bool = True

    def check_records(self) -> None:
        """Check the present commits, one transaction per page."""
        last = select_number(self.db, "SELECT max(seq) FROM live.commits")
        self.db.execute("BEGIN")
        for stored in stored_commits(self.db, until=last):
            self.check_commit(stored)
            if self.commits % PAGE == 0:
                self.db.execute("COMMIT")
                self.progress(self.commits, last)
                self.db.execute("BEGIN")
        self.db.execute("COMMIT")

    def check_rest(self) -> None:
        """Check the commits recorded since, and compare all views, in one transaction."""
        for stored in stored_commits(self.db, after=self.seq):
            self.check_commit(stored)
        self.progress(self.commits, self.commits)
        sql = "SELECT count(*) FROM live.parts p WHERE NOT EXISTS (SELECT 1 FROM live.commits c WHERE c.seq = p.seq)"  # noqa: E501
        strays = select_number(self.db, sql)
        if strays:
            self.add_finding("parts", f"{strays} payloads belong to no commit")
        if self.folds:
            self.index_passages()
            self.findings += view_differences(self.db)
        else:
            self.add_finding("views", "not compared, because the records are damaged")

    def check_commit(self, stored: Stored) -> None:
        self.commits, self.seq = self.commits + 1, stored.seq
        where = f"{stored.sealed.space} at {stored.sealed.position}"
        try:
            sealed = complete_commit(stored, self.fetch)
        except CanonryError as error:
            self.add_finding(where, f"a payload cannot be read: {error.code}")
            self.folds = False
            return
        position, previous = self.heads.get(sealed.space, (0, GENESIS))
        try:
            fault = fault_in(sealed, position=Position(position + 1), previous=previous)
        except (ValueError, KeyError, TypeError, IndexError):  # the sealed bytes are not a record
            fault = "the sealed bytes cannot be read"
        if fault is not None:
            self.add_finding(where, fault)
        self.heads[sealed.space] = (sealed.position, sealed.hash)
        self.folds = fault is None and self.folds
        if self.folds:
            self.folds = self.fold_commit(sealed, where)

    def fold_commit(self, sealed: Sealed, where: str) -> bool:
        try:
            touched = fold_into(self.db, unseal(sealed))
        except BrokenInvariant as error:
            self.add_finding(where, f"the commit cannot be folded: {error.code}")
            return False
        if None in sealed.parts:
            self.redacted.add(sealed.space)
        if sealed.space in self.redacted:
            return True  # an erased payload no longer shows which keys it touched
        row = self.db.execute(
            "SELECT touched FROM live.commits WHERE id = ?", (pack_id(sealed.id),)
        ).fetchone()
        if row is None or row[0] != pack_keys(map(key_hash, touched)):
            self.add_finding(where, "its stored keys are not the keys that it touches")
        return True

    def index_passages(self) -> None:
        """Index all passages except those that also wait in the store."""
        ids = "SELECT t.id FROM live.unindexed u JOIN live.things t ON t.n = u.n"
        sql = f"CREATE TEMP TABLE later AS SELECT u.n FROM main.unindexed u JOIN main.things t ON t.n = u.n WHERE t.id IN ({ids})"  # noqa: E501, S608
        self.db.execute(sql)
        self.db.execute("DELETE FROM main.unindexed WHERE n IN (SELECT n FROM temp.later)")
        index_queued(self.db)
        self.db.execute("INSERT INTO main.unindexed SELECT n FROM temp.later")

    def check_file(self) -> None:
        for what in check_store(self.db, "live"):
            self.add_finding("schema", what)
        for (line,) in self.db.execute(f"PRAGMA live.integrity_check({_FINDINGS_MAX})"):
            if line != "ok":
                self.add_finding("file", str(line))

    def add_finding(self, where: str, what: str) -> None:
        self.findings.append(Finding(where=where, what=what))


def verify_store(
    store: Path,
    fetch: Fetch,
    progress: Callable[[int, int | None], None],
    *,
    mode: OpenMode = OpenMode.SERVED,
) -> Verification:
    """Check the store at `store`. Call this in a thread.

    If no scratch file can be written, because the disk is full or read-only, the views are folded
    in memory.
    """
    if mode is OpenMode.SERVED:
        try:
            with scratch_for(store) as db:
                return _run_checks(db, fetch, progress)
        except Unavailable as error:
            if error.code not in UNWRITABLE:
                raise
    with scratch_in(IN_MEMORY, store, mode=mode) as db:
        return _run_checks(db, fetch, progress)


def _run_checks(
    db: apsw.Connection, fetch: Fetch, progress: Callable[[int, int | None], None]
) -> Verification:
    check = _Check(db=db, fetch=fetch, progress=progress)
    try:
        purged = count_purges(db)
        check.check_records()
        db.execute("BEGIN")
        if count_purges(db) != purged:  # the folded views contain data that was erased since
            make_views(db)
            check = _Check(db=db, fetch=fetch, progress=progress)
        check.check_rest()
        db.execute("COMMIT")
        check.check_file()
    except apsw.CorruptError as error:
        check.add_finding("file", as_canonry(error).message)
    except BrokenInvariant as error:  # not even the columns of a row can be read
        check.add_finding("records", error.message)
    return Verification(
        commits=check.commits,
        items=select_number(db, "SELECT count(*) FROM main.things"),
        heads=check.heads,
        findings=tuple(check.findings[:_FINDINGS_MAX]),
    )
