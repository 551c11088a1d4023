"""A store opened for reading alone: no byte of it changes, and others may write meanwhile."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from canonry.adapters.sqlite.anchor import Anchor
from canonry.adapters.sqlite.catalog.catalog import SqliteCatalog
from canonry.adapters.sqlite.catalog.search import load_arrays
from canonry.adapters.sqlite.connections import connect
from canonry.adapters.sqlite.documents import SqliteDocuments
from canonry.adapters.sqlite.ledger.ledger import SqliteLedger
from canonry.adapters.sqlite.places import SqlitePlaces
from canonry.adapters.sqlite.readers import Readers
from canonry.adapters.sqlite.schema import is_current
from canonry.adapters.sqlite.state.state import SqliteState
from canonry.adapters.sqlite.store import FILE
from canonry.adapters.sqlite.text.text import SqliteText
from canonry.domain.errors import BrokenInvariant, NotFound
from canonry.ports.records.blobs import Blobs

_DEADLINE: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedStore:
    """Everything that reads one folder, for as long as it is open."""

    ledger: SqliteLedger
    state: SqliteState
    documents: SqliteDocuments
    text: SqliteText
    catalog: SqliteCatalog
    places: SqlitePlaces
    readers: Readers

    async def close(self) -> None:
        """Let running queries end, and let go of the folder."""
        await self.readers.close()


async def open_sealed(folder: Path, *, blobs: Blobs) -> SealedStore:
    """Open the store in `folder` as it is.

    Raises:
        NotFound: `store.absent`.
        BrokenInvariant: `store.not-canonry`, `store.newer`, `store.older` or `store.corrupt`.
        Unavailable: `store.unreachable`, `store.io`.
    """
    path = folder / FILE
    if not path.is_file():
        message = f"there is no store in {folder}; name its folder with --data"
        raise NotFound("store.absent", message, path=str(folder))
    await asyncio.to_thread(_require_current, path)
    anchor = Anchor(path)
    readers = Readers(path, deadline=_DEADLINE, anchor=anchor, sealed=True)
    anchor.hold()
    return SealedStore(
        ledger=SqliteLedger(readers, None, blobs),
        state=SqliteState(readers),
        documents=SqliteDocuments(readers),
        text=SqliteText(readers),
        catalog=SqliteCatalog(readers),
        places=SqlitePlaces(readers),
        readers=readers,
    )


def _require_current(path: Path) -> None:
    db = connect(path, sealed=True)
    try:
        if not is_current(db):
            message = "an earlier Canonry wrote this store: open it once for writing"
            raise BrokenInvariant("store.older", message)
        load_arrays(db)
    finally:
        db.close()
