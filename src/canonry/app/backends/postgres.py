"""Open the store in PostgreSQL: every port over one database, which many processes share."""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from canonry.app.compose import compose
from canonry.app.filing import shared_filing
from canonry.app.moving import back_up
from canonry.app.stores import KeptStore
from canonry.app.system import SystemClock, SystemIdentities
from canonry.canon.session.canon import Canon
from canonry.canon.session.paging import every_item
from canonry.canon.upkeep.logs import line_of
from canonry.log.ports.world import Clock, Identities
from canonry.readmodels.ports.view import Upkeep, UpkeepProgress
from canonry.records.usecases.services import Filing
from canonry.stores.postgres import (
    MovedSpace,
    PostgresBlobs,
    PostgresStore,
    PostgresUpkeep,
    PostgresVectors,
    ShardedStore,
    ShardedUpkeep,
    Shards,
    move_space,
    open_shards,
    open_store,
    owners_of_blobs,
)
from canonry.values.errors import InvalidInput
from canonry.values.ids import SpaceId
from canonry.values.policy import Policy

if TYPE_CHECKING:
    from canonry.stores.objects import ObjectBlobs, ObjectStore


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedSpace:
    """A space and the server that it lives on, as an operator knows both."""

    id: SpaceId
    name: str
    kind: str
    server: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceMover:
    """Tells where the spaces of a divided store live, and moves one."""

    shards: Shards
    canon: Canon

    async def placed(self) -> Sequence[PlacedSpace]:
        """All spaces, oldest first."""
        ask = partial(self.canon.state.spaces, kind=None, parent=None)
        spaces = [each async for each in every_item(ask)]
        homes = await self.shards.directory.homes(each.id for each in spaces)
        names = {each.id: each.name for each in self.shards.servers.values()}
        return [
            PlacedSpace(id=s.id, name=s.name, kind=s.kind.value, server=names[homes[s.id]])
            for s in spaces
        ]

    async def move(self, space: SpaceId, to: str, told: UpkeepProgress) -> MovedSpace | None:
        """Move a space to the server of that name; None: it lives there already.

        Raises:
            InvalidInput: `shards.unknown`, no server is called so.
            CanonryError: as `canonry.stores.postgres.move_space` says.
        """
        servers = self.shards.servers.values()
        target = next((each for each in servers if each.name == to), None)
        if target is None:
            known = ", ".join(each.name for each in servers)
            raise InvalidInput("shards.unknown", f"there is no server {to}; there are {known}")
        return await move_space(
            self.shards,
            space,
            target,
            told,
            line=line_of,
            clock=self.canon.clock,
            identities=self.canon.identities,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared(KeptStore):
    """The same with the store itself."""

    store: PostgresStore | ShardedStore


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
) -> Shared:
    """Open the store in a schema of a database; what is each machine's own lies in `folder`.

    Where there are several `shards`, the spaces are divided between these databases. Files lie in
    `objects`, or in the database as well, which is that of the first server then.

    Raises:
        BrokenInvariant: `store.newer`, or `store.failed` where the server is too old.
        Conflict: `shards.missing` and the like, these are not the servers of one store.
        Unavailable: `store.unreachable`, `store.busy`, `store.read-only`.
    """
    the_clock, the_identities = clock or SystemClock(), identities or SystemIdentities()
    opened = partial(open_shards, shards) if shards else partial(open_store, url)
    store: PostgresStore | ShardedStore = await opened(
        clock=the_clock, identities=the_identities, name=schema, connections=connections
    )
    try:
        filing = _filing(store, objects, folder, the_identities)
    except BaseException:
        await store.close()
        raise
    canon = compose(store, clock=the_clock, identities=the_identities, policy=policy, filing=filing)
    copy, shared = partial(back_up, canon), store.database
    if isinstance(store, ShardedStore):
        upkeep: Upkeep = ShardedUpkeep(store.shards, copy)
        mover = SpaceMover(shards=store.shards, canon=canon)
    else:
        upkeep, mover = PostgresUpkeep(shared, copy), None
    return Shared(
        canon=canon,
        upkeep=upkeep,
        close=store.close,
        store=store,
        vectors=lambda: PostgresVectors(shared),
        mover=mover,
    )


def _filing(
    store: PostgresStore | ShardedStore,
    objects: "ObjectStore | None",
    folder: Path,
    identities: Identities,
) -> Filing:
    def blobs_of(user_id: str) -> "PostgresBlobs | ObjectBlobs":
        owner = user_id.lower()
        return PostgresBlobs(store.database, owner) if objects is None else objects.of(owner)

    def stored_at(user_id: str, digest: str) -> Awaitable[float | None]:
        return blobs_of(user_id).stored_at(digest)

    return shared_filing(
        folder,
        identities,
        blobs_of=blobs_of,
        users=partial(owners_of_blobs, store.database) if objects is None else objects.owners,
        stored_at=stored_at,
    )
