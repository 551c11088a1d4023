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
from canonry.readmodels.ports.view import Finding, UpkeepProgress, Verification
from canonry.stores.sqlite import store as schema
from canonry.stores.sqlite.backups import IN_MEMORY, purges, scratch_beside, scratch_in
from canonry.stores.sqlite.connections import RAISED, OpenMode, as_canonry, connect
from canonry.stores.sqlite.records import Stored
from canonry.stores.sqlite.rows import number, pack, pack_keys, said_in, unpack
from canonry.stores.sqlite.store import UNWRITABLE, make_views
from canonry.stores.sqlite.text import index_waiting
from canonry.stores.sqlite.views import PAGE, Fetch, complete, fold_into, stored_commits
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

_MADE_IN_MEMORY: Final = ":memory:"
_PASSIVE: Final = frozenset({"table", "index"})

_Objects: TypeAlias = dict[tuple[str, str], tuple[str, str]]
"""(kind, name) to (table, statement without spaces)."""


def check_store_file(path: Path) -> Sequence[str]:
    """Return the differences between the schema of the store at `path` and its version's schema.

    An unreadable or foreign file returns none, because opening it reports the fault.
    """
    try:
        with closing(connect(path)) as db:
            if int(db.pragma("application_id")) != schema.APPLICATION_ID:
                return ()
            return check_store(db, "main")
    except (*RAISED, CanonryError):
        return ()


def check_file(path: Path, statements: str) -> Sequence[str]:
    """Return the differences between a file's schema and the schema of these statements."""
    try:
        with closing(connect(path)) as db:
            return tuple(_differences(_objects(db, "main"), *_made([statements])))
    except (*RAISED, CanonryError):
        return ()


