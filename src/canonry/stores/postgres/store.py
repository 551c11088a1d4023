"""The store in PostgreSQL, and its blobs."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from typing_extensions import override

from canonry.log.ports.ledger import Blobs
from canonry.log.ports.world import Clock, Identities
from canonry.stores.postgres.database import CONNECTIONS, Database
from canonry.stores.postgres.ledger import PostgresLedger
from canonry.stores.postgres.upkeep import PostgresMending, prepare
from canonry.values.errors import BrokenInvariant, NotFound


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresStore:
    """The records in one database; `close` must be awaited once."""

    database: Database
    ledger: PostgresLedger

    @property
    def mending(self) -> PostgresMending:
        """What upkeep does to them."""
        return PostgresMending(self.database)

    async def close(self) -> None:
        """Let go of the server."""
        await self.database.close()


async def open_database(
    url: str,
    *,
    clock: Clock,
    identities: Identities,
    name: str,
    connections: int = CONNECTIONS,
) -> PostgresStore:
    """Open the schema `name` of a database, making or upgrading it where needed.

    Raises:
        BrokenInvariant: `store.newer`, or `store.failed` where the server is too old.
        Unavailable: `store.unreachable`.
    """
    database = Database(url, name, connections=connections)
    await prepare(database)
    await database.open()
    return PostgresStore(database=database, ledger=PostgresLedger(database, clock, identities))


_PUT: Final = (
    "INSERT INTO blobs (owner, digest, data) VALUES (%s, %s, %s)"
    " ON CONFLICT (owner, digest) DO UPDATE SET stored_at = now() RETURNING 1"
)
_GET: Final = "SELECT data FROM blobs WHERE owner = %s AND digest = %s"
_DELETE: Final = "DELETE FROM blobs WHERE owner = %s AND digest = %s RETURNING 1"
_DIGESTS: Final = (
    "SELECT digest FROM blobs WHERE owner = %s AND digest > %s ORDER BY digest LIMIT %s"
)

_STORED: Final = (
    "SELECT extract(epoch FROM stored_at)::float8 FROM blobs WHERE owner = %s AND digest = %s"
)
_OWNERS: Final = "SELECT DISTINCT owner FROM blobs WHERE owner <> '' ORDER BY owner"


class PostgresBlobs(Blobs):
    """Bytes as rows; the server keeps long ones outside of the row by itself."""

    def __init__(self, database: Database, owner: str = "") -> None:
        """Share `database` with the ledger; each owner's bytes are apart from everybody else's."""
        self._database = database
        self._owner = owner

    @override
    async def put(self, data: bytes) -> str:
        digest = sha256(data).hexdigest()
        await self._database.rows(_PUT, (self._owner, digest, data))
        return digest

    @override
    async def get(self, digest: str) -> bytes:
        rows = await self._database.rows(_GET, (self._owner, digest))
        if not rows:
            raise NotFound("blobs.unknown", "there are no bytes under this digest", digest=digest)
        data: bytes = rows[0][0]
        if sha256(data).hexdigest() != digest:
            message = "stored bytes are not what was written: put a backup in place"
            raise BrokenInvariant("blobs.altered", message, digest=digest)
        return data

    @override
    async def delete(self, digest: str) -> None:
        await self._database.rows(_DELETE, (self._owner, digest))

    @override
    async def digests(self, *, after: str = "", limit: int) -> Sequence[str]:
        rows = await self._database.rows(_DIGESTS, (self._owner, after, limit))
        return [digest for (digest,) in rows]

    async def stored_at(self, digest: str) -> float | None:
        """When the bytes were stored last, in seconds since 1970; None where there are none."""
        rows = await self._database.rows(_STORED, (self._owner, digest))
        return rows[0][0] if rows else None


async def owners_of_blobs(database: Database) -> Sequence[str]:
    """Who has any bytes, in order."""
    return [owner for (owner,) in await database.rows(_OWNERS)]
