"""Opening a store on several servers: every port over all of them."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from psycopg.conninfo import conninfo_to_dict

from canonry.log.ports.world import Clock, Identities
from canonry.readmodels.ports.catalog import Catalog
from canonry.readmodels.ports.documents import Documents
from canonry.readmodels.ports.places import Places
from canonry.readmodels.ports.state import State
from canonry.stores.postgres.database import CONNECTIONS, DEADLINE, Database
from canonry.stores.postgres.shards.directory import Directory
from canonry.stores.postgres.shards.joining import joined
from canonry.stores.postgres.shards.ledger import ShardedLedger
from canonry.stores.postgres.shards.moving import mend, mend_all
from canonry.stores.postgres.shards.routes import routed
from canonry.stores.postgres.shards.servers import Server, Shards
from canonry.stores.postgres.shards.text import ShardedText
from canonry.stores.postgres.shards.views import CATALOG, DOCUMENTS, PLACES, STATE
from canonry.stores.postgres.store import open_store


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardedStore:
    """An open store; `close` must be awaited once."""

    shards: Shards
    ledger: ShardedLedger
    state: State
    documents: Documents
    text: ShardedText
    catalog: Catalog
    places: Places

    @property
    def database(self) -> Database:
        """The database of the first server, which has what belongs to no space."""
        return self.shards.first.database

    async def close(self) -> None:
        """Finish what was begun, then let go of all servers; closing twice is allowed."""
        await self.shards.writes.end()
        await asyncio.gather(*(each.store.close() for each in self.shards.servers.values()))


async def open_shards(
    urls: Sequence[str],
    *,
    clock: Clock,
    identities: Identities,
    name: str = "canonry",
    connections: int = CONNECTIONS,
    deadline: float = DEADLINE,
) -> ShardedStore:
    """Open the store in the schema `name` on each of these servers.

    Raises:
        BrokenInvariant: `store.newer`, or `store.failed` where a server is too old.
        Conflict: as `canonry.stores.postgres.shards.joining.joined` says.
        Unavailable: `store.unreachable`.
    """
    async with AsyncExitStack() as opening:
        stores = {}
        for url in urls:
            store = await open_store(
                url,
                clock=clock,
                identities=identities,
                name=name,
                connections=connections,
                deadline=deadline,
                is_whole=False,
            )
            opening.push_async_callback(store.close)
            stores[store.database] = store
        found = await joined(list(stores))
        servers = {
            server: Server(id=server, name=_name_of(database.url), store=stores[database])
            for server, database in found.items()
        }
        first = next(iter(servers))
        directory = Directory(servers[first].database, first, list(servers))
        shards = Shards(servers=servers, directory=directory, mend=mend)
        await mend_all(shards)
        opening.pop_all()
    return ShardedStore(
        shards=shards,
        ledger=ShardedLedger(shards),
        state=routed(shards, "state", State, STATE),
        documents=routed(shards, "documents", Documents, DOCUMENTS),
        text=ShardedText(shards),
        catalog=routed(shards, "catalog", Catalog, CATALOG),
        places=routed(shards, "places", Places, PLACES),
    )


def _name_of(url: str) -> str:
    """A server as people know it, without whoever connects to it."""
    told = conninfo_to_dict(url)
    return f"{told.get('host', 'localhost')}:{told.get('port', 5432)}/{told.get('dbname', '')}"
