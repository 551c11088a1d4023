"""Sessions over HTTP: who holds them, and how many."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator
from http import HTTPStatus
from typing import Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import principal_components
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from canonry.gateway.rates import KEPT, Full, Seats
from canonry.server.options import HttpLimits

SESSION: Final = MCP_SESSION_ID_HEADER.encode()
REVISION: Final = "canonry.revision"
"""Where a scope holds the revision of the protocol with which its session was opened."""
_FIXED: Final = (
    (b"content-type", b"application/json"),
    (b"accept", b"application/json, text/event-stream"),
)


def account_of(scope: Scope) -> Hashable:
    """Who was authenticated, or else where the request comes from.

    What a caller says of itself opens no second account.
    """
    user = scope.get("user")
    if isinstance(user, AuthenticatedUser):
        return principal_components(user.access_token)
    client = scope.get("client")
    return client[0] if client else None


def header(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> bytes | None:
    """The first value of a header."""
    for each, value in headers:  # a generator would cost more than the walk
        if each == name:
            return value
    return None


@contextlib.contextmanager
def until_answered(send: Send, put_away: Callable[[], None]) -> Iterator[Send]:
    """A `send` that calls `put_away` once, before the last part of an answer leaves.

    Whoever has read an answer whole may count on the server having put the request away: after the
    last part another task may run first. What is never answered is put away at the end.
    """
    left = [put_away]

    async def sending(message: Message) -> None:
        if left and message["type"] == "http.response.body" and not message.get("more_body"):
            left.pop()()
        await send(message)

    try:
        yield sending
    finally:
        if left:
            left.pop()()


async def ask_oneself(
    app: ASGIApp, scope: Scope, method: str, session: bytes, body: bytes = b""
) -> None:
    """Make a request of `app` as whoever made the one of `scope`; nobody reads the answer."""
    own = {**scope, "method": method, "headers": [*_FIXED, (SESSION, session)]}
    waiting = [body]

    async def receive() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return {"type": "http.disconnect"}

    async def send(_: Message) -> None:
        pass

    await app(own, receive, send)


# Sessions, shared fairly: a caller who has too many loses the one that was idle the longest.
#
# The SDK counts the sessions of everybody together, and refuses new ones when there are too many:
# one client could lock out all others for as long as sessions live.

_IDLE: Final = 0
_LISTENING: Final = 1
_RANKS: Final = 2
_BAD: Final = 400
_LOOKS: Final = 20
_BETWEEN_LOOKS: Final = 0.05
_OF_A_CALLER: Final = (
    *("type", "asgi", "http_version", "scheme", "path", "raw_path", "root_path", "query_string"),
    *("server", "client", "user", "auth", "state"),
)
_TOO_MANY: Final = PlainTextResponse(
    "all your sessions are busy: end one, or wait for an answer\n",
    HTTPStatus.TOO_MANY_REQUESTS,
    headers={"Retry-After": "1"},
)


class Session:
    """One session: whose it is, how it is reached, and what of it is in flight."""

    __slots__ = ("app", "calls", "key", "owner", "revision", "scope", "streams")

    def __init__(self, app: ASGIApp, key: bytes, scope: Scope) -> None:
        """`app` serves it, and `scope` is that of the request that opened it."""
        self.app = app
        self.key = key
        self.owner = account_of(scope)
        self.revision = scope.get(REVISION)
        self.scope: Scope = {name: scope[name] for name in _OF_A_CALLER if name in scope}
        self.calls = 0
        self.streams = 0

    @property
    def rank(self) -> int:
        """How readily it is given up: one that answers something never is."""
        if self.calls:
            return KEPT
        return _LISTENING if self.streams else _IDLE


class Sessions:
    """All sessions of a server, on every path."""

    def __init__(self, limits: HttpLimits) -> None:
        """None yet."""
        self._seats: Seats[Hashable, Session] = Seats(
            total=limits.sessions, each=limits.each_principal, ranks=_RANKS
        )
        self._known: dict[bytes, Session] = {}

    def around(self, app: ASGIApp) -> ASGIApp:
        """`app`, which keeps sessions, with a bound on them."""

        def bounded(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
            key = header(scope["headers"], SESSION)
            if key is None:
                return self._open(app, scope, receive, send)
            return self._use(app, key, scope, receive, send)

        return bounded

    async def _open(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request without a session; if it opens one, another may have to go."""
        opened: list[Session] = []
        refused = False

        async def watch(message: Message) -> None:
            nonlocal refused
            if message["type"] == "http.response.start" and message["status"] < _BAD:
                key = header(message.get("headers", ()), SESSION)
                if key is not None:
                    opened.append(Session(app, key, scope))
                    refused = not await self._seat(opened[0])
                    if refused:
                        await _TOO_MANY(scope, receive, send)
            if not refused:
                await ending(message)

        def put_away() -> None:
            for session in opened:
                session.calls = 0
                self._rest(session)

        with until_answered(send, put_away) as ending:
            try:
                await app(scope, receive, watch)
            finally:
                if refused:
                    await self._end(opened[0])

    async def _use(
        self, app: ASGIApp, key: bytes, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Serve a request of a session, which moves behind all that are idle longer."""
        session = self._known.get(key)
        if session is None or ("user" in scope and account_of(scope) != session.owner):
            await app(scope, receive, send)  # the SDK knows whose it is, and tells nothing
            return
        gone = False

        async def watch(message: Message) -> None:
            nonlocal gone
            if message["type"] == "http.response.start":
                status = message["status"]
                gone = status == HTTPStatus.NOT_FOUND or (
                    scope["method"] == "DELETE" and status < _BAD
                )
            await ending(message)

        def put_away() -> None:
            session.streams -= listens
            session.calls -= not listens
            if gone:
                self._forget(session)
            else:
                self._rest(session)

        listens = scope["method"] == "GET"
        session.streams += listens
        session.calls += not listens
        self._seats.place(session.owner, session, session.rank)
        with until_answered(send, put_away) as ending:
            await app({**scope, REVISION: session.revision}, receive, watch)

    async def _seat(self, session: Session) -> bool:
        """Give a new session its place, and whatever stands in its way an end."""
        for _ in range(_LOOKS):
            try:
                found = self._seats.must_go(session.owner)
                break
            except Full:  # an answer reaches its client before the request is put away
                await asyncio.sleep(_BETWEEN_LOOKS)
        else:
            return False
        session.calls = 1
        self._known[session.key] = session
        self._seats.place(session.owner, session, KEPT)
        if found is not None:
            await self._end(found[1])
        return True

    def _rest(self, session: Session) -> None:
        """Put it behind all that were idle before it, unless it has ended meanwhile."""
        if session.key in self._known:
            self._seats.place(session.owner, session, session.rank)

    async def _end(self, session: Session) -> None:
        """End it as its client would; what it knows and its streams go with it."""
        self._forget(session)
        await ask_oneself(session.app, session.scope, "DELETE", session.key)

    def _forget(self, session: Session) -> None:
        self._known.pop(session.key, None)
        self._seats.leave(session.owner, session)
