"""Store a file: its bytes are checked and kept under their hash, apart from other users' files.

Nothing is said about the file in any log here: the source that names it does that.
"""

import asyncio
import binascii
import re
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from canonry.canon.ports.files import FILE_BYTES_MAX, FileHint, FileType
from canonry.canon.session.canon import Canon
from canonry.records.domain.file_links import BUCKET, StorageKey, is_bucket
from canonry.records.usecases.filing import Filing
from canonry.records.usecases.services import RecordServices
from canonry.values.errors import InvalidInput, NotSupported

_MIME: Final = re.compile(
    r"[a-zA-Z0-9][\w.+-]{0,126}/[a-zA-Z0-9][\w.+-]{0,126}(?:\s*;\s*[\w-]+=\"?[\w.+-]+\"?)*"
)
_BASE64_MAX: Final = (FILE_BYTES_MAX + 2) // 3 * 4
_NAME_MAX: Final = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenFile:
    """A file as its bringer gives it, checked as far as that goes without its content."""

    data: bytes = field(repr=False)
    hint: FileHint


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A file that is kept: under which key, with which hash, and of which kind it really is."""

    key: StorageKey
    digest: str
    size: int
    kind: FileType
    charset: str | None = None

    @property
    def media_type(self) -> str:
        """The kind with the charset that was named, without which a text may not be readable."""
        text = self.kind.value.startswith("text/") and self.charset
        return f"{self.kind.value}; charset={self.charset}" if text else self.kind.value


def given_file(content: str, mime_type: str, name: str | None) -> GivenFile:
    """The file behind base64, a media type and a name.

    Raises:
        InvalidInput: `file.base64`, `file.mime-type` or `file.too-large`.
    """
    hint = hint_of(mime_type, name)
    data = decoded(content)
    if not data:
        raise InvalidInput("file.empty", "the file is empty", path="/file_content")
    return GivenFile(data=data, hint=hint)


def decoded(content: str) -> bytes:
    """The bytes behind strict base64; line ends between its characters are allowed.

    Raises:
        InvalidInput: `file.base64` or `file.too-large`.
    """
    if len(content) > _BASE64_MAX:
        content = content.translate(_LINE_ENDS)
        if len(content) > _BASE64_MAX:
            raise too_large(len(content) * 3 // 4)
    try:
        data = _strictly(content)
    except ValueError:
        data = _without_line_ends(content)
    if len(data) > FILE_BYTES_MAX:
        raise too_large(len(data))
    return data


def hint_of(mime_type: str, name: str | None) -> FileHint:
    """What the bringer says of the file.

    Raises:
        InvalidInput: `file.mime-type`.
    """
    if mime_type and _MIME.fullmatch(mime_type.strip()) is None:
        message = "mime_type is no media type: write it as type/subtype, such as application/pdf"
        raise InvalidInput("file.mime-type", message, path="/mime_type")
    base = (name or "").replace("\\", "/").rpartition("/")[2][:_NAME_MAX]
    return FileHint(
        mime_type=mime_type.strip(),
        name="".join(char for char in base if char.isprintable()),
    )


def too_large(size: int) -> InvalidInput:
    """The error for a file of more than the largest size."""
    message = f"the file is larger than {FILE_BYTES_MAX} bytes; split it, or bring its text alone"
    return InvalidInput(
        "file.too-large", message, file_size_bytes=size, max_size_bytes=FILE_BYTES_MAX
    )


def filing_of(canon: Canon) -> Filing:
    """The filing of the canon.

    Raises:
        NotSupported: `file.no-filing`.
    """
    filing = canon.service(RecordServices).filing
    if filing is None:
        raise NotSupported("file.no-filing", "this store keeps no files; open one that does")
    return filing


def storage_key_of(user_id: str, data: bytes, bucket: str | None = None) -> StorageKey:
    """The key under which a user's bytes are kept.

    Raises:
        InvalidInput: `file.bucket`.
    """
    name = bucket or BUCKET
    if not is_bucket(name):
        message = "bucket is 1 to 40 lower-case letters, digits, hyphens or underscores"
        raise InvalidInput("file.bucket", message, path="/bucket")
    return StorageKey(bucket=name, user_id=user_id, digest=sha256(data).hexdigest())


async def store_file(
    canon: Canon, user_id: str, given: GivenFile, *, bucket: str | None = None
) -> StoredFile:
    """Keep the bytes durably; storing them again changes nothing.

    Raises:
        InvalidInput: `document.unsupported`, `document.empty`, `document.damaged`,
            `file.too-large` or `file.bucket`.
        Unavailable: as the blobs say.
    """
    filing = filing_of(canon)
    if len(given.data) > FILE_BYTES_MAX:
        raise too_large(len(given.data))
    kind = canon.reader.kind_of(given.data, given.hint)
    # Hashing the largest file takes a while, in which others want to be served.
    key = await asyncio.to_thread(storage_key_of, user_id, given.data, bucket)
    digest = await filing.blobs_of(user_id).put(given.data)
    return StoredFile(
        key=key, digest=digest, size=len(given.data), kind=kind, charset=given.hint.charset
    )


async def read_local(canon: Canon, path: str, mime_type: str = "") -> GivenFile:
    """The file at a path that the operator allows.

    Raises:
        NotFound: `file.unknown`.
        InvalidInput: `file.too-large` or `file.path`.
    """
    found = await filing_of(canon).local.read(path, most=FILE_BYTES_MAX)
    return GivenFile(data=found.data, hint=hint_of(mime_type, found.name))


_LINE_ENDS: Final = {ord(char): None for char in "\r\n"}


def _without_line_ends(content: str) -> bytes:
    try:
        return _strictly(content.translate(_LINE_ENDS))
    except ValueError:
        message = "file_content is not base64: send the bytes in the standard alphabet, padded"
        raise InvalidInput("file.base64", message, path="/file_content") from None


def _strictly(content: str) -> bytes:
    if content.endswith("==="):  # which the strict mode lets pass
        raise ValueError
    return binascii.a2b_base64(content, strict_mode=True)
