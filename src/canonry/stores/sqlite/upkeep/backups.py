"""Backups: one moment of the store, copied in steps while others go on writing."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import apsw

from canonry.readmodels.ports.upkeep import UpkeepProgress
from canonry.stores.sqlite.connections import OpenMode, connect, make_private
from canonry.stores.sqlite.faults import translated
from canonry.stores.sqlite.ledger.ledger import heads_of
from canonry.values.errors import Conflict
from canonry.values.ids import SpaceId

MANIFEST: Final = "manifest.json"
_PAGES_A_STEP: Final = 500
_HEADS_A_PAGE: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What a copy of the database holds: heads, and the digests of the blobs that it needs."""

    heads: Mapping[SpaceId, tuple[int, str]]
    digests: Sequence[str]


def claim(target: Path) -> None:
    """Make the folder that a backup goes into.

    Raises:
        Conflict: `backup.exists`.
    """
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    if any(target.iterdir()):
        message = "the folder is not empty: name a new one for the backup"
        raise Conflict("backup.exists", message)


def copy_database(
    store: Path, target: Path, told: UpkeepProgress, way: OpenMode = OpenMode.SERVED
) -> Copied:
    """Copy the database file; a thread of its own runs this."""
    with translated():
        source = connect(store, patience_ms=10_000, way=way)
        make_private(target)
        copy = apsw.Connection(str(target))
        try:
            source.execute("BEGIN")
            heads = _heads(source)
            with copy.backup("main", source, "main") as steps:
                while not steps.done:
                    steps.step(_PAGES_A_STEP)
                    told(steps.page_count - steps.remaining, steps.page_count)
            sql = "SELECT DISTINCT blob FROM parts WHERE blob IS NOT NULL ORDER BY blob"
            digests = [row[0] for row in source.execute(sql)]
        finally:
            copy.close()
            source.close()
    return Copied(heads=heads, digests=digests)


def write_manifest(folder: Path, heads: Mapping[SpaceId, tuple[int, str]]) -> None:
    """Say what the backup holds; it is whole when this file is there."""
    said = {"format": 1, "heads": {space: list(head) for space, head in sorted(heads.items())}}
    make_private(folder / MANIFEST)
    with (folder / MANIFEST).open("w", encoding="utf-8") as file:
        json.dump(said, file, indent=2)
        file.flush()
        os.fsync(file.fileno())


def _heads(db: apsw.Connection) -> dict[SpaceId, tuple[int, str]]:
    heads: dict[SpaceId, tuple[int, str]] = {}
    last: SpaceId | None = None
    while page := heads_of(db, last, _HEADS_A_PAGE):
        heads.update((head.space, (head.position, head.hash)) for head in page)
        last = page[-1].space
    return heads
