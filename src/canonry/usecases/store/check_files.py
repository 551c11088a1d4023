"""Check files: whether every file that a source names is there as it was, and what nobody names.

Whoever dies between keeping bytes and naming them leaves bytes that nothing leads to.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from canonry.domain.errors import BrokenInvariant, NotFound
from canonry.domain.ids import SpaceId
from canonry.domain.things.sources import Source
from canonry.domain.time import DAY, SECOND
from canonry.domain.truth.accounts import source_id_of
from canonry.domain.truth.file_links import StorageKey, storage_key
from canonry.ports.views.pages import PAGE_MAX
from canonry.ports.views.upkeep import Finding, UpkeepProgress
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.filing import Filing

_PAGE: Final = 500
_FINDINGS_MAX: Final = 20


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
    if canon.filing is None:
        return FileCheck(files=0, findings=(), orphans=0)
    # The names come first: whoever brings a file meanwhile keeps its bytes before it is named.
    named = {(k.user_id, k.digest): k async for k in named_files(canon)}
    kept = {each async for each in _kept(canon.filing)}
    findings: list[Finding] = []
    for done, (where, key) in enumerate(sorted(named.items(), key=lambda item: item[0])):
        what = None
        if where not in kept:
            what = "its bytes are missing: restore them from a backup's folder of files"
        elif whole:
            what = await _altered(canon.filing, key)
        if what is not None and await _is_named(canon, key):  # it may have been erased meanwhile
            findings.append(Finding(where=f"file {key}", what=what))
        if len(findings) == _FINDINGS_MAX:
            break
        if told is not None:
            told(done + 1, len(named))
    return FileCheck(files=len(named), findings=tuple(findings), orphans=len(kept - named.keys()))


async def collect_files(canon: Canon) -> int:
    """Delete bytes that no source names and that were kept more than a day ago; how many."""
    filing, collected = canon.filing, 0
    if filing is None:
        return 0
    named = {(key.user_id, key.digest) async for key in named_files(canon)}
    async for user_id, digest in _kept(filing):
        stored = None if (user_id, digest) in named else await filing.stored_at(user_id, digest)
        if stored is not None and canon.clock.now() - int(stored * SECOND) > DAY:
            await filing.blobs_of(user_id).delete(digest)
            collected += 1
    return collected


async def named_files(canon: Canon) -> AsyncIterator[StorageKey]:
    """The storage key of every file that a source of any space names."""
    after: SpaceId | None = None
    while heads := await canon.ledger.heads(after=after, limit=_PAGE):
        after = heads[-1].space
        for head in heads:
            offset, total = 0, 1
            while offset < total:
                page = await canon.state.sources(head.space, limit=PAGE_MAX, offset=offset)
                for name in (name for source in page.items for name in source.files):
                    key = storage_key(name)
                    if key is not None:
                        yield key
                offset, total = offset + PAGE_MAX, page.total


async def _kept(filing: Filing) -> AsyncIterator[tuple[str, str]]:
    """The user and the digest of all bytes that are there."""
    for user_id in filing.users():
        last = ""
        while page := await filing.blobs_of(user_id).digests(after=last, limit=_PAGE):
            last = page[-1]
            for digest in page:
                yield user_id, digest


async def _altered(filing: Filing, key: StorageKey) -> str | None:
    try:
        await filing.blobs_of(key.user_id).get(key.digest)
    except BrokenInvariant:
        return "its bytes were altered: restore them from a backup's folder of files"
    except NotFound:
        return "its bytes are missing: restore them from a backup's folder of files"
    return None


async def _is_named(canon: Canon, key: StorageKey) -> bool:
    source_id = source_id_of(key.user_id, key.digest)
    found = (await canon.state.things((source_id,))).get(source_id)
    return isinstance(found, Source)
