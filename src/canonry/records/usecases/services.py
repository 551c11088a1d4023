"""The services of records: where files are kept, links to them, and tables of accounts."""

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

# Links to stored files: a storage key, an end and a signature over both, and nothing else.
#
# A link tells who signed it and until when it holds; it never tells where the file lies.

EXPIRY_MIN: Final = 1
EXPIRY_MAX: Final = 7 * 86_400
EXPIRY_DEFAULT: Final = 3_600
"""How long a link may hold, in seconds."""

BUCKET: Final = "files"
KEY_BYTES: Final = 32
_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_SIGNATURE: Final = re.compile(r"[0-9a-f]{64}")
_EXPIRES: Final = re.compile(r"[0-9]{1,12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageKey:
    """The name of a stored file: a bucket, whose it is, and the hash of its bytes."""

    user_id: str
    digest: str
    bucket: str = BUCKET

    def __str__(self) -> str:
        return f"{self.bucket}/{self.user_id}/{self.digest}"


def is_bucket(name: str) -> bool:
    """Whether files may be kept under this name."""
    return _BUCKET.fullmatch(name) is not None


def storage_key(text: str) -> StorageKey | None:
    """The storage key that a text is, if it is one."""
    bucket, _, rest = text.strip().strip("/").partition("/")
    user_id, _, digest = rest.partition("/")
    if is_bucket(bucket) and is_uuid(user_id) and _DIGEST.fullmatch(digest):
        return StorageKey(bucket=bucket, user_id=user_id.lower(), digest=digest)
    return None


def link_to(key: StorageKey, secret: bytes, expires: Instant) -> str:
    """The path and query of a link that holds until `expires`, to the second."""
    until = str(expires // SECOND)
    signature = _signed(key, secret, until)
    return f"/{BUCKET}/{key.user_id}/{key.digest}?expires={until}&signature={signature}"


def holds(key: StorageKey, secret: bytes, expires: str, signature: str, now: Instant) -> bool:
    """Whether a link was signed with `secret` and has not ended.

    The signature is compared in a time that does not tell how much of it is right.
    """
    if not _EXPIRES.fullmatch(expires) or not _SIGNATURE.fullmatch(signature):
        return False
    signed = hmac.compare_digest(_signed(key, secret, expires), signature)
    return signed and now < int(expires) * SECOND


def _signed(key: StorageKey, secret: bytes, expires: str) -> str:
    said = f"{key.user_id}\n{key.digest}\n{expires}"
    return hmac.new(secret, said.encode(), sha256).hexdigest()


_PAGE: Final = 500


@dataclass(slots=True, kw_only=True)
class UserFiles:
    """The bytes of files, each user's apart from everybody else's.

    So what one user has tells nothing about another, and goes with that user. `users` are those
    who have any.
    """

    blobs_of: Callable[[str], Blobs]
    users: Callable[[], Awaitable[Sequence[str]]]

    async def pages(self, user_id: str) -> AsyncIterator[Sequence[str]]:
        """The digests of all bytes of one user, in order."""
        last = ""
        while page := await self.blobs_of(user_id).digests(after=last, limit=_PAGE):
            yield page
            last = page[-1]

    async def kept(self) -> AsyncIterator[tuple[str, str]]:
        """The user and the digest of all bytes that are there."""
        for user_id in await self.users():
            async for page in self.pages(user_id):
                for digest in page:
                    yield user_id, digest


@dataclass(slots=True, kw_only=True)
class Filing(UserFiles):
    """The places and helpers for files; whoever serves sets `host` and `client`.

    `stored_at` says when bytes of a user were kept, in seconds since 1970. `secret` signs links.
    """

    stored_at: Callable[[str, str], Awaitable[float | None]]
    local: LocalFiles
    interpreters: Mapping[str, Interpreter]
    secret: bytes = field(repr=False)
    provider: str = "rules"
    host: FileHost | None = None
    client: ClientModel | None = None

    async def close(self) -> None:
        """Let go of connections, and stop the host that was started."""
        for interpreter in self.interpreters.values():
            await interpreter.close()
        if self.host is not None:
            await self.host.close()


ROWS_MAX: Final = 50_000
"""So many rows of all accounts together are kept between questions."""


@dataclass(slots=True, eq=False)
class RecordTable:
    """The rows of an account by their ids, and the schemas in force for their types.

    `ordered` are the rows as their records were first seen.
    """

    position: Position = ORIGIN
    rows: dict[str, RecordRow] = field(default_factory=dict[str, RecordRow])
    ordered: Sequence[RecordRow] = ()
    schemas: Mapping[str, EntitySchema] = field(default_factory=dict[str, EntitySchema])
    turn: Lock = field(default_factory=Lock)
    """Held by whoever brings the table up to date."""


@dataclass(slots=True, eq=False)
class RecordTables:
    """The tables of those accounts that were asked last."""

    _kept: dict[SpaceId, RecordTable] = field(default_factory=dict[SpaceId, RecordTable])

    def of(self, space: SpaceId) -> RecordTable:
        """The table of an account, which knows nothing yet where nobody has asked."""
        table = self._kept.pop(space, None) or RecordTable()
        self._kept[space] = table
        return table

    def let_go(self) -> None:
        """Forget the tables that were asked longest ago, until the others fit."""
        room = ROWS_MAX
        for space, table in reversed(tuple(self._kept.items())):
            room -= len(table.rows)
            if room < 0:
                del self._kept[space]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordServices:
    """Without `filing`, no files are kept."""

    filing: Filing | None = None
    record_tables: RecordTables = field(default_factory=RecordTables)

    async def close(self) -> None:
        """Close connections of interpreters and the host of files."""
        if self.filing is not None:
            await self.filing.close()
