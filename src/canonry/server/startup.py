"""The SDK's server that greets a client at once and loads the toolsets afterwards."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import mcp_types as types
from mcp import MCPError
from mcp.server import InitializationOptions, NotificationOptions, Server
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from typing_extensions import override

from canonry import __version__
from canonry.gateway.toolset_introduction import Face
from canonry.language.texts.visible import STORED_IS_DATA
from canonry.values.errors import CanonryError

NO_OBJECT: Final = "dev.canonry/no-object"
"""The key in the parameters of a call for arguments that were no object."""

_GREETING: Final = "initialize"


async def let_tools_answer(
    ctx: ServerRequestContext[Any, Any], call_next: CallNext
) -> HandlerResult:
    """Pass a call on if its arguments are no JSON object, and let its tool answer.

    The SDK would refuse the call before any tool runs, and an agent never sees an error of the
    protocol. Null is no object.
    """
    given = ctx.params or {}
    if ctx.method == "tools/call" and not isinstance(given.get("arguments", given), Mapping):
        params = {name: value for name, value in given.items() if name != "arguments"}
        ctx = replace(ctx, params={**params, NO_OBJECT: True})
    return await call_next(ctx)


async def drop_message(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Answer, and empty the message that carried the request, except for the greeting.

    The SDK keeps the last message of a session, and its HTTP request, until the next message.
    Objects in reference cycles live until Python collects cycles.
    """
    try:
        return await call_next(ctx)
    finally:
        if ctx.method != _GREETING and isinstance(ctx.params, dict):
            ctx.params.clear()
        if ctx.request is not None:
            vars(ctx.request).pop("_body", None)  # Starlette keeps the bytes there


RequestContext = ServerRequestContext[Any, Any]
HeaderSchema = Callable[[str], Mapping[str, Any] | None]


Handlers = Mapping[str, Callable[[RequestContext, Any], Awaitable[Any]]]
"""The handler of each request, by the SDK's name for it; see `canonry.server.binding`."""

_HANDLED: Final = (
    *("list_tools", "call_tool", "list_resources", "list_resource_templates"),
    *("read_resource", "list_prompts", "get_prompt", "completion"),
    *("subscribe_resource", "unsubscribe_resource", "subscriptions_listen"),
)

Ready = Callable[[], Awaitable[Handlers]]
"""Return the handlers when they are ready; the client gets each `CanonryError` that it raises."""


class _Greeter(Server):
    """Announces changes of lists to clients of earlier revisions as well."""

    @override
    def create_initialization_options(self, *given: Any, **named: Any) -> InitializationOptions:
        named.setdefault("notification_options", NotificationOptions(resources_changed=True))
        return super().create_initialization_options(*given, **named)


def greeting_server(
    faces: Sequence[Face], ready: Ready, *, header_schema: HeaderSchema | None = None
) -> Server:
    """Return an MCP server that introduces itself with `faces` and awaits `ready` for the rest."""
    alone = faces[0] if len(faces) == 1 else None
    instructions = (each.instructions for each in faces if each.instructions)
    answering: dict[str, Any] = {f"on_{name}": _guard_errors(ready, name) for name in _HANDLED}
    server: Server = _Greeter(
        alone.server_name if alone else "canonry",
        version=__version__,
        title=(alone.title or f"Canonry: {alone.name}") if alone else "Canonry",
        description=alone.purpose if alone else "Canonical truth for AI agents.",
        instructions="\n\n".join((*instructions, STORED_IS_DATA)),
        get_tool_input_schema=header_schema,
        **answering,
    )
    # Without the SDK's own middleware: it makes a span for each message, which nothing collects.
    server.middleware[:] = (drop_message, let_tools_answer)
    return server


def _guard_errors(ready: Ready, name: str) -> Callable[[RequestContext, Any], Awaitable[Any]]:
    """Raise protocol errors alone: the SDK would send the text of any other exception."""

    async def handle_guarded(ctx: RequestContext, params: Any) -> Any:
        try:
            handlers = await ready()
        except CanonryError as error:
            # The operator may see nothing but this answer.
            raise MCPError(types.INTERNAL_ERROR, error.message, {"error": error.code}) from None
        except Exception:  # noqa: BLE001 - as below
            raise _internal_error() from None
        try:
            return await handlers[name](ctx, params)
        except MCPError:
            raise
        except Exception:  # noqa: BLE001 - the gateway has logged what it knows
            raise _internal_error() from None

    return handle_guarded


def _internal_error() -> MCPError:
    return MCPError(types.INTERNAL_ERROR, "internal error", {"error": "INTERNAL"})
