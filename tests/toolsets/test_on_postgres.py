"""The calls of all toolsets answer the same over a store in PostgreSQL, on a real server.

Every test of the modules below that asks for nothing is run once more, each in a schema of its own.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from threading import Thread
from typing import Any, TypeVar
from uuid import uuid4

import pytest
from typing_extensions import override

from canonry.app.backends.servers import canon_over_copy
from canonry.app.compose import compose_memory
from canonry.canon.session.canon import Canon
from canonry.stores.postgres import Database
from canonry.stores.postgres.database import PgConnection
from canonry.stores.postgres.ledger import PostgresLedger
from canonry.stores.postgres.store import migrate_store
from canonry.stores.projections.projector import Follower, join_views
from canonry.values.ids import SpaceId
from tests.conformance.postgres_store import URL, drop_data
from tests.toolsets.test_mixed_engines import KITS, calls_of

pytestmark = pytest.mark.anyio
T = TypeVar("T")
MODULES = (
    "narrative.test_canonization",
    "narrative.test_facts",
    "narrative.test_scenes",
    "narrative.test_search",
    "truth.test_examples",
    "truth.test_identity",
    "world.test_movement",
    "world.test_time_travel",
    "catalog.test_answers",
)


class Lazy(Database):
    """It connects when it is first asked, because kits compose their canon outside of a loop."""

    @override
    async def attempt_work(self, work: Callable[[PgConnection], Awaitable[T]]) -> T:
        await self.open()
        return await super().attempt_work(work)

    @override
    @asynccontextmanager
    async def borrow_connection(self) -> AsyncIterator[PgConnection]:
        await self.open()
        async with super().borrow_connection() as db:
            yield db


def make_composer(closing: AsyncExitStack) -> Callable[..., Canon]:
    """Each canon has its log in a schema of its own, and answers from a copy in memory."""

    def compose(**given: Any) -> Canon:
        memory = compose_memory(**given)
        database = Lazy(URL, f"test_{uuid4().hex}", connections=3)
        closing.push_async_callback(drop_data, database.name)
        closing.push_async_callback(database.close)
        preparing = Thread(target=lambda: asyncio.run(migrate_store(database)))
        preparing.start()
        preparing.join()
        ledger = PostgresLedger(database, memory.clock, memory.identities)
        follower = Follower(log=ledger, copy=memory.ledger, purge=erase_nothing)
        closing.push_async_callback(follower.await_erasures)
        return join_views(canon_over_copy(memory, ledger, follower), copied=memory.ledger).canon

    return compose


async def erase_nothing(space: SpaceId, targets: Sequence[str]) -> int:
    raise AssertionError(f"nothing is erased here: {space} {targets}")


@pytest.fixture
async def compose() -> AsyncIterator[Callable[..., Canon]]:
    if not URL:
        pytest.skip("no PostgreSQL server: `make servers` starts one")
    async with AsyncExitStack() as closing:
        yield make_composer(closing)


@pytest.mark.parametrize("module", MODULES)
async def test_calls_answer_alike_on_postgres(
    module: str, compose: Callable[..., Canon], monkeypatch: pytest.MonkeyPatch
) -> None:
    for kit in KITS:
        monkeypatch.setattr(import_module(f"tests.toolsets.{kit}"), "compose_memory", compose)
    calls = calls_of(f"toolsets.{module}")
    assert calls

    for call in calls.values():
        await call()
