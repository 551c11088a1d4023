"""Opening records and documents: both lie in one database."""

from dataclasses import dataclass

from canonry.log.ports.world import Clock, Identities
from canonry.stores.mongodb.database import CONNECTIONS, DEADLINE, MongoDatabase
from canonry.stores.mongodb.documents import MongoDocuments
from canonry.stores.mongodb.ledger import MongoLedger


@dataclass(frozen=True, slots=True, kw_only=True)
class MongoStore:
    """An open store; `close` must be awaited once."""

    database: MongoDatabase
    ledger: MongoLedger
    documents: MongoDocuments

    async def close(self) -> None:
        """Let go of the server."""
        await self.database.close()


async def open_store(
    url: str,
    *,
    clock: Clock,
    identities: Identities,
    name: str = "canonry",
    password: str | None = None,
    connections: int = CONNECTIONS,
    deadline: float = DEADLINE,
) -> MongoStore:
    """Open the database `name`, making what is missing.

    Raises:
        BrokenInvariant: `store.newer`.
        InvalidInput: `store.bad-url`.
        Unavailable: `store.unreachable`.
    """
    database = MongoDatabase(
        url, name, password=password, connections=connections, deadline=deadline
    )
    try:
        await database.open()
    except BaseException:
        await database.close()
        raise
    return MongoStore(
        database=database,
        ledger=MongoLedger(database, clock, identities),
        documents=MongoDocuments(database),
    )