def check_store(db: apsw.Connection, name: str) -> Sequence[str]:
    """Return the schema differences of a store that a connection has attached as `name`.

    Opening a store drops views of another version. Of those, only objects that can act count:
    neither tables nor indexes.
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
    """Return the objects that statements create, and the names of tables that an engine adds."""
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

_DIFFERS: Final = "l.{0} IS NOT s.{0}"
_OTHERWISE: Final = {
    "body": "(l.body IS NOT s.body AND said(l.kind, l.body) IS NOT said(s.kind, s.body))"
}
"""Unpack bodies: another version of the compression library may have packed them."""

_STEMS: Final = (
    "SELECT t.id, s.id AS same, s.mark, s.scene, s.place, s.source, s.entities, s.stems"
    " FROM {schema}.passage_stems s LEFT JOIN {schema}.things t ON t.n = s.n"
)
_WORDS: Final = (
    "SELECT w.term, coalesce(t.id, w.doc) AS id, w.col, w.offset"
    " FROM {words} w LEFT JOIN {schema}.things t ON t.n = w.doc"
)


def differences(db: apsw.Connection) -> Iterator[Finding]:
    """Return the differences between the views of `live` and the scratch views of `db`."""
    db.create_scalar_function("said", _said, 2, deterministic=True)
    for name, columns in _TABLES.items():
        yield from _rows(db, name, *(each.split() for each in columns))
    yield from _words(db, "passages")
    yield from _words(db, "catalog_grams")
    live, true = (_STEMS.format(schema=schema) for schema in ("live", "main"))
    more, less = "its stems are not those that the log produces", "its stems are missing"
    yield from _apart(db, "passage_stems", live, true, more, less)
    live = "SELECT coalesce(t.id, u.n) FROM live.unindexed u LEFT JOIN live.things t ON t.n = u.n"
    true = "SELECT t.id FROM main.unindexed u JOIN main.things t ON t.n = u.n"
    what = "it is queued for indexing but is not a passage"
    yield from _found(db, "unindexed", f"{live} EXCEPT {true} LIMIT ?", what)


def _rows(
    db: apsw.Connection, name: str, key: Sequence[str], rest: Sequence[str]
) -> Iterator[Finding]:
    same = " AND ".join(f"l.{column} = s.{column}" for column in key)
    differ = " OR ".join(_OTHERWISE.get(each, _DIFFERS).format(each) for each in rest)
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
        yield from _found(db, name, sql, what)


def _said(*row: Any) -> Any:
    """Return the payload of a body, or the body itself if the row is damaged."""
    kind, body = row
    with suppress(BrokenInvariant):
        return said_in(kind, body)
    return body


def _found(db: apsw.Connection, name: str, sql: str, what: str) -> Iterator[Finding]:
    """Yield a finding for each of the first rows that a statement selects."""
    for row in db.execute(sql, (SHOWN,)):
        # The ids of a key, for a person to look up. Tags may be private and are left out.
        shown = [unpack(value) if isinstance(value, bytes) else value for value in row]
        ids = [str(value) for value in shown if isinstance(value, int) or is_uuid(str(value))]
        yield Finding(where=f"{name}: {(' '.join(ids) or 'a row')}", what=what)


def _words(db: apsw.Connection, index: str) -> Iterator[Finding]:
    """Compare a full-text index of `live` with the one that was built again."""
    for words, where in (("live_words", "live"), ("true_words", "main")):
        db.execute(f"DROP TABLE IF EXISTS temp.{words}")
        db.execute(
            f"CREATE VIRTUAL TABLE temp.{words} USING fts5vocab ({where}, {index}, instance)"
        )
    if _same_words(db):
        return
    live = _WORDS.format(words="live_words", schema="live")
    true = _WORDS.format(words="true_words", schema="main")
    more = "the index has a word that the text does not contain"
    yield from _apart(db, index, live, true, more, "a word of the text is not indexed")


def _apart(  # noqa: PLR0917 - two statements, each with the finding about the rows it alone has
    db: apsw.Connection, name: str, live: str, true: str, more: str, less: str
) -> Iterator[Finding]:
    for one, two, what in ((live, true, more), (true, live, less)):
        sql = f"SELECT DISTINCT id FROM ({one} EXCEPT {two}) LIMIT ?"  # noqa: S608 - our own SQL
        yield from _found(db, name, sql, what)


def _same_words(db: apsw.Connection) -> bool:
    """Return whether both indexes are equal. Both are sorted alike and read in parallel."""
    sql = "SELECT count(*) FROM live.things l JOIN main.things s ON s.id = l.id WHERE s.n <> l.n"
    if number(db, sql):
        return False
    sql = "SELECT term, doc, col, offset FROM temp."
    one, two = db.execute(sql + "live_words"), db.execute(sql + "true_words")
    return all(here == there for here, there in zip_longest(one, two))


# Verification checks every link of the chains, every row of the views, and the file itself.
#
# It reports one consistent state while other calls write. A long read transaction keeps the
# write-ahead log from being emptied. Therefore the records, which never change, are read before in
# many short transactions; the consistent one covers only the rest and the views.

_FINDINGS_MAX = 20


@dataclass(slots=True)
class _Check:
    """One pass over the store. `heads` has the last sound commit of each space."""

    db: apsw.Connection
    fetch: Fetch
    told: UpkeepProgress
    heads: dict[SpaceId, tuple[int, str]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    redacted: set[SpaceId] = field(default_factory=set)
    commits: int = 0
    seq: int = 0
    folds: bool = True

    def records(self) -> None:
        """Check the present commits, one transaction per page."""
        last = number(self.db, "SELECT max(seq) FROM live.commits")
        self.db.execute("BEGIN")
        for stored in stored_commits(self.db, until=last):
            self.look_at(stored)
            if self.commits % PAGE == 0:
                self.db.execute("COMMIT")
                self.told(self.commits, last)
                self.db.execute("BEGIN")
        self.db.execute("COMMIT")

    def moment(self) -> None:
        """Check the commits recorded since, and compare all views, in one transaction."""
        for stored in stored_commits(self.db, after=self.seq):
            self.look_at(stored)
        self.told(self.commits, self.commits)
        self.strays()
        if self.folds:
            self.index()
            self.findings += differences(self.db)
        else:
            self.find("views", "not compared, because the records are damaged")

    def look_at(self, stored: Stored) -> None:
        self.commits, self.seq = self.commits + 1, stored.seq
        where = f"{stored.sealed.space} at {stored.sealed.position}"
        try:
            sealed = complete(stored, self.fetch)
        except CanonryError as error:
            self.find(where, f"a payload cannot be read: {error.code}")
            self.folds = False
            return
        self.folds = self.link(sealed, where) and self.folds
        if self.folds:
            self.folds = self.fold(sealed, where)

    def link(self, sealed: Sealed, where: str) -> bool:
        position, previous = self.heads.get(sealed.space, (0, GENESIS))
        try:
            fault = fault_in(sealed, position=Position(position + 1), previous=previous)
        except (ValueError, KeyError, TypeError, IndexError):  # the sealed bytes are not a record
            fault = "the sealed bytes cannot be read"
        if fault is not None:
            self.find(where, fault)
        self.heads[sealed.space] = (sealed.position, sealed.hash)
        return fault is None

    def fold(self, sealed: Sealed, where: str) -> bool:
        try:
            touched = fold_into(self.db, unseal(sealed))
        except BrokenInvariant as error:
            self.find(where, f"the commit cannot be folded: {error.code}")
            return False
        if None in sealed.parts:
            self.redacted.add(sealed.space)
        if sealed.space in self.redacted:
            return True  # an erased payload no longer shows which keys it touched
        said = self.db.execute(
            "SELECT touched FROM live.commits WHERE id = ?", (pack(sealed.id),)
        ).fetchone()
        if said is None or said[0] != pack_keys(map(key_hash, touched)):
            self.find(where, "its stored keys are not the keys that it touches")
        return True

    def index(self) -> None:
        """Index all passages except those that also wait in the store."""
        ids = "SELECT t.id FROM live.unindexed u JOIN live.things t ON t.n = u.n"
        sql = f"CREATE TEMP TABLE later AS SELECT u.n FROM main.unindexed u JOIN main.things t ON t.n = u.n WHERE t.id IN ({ids})"  # noqa: E501, S608
        self.db.execute(sql)
        self.db.execute("DELETE FROM main.unindexed WHERE n IN (SELECT n FROM temp.later)")
        index_waiting(self.db)
        self.db.execute("INSERT INTO main.unindexed SELECT n FROM temp.later")

    def strays(self) -> None:
        sql = "SELECT count(*) FROM live.parts p WHERE NOT EXISTS (SELECT 1 FROM live.commits c WHERE c.seq = p.seq)"  # noqa: E501
        strays = number(self.db, sql)
        if strays:
            self.find("parts", f"{strays} payloads belong to no commit")

    def file(self) -> None:
        for what in check_store(self.db, "live"):
            self.find("schema", what)
        for (line,) in self.db.execute(f"PRAGMA live.integrity_check({_FINDINGS_MAX})"):
            if line != "ok":
                self.find("file", str(line))

    def find(self, where: str, what: str) -> None:
        self.findings.append(Finding(where=where, what=what))


def verify_store(
    store: Path,
    fetch: Fetch,
    told: Callable[[int, int | None], None],
    *,
    way: OpenMode = OpenMode.SERVED,
) -> Verification:
    """Check the store at `store`. Call this in a thread.

    If no scratch file can be written, because the disk is full or read-only, the views are folded
    in memory.
    """
    if way is OpenMode.SERVED:
        try:
            with scratch_beside(store) as db:
                return _checked(db, fetch, told)
        except Unavailable as error:
            if error.code not in UNWRITABLE:
                raise
    with scratch_in(IN_MEMORY, store, way=way) as db:
        return _checked(db, fetch, told)


def _checked(
    db: apsw.Connection, fetch: Fetch, told: Callable[[int, int | None], None]
) -> Verification:
    check = _Check(db=db, fetch=fetch, told=told)
    try:
        purged = purges(db)
        check.records()
        db.execute("BEGIN")
        if purges(db) != purged:  # the folded views contain data that was erased since
            make_views(db)
            check = _Check(db=db, fetch=fetch, told=told)
        check.moment()
        db.execute("COMMIT")
        check.file()
    except apsw.CorruptError as error:
        check.find("file", as_canonry(error).message)
    except BrokenInvariant as error:  # not even the columns of a row can be read
        check.find("records", error.message)
    return Verification(
        commits=check.commits,
        things=number(db, "SELECT count(*) FROM main.things"),
        heads=check.heads,
        findings=tuple(check.findings[:_FINDINGS_MAX]),
    )
