"""Files: store, link, check, export and import them; and the services of the records package."""

import binascii
import hmac
import re
from asyncio import Lock
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import Any, Final

from canonry.canon.ports.files import FILE_BYTES_MAX, FileHint, FileType
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import require_item, within_account
from canonry.canon.session.paging import every_item
from canonry.log.commits import ORIGIN, Position
from canonry.log.entries import Tombstone
from canonry.log.items.sources import Source, account_space, source_id_of
from canonry.log.ports.ledger import Blobs, LocalFiles
from canonry.log.schemas.schemas import EntitySchema
from canonry.models.outside_services import ClientModel
from canonry.readmodels.follow_log import heads_of
from canonry.readmodels.ports.view import Finding, MaintenanceProgress
from canonry.records.domain.queries import RecordRow
from canonry.records.ports.interpreter import FileHost, Interpreter
from canonry.values.errors import BrokenInvariant, InvalidInput, NotFound, NotSupported
from canonry.values.ids import SpaceId, is_uuid
from canonry.values.moments import DAY, SECOND, Instant

# Links to stored files: a storage key, an expiry time, and a signature over both.
#
# A link does not reveal the location of the file.

EXPIRY_MIN: Final = 1
EXPIRY_MAX: Final = 7 * 86_400  # the longest lifetime of an S3 link
EXPIRY_DEFAULT: Final = 3_600
"""The lifetime of a link in seconds."""

