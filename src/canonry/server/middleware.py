"""Guards around every HTTP request: hosts, origins and published rates; worlds by path."""

import math
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import lru_cache
from typing import Final

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from typing_extensions import override

from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.values.ids import SpaceId, is_uuid

# Throttling: whoever has used up the published rate hears so from HTTP, before anything is read.
#
# The calls themselves are counted by the gateway; this only looks whether there is room.


class Throttle:
    """Answers 429 with `Retry-After` where a call would be refused anyway."""

    def __init__(self, gateway: Gateway, identify: Callable[[], Principal]) -> None:
        """`identify` is who makes the request that is being served."""
        self._gateway = gateway
        self._identify = identify

    def around(self, app: ASGIApp) -> ASGIApp:
        """`app`, for those who are within the published rate."""

        def throttled(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
            if scope["method"] != "POST":
                return app(scope, receive, send)
            wait = self._gateway.seconds_until_served(self._identify())
            if wait <= 0:
                return app(scope, receive, send)
            told = PlainTextResponse(
                "too many calls: wait as Retry-After says\n",
                429,
                headers={"Retry-After": str(math.ceil(wait))},
            )
            return told(scope, receive, send)

        return throttled


_AUTHORITY: Final = r"(?P<host>\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253})(?::(?P<port>[0-9]{1,5}))?"
_HOST: Final = re.compile(_AUTHORITY)
_ORIGIN: Final = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]{0,30}://)" + _AUTHORITY)
_ANY_PORT: Final = ":*"
_REMEMBERED: Final = 64
_METHODS: Final = ("GET", "POST", "DELETE")
_READ_BY_PAGES: Final = (
    *("Mcp-Session-Id", "MCP-Protocol-Version"),
    *("WWW-Authenticate", "Retry-After"),
)
_NO_ORIGIN: Final = (b"origin", b"null")


class HostGuard:
    """Refuses what a browser may be made to send: a foreign name in Host, a foreign page in Origin.

    An allowed name is exact, or ends with `:*` and stands for every port and for none. Headers
    are read whole, by their grammar: what merely begins like an allowed name is another one.
    """

    def __init__(self, hosts: Iterable[str], origins: Iterable[str]) -> None:
        """Without any host, nothing is refused."""
        names = frozenset(each.lower() for each in hosts)
        pages = frozenset(each.lower() for each in origins)
        self._guards = bool(names)
        # A client says the same in each of its requests.
        self._is_host = lru_cache(_REMEMBERED)(lambda value: _allowed(value, _HOST, names))
        self._is_origin = lru_cache(_REMEMBERED)(lambda value: _allowed(value, _ORIGIN, pages))

    def refusal(self, scope: Scope) -> Response | None:
        """The answer to a request that must not be served."""
        if not self._guards:
            return None
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if not (len(hosts) == 1 and self._is_host(hosts[0])):
            return PlainTextResponse(
                "this server is not called that: add the name to http_allowed_hosts\n", 421
            )
        origins = [value for name, value in scope["headers"] if name == b"origin"]
        if not all(map(self._is_origin, origins)):
            return PlainTextResponse(
                "pages from there may not call: add the origin to http_allowed_origins\n", 403
            )
        return None

    def around(self, app: ASGIApp) -> ASGIApp:
        """`app`, for those who may call it."""

        def guarded(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
            return (self.refusal(scope) or app)(scope, receive, send)

        return guarded

    def around_pages(self, app: ASGIApp) -> ASGIApp:
        """`app`, which is pages for people: their own forms tell no origin, and carry a key.

        A page that says no referrer to anybody says `Origin: null` to its own server too.
        """

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            told = [each for each in scope["headers"] if tuple(each) != _NO_ORIGIN]
            await (self.refusal({**scope, "headers": told}) or app)(scope, receive, send)

        return guarded


class AllowedOrigins(CORSMiddleware):
    """Tells browsers that pages of these origins may call `app` and read what it answers.

    A request from any other origin goes on to `app`, whose guard refuses it.
    """

    def __init__(self, app: ASGIApp, origins: Iterable[str]) -> None:
        """Origins are written as for `HostGuard`."""
        ports = re.escape(_ANY_PORT)
        names = (re.escape(each).replace(ports, "(:[0-9]{1,5})?") for each in origins)
        super().__init__(
            app,
            allow_origin_regex=f"(?i:{'|'.join(names)})",
            allow_methods=_METHODS,
            allow_headers=("*",),
            allow_private_network=True,
            expose_headers=_READ_BY_PAGES,
        )

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = Headers(scope=scope).get("origin", "") if scope["type"] == "http" else ""
        inner = super().__call__ if self.is_allowed_origin(origin) else self.app
        await inner(scope, receive, send)

    @override
    def preflight_response(self, request_headers: Headers) -> Response:
        answer = super().preflight_response(request_headers)
        if answer.status_code != 200:  # noqa: PLR2004 - what it says where all is allowed
            return answer
        named = {k: v for k, v in answer.headers.items() if not k.startswith("content-")}
        return Response(status_code=204, headers=named)


def open_to(origins: Collection[str], app: ASGIApp) -> ASGIApp:
    """`app`, which pages of these origins may call from a browser."""
    return AllowedOrigins(app, origins) if origins else app


def _allowed(value: bytes, grammar: re.Pattern[str], names: frozenset[str]) -> bool:
    text = value.decode("latin-1").lower()
    if (found := grammar.fullmatch(text)) is None:
        return False
    port = found["port"]
    name = text if port is None else text.removesuffix(f":{port}")
    return text in names or name + _ANY_PORT in names


PATH: Final = "/mcp/world"
_NAMED: Final[ContextVar[SpaceId | None]] = ContextVar("world", default=None)


def world_in(path: str) -> SpaceId | None:
    """The world that a path names, if it does."""
    folder, _, name = path.rpartition("/")
    return SpaceId(name.lower()) if folder == PATH and is_uuid(name) else None


@contextmanager
def about(world: SpaceId) -> Iterator[None]:
    """Within the block requests are about this world."""
    token = _NAMED.set(world)
    try:
        yield
    finally:
        _NAMED.reset(token)


def narrowed(principal: Principal) -> Principal:
    """The principal as bound to the world that the request names.

    Whoever is bound to another world already sees nothing through this path.
    """
    named = _NAMED.get()
    if named is None:
        return principal
    if principal.world not in {None, named}:
        return replace(principal, world=named, spaces=frozenset())
    return replace(principal, world=named)
