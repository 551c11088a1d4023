"""Sign a URL: a link to a user's own file that ends, and the file behind such a link."""

from dataclasses import dataclass, field

from canonry.canon.session.account import within_account
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import require
from canonry.log.items.accounts import account_space, source_id_of
from canonry.log.items.sources import Source
from canonry.records.domain.file_links import (
    EXPIRY_DEFAULT,
    EXPIRY_MAX,
    EXPIRY_MIN,
    StorageKey,
    holds,
    link_to,
    storage_key,
)
from canonry.records.usecases.store_file import filing_of
from canonry.values.errors import InvalidInput, NotFound
from canonry.values.time import SECOND, Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedUrl:
    """A URL and the instant at which it ends."""

    url: str
    expires_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedFile:
    """The file behind a link that holds."""

    data: bytes = field(repr=False)
    mime_type: str
    name: str


async def sign_url(
    canon: Canon, user_id: str, file_path: str, expires_in: int = EXPIRY_DEFAULT
) -> SignedUrl:
    """A link to a file of this user, under the address of the file host.

    Raises:
        NotFound: `file.unknown`, also for another user's file.
        InvalidInput: `file.expiry`.
        Unavailable: `file.signing-failed`, no host serves files.
    """
    if not EXPIRY_MIN <= expires_in <= EXPIRY_MAX:
        message = f"expires_in is {EXPIRY_MIN} to {EXPIRY_MAX} seconds"
        raise InvalidInput("file.expiry", message, path="/expires_in")
    filing = filing_of(canon)
    key = storage_key(file_path)
    if key is None or key.user_id != user_id or await _source(canon, key) is None:
        raise unknown_file()
    expires = Instant((canon.clock.now() // SECOND + expires_in) * SECOND)
    link = link_to(key, filing.secret, expires)
    address = "" if filing.host is None else await filing.host.address()
    return SignedUrl(url=f"{address.rstrip('/')}{link}", expires_at=expires)


async def open_link(canon: Canon, path: str, expires: str, signature: str) -> LinkedFile | None:
    """The file behind a link; None where the link does not hold, whatever it names.

    Raises:
        NotFound: `file.unknown`, the link holds and its file was erased.
    """
    filing = filing_of(canon)
    key = storage_key(path)
    if key is None or not holds(key, filing.secret, expires, signature, canon.clock.now()):
        return None
    source = await _source(canon, key)
    if source is None:
        raise unknown_file()
    return await _linked(canon, key, source)


async def own_file(canon: Canon, caller: Caller, source_id: str) -> LinkedFile:
    """The file that a source of the caller's account came in.

    Raises:
        NotFound: `source.unknown`, or `file.unknown` where it came in none, or was erased.
    """
    source = await require(canon, within_account(caller), Source, source_id)
    key = storage_key(source.files[0]) if source.files else None
    if key is None:
        raise unknown_file()
    return await _linked(canon, key, source)


async def _linked(canon: Canon, key: StorageKey, source: Source) -> LinkedFile:
    try:
        data = await filing_of(canon).blobs_of(key.user_id).get(key.digest)
    except NotFound:
        raise unknown_file() from None
    mime_type = source.mime_type or "application/octet-stream"
    return LinkedFile(data=data, mime_type=mime_type, name=source.file_name or key.digest)


def unknown_file() -> NotFound:
    """The error for a file that does not exist, or not for this caller."""
    return NotFound("file.unknown", "there is no such file; take its path from a source's answer")


async def _source(canon: Canon, key: StorageKey) -> Source | None:
    """The source that the file is, if it was stored and not erased; every file is one."""
    source_id = source_id_of(key.user_id, key.digest)
    found = await canon.within(account_space(key.user_id)).thing(source_id)
    if isinstance(found, Source) and found.files:
        return found
    return None
