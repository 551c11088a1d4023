"""Forget files: the bytes of a source that was erased go with it, and nobody else's do."""

from typing import Final

from canonry.domain.ids import SpaceId
from canonry.domain.log.entries import Tombstone
from canonry.domain.truth.accounts import account_space, source_id_of
from canonry.usecases.kernel.canon import Canon

_PAGE: Final = 500


async def forget_files(canon: Canon, space: SpaceId) -> int:
    """Delete the bytes of the erased sources of an account; how many files they were.

    A file's source follows from its hash, so an erasure that was interrupted is finished by
    asking again, although nothing tells any more what the source was.
    """
    filing = canon.filing
    owner = (
        None
        if filing is None
        else next((user for user in filing.users() if account_space(user) == space), None)
    )
    if filing is None or owner is None:
        return 0
    blobs, forgotten, last = filing.blobs_of(owner), 0, ""
    while page := await blobs.digests(after=last, limit=_PAGE):
        last = page[-1]
        sources = {source_id_of(owner, digest): digest for digest in page}
        known = await canon.state.things(tuple(sources))
        for source_id, digest in sources.items():
            if isinstance(known.get(source_id), Tombstone):
                await blobs.delete(digest)
                forgotten += 1
    return forgotten
