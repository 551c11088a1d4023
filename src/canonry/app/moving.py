"""Move a store to another engine, and restore it from a backup."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Final

from canonry.app.examination import foreign_objects
from canonry.app.file_modes import close_to_others
from canonry.app.settings import Settings
from canonry.app.stores import STORE_FILE, open_kept_store
from canonry.canon.session.canon import Canon
from canonry.canon.upkeep.logs import ImportedLog, export_log, heads_from, import_log, verify_store
from canonry.log.ports.ledger import Ledger
from canonry.readmodels.ports.view import UpkeepProgress, Verification
from canonry.records.usecases.files import CarriedFiles, import_files
from canonry.records.usecases.services import RecordServices
from canonry.stores.folder import sync_folder
from canonry.values.errors import BrokenInvariant, Conflict, InvalidInput, Unavailable
from canonry.values.ids import SpaceId

# Moving a store: its log and its files, exactly as they were, into a store of another kind.
#
# The log goes through an export, so that what arrives is what an export of the source would
# restore, and what was interrupted goes on where it stopped.


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


MANIFEST: Final = "manifest.json"


async def restore_backup(settings: Settings, source: Path, told: UpkeepProgress) -> Verification:
    """Copy the backup in `source` to the data folder, which must be missing or empty.

    Raises:
        InvalidInput: `restore.no-backup`, `source` holds none.
        Conflict: `restore.exists`, the data folder is not empty, or `restore.damaged`, the
            backup is not what its manifest says, or holds what Canonry does not make, such as a
            trigger; the data folder is as it was.
        Unavailable: `restore.failed`, the copy cannot be written.
    """
    target = settings.data
    manifest = source / MANIFEST
    if not manifest.is_file() or not (source / STORE_FILE).is_file():
        message = f"{source} is no backup: name a folder that `canonry backup` made"
        raise InvalidInput("restore.no-backup", message, path=str(source))
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        message = f"{target} is not empty; name another folder with --data"
        raise Conflict("restore.exists", message, path=str(target))
    heads = heads_from(manifest.read_bytes(), str(manifest))
    staged = target.with_name(f"{target.name}.restoring")
    with _staged(source, staged):
        for path, what in foreign_objects(staged):
            message = f"{what} ({path.name} of the backup): nothing was restored"
            raise Conflict("restore.damaged", message, path=str(source))
        async with await open_kept_store(replace(settings, data=staged), existing=True) as store:
            verification = await verify_store(store.canon.ledger, store.upkeep, told, against=heads)
        if verification.findings or dict(verification.heads) != dict(heads):
            what = verification.findings[0].what if verification.findings else "other heads"
            message = f"the backup is not what its manifest says ({what}); nothing was restored"
            raise Conflict("restore.damaged", message, path=str(source))
        if target.exists():
            target.rmdir()
        _sync(staged)
        staged.replace(target)
        sync_folder(target.parent)
    return verification


@contextmanager
def _staged(source: Path, staged: Path) -> Iterator[None]:
    try:
        shutil.rmtree(staged, ignore_errors=True)
        staged.mkdir(mode=0o700, parents=True)
        wanted = shutil.ignore_patterns(MANIFEST)
        shutil.copytree(source, staged, ignore=wanted, dirs_exist_ok=True)
        close_to_others([staged, *staged.rglob("*")])  # as the backup may be open to them
        yield
    except OSError as error:
        message = f"the copy beside the data folder failed: {error.strerror}; look at its disk"
        raise Unavailable("restore.failed", message) from error
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _sync(staged: Path) -> None:
    """Make the copy durable before it takes its place."""
    for path in staged.rglob("*"):
        if path.is_file():
            with path.open("rb+") as file:
                os.fsync(file.fileno())
        else:
            sync_folder(path)
    sync_folder(staged)
