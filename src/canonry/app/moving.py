"""Moving a store: its log and its files, exactly as they were, into a store of another kind.

The log goes through an export, so that what arrives is what an export of the source would restore,
and what was interrupted goes on where it stopped.
"""

import asyncio
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from canonry.canon.session.canon import Canon
from canonry.canon.upkeep.export_log import export_log
from canonry.canon.upkeep.import_log import ImportedLog, import_log
from canonry.log.ports.ledger import Ledger
from canonry.readmodels.ports.upkeep import UpkeepProgress
from canonry.records.usecases.carry_files import CarriedFiles, import_files
from canonry.records.usecases.services import RecordServices
from canonry.values.errors import BrokenInvariant, Conflict
from canonry.values.ids import SpaceId


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedStore:
    """What arrived; `digest` is the SHA-256 of the export, the same before and after."""

    log: ImportedLog
    files: CarriedFiles
    digest: str


async def move_store(source: Canon, target: Canon, told: UpkeepProgress) -> MovedStore:
    """Copy everything and compare the exports, byte for byte.

    Raises:
        Conflict: `import.diverged`, the target holds something else.
        BrokenInvariant: `move.differs`, somebody wrote into one of them meanwhile: move again.
    """
    log, files, digest = await copy_store(source, target, told)
    if await _digest_of(target.ledger) != digest:
        message = (
            "the store that was moved to holds more than the other: stop every server on both, "
            "and move again; nothing is written twice"
        )
        raise BrokenInvariant("move.differs", message)
    return MovedStore(log=log, files=files, digest=digest)


async def copy_store(
    source: Canon, target: Canon, told: UpkeepProgress
) -> tuple[ImportedLog, CarriedFiles, str]:
    """Copy what one moment of the log holds, and the files that its sources name."""
    with tempfile.TemporaryDirectory(prefix="canonry-move-") as folder:
        path, digest = Path(folder) / "log.jsonl", sha256()
        with path.open("wb") as file:
            async for line in export_log(source.ledger, quietly):
                digest.update(line)
                await asyncio.to_thread(file.write, line)
        log = await import_log(target.ledger, lambda: _lines(path), told)
    filing = source.service(RecordServices).filing
    if filing is None:
        return log, CarriedFiles(files=0), digest.hexdigest()
    return log, await import_files(target, filing, told), digest.hexdigest()


def quietly(done: int, total: int | None) -> None:
    """Tell nobody how far it is."""
    del done, total


async def _digest_of(ledger: Ledger) -> str:
    digest = sha256()
    async for line in export_log(ledger, quietly):
        digest.update(line)
    return digest.hexdigest()


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from file


def _is_used(target: Path) -> bool:
    target.parent.mkdir(parents=True, exist_ok=True)
    return target.exists() and (not target.is_dir() or any(target.iterdir()))


async def back_up(
    canon: Canon, target: Path, told: UpkeepProgress
) -> Mapping[SpaceId, tuple[int, str]]:
    """Copy the store into a new folder, as a backup of an embedded one that anybody can open.

    Raises:
        Conflict: `backup.exists`.
    """
    from canonry.app.embedded import open_embedded  # noqa: PLC0415 - loads the engine

    if await asyncio.to_thread(_is_used, target):
        message = "the folder is not empty: name a new one for the backup"
        raise Conflict("backup.exists", message)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as beside:
        async with await open_embedded(Path(beside) / "copy") as copy:
            await copy_store(canon, copy.canon, told)
            return await copy.upkeep.backup(target, quietly)
