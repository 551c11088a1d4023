"""Carry files: the bytes that a log's sources name go beside it, and come back with it.

Only what a source names is carried, so that an erased file stays erased wherever its bytes remain.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from canonry.domain.errors import BrokenInvariant, InvalidInput, NotFound
from canonry.domain.truth.file_links import StorageKey
from canonry.ports.records.blobs import Blobs
from canonry.ports.views.upkeep import UpkeepProgress
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.store.check_files import named_files
from canonry.usecases.truth.store_file import filing_of

_PAGE: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesBeside:
    """Files outside a store, each user's apart; `users` are those who have any."""

    blobs_of: Callable[[str], Blobs]
    users: Callable[[], Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedFiles:
    """How many files were carried, were there already, are missing, or are named by nobody."""

    files: int
    known: int = 0
    missing: int = 0
    unnamed: int = 0


async def export_files(canon: Canon, beside: FilesBeside, told: UpkeepProgress) -> CarriedFiles:
    """Copy every file that a source names.

    Raises:
        BrokenInvariant: `blobs.altered`, the store's own bytes are not what was kept.
        Unavailable: as the blobs say.
    """
    filing = filing_of(canon)
    named = await _named(canon)
    carried = missing = 0
    for done, key in enumerate(named, 1):
        try:
            await beside.blobs_of(key.user_id).put(
                await filing.blobs_of(key.user_id).get(key.digest)
            )
            carried += 1
        except NotFound:  # erased meanwhile, or lost: `canonry verify` tells which
            missing += 1
        told(done, len(named))
    return CarriedFiles(files=carried, missing=missing)


async def require_whole(beside: FilesBeside) -> None:
    """See that every file is what its name says, before anything is written.

    Raises:
        InvalidInput: `import.damaged`, with the digest of the first that is not.
    """
    async for user_id, digest in _offered(beside):
        try:
            await beside.blobs_of(user_id).get(digest)
        except BrokenInvariant as error:
            message = (
                f"the bytes of the file {digest} were altered; nothing was imported: take another "
                "copy of the exported files"
            )
            raise InvalidInput("import.damaged", message, path="--files", digest=digest) from error


async def import_files(canon: Canon, beside: FilesBeside, told: UpkeepProgress) -> CarriedFiles:
    """Take every file that a source of the store names and whose bytes are not there.

    Raises:
        BrokenInvariant: `blobs.altered`.
        Unavailable: as the blobs say.
    """
    filing = filing_of(canon)
    named = await _named(canon)
    carried = known = missing = 0
    for done, key in enumerate(named, 1):
        blobs = filing.blobs_of(key.user_id)
        if await _has(blobs, key.digest):
            known += 1
        else:
            try:
                await blobs.put(await beside.blobs_of(key.user_id).get(key.digest))
                carried += 1
            except NotFound:
                missing += 1
        told(done, len(named))
    wanted = {(key.user_id, key.digest) for key in named}
    unnamed = [each async for each in _offered(beside) if each not in wanted]
    return CarriedFiles(files=carried, known=known, missing=missing, unnamed=len(unnamed))


async def _named(canon: Canon) -> Sequence[StorageKey]:
    """Each file once, whatever it is called."""
    named = {(key.user_id, key.digest): key async for key in named_files(canon)}
    return [named[place] for place in sorted(named)]


async def _offered(beside: FilesBeside) -> AsyncIterator[tuple[str, str]]:
    for user_id in beside.users():
        last = ""
        while page := await beside.blobs_of(user_id).digests(after=last, limit=_PAGE):
            last = page[-1]
            for digest in page:
                yield user_id, digest


async def _has(blobs: Blobs, digest: str) -> bool:
    """Whether the bytes are there as they were."""
    try:
        await blobs.get(digest)
    except NotFound:
        return False
    return True
