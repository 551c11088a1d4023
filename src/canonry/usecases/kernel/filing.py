"""Filing: what use cases need to keep, read, interpret and hand out files."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from canonry.ports.client_model import ClientModel
from canonry.ports.file_host import FileHost
from canonry.ports.interpreter import Interpreter
from canonry.ports.local_files import LocalFiles
from canonry.ports.records.blobs import Blobs


@dataclass(slots=True, kw_only=True)
class Filing:
    """The places and helpers for files; whoever serves sets `host` and `client`.

    `blobs_of` gives the bytes of one user, apart from everybody else's, so that what one user has
    tells nothing about another and goes with that user; `users` are those who have any, and
    `stored_at` says when bytes of one were kept, in seconds since 1970. `secret` signs links.
    """

    blobs_of: Callable[[str], Blobs]
    users: Callable[[], Sequence[str]]
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
