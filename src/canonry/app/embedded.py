"""Open the embedded store: one folder with one database file and its blobs."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from canonry.app.compose import compose_canon
from canonry.app.store_files import copy_files, folder_filing
from canonry.app.stores import KeptStore
from canonry.app.system import SystemClock, SystemIdentities
from canonry.log.ports.ledger import Blobs
from canonry.log.ports.world import Clock, Identities
from canonry.stores.folder import FolderBlobs
from canonry.stores.sqlite import (
    Durability,
    ReadOnlyMaintenance,
    SqliteLedger,
    SqliteMaintenance,
    open_sealed,
    open_store,
)
from canonry.values.policy import Policy

BLOBS = "blobs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded(KeptStore):
    """A kept store with its own ledger and blobs."""

    ledger: SqliteLedger
    blobs: Blobs


async def open_embedded(
    folder: Path,
    *,
    clock: Clock | None = None,
    identities: Identities | None = None,
    policy: Policy | None = None,
    durability: Durability = Durability.FULL,
    vfs: str | None = None,
) -> Embedded:
    """Open the store in `folder`, and create it if it is missing; several processes may open it.

    Raises:
        BrokenInvariant: `store.not-canonry`, `store.newer` or `store.corrupt`.
        Unavailable: the folder or its disk cannot be used; the code says why.
    """
    the_clock = clock or SystemClock()
    the_identities = identities or SystemIdentities()
    blobs = FolderBlobs(folder / BLOBS, syncs=durability is Durability.FULL)
    store = await open_store(
        folder,
        clock=the_clock,
        identities=the_identities,
        blobs=blobs,
        durability=durability,
        vfs=vfs,
    )
    try:
        filing = folder_filing(folder, the_identities, syncs=durability is Durability.FULL)
    except BaseException:
        await store.close()
        raise
    canon = compose_canon(
        store, clock=the_clock, identities=the_identities, policy=policy, filing=filing
    )
    maintenance = SqliteMaintenance(
        store,
        blobs=blobs,
        stored_at=blobs.stored_at,
        blobs_in=lambda target: FolderBlobs(target / BLOBS),
        copy_files=partial(copy_files, folder),
        clock=the_clock,
    )
    return Embedded(
        canon=canon, ledger=store.ledger, blobs=blobs, maintenance=maintenance, close=store.close
    )


async def open_embedded_sealed(folder: Path, *, policy: Policy | None = None) -> KeptStore:
    """Open the store in `folder` read-only; it must exist and have this version.

    Raises:
        NotFound: `store.absent`.
        BrokenInvariant: `store.not-canonry`, `store.newer`, `store.older` or `store.corrupt`.
        Unavailable: the folder or its disk cannot be used; the code says why.
    """
    blobs = FolderBlobs(folder / BLOBS, syncs=False)
    store = await open_sealed(folder, blobs=blobs)
    identities = SystemIdentities()
    filing = folder_filing(folder, identities, syncs=False, signs=False)
    canon = compose_canon(
        store, clock=SystemClock(), identities=identities, policy=policy, filing=filing
    )
    maintenance = ReadOnlyMaintenance(
        store.path,
        store.readers,
        blobs=blobs,
        blobs_in=lambda target: FolderBlobs(target / BLOBS),
        copy_files=partial(copy_files, folder),
        mode=store.mode,
    )
    return KeptStore(canon=canon, maintenance=maintenance, close=store.close)
