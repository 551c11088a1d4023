"""A bit that flips in the file is an error with its remedy, and never another value."""

import random
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest

from canonry.log.commits import ORIGIN
from canonry.readmodels.ports.documents import MemoryQuery
from canonry.readmodels.ports.state import FactQuery
from canonry.stores.sqlite import SqliteStore
from canonry.stores.sqlite.identifiers import _event_in
from canonry.stores.sqlite.rows import pack_id
from canonry.testing.clocks import an_append
from canonry.testing.example_items import (
    MIDDLE_EARTH,
    a_fact,
    a_memory,
    a_space,
    a_turn,
    creation_entries,
    uuid_of,
)
from canonry.values.errors import BrokenInvariant, CanonryError
from canonry.values.ids import EntityId
from tests.adapters.sqlite.opened import a_store, run_statement

pytestmark = pytest.mark.anyio

NAMES = [f"memory {n}" for n in range(40)]
FLIPS = 100
VERIFY = "canonry verify"


async def write_store(folder: Path) -> None:
    async with a_store(folder) as store:
        await store.ledger.append_drafts([an_append("space", creation_entries(a_space()))])
        for n, name in enumerate(NAMES):
            said = creation_entries(
                a_memory(name), a_fact(f"fact {n}", "Frodo"), a_turn(f"turn {n}")
            )
            await store.ledger.append_drafts([an_append(name, said)])


async def read_items(store: SqliteStore) -> Any:
    return await store.state.items_by_id([uuid_of(name) for name in NAMES])


async def read_log(store: SqliteStore) -> Any:
    return await store.ledger.read_commits(MIDDLE_EARTH, after=ORIGIN, limit=500)


async def read_facts(store: SqliteStore) -> Any:
    return (await store.state.facts(FactQuery(limit=500))).items


async def read_memories(store: SqliteStore) -> Any:
    query = MemoryQuery(entity_id=EntityId(uuid_of("frodo")))
    return (await store.documents.memories(query)).items


async def read_heads(store: SqliteStore) -> Any:
    return await store.ledger.list_heads(limit=10)


READS: dict[str, Callable[[SqliteStore], Awaitable[Any]]] = {
    "things": read_items,
    "the log": read_log,
    "facts": read_facts,
    "memories": read_memories,
    "heads": read_heads,
}


def flip_bit(folder: Path, table: str, column: str, key: str, where: int) -> None:
    """Flip one bit of one value, behind the store's back and past every index."""
    db = apsw.Connection(str(folder / "canon.db"))
    sql = f"SELECT {key}, {column} FROM {table} WHERE {column} IS NOT NULL ORDER BY {key}"
    found: Sequence[Any] = db.execute(sql).fetchall()
    n, data = found[where % len(found)]
    spot = where // len(found) % len(data)
    data = data[:spot] + bytes([data[spot] ^ (1 << where % 8)]) + data[spot + 1 :]
    db.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (data, n))
    db.close()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE listing SET facet = 'canon/gm/stat' WHERE list = 4 AND id = :id",
        "UPDATE listing SET space = x'00' WHERE list = 4 AND id = :id",
        "UPDATE listing SET list = 5 WHERE list = 4 AND id = :id",
        "UPDATE listing SET owner = :owner WHERE list = 4 AND id = :other",
        "UPDATE listing SET id = x'00' WHERE list = 4 AND id = :id",
        "UPDATE counts SET n = n + 1 WHERE list = 4 AND owner = :owner",
        "UPDATE counts SET n = n - 1 WHERE list = 4 AND owner = :owner",
    ],
)
async def test_a_flipped_index_key_is_reported_by_the_old_or_new_list(
    tmp_path: Path, damage: str
) -> None:
    await write_store(tmp_path)
    async with a_store(tmp_path) as store:
        await store.ledger.append_drafts(
            [an_append("Sam", creation_entries(a_fact("Sam waits", "Sam")))]
        )
    db = apsw.Connection(str(tmp_path / "canon.db"))
    names = {"id": "fact 7", "owner": "Frodo", "other": "Sam waits"}
    db.execute(damage, {key: pack_id(uuid_of(name)) for key, name in names.items()})
    assert db.changes() == 1
    db.close()

    query = FactQuery(entities=frozenset((EntityId(uuid_of("Frodo")),)), limit=100)
    async with a_store(tmp_path) as store:
        with pytest.raises(BrokenInvariant) as caught:
            await store.state.facts(query)
        others = await store.state.items_by_id([uuid_of("fact 7")])

    assert caught.value.code == "store.altered"
    assert VERIFY in caught.value.message
    assert list(others) == [uuid_of("fact 7")]


