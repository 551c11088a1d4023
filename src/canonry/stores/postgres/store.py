"""Opening the store: every port over one pool of connections."""

from dataclasses import dataclass
from typing import Any

from canonry.log.ports.world import Clock, Identities
from canonry.stores.postgres.catalog.catalog import PostgresCatalog
from canonry.stores.postgres.database import CONNECTIONS, DEADLINE, Database
from canonry.stores.postgres.documents import PostgresDocuments
from canonry.stores.postgres.ledger import PostgresLedger
from canonry.stores.postgres.places import PostgresPlaces
from canonry.stores.postgres.shards.joining import require_whole
from canonry.stores.postgres.state.state import PostgresState
from canonry.stores.postgres.text.text import PostgresText
from canonry.stores.postgres.upkeep.preparing import prepare


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresStore:
    """An open store; `close` must be awaited once."""

    database: Database
    ledger: PostgresLedger
    state: PostgresState
    documents: PostgresDocuments
    text: PostgresText
    catalog: PostgresCatalog
    places: PostgresPlaces

    async def close(self) -> None:
        """Let go of the server."""
        await self.database.close()


async def open_store(
    url: str,
    *,
    clock: Clock,
    identities: Identities,
    name: str = "canonry",
    connections: int = CONNECTIONS,
    deadline: float = DEADLINE,
    is_whole: bool = True,
) -> PostgresStore:
    """Open the store in the schema `name` of a database, making or upgrading it where needed.

    Raises:
        BrokenInvariant: `store.newer`, or `store.failed` where the server is too old.
        Conflict: `shards.missing`, it `is_whole` to whoever opens it, and only a part.
        Unavailable: `store.unreachable`.
    """
    database = Database(url, name, connections=connections, deadline=deadline)
    await prepare(database)
    await database.open()
    try:
        if is_whole:
            await require_whole(database)
    except BaseException:
        await database.close()
        raise
    return PostgresStore(database=database, **ports_over(database, clock, identities))


def ports_over(database: Database, clock: Clock, identities: Identities) -> dict[str, Any]:
    """The ledger and every view over one database."""
    return {
        "ledger": PostgresLedger(database, clock, identities),
        "state": PostgresState(database),
        "documents": PostgresDocuments(database),
        "text": PostgresText(database),
        "catalog": PostgresCatalog(database),
        "places": PostgresPlaces(database),
    }
