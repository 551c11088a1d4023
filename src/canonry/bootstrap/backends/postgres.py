"""Open the store in PostgreSQL: every port over one database, which many processes share."""

from collections.abc import Awaitable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from canonry.adapters.postgres import (
    PostgresBlobs,
    PostgresStore,
    PostgresUpkeep,
    PostgresVectors,
    open_store,
    owners_of_blobs,
)
from canonry.adapters.readers import LocalReader
from canonry.adapters.system import SystemClock, SystemIdentities
from canonry.bootstrap.filing import shared_filing
from canonry.bootstrap.moving import back_up
from canonry.bootstrap.stores import KeptStore
from canonry.domain.policy import Policy
from canonry.ports.world import Clock, Identities
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.filing import Filing

if TYPE_CHECKING:
    from canonry.adapters.objects import ObjectBlobs, ObjectStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared(KeptStore):
    """The same with the store itself."""

    store: PostgresStore


async def open_postgres(
    url: str,
    *,
    schema: str,
    folder: Path,
    connections: int,
    clock: Clock | None = None,
    identities: Identities | None = None,
    policy: Policy | None = None,
    objects: "ObjectStore | None" = None,
) -> Shared:
    """Open the store in a schema of a database; what is each machine's own lies in `folder`.

    Files lie in `objects`, or in the database as well.

    Raises:
        BrokenInvariant: `store.newer`, or `store.failed` where the server is too old.
        Unavailable: `store.unreachable`, `store.busy`, `store.read-only`.
    """
    the_clock = clock or SystemClock()
    the_identities = identities or SystemIdentities()
    store = await open_store(
        url, clock=the_clock, identities=the_identities, name=schema, connections=connections
    )
    try:
        filing = _filing(store, objects, folder, the_identities)
    except BaseException:
        await store.close()
        raise
    canon = Canon(
        ledger=store.ledger,
        state=store.state,
        documents=store.documents,
        text=store.text,
        catalog=store.catalog,
        places=store.places,
        clock=the_clock,
        identities=the_identities,
        policy=policy or Policy(),
        reader=LocalReader(),
        filing=filing,
    )
    upkeep = PostgresUpkeep(store.database, partial(back_up, canon))
    return Shared(
        canon=canon,
        upkeep=upkeep,
        close=store.close,
        store=store,
        vectors=lambda: PostgresVectors(store.database),
    )


def _filing(
    store: PostgresStore, objects: "ObjectStore | None", folder: Path, identities: Identities
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
