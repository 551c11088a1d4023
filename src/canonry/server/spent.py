"""What a request said is dropped as soon as it has been answered.

The SDK keeps the last message of a session, and the HTTP request that it came in, until the next
one comes; and what knows of each other in circles lives until Python looks for such circles.
"""

from typing import Any, Final

from mcp.server import ServerRequestContext
from mcp.server.context import CallNext, HandlerResult

_GREETING: Final = "initialize"


async def drop_what_was_said(
    ctx: ServerRequestContext[Any, Any], call_next: CallNext
) -> HandlerResult:
    """Answer, and empty what carried the request; only the greeting is read once more."""
    try:
        return await call_next(ctx)
    finally:
        if ctx.method != _GREETING and isinstance(ctx.params, dict):
            ctx.params.clear()
        if ctx.request is not None:
            vars(ctx.request).pop("_body", None)  # where Starlette keeps the bytes
