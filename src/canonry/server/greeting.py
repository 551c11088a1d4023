"""The SDK's server behind the faces of toolsets: it greets at once, and loads to do more."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import mcp_types as types
from mcp import MCPError
from mcp.server import InitializationOptions, NotificationOptions, Server
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from typing_extensions import override

from canonry import __version__
from canonry.gateway.face import Face
from canonry.language.texts.visible import STORED_IS_DATA
from canonry.values.errors import CanonryError

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


RequestContext = ServerRequestContext[Any, Any]
HeaderSchema = Callable[[str], Mapping[str, Any] | None]


Handlers = Mapping[str, Callable[[RequestContext, Any], Awaitable[Any]]]
"""What answers a request, by the SDK's name for it; `canonry.server.binding` makes it."""

_HANDLED: Final = (
    *("list_tools", "call_tool", "list_resources", "list_resource_templates"),
    *("read_resource", "list_prompts", "get_prompt", "completion"),
    *("subscribe_resource", "unsubscribe_resource", "subscriptions_listen"),
)

Ready = Callable[[], Awaitable[Handlers]]
"""Gives the handlers, as soon as there are any; what it raises of ours is told to the client."""


class _Greeter(Server):
    """Says to clients of earlier revisions as well that lists of resources change."""

    @override
    def create_initialization_options(self, *given: Any, **named: Any) -> InitializationOptions:
        named.setdefault("notification_options", NotificationOptions(resources_changed=True))
        return super().create_initialization_options(*given, **named)


def greet(
    faces: Sequence[Face],
    ready: Ready,
    *,
    header_schema: HeaderSchema | None = None,
) -> Server:
    """An MCP server that introduces itself with `faces`, and awaits `ready` for all the rest."""
    alone = faces[0] if len(faces) == 1 else None
    instructions = (each.instructions for each in faces if each.instructions)
    answering: dict[str, Any] = {f"on_{name}": _fenced(ready, name) for name in _HANDLED}
    server: Server = _Greeter(
        alone.server_name if alone else "canonry",
        version=__version__,
        title=(alone.title or f"Canonry: {alone.name}") if alone else "Canonry",
        description=alone.purpose if alone else "Canonical truth for AI agents",
        instructions="\n\n".join((*instructions, STORED_IS_DATA)),
        get_tool_input_schema=header_schema,
        **answering,
    )
    # Without the SDK's own: a span for each message costs, and nobody collects them.
    server.middleware[:] = (drop_what_was_said, let_tools_answer)
    return server


def _fenced(ready: Ready, name: str) -> Callable[[RequestContext, Any], Awaitable[Any]]:
    """Let nothing out but protocol errors: the SDK would send the text of any other exception."""

    async def fenced(ctx: RequestContext, params: Any) -> Any:
        try:
            handlers = await ready()
        except CanonryError as error:
            # Whoever starts the server may see nothing but this answer.
            raise MCPError(types.INTERNAL_ERROR, error.message, {"error": error.code}) from None
        except Exception:  # noqa: BLE001 - as below
            raise _internal_error() from None
        try:
            return await handlers[name](ctx, params)
        except MCPError:
            raise
        except Exception:  # noqa: BLE001 - the gateway has logged what it knows
            raise _internal_error() from None

    return fenced


def _internal_error() -> MCPError:
    return MCPError(types.INTERNAL_ERROR, "internal error", {"error": "INTERNAL"})
