"""Carry files: the bytes that a log's sources name go beside it, and come back with it.

Only what a source names is carried, so that an erased file stays erased wherever its bytes remain.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from canonry.canon.session.canon import Canon
from canonry.log.ports.blobs import Blobs
from canonry.readmodels.ports.upkeep import UpkeepProgress
from canonry.records.usecases.check_files import named_files
from canonry.records.usecases.filing import UserFiles
from canonry.records.usecases.store_file import filing_of
from canonry.values.errors import BrokenInvariant, InvalidInput, NotFound


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedFiles:
    """How many files were carried, were there already, are missing, or are named by nobody."""

    files: int
    known: int = 0
    missing: int = 0
    unnamed: int = 0


async def export_files(
    canon: Canon, beside: UserFiles, told: UpkeepProgress, *, user_id: str | None = None
) -> CarriedFiles:
    """Copy every file that a source names, or those of one user.

    Raises:
        BrokenInvariant: `blobs.altered`, the store's own bytes are not what was kept.
        Unavailable: as the blobs say.
    """
    named = await named_files(canon)
    wanted = {key: named[key] for key in named if user_id in {None, key[0]}}
    return await _carry(filing_of(canon), beside, wanted, told)


async def require_whole(beside: UserFiles) -> None:
    """See that every file is what its name says, before anything is written.

    Raises:
        InvalidInput: `import.damaged`, with the digest of the first that is not.
    """
    async for user_id, digest in beside.kept():
        try:
            await beside.blobs_of(user_id).get(digest)
        except BrokenInvariant as error:
            message = (
                f"the bytes of the file {digest} were altered; nothing was imported: take another "
                "copy of the exported files"
            )
            raise InvalidInput("import.damaged", message, path="--files", digest=digest) from error


async def import_files(canon: Canon, beside: UserFiles, told: UpkeepProgress) -> CarriedFiles:
    """Take every file that a source of the store names and whose bytes are not there.

    Raises:
        BrokenInvariant: `blobs.altered`.
        Unavailable: as the blobs say.
    """
    named = await named_files(canon)
    carried = await _carry(beside, filing_of(canon), named, told)
    unnamed = [each async for each in beside.kept() if each not in named]
    return replace(carried, unnamed=len(unnamed))


async def _carry(
    source: UserFiles, target: UserFiles, named: Mapping[tuple[str, str], Any], told: UpkeepProgress
) -> CarriedFiles:
    counts = Counter[str]()
    for done, (user_id, digest) in enumerate(named, 1):
        blobs = target.blobs_of(user_id)
        if await _has(blobs, digest):
            counts["known"] += 1
        else:
            try:
                await blobs.put(await source.blobs_of(user_id).get(digest))
                counts["files"] += 1
            except NotFound:  # erased meanwhile, or lost: `canonry verify` tells which
                counts["missing"] += 1
        told(done, len(named))
    return CarriedFiles(files=counts["files"], known=counts["known"], missing=counts["missing"])


async def _has(blobs: Blobs, digest: str) -> bool:
    """Whether the bytes are there as they were."""
    try:
        await blobs.get(digest)
    except NotFound:
        return False
    return True
