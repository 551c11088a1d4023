"""Opening: what is no store, or a later one, is refused untouched; what is older is brought up."""

from pathlib import Path

import apsw
import pytest

from canonry.log.entries import FactRead
from canonry.log.items.facts import Fact
from canonry.log.schemas.identity_keys import part_mark
from canonry.readmodels.ports.state import IdentifierQuery
from canonry.testing.clocks import an_append
from canonry.testing.example_items import (
    MIDDLE_EARTH,
    a_fact,
    a_named,
    a_space,
    a_turn,
    an_entity,
    creation_entries,
    uuid_of,
)
from canonry.values.errors import BrokenInvariant, CanonryError, Unavailable
from canonry.values.ids import FactId
from canonry.values.statements import Statement
from tests.adapters.sqlite.opened import a_store, run_statement

pytestmark = pytest.mark.anyio


async def opening_error(folder: Path) -> CanonryError:
    """The error that opening the folder raises."""
    with pytest.raises(CanonryError) as caught:
        async with a_store(folder):
            pass
    return caught.value


async def test_a_foreign_file_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "canon.db").write_bytes(b"dear diary, " * 1000)

    error = await opening_error(tmp_path)

    assert error.code == "store.not-canonry"
    assert (tmp_path / "canon.db").read_bytes() == b"dear diary, " * 1000


@pytest.mark.parametrize("application", [0, 0x0F055112])
async def test_a_foreign_database_is_refused_and_kept(tmp_path: Path, application: int) -> None:
    run_statement(tmp_path, f"CREATE TABLE diary (day); PRAGMA application_id = {application}")

    error = await opening_error(tmp_path)

    assert error.code == "store.not-canonry"
    assert run_statement(tmp_path, "SELECT name FROM sqlite_schema") == [("diary",)]


async def test_a_folder_that_is_a_file_is_unreachable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert (await opening_error(tmp_path / "file")).code == "store.unreachable"


async def test_a_store_of_a_later_version_is_refused(tmp_path: Path) -> None:
    async with a_store(tmp_path):
        pass
    run_statement(tmp_path, "PRAGMA user_version = 1000")

    error = await opening_error(tmp_path)

    assert isinstance(error, BrokenInvariant)
    assert error.code == "store.newer"


async def test_a_reader_that_is_too_old_cannot_open(tmp_path: Path) -> None:
    async with a_store(tmp_path):
        pass
    run_statement(tmp_path, "UPDATE meta SET value = 1000 WHERE name = 'min_reader'")

    assert (await opening_error(tmp_path)).code == "store.newer"


async def test_a_later_version_stops_a_running_server(tmp_path: Path) -> None:
    async with a_store(tmp_path) as store:
        await store.ledger.append_drafts([an_append("one", creation_entries(a_space()))])
        run_statement(tmp_path, "UPDATE meta SET value = 1000 WHERE name = 'min_reader'")

        with pytest.raises(BrokenInvariant) as caught:
            await store.ledger.append_drafts([an_append("two", creation_entries(an_entity()))])

        assert caught.value.code == "store.newer"
        assert await store.ledger.head_position(MIDDLE_EARTH) == 1


async def test_opening_a_store_from_before_statements_locks_out_the_old_version(
    tmp_path: Path,
) -> None:
    reading = FactRead(
        fact_id=FactId(uuid_of("small")),
        reader=1,
        statements=(Statement(subject=uuid_of("frodo"), attribute="size", value="small"),),
    )
    async with a_store(tmp_path) as store:
        items = creation_entries(a_space(), an_entity(), a_fact("small", "frodo"))
        await store.ledger.append_drafts([an_append("one", items)])
    before = run_statement(tmp_path, "SELECT * FROM commits ORDER BY seq")
    run_statement(tmp_path, "UPDATE meta SET value = 3 WHERE name = 'min_reader'")
    run_statement(tmp_path, "UPDATE meta SET value = 16 WHERE name = 'views'")

    async with a_store(tmp_path) as store:
        assert run_statement(tmp_path, "SELECT * FROM commits ORDER BY seq") == before
        fact = (await store.state.items_by_id([uuid_of("small")]))[uuid_of("small")]
        assert isinstance(fact, Fact)
        assert (fact.statements, fact.reader) == ((), None)
        await store.ledger.append_drafts([an_append("two", [reading], judged_at=1)])
        (key, _) = reading.statements[0].index_keys
        (found,) = await store.state.facts_framed(MIDDLE_EARTH, {key: 1})

    assert found.statements == reading.statements
    assert run_statement(tmp_path, "SELECT value FROM meta WHERE name = 'min_reader'") == [(4,)]


