"""The catalog in SQLite: exact search on every path, bounded statements, and stopping for good."""

import asyncio
import time
from pathlib import Path

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from canonry.app.embedded import open_embedded
from canonry.canon.maintenance.erase import erase_items, plan_erasure
from canonry.readmodels.catalog import item_id
from canonry.readmodels.ports.documents import CatalogQuery
from canonry.stores.sqlite import Durability, catalog
from canonry.stores.sqlite import catalog as catalog_graph
from canonry.stores.sqlite import catalog as catalog_search
from canonry.stores.sqlite import store as schema
from canonry.testing.clocks import CountingIdentities, HandClock, a_caller
from canonry.values.errors import Unavailable
from canonry.values.ids import SpaceId
from tests.adapters.sqlite.opened import a_store
from tests.adapters.sqlite.test_reading import run_endlessly
from tests.toolsets.catalog.kit import (
    LAB,
    OTHER,
    entity_row,
    hostile_names,
    import_rows,
    make_catalog_driver,
    make_uuid,
)

pytestmark = pytest.mark.anyio
ALPHABET = '\u6c49\u5b57aAb\u00df\u0130\u00e9e\u0301 "%\x01\ufffd\U0001f409'
LETTERS = st.text(alphabet=ALPHABET, max_size=6)
SIZES = ((2_048, 750_000), (3, 750_000), (1, 750_000), (2_048, 20))
"""The numbers of texts and of characters that make a small segment."""

