"""A Neo4j server as tests see it: each store has a name of its own in the one database."""

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from uuid import uuid4

import pytest

from canonry.stores.neo4j import Neo4jDatabase, Neo4jGraph

URL = os.environ.get("TEST_NEO4J_URL", "")
_KINDS = "MATCH (t:Thing) WHERE t.store = $store AND t.body IS NOT NULL RETURN t.id, t.kind"


@dataclass(frozen=True, slots=True, kw_only=True)
class Graphs:
    """Opens stores, and empties all of them in the end."""

    closing: AsyncExitStack

    async def open_database(self) -> Neo4jDatabase:
        database = Neo4jDatabase(URL, f"test_{uuid4().hex}", connections=6)
        await database.open()
        self.closing.push_async_callback(empty_database, database)
        return database


@asynccontextmanager
async def open_graph(name: str) -> AsyncIterator[Neo4jDatabase]:
    """The graph of a store, beside whoever else has opened it."""
    database = Neo4jDatabase(URL, name, connections=6)
    await database.open()
    try:
        yield database
    finally:
        await database.close()


async def empty_database(database: Neo4jDatabase) -> None:
    await Neo4jGraph(database).delete_nodes()
    await database.close()


async def read_kinds(database: Neo4jDatabase) -> dict[str, str]:
    """The kind of each item that the graph shows."""
    return {row[0]: row[1] for row in await database.fetch_rows(_KINDS)}


@asynccontextmanager
async def open_graphs() -> AsyncIterator[Graphs]:
    if not URL:
        pytest.skip("no Neo4j server: `make servers` starts one")
    async with AsyncExitStack() as closing:
        yield Graphs(closing=closing)
