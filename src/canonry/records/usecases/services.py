"""Services of the records package: file stores, signed links, and tables of accounts."""

import hmac
import re
from asyncio import Lock
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from canonry.log.commits import ORIGIN, Position
from canonry.log.ports.ledger import Blobs, LocalFiles
from canonry.log.schemas.schemas import EntitySchema
from canonry.models.outside_services import ClientModel
from canonry.records.domain.asking import RecordRow
from canonry.records.ports.interpreter import FileHost, Interpreter
from canonry.values.ids import SpaceId, is_uuid
from canonry.values.moments import SECOND, Instant

# Links to stored files: a storage key, an expiry time, and a signature over both.
#
# A link does not reveal the location of the file.

EXPIRY_MIN: Final = 1
EXPIRY_MAX: Final = 7 * 86_400
EXPIRY_DEFAULT: Final = 3_600
"""The lifetime of a link in seconds."""

BUCKET: Final = "files"
KEY_BYTES: Final = 32
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
    """Tell whether a bucket may have this name."""
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
    """Tell whether a link was signed with `secret` and has not expired.

    The signature is compared in constant time.
    """
    if not _EXPIRES.fullmatch(expires) or not _DIGEST.fullmatch(signature):
        return False
    signed = hmac.compare_digest(_signed(key, secret, expires), signature)
    return signed and now < int(expires) * SECOND


def _signed(key: StorageKey, secret: bytes, expires: str) -> str:
    said = f"{key.user_id}\n{key.digest}\n{expires}"
    return hmac.new(secret, said.encode(), sha256).hexdigest()


_PAGE: Final = 500


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
        while page := await self.blobs_of(user_id).digests(after=last, limit=_PAGE):
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
    turn: Lock = field(default_factory=Lock)
    """The lock of a task that updates the table."""


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