KINDS = ("concept", "guide", "news")
STATEMENTS = {
    "projects": catalog._PROJECTS,
    "a bearer": catalog._HOLDER,
    "a project by its slug": catalog._CALLED,
    "what joins two": catalog._JOINED,
    "a page of items": catalog._ITEMS,
    "a page of relations": catalog._FROM,
    "counts of relations": catalog._COUNTS,
    "a node": catalog_graph._FIND_NODE,
    "the first neighbours": catalog_graph._FIRST,
    "the next neighbours": catalog_graph._NEXT,
    "edges outward": catalog_graph._OUTWARD,
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_no_statement_scans_a_table_or_sorts(name: str) -> None:
    db = apsw.Connection(":memory:")
    schema.prepare_store(db, lambda _: b"")
    sql = STATEMENTS[name]
    given_values = (1,) * sql.count("?") if "?" in sql else _Anything()

    steps = [str(row[3]) for row in db.execute(f"EXPLAIN QUERY PLAN {sql}", given_values)]

    ordered = {"projects"}  # the first of all, in the order of their table
    assert steps
    assert not [s for s in steps if "TEMP B-TREE" in s], steps
    assert name in ordered or not [s for s in steps if s.startswith("SCAN catalog")], steps
    db.close()


class _Anything(dict[str, object]):
    def __missing__(self, key: str) -> object:
        return 1


@settings(
    max_examples=15,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    titles=st.lists(LETTERS.filter(bool), min_size=1, max_size=8),
    again=st.lists(LETTERS.filter(bool), max_size=5),
    sought=st.lists(LETTERS.filter(bool), min_size=1, max_size=6),
    few=st.sampled_from((0, 2, 1_000)),
)
def test_every_way_of_indexing_finds_the_same(
    titles: list[str],
    again: list[str],
    sought: list[str],
    few: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Looked up one by one, or read in order; what was indexed is changed later."""
    folder = tmp_path_factory.mktemp("search")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalog_search, "FEW", few)
        asyncio.run(compare_answers(titles, again, sought, folder))


async def compare_answers(
    titles: list[str], again: list[str], sought: list[str], folder: Path
) -> None:
    projects = [{"id": p, "name": p, "slug": p} for p in (LAB, OTHER)]
    entities = [
        entity_row(n, KINDS[n % len(KINDS)], title, summary=title[::-1], projectId=project)
        for p, project in enumerate((LAB, OTHER))
        for n, title in enumerate(titles[p:])
    ]
    changed = [
        row | {"title": title, "summary": None} for row, title in zip(entities, again, strict=False)
    ]
    store = await open_embedded(
        folder,
        clock=HandClock(),
        identities=CountingIdentities(),
        durability=Durability.NORMAL,
    )
    memory = make_catalog_driver().canon
    try:
        for canon in (memory, store.canon):
            await import_rows(canon, {"projects": projects})
            for row in (*entities, *changed):
                await import_rows(canon, {"entities": [row]})
        for text in sought:
            for kinds in (frozenset(), frozenset(KINDS[:2])):
                query = CatalogQuery(project=SpaceId(LAB), text=text, kinds=kinds, limit=3)
                expected = await memory.catalog.search(query)
                found = await store.canon.catalog.search(query)
                names = [[e.name for e in each.items] for each in (found, expected)]
                assert names[0] == names[1], text
                assert found.total == expected.total, text
        assert not (await store.maintenance.verify(lambda _done, _total: None)).findings
    finally:
        await store.close()


async def test_a_query_that_takes_too_long_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "SECONDS", 0.05)
    monkeypatch.setattr(catalog, "_search_catalog", lambda db, _: run_endlessly(db))
    async with a_store(tmp_path) as store:
        with pytest.raises(Unavailable) as stopped:
            await store.catalog.search(CatalogQuery(project=SpaceId(LAB), text="x"))
        assert stopped.value.code == "store.deadline"


async def test_a_query_nobody_waits_for_is_stopped(tmp_path: Path) -> None:
    """Closing waits for running queries, so it would last until the deadline."""
    started = time.monotonic()
    async with a_store(tmp_path, deadline=60.0) as store:
        asking = asyncio.create_task(store.readers.run_short(run_endlessly, consistent=True))
        done, _ = await asyncio.wait((asking,), timeout=0.1)
        assert not done
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert time.monotonic() - started < 30.0


async def test_an_erased_entity_leaves_no_bytes(tmp_path: Path) -> None:
    secret = "Xyzzy Quuxford"
    store = await open_embedded(tmp_path, durability=Durability.NORMAL)
    try:
        arrays = hostile_names()
        arrays["entities"][2] |= {"title": secret, "slug": "xyzzy-quuxford", "summary": secret}
        await import_rows(store.canon, arrays)
        plan = await plan_erasure(store.canon, "entity", item_id(LAB, "concept", make_uuid(3)))

        await erase_items(
            store.canon, store.maintenance, a_caller("Operator"), plan, reason="a right"
        )

        driver = make_catalog_driver(store.canon)
        found = await driver.call("search_entities", projectId=LAB, query="quux")
        assert found["totalCount"] == 0
        graph = await driver.call("get_entity_graph", projectId=LAB, entityId=make_uuid(1), depth=2)
        assert make_uuid(3) not in str(graph)
        assert not (await store.maintenance.verify(lambda _done, _total: None)).findings
        assert count_grams(tmp_path, "xyz") == 0
        assert count_grams(tmp_path, "con") > 0
        left = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
        for trace in (secret, secret.casefold(), "xyzzy-quuxford"):
            assert trace.encode() not in left
    finally:
        await store.close()


def count_grams(folder: Path, gram: str) -> int:
    """In how many texts of the index three characters occur."""
    db = apsw.Connection(str(folder / "canon.db"), flags=apsw.SQLITE_OPEN_READONLY)
    db.execute("CREATE VIRTUAL TABLE temp.kept USING fts5vocab (main, catalog_grams, row)")
    rows = db.execute(
        "SELECT coalesce(sum(doc), 0) FROM temp.kept WHERE term = ?", (gram,)
    ).fetchall()
    db.close()
    return int(str(rows[0][0]))


async def test_a_catalog_row_that_was_altered_is_found(tmp_path: Path) -> None:
    store = await open_embedded(tmp_path, durability=Durability.NORMAL)
    try:
        await import_rows(store.canon, hostile_names())
        for damage in (
            "UPDATE catalog_texts SET title = 'x' WHERE kind = 'news'",
            "DELETE FROM catalog_texts WHERE kind = 'guide'",
            "INSERT INTO catalog_grams (catalog_grams) VALUES ('delete-all')",
            "INSERT INTO catalog_grams (rowid, title) VALUES (99999, 'a ghost')",
            "DELETE FROM catalog_neighbours WHERE outward = 1",
            "UPDATE catalog_edges SET relation = target",
            "DELETE FROM catalog_items WHERE kind = 'video'",
            "UPDATE catalog_projects SET slug = 'x'",
            "UPDATE catalog_nodes SET place = 'x'",
        ):
            db = apsw.Connection(str(tmp_path / "canon.db"))
            db.execute(damage)
            db.close()

            verified = await store.maintenance.verify(lambda _done, _total: None)

            assert verified.findings, damage
            await store.maintenance.rebuild(lambda _done, _total: None)
            assert not (await store.maintenance.verify(lambda _done, _total: None)).findings, damage
    finally:
        await store.close()
