"""Check files: whether every file that a source names is there as it was, and what nobody names.

Whoever dies between keeping bytes and naming them leaves bytes that nothing leads to.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from canonry.canon.session.canon import Canon
from canonry.canon.session.every_item import every_item
from canonry.log.entries import Tombstone
from canonry.log.items.accounts import account_space, source_id_of
from canonry.log.items.sources import Source
from canonry.readmodels.follow_log import heads_of
from canonry.readmodels.ports.upkeep import Finding, UpkeepProgress
from canonry.records.domain.file_links import StorageKey, storage_key
from canonry.records.usecases.filing import Filing
from canonry.records.usecases.services import RecordServices
from canonry.values.errors import BrokenInvariant, NotFound
from canonry.values.ids import SpaceId
from canonry.values.time import DAY, SECOND

_FINDINGS_MAX: Final = 20
_MISSING: Final = "its bytes are missing: restore them from a backup's folder of files"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCheck:
    """How many files are named by sources, what is wrong, and how many nobody names."""

    files: int
    findings: tuple[Finding, ...]
    orphans: int


async def check_files(
    canon: Canon, told: UpkeepProgress | None = None, *, whole: bool
) -> FileCheck:
    """Look for each file that a source names; with `whole` also read it and compare its hash."""
    filing = canon.service(RecordServices).filing
    if filing is None:
        return FileCheck(files=0, findings=(), orphans=0)
    # The names come first: whoever brings a file meanwhile keeps its bytes before it is named.
    named = await named_files(canon)
    kept = {each async for each in filing.kept()}
    findings: list[Finding] = []
    for done, (where, key) in enumerate(named.items(), 1):
        what = _MISSING if where not in kept else None
        if what is None and whole:
            what = await _altered(filing, key)
        if what is not None and await _is_named(canon, key):  # it may have been erased meanwhile
            findings.append(Finding(where=f"file {key}", what=what))
        if len(findings) == _FINDINGS_MAX:
            break
        if told is not None:
            told(done, len(named))
    return FileCheck(files=len(named), findings=tuple(findings), orphans=len(kept - named.keys()))


async def collect_files(canon: Canon) -> int:
    """Delete bytes that no source names and that were kept more than a day ago; how many."""
    filing, collected = canon.service(RecordServices).filing, 0
    if filing is None:
        return 0
    named = await named_files(canon)
    async for user_id, digest in filing.kept():
        stored = None if (user_id, digest) in named else await filing.stored_at(user_id, digest)
        if stored is not None and canon.clock.now() - int(stored * SECOND) > DAY:
            await filing.blobs_of(user_id).delete(digest)
            collected += 1
    return collected


async def named_files(canon: Canon) -> Mapping[tuple[str, str], StorageKey]:
    """User and digest of every file that a source of any space names, in order.

    With each is one of the storage keys that it has, whatever it is called.
    """
    found: dict[tuple[str, str], StorageKey] = {}
    for space in await heads_of(canon.ledger):
        async for source in every_item(partial(canon.state.sources, space)):
            for key in filter(None, map(storage_key, source.files)):
                found[key.user_id, key.digest] = key
    return dict(sorted(found.items(), key=lambda item: item[0]))


async def _altered(filing: Filing, key: StorageKey) -> str | None:
    try:
        await filing.blobs_of(key.user_id).get(key.digest)
    except BrokenInvariant:
        return "its bytes were altered: restore them from a backup's folder of files"
    except NotFound:
        return _MISSING
    return None


async def _is_named(canon: Canon, key: StorageKey) -> bool:
    source_id = source_id_of(key.user_id, key.digest)
    found = (await canon.state.things((source_id,))).get(source_id)
    return isinstance(found, Source)


async def forget_files(canon: Canon, space: SpaceId) -> None:
    """Delete the bytes of the erased sources of an account, and nobody else's.

    A file's source follows from its hash, so an erasure that was interrupted is finished by
    asking again, although nothing tells any more what the source was.
    """
    filing = canon.service(RecordServices).filing
    if filing is None:
        return
    for owner in [user for user in await filing.users() if account_space(user) == space]:
        async for page in filing.pages(owner):
            sources = {source_id_of(owner, digest): digest for digest in page}
            known = await canon.state.things(tuple(sources))
            for source_id, digest in sources.items():
                if isinstance(known.get(source_id), Tombstone):
                    await filing.blobs_of(owner).delete(digest)
