"""Calls answer the same over records in MongoDB: some of those that write most.

Every test of the modules below that asks for nothing is run once more, each in its own database.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from importlib import import_module
from threading import Thread
from typing import Any
from uuid import uuid4

import pytest

from canonry.app.backends.servers import canon_over_copy
from canonry.app.compose import compose_memory
from canonry.canon.session.canon import Canon
from canonry.stores.mongodb import MongoDatabase, MongoLedger
from canonry.stores.projections.projector import Follower, join_views
from tests.conformance.mongodb_store import URL, drop_data, require_server
from tests.toolsets.test_mixed_engines import KITS, calls_of
from tests.toolsets.test_on_postgres import erase_nothing

pytestmark = pytest.mark.anyio
MODULES = (
    "narrative.test_turns",
    "truth.test_identity",
)


async def prepare_database(name: str) -> None:
    database = MongoDatabase(URL, name)
    await database.open()
    await database.close()


def make_composer(closing: AsyncExitStack) -> Callable[..., Canon]:
    """Each canon has its log in a database of its own, and answers from a copy in memory."""

    def compose(**given: Any) -> Canon:
        memory = compose_memory(**given)
        name = f"test_{uuid4().hex}"
        preparing = Thread(target=lambda: asyncio.run(prepare_database(name)))
        preparing.start()
        preparing.join()
        database = MongoDatabase(URL, name)
        closing.push_async_callback(drop_data, name)
        closing.push_async_callback(database.close)
        ledger = MongoLedger(database, memory.clock, memory.identities)
        follower = Follower(log=ledger, copy=memory.ledger, purge=erase_nothing)
        closing.push_async_callback(follower.await_erasures)
        return join_views(canon_over_copy(memory, ledger, follower), copied=memory.ledger).canon

    return compose


@pytest.fixture
async def compose() -> AsyncIterator[Callable[..., Canon]]:
    require_server()
    async with AsyncExitStack() as closing:
        yield make_composer(closing)


@pytest.mark.parametrize("module", MODULES)
async def test_calls_answer_alike_on_mongodb(
    module: str, compose: Callable[..., Canon], monkeypatch: pytest.MonkeyPatch
) -> None:
    for kit in KITS:
        monkeypatch.setattr(import_module(f"tests.toolsets.{kit}"), "compose_memory", compose)
    calls = calls_of(f"toolsets.{module}")
    assert calls

    for call in calls.values():
        await call()
