"""Headers: what a browser is told about every page, so that nothing from elsewhere gets in."""

from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_ALWAYS: Final = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-frame-options", b"DENY"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
_UNKEPT: Final = (b"cache-control", b"private, no-store")
_KEPT: Final = (b"cache-control", b"private, max-age=3600")


class GuardedHeaders:
    """Adds them to every answer of an application."""

    def __init__(self, app: ASGIApp) -> None:
        """Around `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI calls it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        static = scope["path"].startswith("/static/")

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                kept = _KEPT if static and message["status"] == 200 else _UNKEPT  # noqa: PLR2004
                message = {**message, "headers": [*message["headers"], *_ALWAYS, kept]}
            await send(message)

        await self._app(scope, receive, guarded)
