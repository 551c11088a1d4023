"""Verification: every chain link by link, every view row by row, and the file itself.

It tells of one moment of the store, whoever writes meanwhile. Whoever reads one moment keeps the
write-ahead log from being emptied; so what never changes, the records, is read before, in many
short moments, and the one that is told of is no longer than what is left.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from canonry.log.commits import Position
from canonry.log.keys import key_hash
from canonry.log.sealing import GENESIS, Sealed, fault_in, unseal
from canonry.readmodels.ports.upkeep import Finding, UpkeepProgress, Verification
from canonry.stores.sqlite.connections import OpenMode
from canonry.stores.sqlite.faults import as_canonry
from canonry.stores.sqlite.folding import PAGE, Fetch, complete, fold_into, stored_commits
from canonry.stores.sqlite.ledger.records import Stored
from canonry.stores.sqlite.lookups import number
from canonry.stores.sqlite.packing import pack, pack_keys
from canonry.stores.sqlite.reading import UNWRITABLE
from canonry.stores.sqlite.schema import make_views
from canonry.stores.sqlite.text.waiting import index_waiting
from canonry.stores.sqlite.upkeep import comparison
from canonry.stores.sqlite.upkeep.erasure import purges
from canonry.stores.sqlite.upkeep.schema_check import check_store
from canonry.stores.sqlite.upkeep.scratch import IN_MEMORY, scratch_beside, scratch_in
from canonry.values.errors import BrokenInvariant, CanonryError, Unavailable
from canonry.values.ids import SpaceId

_FINDINGS_MAX = 20


@dataclass(slots=True)
class _Check:
    """One pass over the store; the last commit that was right of each space is in `heads`."""

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
        """Look at what is recorded by now; each page of it is a moment of its own."""
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
        """Look at what has been recorded since, and compare every view, all as of one moment."""
        for stored in stored_commits(self.db, after=self.seq):
            self.look_at(stored)
        self.told(self.commits, self.commits)
        self.strays()
        if self.folds:
            self.index()
            self.findings += comparison.differences(self.db)
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
        except (ValueError, KeyError, TypeError, IndexError):  # the sealed bytes are no record
            fault = "the sealed bytes cannot be read"
        if fault is not None:
            self.find(where, fault)
        self.heads[sealed.space] = (sealed.position, sealed.hash)
        return fault is None

    def fold(self, sealed: Sealed, where: str) -> bool:
        try:
            touched = fold_into(self.db, unseal(sealed))
        except BrokenInvariant as error:
            self.find(where, f"it cannot be folded: {error.code}")
            return False
        if None in sealed.parts:
            self.redacted.add(sealed.space)
        if sealed.space in self.redacted:
            return True  # what was erased does not tell which keys it touched
        said = self.db.execute(
            "SELECT touched FROM live.commits WHERE id = ?", (pack(sealed.id),)
        ).fetchone()
        if said is None or said[0] != pack_keys(map(key_hash, touched)):
            self.find(where, "the keys that it is said to touch are not those that it touches")
        return True

    def index(self) -> None:
        """Let the passages wait that wait in the store, and index the others."""
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
    """Check the store at `store`; a thread of its own runs this.

    Where no scratch file can be written, because the disk is full or read-only, the views are
    folded in memory.
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
        if purges(db) != purged:  # what was folded holds what has been erased since
            make_views(db)
            check = _Check(db=db, fetch=fetch, told=told)
        check.moment()
        db.execute("COMMIT")
        check.file()
    except apsw.CorruptError as error:
        check.find("file", as_canonry(error).message)
    except BrokenInvariant as error:  # a row of which not even the columns can be read
        check.find("records", error.message)
    return Verification(
        commits=check.commits,
        things=number(db, "SELECT count(*) FROM main.things"),
        heads=check.heads,
        findings=tuple(check.findings[:_FINDINGS_MAX]),
    )
