"""Calls answer the same over records and documents in MongoDB: some of those that write most.

Every test of the modules below that asks for nothing is run once more, each in its own database.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from importlib import import_module
from threading import Thread
from typing import Any
from uuid import uuid4

import pytest

from canonry.app.backends.servers import over_copy
from canonry.app.compose import compose_memory
from canonry.canon.session.canon import Canon
from canonry.stores.following.following import Follower
from canonry.stores.following.join import join
from canonry.stores.mongodb import MongoDatabase, MongoDocuments, MongoLedger
from tests.conformance.mongodb_store import URL, dropped, require_server
from tests.toolsets.test_mixed_engines import KITS, calls_of
from tests.toolsets.test_on_postgres import nothing

pytestmark = pytest.mark.anyio
MODULES = (
    "narrative.test_turns",
    "truth.test_identity",
)


async def prepare(name: str) -> None:
    database = MongoDatabase(URL, name)
    await database.open()
    await database.close()


def composer(closing: AsyncExitStack, *, joined: bool = True) -> Callable[..., Canon]:
    def compose(**given: Any) -> Canon:
        memory = compose_memory(**given)
        name = f"test_{uuid4().hex}"
        preparing = Thread(target=lambda: asyncio.run(prepare(name)))
        preparing.start()
        preparing.join()
        database = MongoDatabase(URL, name)
        closing.push_async_callback(dropped, name)
        closing.push_async_callback(database.close)
        ledger = MongoLedger(database, memory.clock, memory.identities)
        canon = replace(memory, ledger=ledger, documents=MongoDocuments(database))
        return join(canon).canon if joined else canon

    return compose


def copied(closing: AsyncExitStack) -> Callable[..., Canon]:
    """The same, where all but documents is answered from a copy of the log, as on a machine."""
    server = composer(closing, joined=False)

    def compose(**given: Any) -> Canon:
        canon, own = server(**given), compose_memory(**given)
        follower = Follower(log=canon.ledger, copy=own.ledger, purge=nothing)
        closing.push_async_callback(follower.erased)
        canon = over_copy(own, canon.ledger, follower, canon.documents)
        return join(canon, copied=own.ledger).canon

    return compose


@pytest.fixture
async def compose() -> AsyncIterator[Callable[..., Canon]]:
    require_server()
    async with AsyncExitStack() as closing:
        yield composer(closing)


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
