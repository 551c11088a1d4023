"""A Neo4j server as contracts see it: each store has a name of its own in the one database."""

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from uuid import uuid4

import pytest

from canonry.stores.following.join import join
from canonry.stores.neo4j import Neo4jDatabase, Neo4jState, empty
from canonry.testing.conformance import Backend
from tests.conformance.test_memory import open_memory

URL = os.environ.get("TEST_NEO4J_URL", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Graphs:
    """Opens stores beside ledgers in memory, and empties all of them in the end."""

    closing: AsyncExitStack

    async def database(self) -> Neo4jDatabase:
        database = Neo4jDatabase(URL, f"test_{uuid4().hex}", connections=6)
        await database.open()
        self.closing.push_async_callback(emptied, database)
        return database

    async def fresh(self) -> Backend:
        """A ledger in memory whose state is a graph."""
        log, database = await open_memory(), await self.database()
        canon = join(replace(log.canon, state=Neo4jState(database))).canon
        return replace(log, canon=canon, another=self.fresh)


async def emptied(database: Neo4jDatabase) -> None:
    await empty(database)
    await database.close()


@asynccontextmanager
async def graphs() -> AsyncIterator[Graphs]:
    if not URL:
        pytest.skip("no Neo4j server: `make servers` starts one")
    async with AsyncExitStack() as closing:
        yield Graphs(closing=closing)
