"""Open the store in PostgreSQL: records and files there, and a copy of the log in each folder."""

from collections.abc import Awaitable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from canonry.app.backends.servers import ServerStore, ViewServers, open_on_server
from canonry.app.store_files import shared_filing
from canonry.app.system import SystemClock, SystemIdentities
from canonry.canon.maintenance.log_transfer import line_of
from canonry.canon.session.canon import Canon
from canonry.canon.session.paging import every_item
from canonry.log.ports.world import Clock, Identities
from canonry.readmodels.ports.view import MaintenanceProgress
from canonry.records.usecases.files import Filing
from canonry.stores.postgres import (
    MovedSpace,
    PostgresBlobs,
    PostgresStore,
    PostgresVectors,
    ShardedStore,
    Shards,
    move_space,
    open_store,
    owners_of_blobs,
)
from canonry.values.errors import InvalidInput
from canonry.values.ids import SpaceId
from canonry.values.policy import Policy

if TYPE_CHECKING:
    from canonry.stores.objects import ObjectBlobs, ObjectStore


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceOnServer:
    """A space and its server, by the names that an operator knows."""

    id: SpaceId
    name: str
    kind: str
    server: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceMover:
    """Lists the servers of the spaces of a divided store, and moves a space."""

    shards: Shards
    canon: Canon

    async def list_servers(self) -> Sequence[SpaceOnServer]:
        """Return all spaces, oldest first."""
        ask = partial(self.canon.state.spaces, kind=None, parent=None)
        spaces = [each async for each in every_item(ask)]
        homes = await self.shards.directory.servers_of(each.id for each in spaces)
        names = {each.id: each.name for each in self.shards.servers.values()}
        return [
            SpaceOnServer(id=s.id, name=s.name, kind=s.kind.value, server=names[homes[s.id]])
            for s in spaces
        ]

    async def move_space(
        self, space: SpaceId, to: str, progress: MaintenanceProgress
    ) -> MovedSpace | None:
        """Move a space to the server of that name; return None if it is there already.

        Raises:
            InvalidInput: `shards.unknown`, if there is no server of that name.
            CanonryError: as `canonry.stores.postgres.move_space` says.
        """
        servers = self.shards.servers.values()
        target = next((each for each in servers if each.name == to), None)
        if target is None:
            known = ", ".join(each.name for each in servers)
            raise InvalidInput("shards.unknown", f"There is no server {to}. Use one of {known}.")
        return await move_space(self.shards, space, target, progress, line=line_of)


Shared: TypeAlias = ServerStore[PostgresStore | ShardedStore]
"""A store with its records in PostgreSQL."""


async def open_postgres(
    url: str,
    *,
    shards: Sequence[str] = (),
    schema: str,
    folder: Path,
    connections: int,
    clock: Clock | None = None,
    identities: Identities | None = None,
    policy: Policy | None = None,
    objects: "ObjectStore | None" = None,
    view_servers: ViewServers | None = None,
) -> Shared:
    """Open the store in a schema of a database; what is each machine's own lies in `folder`.

    With several `shards`, the spaces are divided between these databases. Views are on the servers
    in `view_servers`, or else in the copy. Files are in `objects`, or else in the database of the
    first server.

    Raises:
        BrokenInvariant: `store.newer`, `store.failed` if the server is too old, or a fault of the
            copy.
        Conflict: `shards.missing` and the like, if these are not the servers of one store.
        Unavailable: `store.unreachable`, `store.busy`, `store.read-only`, or the folder cannot be
            used.
    """
    the_clock, the_identities = clock or SystemClock(), identities or SystemIdentities()
    async with AsyncExitStack() as opening:
        store = await open_store(
            shards or (url,),
            clock=the_clock,
            identities=the_identities,
            name=schema,
            connections=connections,
        )
        opening.push_async_callback(store.close)
        opened = await open_on_server(
            store,
            opening,
            name=schema,
            folder=folder,
            clock=the_clock,
            identities=the_identities,
            policy=policy,
            view_servers=view_servers,
            filing=_make_filing(store, objects, folder, the_identities),
            vectors=lambda: PostgresVectors(store.database),
        )
    if isinstance(store, ShardedStore):
        return replace(opened, mover=SpaceMover(shards=store.shards, canon=opened.canon))
    return opened


def _make_filing(
    store: PostgresStore | ShardedStore,
    objects: "ObjectStore | None",
    folder: Path,
    identities: Identities,
) -> Filing:
    def blobs_of(user_id: str) -> "PostgresBlobs | ObjectBlobs":
        owner = user_id.lower()
        return PostgresBlobs(store.database, owner) if objects is None else objects.blobs_of(owner)

    def stored_at(user_id: str, digest: str) -> Awaitable[float | None]:
        return blobs_of(user_id).stored_at(digest)

    return shared_filing(
        folder,
        identities,
        blobs_of=blobs_of,
        users=partial(owners_of_blobs, store.database) if objects is None else objects.list_owners,
        stored_at=stored_at,
    )
