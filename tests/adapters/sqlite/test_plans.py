"""Plans: every statement of a request is bounded by an index, and none sorts or walks a table."""

from collections.abc import Iterator

import apsw
import pytest

from canonry.stores.sqlite import commits, identifiers
from canonry.stores.sqlite import identifiers as timeline
from canonry.stores.sqlite import rows as lookups
from canonry.stores.sqlite import rows as pages
from canonry.stores.sqlite import store as schema
from canonry.stores.sqlite import text as placing
from canonry.stores.sqlite import text as vocabulary
from canonry.stores.sqlite import text as waiting

RUN = f"SELECT l.id FROM listing l WHERE {pages._RUN}"
SAME = pages._STANDS.format
STATEMENTS = {
    "a page": f"{RUN} {pages._ORDER} LIMIT ? OFFSET ?",
    "a page of several tags": (
        f"{RUN} AND EXISTS ({SAME(owners='?')}) AND NOT EXISTS ({SAME(owners='?, ?')})"
        f" {pages._ORDER} LIMIT ?"
    ),
    "a thing": lookups._ONE,
    "things together": lookups._MANY,
    "a past version": lookups._VERSION,
    "a head": commits._HEAD,
    "a known commit": commits._KNOWN,
    "what was touched": commits._TOUCHED,
    "a page of the log": commits._BY_SPACE,
    "the parts of a commit": commits._PARTS,
    "a deep page of several runs": pages.merge_statement(
        f"SELECT l.rank, l.later, l.id FROM listing l WHERE {pages._RUN}", pages._ORDER, 3
    ),
    "the observations seen last": identifiers.NEWEST,
    "the first observation of later": identifiers.FIRST_LATER,
    "observations told late": identifiers.RECORDED_LATE,
    "a page of the timeline": timeline.EVENTS,
    "the entries of an event": timeline.ENTRIES,
    "whether an event is there": timeline.ANY,
    "passages that wait": waiting._QUEUED,
    "where passages stand": placing._POSITIONS,
    "how often stems occur": vocabulary._COUNTS,
    "stems that resemble one": vocabulary._ALIKE,
    "the next first letter of stems": vocabulary._NEXT,
    "stems that begin so": vocabulary._BEGUN,
}


@pytest.fixture
def db() -> Iterator[apsw.Connection]:
    store = apsw.Connection(":memory:")
    schema.prepare_store(store, lambda _: b"")
    yield store
    store.close()


@pytest.mark.parametrize("name", STATEMENTS)
def test_no_statement_of_a_request_scans_a_table(db: apsw.Connection, name: str) -> None:
    sql = STATEMENTS[name]
    plan = db.execute(f"EXPLAIN QUERY PLAN {sql}", (1,) * sql.count("?")).fetchall()

    steps = [str(row[3]) for row in plan]
    assert steps
    assert not [s for s in steps if s.startswith("SCAN") or "TEMP B-TREE" in s], steps


def test_waiting_passages_are_ordered_before_all_items(db: apsw.Connection) -> None:
    plan = db.execute(f"EXPLAIN QUERY PLAN {waiting._QUEUED}", (0, 1)).fetchall()

    assert [str(row[3]).split()[1] for row in plan] == ["u", "t"]
