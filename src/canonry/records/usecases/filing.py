"""Filing: what use cases need to keep, read, interpret and hand out files."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from canonry.log.ports.blobs import Blobs
from canonry.log.ports.local_files import LocalFiles
from canonry.models.client_model import ClientModel
from canonry.records.ports.file_host import FileHost
from canonry.records.ports.interpreter import Interpreter

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
