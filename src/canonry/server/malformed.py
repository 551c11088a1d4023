"""Calls whose arguments are no JSON object: their tool answers, instead of the protocol.

An agent reads the answer of a tool and can do better; an error of the protocol it never sees.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from mcp.server import ServerRequestContext
from mcp.server.context import CallNext, HandlerResult

NO_OBJECT: Final = "dev.canonry/no-object"
"""Stands in the parameters of a call for arguments that were no object."""


async def let_tools_answer(
    ctx: ServerRequestContext[Any, Any], call_next: CallNext
) -> HandlerResult:
    """Hand a call on that the SDK would refuse before any tool is asked; null is no object."""
    given = ctx.params or {}
    if ctx.method == "tools/call" and not isinstance(given.get("arguments", given), Mapping):
        params = {name: value for name, value in given.items() if name != "arguments"}
        ctx = replace(ctx, params={**params, NO_OBJECT: True})
    return await call_next(ctx)
