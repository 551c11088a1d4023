"""Open the store in MongoDB: records and documents there, and a copy of the log in each folder."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from canonry.app.backends.servers import ServerStore, ViewServers, open_on_server
from canonry.app.store_files import shared_filing
from canonry.app.system import SystemClock, SystemIdentities
from canonry.log.ports.world import Clock, Identities
from canonry.records.usecases.files import Filing
from canonry.stores.mongodb import MongoStore, open_store
from canonry.values.policy import Policy

if TYPE_CHECKING:
    from canonry.stores.objects import ObjectStore


SplitStore: TypeAlias = ServerStore[MongoStore]
"""A store with its records and documents in MongoDB."""


async def open_mongodb(
    url: str,
    *,
    database: str,
    folder: Path,
    password: str | None = None,
    clock: Clock | None = None,
    identities: Identities | None = None,
    policy: Policy | None = None,
    objects: "ObjectStore | None" = None,
    view_servers: ViewServers | None = None,
) -> SplitStore:
    """Open the store in a database of a MongoDB deployment; this machine's copy is in `folder`.

    Views are on the servers in `view_servers`, if any. Files are in `objects`, or in `folder`,
    where only this machine has them.

    Raises:
        BrokenInvariant: `store.newer`, or what is wrong with the copy.
        InvalidInput: `store.bad-url`.
        Unavailable: `store.unreachable`, or the folder cannot be used.
    """
    the_clock, the_identities = clock or SystemClock(), identities or SystemIdentities()
    async with AsyncExitStack() as opening:
        store = await open_store(
            url, clock=the_clock, identities=the_identities, name=database, password=password
        )
        opening.push_async_callback(store.close)
        return await open_on_server(
            store,
            opening,
            name=database,
            folder=folder,
            clock=the_clock,
            identities=the_identities,
            policy=policy,
            view_servers=view_servers,
            filing=_make_filing(objects, folder, the_identities),
            documents=(store.documents, store.maintenance),
        )


def _make_filing(
    objects: "ObjectStore | None", folder: Path, identities: Identities
) -> Filing | None:
    """Return files in an object store; None if they are next to the copy."""
    if objects is None:
        return None
    return shared_filing(
        folder,
        identities,
        blobs_of=lambda user_id: objects.blobs_of(user_id.lower()),
        users=objects.list_owners,
        stored_at=lambda user_id, digest: objects.blobs_of(user_id.lower()).stored_at(digest),
    )
