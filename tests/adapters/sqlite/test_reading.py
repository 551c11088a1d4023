"""Reading: long queries leave the event loop and end at the deadline; search misses nothing."""

import asyncio
from pathlib import Path

import apsw
import pytest

from canonry.log.items.entities import Entity
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.state import EntityQuery
from canonry.readmodels.ports.text import TextQuery
from canonry.stores.sqlite import connections as readers
from canonry.stores.sqlite.views import BATCH
from canonry.testing.clocks import an_append
from canonry.testing.example_items import a_named, a_space, a_turn, creation_entries
from canonry.values.errors import InvalidInput, Unavailable
from tests.adapters.sqlite.opened import a_store, run_statement

pytestmark = pytest.mark.anyio

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"


def run_endlessly(db: apsw.Connection) -> object:
    return db.execute(ENDLESS).fetchone()


async def test_an_endless_query_ends_at_the_deadline(tmp_path: Path) -> None:
    async with a_store(tmp_path, deadline=0.05) as store:
        with pytest.raises(Unavailable) as caught:
            await store.readers.run_short(run_endlessly)

        assert caught.value.code == "store.deadline"
        assert await store.state.items_by_id(["x"]) == {}


async def test_a_query_that_was_stopped_leaves_no_transaction(tmp_path: Path) -> None:
    async with a_store(tmp_path, deadline=0.05) as store:
        for _ in range(2):
            with pytest.raises(Unavailable):
                await store.readers.run_short(run_endlessly, consistent=True)

        await store.ledger.append_drafts([an_append("one", creation_entries(a_space()))])
        assert (await store.state.entities(EntityQuery())).total == 0
        assert (await store.state.spaces(kind=None, parent=None, limit=1, offset=0)).total == 1


async def test_a_query_whose_time_is_over_as_it_begins_leaves_no_transaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = 3  # steps after which SQLite has begun it and asks whether to go on
    monkeypatch.setattr(readers, "_STEPS_APART", begun)
    async with a_store(tmp_path) as store:
        for _ in range(2):
            with pytest.raises(Unavailable):
                await store.readers.run_long(run_endlessly, consistent=True, seconds=-1)

        assert await store.readers.run_long(lambda db: db.in_transaction, consistent=True)


async def test_the_event_loop_continues_during_a_long_query(tmp_path: Path) -> None:
    async with a_store(tmp_path, deadline=0.2) as store:
        long = asyncio.create_task(store.readers.run_short(run_endlessly))
        served = 0
        while not long.done():
            await store.state.items_by_id(["x"])
            await asyncio.sleep(0)
            served += 1

        with pytest.raises(Unavailable):
            await long
        assert served > 10


async def test_search_continues_without_an_unresponsive_part(tmp_path: Path) -> None:
    async with a_store(tmp_path) as store:
        await store.ledger.append_drafts(
            [an_append("one", creation_entries(a_space(), a_turn("t", text="fire")))]
        )
        run_statement(tmp_path, "DROP TABLE counts")

        with pytest.raises(Unavailable) as caught:
            await store.text.search(TextQuery(collection=Collection.SCENES, text="fire"))

        assert caught.value.code == "text.unavailable"


async def test_passages_are_found_before_and_after_they_are_indexed(tmp_path: Path) -> None:
    async with a_store(tmp_path) as store:
        await store.ledger.append_drafts([an_append("space", creation_entries(a_space()))])
        found = []
        for n in range(BATCH + 40):
            turn = a_turn(f"turn {n}", text=f"fire number{n}")
            await store.ledger.append_drafts([an_append(f"{n}", creation_entries(turn))])
            if n % 20 == 0:
                query = TextQuery(collection=Collection.SCENES, text="fire", limit=500)
                found.append((n + 1, len((await store.text.search(query)).hits)))

        assert [reported for reported, _ in found] == [hits for _, hits in found]
    (left,) = run_statement(tmp_path, "SELECT count(*) FROM unindexed")
    assert 0 < left[0] < BATCH


async def test_many_passages_of_a_commit_are_indexed_at_once_and_few_wait(tmp_path: Path) -> None:
    async with a_store(tmp_path) as store:
        many = [a_turn(f"many {n}", text=f"fire number{n}") for n in range(BATCH)]
        few = [a_turn(f"few {n}", text="fire") for n in range(BATCH - 1)]
        await store.ledger.append_drafts([an_append("many", creation_entries(a_space(), *many))])
        await store.ledger.append_drafts([an_append("few", creation_entries(*few))])
        query = TextQuery(collection=Collection.SCENES, text="fire", limit=500)

        assert len((await store.text.search(query)).hits) == len(many) + len(few)
    assert run_statement(tmp_path, "SELECT count(*) FROM unindexed") == [(len(few),)]
    assert run_statement(tmp_path, "SELECT count(*) FROM passage_stems") == [(len(many),)]


async def test_a_pattern_has_a_maximum_length(tmp_path: Path) -> None:
    async with a_store(tmp_path) as store:
        with pytest.raises(InvalidInput) as caught:
            await store.state.entities(EntityQuery(name_pattern="x" * 100_000))

        assert caught.value.code == "query.pattern-long"


async def test_tags_are_combined_by_looking_up_the_rarest(tmp_path: Path) -> None:
    async with a_store(tmp_path) as store:
        await store.ledger.append_drafts([an_append("space", creation_entries(a_space()))])
        entries = [e for n in range(30) for e in a_named(f"e{n}", tags=("alive",))]
        rare = a_named("rare", tags=("alive", "crowned"))
        await store.ledger.append_drafts([an_append("many", [*entries, *rare])])

        both = await store.state.entities(EntityQuery(all_of=frozenset({"alive", "crowned"})))
        last = await store.state.entities(
            EntityQuery(any_of=frozenset({"alive", "crowned"}), limit=10, offset=25)
        )

        assert (both.total, both.items[0].name) == (1, "rare")
        assert (last.total, len(last.items)) == (31, 6)


async def test_deep_pages_of_many_types_have_no_gap(tmp_path: Path) -> None:
    async with a_store(tmp_path) as store:
        for batch in range(3):
            named = [a_named(f"{batch}/{n}", entity_type=f"type {n % 7}") for n in range(500)]
            await store.ledger.append_drafts(
                [an_append(f"{batch}", [e for pair in named for e in pair])]
            )

        seen: list[Entity] = []
        for offset in range(0, 1500, 300):
            page = await store.state.entities(EntityQuery(limit=300, offset=offset))
            assert page.total == 1500
            seen += page.items
        assert len({entity.id for entity in seen}) == 1500
        assert seen == sorted(seen, key=lambda e: (e.created_at, e.id))
