"""What each message passes on its way through the SDK: repaired before, and dropped after."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from mcp.server import ServerRequestContext
from mcp.server.context import CallNext, HandlerResult

NO_OBJECT: Final = "dev.canonry/no-object"
"""Stands in the parameters of a call for arguments that were no object."""

_GREETING: Final = "initialize"


async def let_tools_answer(
    ctx: ServerRequestContext[Any, Any], call_next: CallNext
) -> HandlerResult:
    """Hand a call on whose arguments are no JSON object, so that its tool answers.

    The SDK would refuse it before any tool is asked, and an agent never sees an error of the
    protocol. Null is no object.
    """
    given = ctx.params or {}
    if ctx.method == "tools/call" and not isinstance(given.get("arguments", given), Mapping):
        params = {name: value for name, value in given.items() if name != "arguments"}
        ctx = replace(ctx, params={**params, NO_OBJECT: True})
    return await call_next(ctx)


async def drop_what_was_said(
    ctx: ServerRequestContext[Any, Any], call_next: CallNext
) -> HandlerResult:
    """Answer, and empty what carried the request; only the greeting is read once more.

    The SDK keeps the last message of a session, and the HTTP request that it came in, until the
    next one comes; and what refers to each other in circles lives until Python looks for circles.
    """
    try:
        return await call_next(ctx)
    finally:
        if ctx.method != _GREETING and isinstance(ctx.params, dict):
            ctx.params.clear()
        if ctx.request is not None:
            vars(ctx.request).pop("_body", None)  # where Starlette keeps the bytes