async def test_views_of_an_older_version_are_folded_again(tmp_path: Path) -> None:
    async with a_store(tmp_path) as store:
        items = creation_entries(a_space(), an_entity(), a_fact("small", "frodo"), a_turn("turn"))
        await store.ledger.append_drafts([an_append("one", items)])
    before = run_statement(tmp_path, "SELECT * FROM listing")
    run_statement(tmp_path, "UPDATE meta SET value = 0 WHERE name = 'views'; DROP TABLE listing")

    async with a_store(tmp_path) as store:
        assert (await store.ledger.head_position(MIDDLE_EARTH)) == 1

    assert run_statement(tmp_path, "SELECT * FROM listing") == before
    assert run_statement(tmp_path, "SELECT count(*) FROM unindexed") == [(0,)]


async def test_names_folded_differently_by_an_older_version_are_found(tmp_path: Path) -> None:
    async with a_store(tmp_path) as store:
        named = a_named("Maeve O\u2019Brien", entity_type="character")
        await store.ledger.append_drafts([an_append("one", (*creation_entries(a_space()), *named))])
    run_statement(tmp_path, "DELETE FROM identifiers")
    run_statement(tmp_path, "UPDATE meta SET value = 15 WHERE name = 'views'")

    keys = ("maeve o'brien", part_mark("maeve"))
    async with a_store(tmp_path) as store:
        found = await store.state.entities_identified(IdentifierQuery(keys=keys))

    names = {key: [each.name for each in page.items] for key, page in found.items()}
    assert names == {key: ["Maeve O\u2019Brien"] for key in keys}


async def test_records_without_views_are_projected(tmp_path: Path) -> None:
    async with a_store(tmp_path) as store:
        await store.ledger.append_drafts(
            [an_append("one", creation_entries(a_space(), a_fact("small", "frodo")))]
        )
    before = run_statement(tmp_path, "SELECT id, kind, body FROM things ORDER BY id")
    for table in ("passages", "things", "versions", "listing", "counts"):
        run_statement(tmp_path, f"DROP TABLE {table}")
    run_statement(tmp_path, "DELETE FROM meta WHERE name = 'views'")

    async with a_store(tmp_path):
        pass

    assert run_statement(tmp_path, "SELECT id, kind, body FROM things ORDER BY id") == before


async def test_closing_leaves_one_file_and_may_be_repeated(tmp_path: Path) -> None:
    async with a_store(tmp_path) as store:
        await store.ledger.append_drafts([an_append("one", creation_entries(a_space()))])
        await store.close()
        await store.close()

    assert not (tmp_path / "canon.db-wal").exists()
    assert run_statement(tmp_path, "SELECT count(*) FROM commits") == [(1,)]


async def test_a_closed_store_says_so(tmp_path: Path) -> None:
    async with a_store(tmp_path) as store:
        await store.close()

        with pytest.raises(Unavailable) as append:
            await store.ledger.append_drafts([an_append("one", creation_entries(a_space()))])
        with pytest.raises(Unavailable) as read:
            await store.state.items_by_id(["x"])
        with pytest.raises(Unavailable) as search:
            async with store.ledger.lock_appends():
                pass

    assert {c.value.code for c in (append, read, search)} == {"ledger.closed"}


async def test_the_file_contains_its_application_id(tmp_path: Path) -> None:
    async with a_store(tmp_path):
        pass

    db = apsw.Connection(str(tmp_path / "canon.db"))
    try:
        assert db.pragma("application_id") == int.from_bytes(b"CANO")
        assert db.pragma("journal_mode") == "wal"
    finally:
        db.close()
