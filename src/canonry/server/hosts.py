"""Under which names, and from which pages, the server may be called; anything else is refused."""

import re
from collections.abc import Iterable
from typing import Final

from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

_AUTHORITY: Final = r"(?P<host>\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253})(?::(?P<port>[0-9]{1,5}))?"
_HOST: Final = re.compile(_AUTHORITY)
_ORIGIN: Final = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]{0,30}://)" + _AUTHORITY)
_ANY_PORT: Final = ":*"


class HostGuard:
    """Refuses what a browser may be made to send: a foreign name in Host, a foreign page in Origin.

    An allowed name is exact, or ends with `:*` and stands for every port and for none. Headers
    are read whole, by their grammar: what merely begins like an allowed name is another one.
    """

    def __init__(self, hosts: Iterable[str], origins: Iterable[str]) -> None:
        """Without any host, nothing is refused."""
        self._hosts = frozenset(each.lower() for each in hosts)
        self._origins = frozenset(each.lower() for each in origins)

    def refusal(self, scope: Scope) -> Response | None:
        """The answer to a request that must not be served."""
        if not self._hosts:
            return None
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if not (len(hosts) == 1 and _allowed(hosts[0], _HOST, self._hosts)):
            return PlainTextResponse(
                "this server is not called that: add the name to http_allowed_hosts\n", 421
            )
        origins = [value for name, value in scope["headers"] if name == b"origin"]
        if not all(_allowed(each, _ORIGIN, self._origins) for each in origins):
            return PlainTextResponse(
                "pages from there may not call: add the origin to http_allowed_origins\n", 403
            )
        return None

    def around(self, app: ASGIApp) -> ASGIApp:
        """`app`, for those who may call it."""

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            await (self.refusal(scope) or app)(scope, receive, send)

        return guarded


def _allowed(value: bytes, grammar: re.Pattern[str], names: frozenset[str]) -> bool:
    text = value.decode("latin-1").lower()
    if (found := grammar.fullmatch(text)) is None:
        return False
    port = found["port"]
    name = text if port is None else text.removesuffix(f":{port}")
    return text in names or name + _ANY_PORT in names
