"""On whose account a request goes, and what the server asks of itself on the same account."""

import contextlib
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import principal_components
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from starlette.types import ASGIApp, Message, Scope, Send

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
