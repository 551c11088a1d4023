"""Request bodies with lone surrogates, made readable, so that the gateway can name the spot."""

import codecs
import json
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SURROGATE: Final = b"\\ud"
_NUL: Final = "canonry.nul-for-surrogates"


def _nul(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "\\u0000" * (error.end - error.start), error.end


codecs.register_error(_NUL, _nul)


class ReadableBodies:
    """Writes NUL for lone surrogates in what `app` receives.

    The SDK's parser for the handshake revisions refuses a whole body for one lone surrogate, and
    says neither which request it answers nor where. The gateway refuses NUL like a surrogate, and
    says both. Only a body that comes in one piece is looked at, which small ones do.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""

        async def readable() -> Message:
            message = await receive()
            body = message.get("body", b"")
            if _SURROGATE in body.lower() and not message.get("more_body", False):
                message["body"] = _readable(body)
            return message

        await self._app(scope, readable, send)


def _readable(body: bytes) -> bytes:
    try:
        text = json.dumps(json.loads(body), ensure_ascii=False)
    except (ValueError, RecursionError):
        return body  # the SDK says what is wrong with it
    return text.encode(errors=_NUL)
