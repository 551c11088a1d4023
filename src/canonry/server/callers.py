"""On whose account a request goes, and what the server asks of itself on the same account."""

from collections.abc import Hashable, Iterable
from typing import Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import principal_components
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from starlette.types import ASGIApp, Message, Scope

SESSION: Final = MCP_SESSION_ID_HEADER.encode()
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
    return next((value for each, value in headers if each == name), None)


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