@pytest.mark.parametrize(
    ("read", "table", "column", "code"),
    [
        ("things", "things", "body", "store.altered"),
        ("the log", "parts", "payload", "ledger.altered"),
        ("the log", "parts", "salt", "ledger.altered"),
        ("the log", "commits", "body", "ledger.altered"),
        ("the log", "commits", "hash", "ledger.altered"),
    ],
)
async def test_an_altered_value_is_never_served(
    tmp_path: Path, read: str, table: str, column: str, code: str
) -> None:
    await write_store(tmp_path)
    if table == "things":
        run_statement(tmp_path, "DELETE FROM things WHERE kind <> 'memory'")
    flip_bit(tmp_path, table, column, "rowid", 7919)

    async with a_store(tmp_path) as store:
        with pytest.raises(BrokenInvariant) as caught:
            await READS[read](store)

    assert caught.value.code == code
    assert VERIFY in caught.value.message


async def test_an_item_of_another_kind_is_not_served(tmp_path: Path) -> None:
    await write_store(tmp_path)
    run_statement(tmp_path, "UPDATE things SET kind = 'memorx' WHERE kind = 'memory'")

    async with a_store(tmp_path) as store:
        with pytest.raises(BrokenInvariant) as caught:
            await read_items(store)

    assert caught.value.code == "store.altered"


async def test_views_are_not_built_from_altered_records(tmp_path: Path) -> None:
    await write_store(tmp_path)
    flip_bit(tmp_path, "parts", "payload", "rowid", 11)
    run_statement(tmp_path, "UPDATE meta SET value = 1 WHERE name = 'views'")

    with pytest.raises(BrokenInvariant) as caught:
        async with a_store(tmp_path):
            pass

    assert caught.value.code == "ledger.altered"


async def test_no_flipped_bit_of_the_file_changes_an_answer(tmp_path: Path) -> None:
    await write_store(tmp_path)
    path, chance = tmp_path / "canon.db", random.Random(10)
    whole = path.read_bytes()
    async with a_store(tmp_path) as store:
        right = [each for read in READS.values() for each in _as_list(await read(store))]

    refused: list[str] = []
    for _ in range(FLIPS):
        at = chance.randrange(100, len(whole))
        path.write_bytes(
            whole[:at] + bytes([whole[at] ^ (1 << chance.randrange(8))]) + whole[at + 1 :]
        )
        try:
            async with a_store(tmp_path) as store:
                for read in READS.values():
                    # A wrong index may skip rows, but the rows that it finds are as written.
                    assert [each for each in _as_list(await read(store)) if each not in right] == []
        except CanonryError as error:
            refused.append(error.message)
        for beside in ("canon.db-wal", "canon.db-shm"):
            (tmp_path / beside).unlink(missing_ok=True)
    assert len(refused) > FLIPS // 20
    assert [message for message in refused if "`canonry " not in message] == []


def _as_list(answer: Any) -> list[Any]:
    return list(answer.values() if isinstance(answer, dict) else answer)


async def test_an_index_entry_without_a_dated_value_is_an_error(tmp_path: Path) -> None:
    await write_store(tmp_path)
    db = apsw.Connection(str(tmp_path / "canon.db"))
    nowhere = (0, pack_id(MIDDLE_EARTH), "Due", 0, pack_id(uuid_of("nobody")))
    with pytest.raises(BrokenInvariant) as caught:
        _event_in(db, nowhere)
    db.close()
    assert caught.value.code == "store.altered"
    assert VERIFY in caught.value.message
