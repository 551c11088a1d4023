"""Stores for the tests of the SQLite adapter: opened in a folder, looked at from outside."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import apsw

from canonry.log.ports.world import Clock
from canonry.stores.folder import FolderBlobs
from canonry.stores.sqlite import Durability, SqliteStore, open_store
from canonry.testing.clocks import CountingIdentities, HandClock


@asynccontextmanager
async def a_store(
    folder: Path,
    *,
    durability: Durability = Durability.NORMAL,
    prefix: int = 0,
    deadline: float = 10.0,
    vfs: str | None = None,
    clock: Clock | None = None,
    mapped_from: int = 2**26,
) -> AsyncIterator[SqliteStore]:
    """The store in `folder`; two with different prefixes never make the same identity."""
    store = await open_store(
        folder,
        clock=clock or HandClock(),
        identities=CountingIdentities(prefix),
        blobs=FolderBlobs(folder / "blobs", syncs=False),
        durability=durability,
        deadline=deadline,
        vfs=vfs,
        mapped_from=mapped_from,
    )
    try:
        yield store
    finally:
        await store.close()


def run_statement(folder: Path, sql: str) -> Sequence[tuple[Any, ...]]:
    """Run a statement without the store's knowledge, and return its rows."""
    db = apsw.Connection(str(folder / "canon.db"))
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()
