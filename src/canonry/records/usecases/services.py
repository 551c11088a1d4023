"""The services of records: where files are kept, and tables of accounts."""

from asyncio import Lock
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from canonry.log.commits import ORIGIN, Position
from canonry.log.ports.ledger import Blobs, LocalFiles
from canonry.log.schemas.schemas import EntitySchema
from canonry.models.speaker import ClientModel
from canonry.records.domain.asking import RecordRow
from canonry.records.ports.interpreter import FileHost, Interpreter
from canonry.values.ids import SpaceId

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
