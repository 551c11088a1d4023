"""Throttling: whoever has used up the published rate hears so from HTTP, before anything is read.

The calls themselves are counted by the gateway; this only looks whether there is room.
"""

import math
from collections.abc import Awaitable, Callable

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal


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
