"""Documents show people what the log has, whoever shows them, however often and however late."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from uuid import uuid4

import pytest

from canonry.log.commits import Position
from canonry.log.entries import StoredItem, Tombstone
from canonry.readmodels.ports.view import Folded
from canonry.stores.mongodb import MongoDatabase, MongoDocuments, MongoMaintenance
from canonry.testing.example_items import MIDDLE_EARTH, a_memory, a_scene, a_turn
from canonry.values.errors import Conflict
from tests.conformance.mongodb_store import URL, drop_data, require_server

pytestmark = pytest.mark.anyio


@pytest.fixture
async def databases() -> AsyncIterator[tuple[MongoDatabase, MongoDatabase]]:
    """One database, as two processes have it."""
    require_server()
    name = f"test_{uuid4().hex}"
    async with AsyncExitStack() as closing:
        closing.push_async_callback(drop_data, name)
        one, other = MongoDatabase(URL, name), MongoDatabase(URL, name)
        for each in (one, other):
            closing.push_async_callback(each.close)
            await each.open()
        yield one, other


def show_position(position: int, *items: StoredItem) -> Folded:
    return Folded(space=MIDDLE_EARTH, position=Position(position), items=items)


def item_at(item: StoredItem, position: int) -> StoredItem:
    return replace(item, changed_at=Position(position))


async def test_a_late_or_repeated_write_replaces_no_newer_document(
    databases: tuple[MongoDatabase, MongoDatabase],
) -> None:
    one, other = map(MongoDocuments, databases)
    mending = MongoMaintenance(databases[0])
    result = item_at(a_turn("turn", text="as it was"), 1)
    changed = item_at(a_turn("turn", text="as it is"), 2)
    memory, scene = item_at(a_memory("memory"), 3), item_at(a_scene(), 3)
    folded = [show_position(1, result), show_position(2, changed), show_position(3, memory, scene)]

    await one.apply(folded[:2])
    await one.apply(folded[1:])
    await databases[0].committed_collection("view_cursors").delete_many({})
    await other.apply(folded[:1])
    await other.apply(folded)

    items = {each.id: each for each in (changed, memory, scene)}
    assert await mending.find_differing(items) == []
    assert await one.cursor(MIDDLE_EARTH) == await other.cursor(MIDDLE_EARTH) == 3


async def test_an_erased_document_is_empty_and_stays_so(
    databases: tuple[MongoDatabase, MongoDatabase],
) -> None:
    one, _ = map(MongoDocuments, databases)
    turn = item_at(a_turn("secret", text="a personal word"), 1)
    gone = Tombstone(id=turn.id, space=MIDDLE_EARTH, was="turn", position=2, changed_at=2)
    await one.apply([show_position(1, turn), show_position(2, gone)])
    await databases[0].committed_collection("view_cursors").delete_many({})
    await one.apply([show_position(1, turn)])

    stored = await databases[0].committed_collection("turns").find_one({"_id": turn.id})
    assert "a personal word" not in str(stored)


async def test_missing_commits_are_requested(
    databases: tuple[MongoDatabase, MongoDatabase],
) -> None:
    one, _ = map(MongoDocuments, databases)

    with pytest.raises(Conflict) as caught:
        await one.apply([show_position(1), show_position(3)])

    assert caught.value.code == "view.gap"
    assert await one.cursor(MIDDLE_EARTH) == 1
