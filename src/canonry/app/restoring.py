"""Restoring a backup: copied beside its place, verified against its manifest, then moved there."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from canonry.app.file_modes import close_to_others
from canonry.app.schema_examination import foreign_objects
from canonry.app.settings import Settings
from canonry.app.stores import STORE_FILE, open_kept_store
from canonry.canon.upkeep.verify_store import heads_from, verify_store
from canonry.readmodels.ports.upkeep import UpkeepProgress, Verification
from canonry.stores.folder import sync_folder
from canonry.values.errors import Conflict, InvalidInput, Unavailable

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