BUCKET: Final = "files"
KEY_BYTES: Final = 32  # the output of SHA-256, which signs the links
_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_EXPIRES: Final = re.compile(r"[0-9]{1,12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageKey:
    """The name of a stored file: a bucket, its user, and the hash of its bytes."""

    user_id: str
    digest: str
    bucket: str = BUCKET

    def __str__(self) -> str:
        return f"{self.bucket}/{self.user_id}/{self.digest}"


def is_bucket(name: str) -> bool:
    """Return whether a bucket may have this name."""
    return _BUCKET.fullmatch(name) is not None


def storage_key(text: str) -> StorageKey | None:
    """Parse a storage key; None if the text is none."""
    bucket, _, rest = text.strip().strip("/").partition("/")
    user_id, _, digest = rest.partition("/")
    if is_bucket(bucket) and is_uuid(user_id) and _DIGEST.fullmatch(digest):
        return StorageKey(bucket=bucket, user_id=user_id.lower(), digest=digest)
    return None


def link_to(key: StorageKey, secret: bytes, expires: Instant) -> str:
    """Return the path and query of a link that is valid until `expires`, to the second."""
    until = str(expires // SECOND)
    signature = _signed(key, secret, until)
    return f"/{BUCKET}/{key.user_id}/{key.digest}?expires={until}&signature={signature}"


def holds(key: StorageKey, secret: bytes, expires: str, signature: str, now: Instant) -> bool:
    """Return whether a link was signed with `secret` and has not expired.

    The signature is compared in constant time.
    """
    if not _EXPIRES.fullmatch(expires) or not _DIGEST.fullmatch(signature):
        return False
    signed = hmac.compare_digest(_signed(key, secret, expires), signature)
    return signed and now < int(expires) * SECOND


def _signed(key: StorageKey, secret: bytes, expires: str) -> str:
    said = f"{key.user_id}\n{key.digest}\n{expires}"
    return hmac.new(secret, said.encode(), sha256).hexdigest()


_PAGE: Final = 500  # bounds the memory of a walk through all files


@dataclass(slots=True, kw_only=True)
class UserFiles:
    """The files of all users, each user's in a separate blob store.

    `users` returns the users that have files.
    """

    blobs_of: Callable[[str], Blobs]
    users: Callable[[], Awaitable[Sequence[str]]]

    async def pages(self, user_id: str) -> AsyncIterator[Sequence[str]]:
        """Yield pages of the digests of one user's files, in order."""
        last = ""
        while page := await self.blobs_of(user_id).list_digests(after=last, limit=_PAGE):
            yield page
            last = page[-1]

    async def kept(self) -> AsyncIterator[tuple[str, str]]:
        """Yield the user and the digest of every stored file."""
        for user_id in await self.users():
            async for page in self.pages(user_id):
                for digest in page:
                    yield user_id, digest


@dataclass(slots=True, kw_only=True)
class Filing(UserFiles):
    """File stores with interpreters and links; a server sets `host` and `client`.

    `stored_at` returns the time at which a user's file was stored, in seconds since 1970. `secret`
    signs links.
    """

    stored_at: Callable[[str, str], Awaitable[float | None]]
    local: LocalFiles
    interpreters: Mapping[str, Interpreter]
    secret: bytes = field(repr=False)
    provider: str = "rules"
    host: FileHost | None = None
    client: ClientModel | None = None

    async def close(self) -> None:
        """Close connections and stop the file host."""
        for interpreter in self.interpreters.values():
            await interpreter.close()
        if self.host is not None:
            await self.host.close()


ROWS_MAX: Final = 50_000
"""The most rows that all tables together keep between calls."""


@dataclass(slots=True, eq=False)
class RecordTable:
    """The rows of an account by id, and the schemas of their types.

    `ordered` has the rows in the order of their first observation.
    """

    position: Position = ORIGIN
    rows: dict[str, RecordRow] = field(default_factory=dict[str, RecordRow])
    ordered: Sequence[RecordRow] = ()
    schemas: Mapping[str, EntitySchema] = field(default_factory=dict[str, EntitySchema])
    update_lock: Lock = field(default_factory=Lock)
    """Held by the task that updates the table."""


@dataclass(slots=True, eq=False)
class RecordTables:
    """The tables of the most recently used accounts."""

    _kept: dict[SpaceId, RecordTable] = field(default_factory=dict[SpaceId, RecordTable])

    def of(self, space: SpaceId) -> RecordTable:
        """Return the table of an account; a new one is empty."""
        table = self._kept.pop(space, None) or RecordTable()
        self._kept[space] = table
        return table

    def let_go(self) -> None:
        """Drop the least recently used tables until the others fit."""
        room = ROWS_MAX
        for space, table in reversed(tuple(self._kept.items())):
            room -= len(table.rows)
            if room < 0:
                del self._kept[space]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordServices:
    """The services of records; without `filing`, no files are stored."""

    filing: Filing | None = None
    record_tables: RecordTables = field(default_factory=RecordTables)

    async def close(self) -> None:
        """Close connections of interpreters and the host of files."""
        if self.filing is not None:
            await self.filing.close()


# Store a file: its bytes are checked and kept under their hash, apart from other users' files.
#
# This writes nothing to the log. The source that names the file does that.

_MIME: Final = re.compile(
    r"[a-zA-Z0-9][\w.+-]{0,126}/[a-zA-Z0-9][\w.+-]{0,126}(?:\s*;\s*[\w-]+=\"?[\w.+-]+\"?)*"
)
_BASE64_MAX: Final = (FILE_BYTES_MAX + 2) // 3 * 4
_NAME_MAX: Final = 255  # file systems allow 255


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenFile:
    """A file as the caller gives it, checked except for its content."""

    data: bytes = field(repr=False)
    hint: FileHint


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A stored file: its key with the hash, its size and its detected kind."""

    key: StorageKey
    size: int
    kind: FileType
    charset: str | None = None

    @property
    def media_type(self) -> str:
        """The media type with the charset that a text may need to be read."""
        text = self.kind.value.startswith("text/") and self.charset
        return f"{self.kind.value}; charset={self.charset}" if text else self.kind.value


def given_file(content: str, mime_type: str, name: str | None) -> GivenFile:
    """Return the file of base64 content, a media type and a name.

    Raises:
        InvalidInput: `file.base64`, `file.mime-type` or `file.too-large`.
    """
    hint = hint_of(mime_type, name)
    data = decode_content(content)
    if not data:
        raise InvalidInput("file.empty", "The file is empty.", path="/file_content")
    return GivenFile(data=data, hint=hint)


def decode_content(content: str) -> bytes:
    """Decode strict base64; line ends between its characters are allowed.

    Raises:
        InvalidInput: `file.base64` or `file.too-large`.
    """
    if len(content) > _BASE64_MAX:
        content = content.translate(_LINE_ENDS)
        if len(content) > _BASE64_MAX:
            raise too_large(len(content) * 3 // 4)
    try:
        data = _decode_strictly(content)
    except ValueError:
        try:
            data = _decode_strictly(content.translate(_LINE_ENDS))
        except ValueError:
            message = "`file_content` is not base64. Use the standard alphabet with padding."
            raise InvalidInput("file.base64", message, path="/file_content") from None
    if len(data) > FILE_BYTES_MAX:
        raise too_large(len(data))
    return data


def hint_of(mime_type: str, name: str | None) -> FileHint:
    """Return the caller's media type and name of a file, checked and cleaned.

    Raises:
        InvalidInput: `file.mime-type`.
    """
    if mime_type and _MIME.fullmatch(mime_type.strip()) is None:
        message = "`mime_type` is not a media type. Write type/subtype, such as application/pdf."
        raise InvalidInput("file.mime-type", message, path="/mime_type")
    base = (name or "").replace("\\", "/").rpartition("/")[2][:_NAME_MAX]
    return FileHint(mime_type=mime_type.strip(), name="".join(c for c in base if c.isprintable()))


def too_large(size: int) -> InvalidInput:
    """Return the error for a file that is too large."""
    message = (
        f"The file has {size} bytes; the limit is {FILE_BYTES_MAX}. Split it, or send its text."
    )
    return InvalidInput(
        "file.too-large", message, file_size_bytes=size, max_size_bytes=FILE_BYTES_MAX
    )


def filing_of(canon: Canon) -> Filing:
    """Return the file service of the canon.

    Raises:
        NotSupported: `file.no-filing`.
    """
    filing = canon.find_service(RecordServices).filing
    if filing is None:
        raise NotSupported("file.no-filing", "This store keeps no files. Open one that does.")
    return filing


async def store_file(
    canon: Canon, user_id: str, given: GivenFile, *, bucket: str | None = None
) -> StoredFile:
    """Store the bytes durably; storing them again changes nothing.

    Raises:
        InvalidInput: `document.unsupported`, `document.empty`, `document.damaged`,
            `file.too-large` or `file.bucket`.
        Unavailable: those of the blob store.
    """
    filing = filing_of(canon)
    if len(given.data) > FILE_BYTES_MAX:
        raise too_large(len(given.data))
    kind = canon.reader.kind_of(given.data, given.hint)
    if not is_bucket(bucket or BUCKET):
        message = "`bucket` must have 1 to 40 lower-case letters, digits, hyphens or underscores."
        raise InvalidInput("file.bucket", message, path="/bucket")
    digest = await filing.blobs_of(user_id).put_bytes(given.data)
    key = StorageKey(bucket=bucket or BUCKET, user_id=user_id, digest=digest)
    return StoredFile(key=key, size=len(given.data), kind=kind, charset=given.hint.charset_name)


async def read_local(canon: Canon, path: str, mime_type: str = "") -> GivenFile:
    """Read the file at a path that the operator allows.

    Raises:
        NotFound: `file.unknown`.
        InvalidInput: `file.too-large` or `file.path`.
    """
    found = await filing_of(canon).local.read_file(path, most=FILE_BYTES_MAX)
    return GivenFile(data=found.data, hint=hint_of(mime_type, found.name))


_LINE_ENDS: Final = {ord(char): None for char in "\r\n"}


def _decode_strictly(content: str) -> bytes:
    if content.endswith("==="):  # strict mode accepts this
        raise ValueError
    return binascii.a2b_base64(content, strict_mode=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedUrl:
    """A URL and the instant at which it expires."""

    url: str
    expires_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedFile:
    """The content, media type and name of a file."""

    data: bytes = field(repr=False)
    mime_type: str
    name: str


async def sign_url(
    canon: Canon, user_id: str, file_path: str, expires_in: int = EXPIRY_DEFAULT
) -> SignedUrl:
    """Return a signed link to a file of this user on the file host.

    Raises:
        NotFound: `file.unknown`, also for another user's file.
        InvalidInput: `file.expiry`.
        Unavailable: `file.signing-failed`, no host serves files.
    """
    if not EXPIRY_MIN <= expires_in <= EXPIRY_MAX:
        message = f"`expires_in` is {expires_in}; it must be {EXPIRY_MIN} to {EXPIRY_MAX} seconds."
        raise InvalidInput("file.expiry", message, path="/expires_in")
    filing = filing_of(canon)
    key = storage_key(file_path)
    if key is None or key.user_id != user_id or await _source_of_file(canon, key) is None:
        raise unknown_file()
    expires = Instant((canon.clock.now() // SECOND + expires_in) * SECOND)
    link = link_to(key, filing.secret, expires)
    address = "" if filing.host is None else await filing.host.link_address()
    return SignedUrl(url=f"{address.rstrip('/')}{link}", expires_at=expires)


async def open_link(canon: Canon, path: str, expires: str, signature: str) -> LinkedFile | None:
    """Return the file of a link; None if the link is invalid or expired.

    Raises:
        NotFound: `file.unknown`, the link is valid and its file was erased.
    """
    filing = filing_of(canon)
    key = storage_key(path)
    if key is None or not holds(key, filing.secret, expires, signature, canon.clock.now()):
        return None
    source = await _source_of_file(canon, key)
    if source is None:
        raise unknown_file()
    return await _linked_file(canon, key, source)


async def own_file(canon: Canon, caller: Caller, source_id: str) -> LinkedFile:
    """Return the file of a source in the caller's account.

    Raises:
        NotFound: `source.unknown`, or `file.unknown` if it has no file or that was erased.
    """
    source = await require_item(canon, within_account(caller), Source, source_id)
    key = storage_key(source.files[0]) if source.files else None
    if key is None:
        raise unknown_file()
    return await _linked_file(canon, key, source)


async def _linked_file(canon: Canon, key: StorageKey, source: Source) -> LinkedFile:
    try:
        data = await filing_of(canon).blobs_of(key.user_id).get_bytes(key.digest)
    except NotFound:
        raise unknown_file() from None
    mime_type = source.mime_type or "application/octet-stream"
    return LinkedFile(data=data, mime_type=mime_type, name=source.file_name or key.digest)


def unknown_file() -> NotFound:
    """Return the error for a file that does not exist, or not for this caller."""
    message = "There is no such file. Copy the path from the reply about its source."
    return NotFound("file.unknown", message)


async def _source_of_file(canon: Canon, key: StorageKey) -> Source | None:
    """Return the source of the file, if it was stored and not erased."""
    source_id = source_id_of(key.user_id, key.digest)
    found = await canon.space_scope(account_space(key.user_id)).find_item(source_id)
    return found if isinstance(found, Source) and found.files else None


# Check files: find missing and altered files of sources, and files that no source names.
#
# A process that stops between storing bytes and writing the source leaves bytes without a source.

_FINDINGS_MAX: Final = 20  # one cause often damages every file; the first findings name it
_MISSING: Final = "its bytes are missing: restore them from a backup's folder of files"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCheck:
    """The number of files that sources name, the findings, and the number without a source."""

    files: int
    findings: tuple[Finding, ...]
    orphans: int


async def check_files(
    canon: Canon, progress: MaintenanceProgress | None = None, *, whole: bool
) -> FileCheck:
    """Check that each file of a source exists; with `whole` also compare its hash."""
    filing = canon.find_service(RecordServices).filing
    if filing is None:
        return FileCheck(files=0, findings=(), orphans=0)
    # List sources before files: a file that arrives meanwhile is stored before its source.
    named = await named_files(canon)
    kept = {each async for each in filing.kept()}
    findings: list[Finding] = []
    for done, (where, key) in enumerate(named.items(), 1):
        what = _MISSING if where not in kept else None
        if what is None and whole:
            what = await _find_alteration(filing, key)
        if what is not None:
            source_id = source_id_of(key.user_id, key.digest)
            known = (await canon.state.items_by_id((source_id,))).get(source_id)
            if isinstance(known, Source):  # it may have been erased meanwhile
                findings.append(Finding(where=f"file {key}", what=what))
        if len(findings) == _FINDINGS_MAX:
            break
        if progress is not None:
            progress(done, len(named))
    return FileCheck(files=len(named), findings=tuple(findings), orphans=len(kept - named.keys()))


async def collect_files(canon: Canon) -> int:
    """Delete files without a source that are older than a day; return their number."""
    filing, collected = canon.find_service(RecordServices).filing, 0
    if filing is None:
        return 0
    named = await named_files(canon)
    async for user_id, digest in filing.kept():
        stored = None if (user_id, digest) in named else await filing.stored_at(user_id, digest)
        if stored is not None and canon.clock.now() - int(stored * SECOND) > DAY:
            await filing.blobs_of(user_id).delete_bytes(digest)
            collected += 1
    return collected


async def named_files(canon: Canon) -> Mapping[tuple[str, str], StorageKey]:
    """Return the storage key of every file that a source names, ordered by user and digest."""
    found: dict[tuple[str, str], StorageKey] = {}
    for space in await heads_of(canon.ledger):
        async for source in every_item(partial(canon.state.sources, space)):
            for key in filter(None, map(storage_key, source.files)):
                found[key.user_id, key.digest] = key
    return dict(sorted(found.items(), key=lambda item: item[0]))


async def _find_alteration(filing: Filing, key: StorageKey) -> str | None:
    try:
        await filing.blobs_of(key.user_id).get_bytes(key.digest)
    except BrokenInvariant:
        return "its bytes were altered: restore them from a backup's folder of files"
    except NotFound:
        return _MISSING
    return None


async def forget_files(canon: Canon, space: SpaceId) -> None:
    """Delete the files of an account's erased sources.

    The id of a source follows from its file's hash. Therefore a second call can finish an
    erasure that was interrupted.
    """
    filing = canon.find_service(RecordServices).filing
    if filing is None:
        return
    for owner in [user for user in await filing.users() if account_space(user) == space]:
        async for page in filing.pages(owner):
            sources = {source_id_of(owner, digest): digest for digest in page}
            known = await canon.state.items_by_id(tuple(sources))
            for source_id, digest in sources.items():
                if isinstance(known.get(source_id), Tombstone):
                    await filing.blobs_of(owner).delete_bytes(digest)


# Export and import files beside a log.
#
# Only files that a source names are copied. An erased file therefore stays erased.


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedFiles:
    """The numbers of files that were copied, known, missing, or without a source."""

    files: int
    known: int = 0
    missing: int = 0
    unnamed: int = 0


async def export_files(
    canon: Canon, exported: UserFiles, progress: MaintenanceProgress, *, user_id: str | None = None
) -> CopiedFiles:
    """Copy every file that a source names, or those of one user.

    Raises:
        BrokenInvariant: `blobs.altered`, the store's bytes do not match their hash.
        Unavailable: those of the blob store.
    """
    named = await named_files(canon)
    wanted = {key: named[key] for key in named if user_id in {None, key[0]}}
    return await _copy_files(filing_of(canon), exported, wanted, progress)


async def require_undamaged(exported: UserFiles) -> None:
    """Verify every file against its hash before anything is written.

    Raises:
        InvalidInput: `import.damaged`, with the digest of the first damaged file.
    """
    async for user_id, digest in exported.kept():
        try:
            await exported.blobs_of(user_id).get_bytes(digest)
        except BrokenInvariant as error:
            message = (
                f"The bytes of the file {digest} were altered. Nothing was imported. Use another "
                "copy of the exported files."
            )
            raise InvalidInput("import.damaged", message, path="--files", digest=digest) from error


async def import_files(
    canon: Canon, exported: UserFiles, progress: MaintenanceProgress
) -> CopiedFiles:
    """Copy every file that a source of the store names and that the store lacks.

    Raises:
        BrokenInvariant: `blobs.altered`.
        Unavailable: those of the blob store.
    """
    named = await named_files(canon)
    carried = await _copy_files(exported, filing_of(canon), named, progress)
    unnamed = [each async for each in exported.kept() if each not in named]
    return replace(carried, unnamed=len(unnamed))


async def _copy_files(
    source: UserFiles,
    target: UserFiles,
    named: Mapping[tuple[str, str], Any],
    progress: MaintenanceProgress,
) -> CopiedFiles:
    counts = Counter[str]()
    for done, (user_id, digest) in enumerate(named, 1):
        blobs = target.blobs_of(user_id)
        if await _has_bytes(blobs, digest):
            counts["known"] += 1
        else:
            try:
                await blobs.put_bytes(await source.blobs_of(user_id).get_bytes(digest))
                counts["files"] += 1
            except NotFound:  # erased meanwhile, or lost; `canonry verify` reports lost files
                counts["missing"] += 1
        progress(done, len(named))
    return CopiedFiles(files=counts["files"], known=counts["known"], missing=counts["missing"])


async def _has_bytes(blobs: Blobs, digest: str) -> bool:
    """Return whether the bytes exist and match their hash."""
    try:
        await blobs.get_bytes(digest)
    except NotFound:
        return False
    return True
