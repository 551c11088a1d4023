"""The SDK's server behind the faces of toolsets: it greets at once, and loads to do more."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

import mcp_types as types
from mcp import MCPError
from mcp.server import Server
from mcp.server.context import ServerRequestContext

from canonry import __version__
from canonry.domain.texts.data_marks import STORED_IS_DATA
from canonry.gateway.face import Face
from canonry.server.malformed import let_tools_answer
from canonry.server.options import ServerOptions
from canonry.server.spent import drop_what_was_said

RequestContext = ServerRequestContext[Any, Any]
HeaderSchema = Callable[[str], Mapping[str, Any] | None]


class Handlers(Protocol):
    """What answers a request; `canonry.server.binding` makes it from a gateway."""

    async def list_tools(self) -> Any:
        """Every tool."""

    async def list_resources(self) -> Any:
        """Every resource with one address."""

    async def list_resource_templates(self) -> Any:
        """Every resource whose address has variables."""

    async def list_prompts(self) -> Any:
        """Every prompt."""

    async def call_tool(self, ctx: RequestContext, params: types.CallToolRequestParams) -> Any:
        """The outcome of a call."""

    async def read_resource(
        self, ctx: RequestContext, params: types.ReadResourceRequestParams
    ) -> Any:
        """The content of a resource."""

    async def get_prompt(self, ctx: RequestContext, params: types.GetPromptRequestParams) -> Any:
        """The text of a prompt."""


class NotOpened(Exception):  # noqa: N818 - the word for what it says
    """There will be no handlers, for a reason that the operator may be told."""

    def __init__(self, code: str, message: str) -> None:
        """Keep both."""
        super().__init__(message)
        self.code = code
        self.message = message


Ready = Callable[[], Awaitable[Handlers]]
"""Gives the handlers, as soon as there are any; it raises `NotOpened`, or an internal error."""


def greet(
    faces: Sequence[Face],
    ready: Ready,
    options: ServerOptions,
    *,
    header_schema: HeaderSchema | None = None,
) -> Server:
    """An MCP server that introduces itself with `faces`, and awaits `ready` for all the rest."""
    alone = faces[0] if len(faces) == 1 else None
    server: Server = Server(
        alone.server_name if alone else "canonry",
        version=alone.contract_version if alone else __version__,
        title=f"Canonry {__version__}",
        description=alone.purpose if alone else "Canonical truth for AI agents",
        instructions=_instructions(faces),
        get_tool_input_schema=header_schema,
        on_list_tools=_fenced(ready, lambda it, *_: it.list_tools()),
        on_call_tool=_fenced(ready, lambda it, *asked: it.call_tool(*asked)),
        on_list_resources=_fenced(ready, lambda it, *_: it.list_resources()),
        on_list_resource_templates=_fenced(ready, lambda it, *_: it.list_resource_templates()),
        on_read_resource=_fenced(ready, lambda it, *asked: it.read_resource(*asked)),
        on_list_prompts=_fenced(ready, lambda it, *_: it.list_prompts()),
        on_get_prompt=_fenced(ready, lambda it, *asked: it.get_prompt(*asked)),
    )
    if not options.tracing:
        server.middleware.clear()  # a span for each message costs, and nobody collects them
    server.middleware += (drop_what_was_said, let_tools_answer)
    return server


def _instructions(faces: Sequence[Face]) -> str:
    """What each toolset says of itself, and what holds for everything that any of them returns."""
    told = (each.instructions for each in faces if each.instructions)
    return "\n\n".join((*told, STORED_IS_DATA))


def _fenced(
    ready: Ready, handler: Callable[..., Awaitable[Any]]
) -> Callable[[RequestContext, Any], Awaitable[Any]]:
    """Let nothing out but protocol errors: the SDK would send the text of any other exception."""

    async def fenced(ctx: RequestContext, params: Any) -> Any:
        try:
            return await handler(await ready(), ctx, params)
        except MCPError:
            raise
        except NotOpened as error:
            # Whoever starts the server may see nothing but this answer.
            raise MCPError(types.INTERNAL_ERROR, error.message, {"error": error.code}) from None
        except Exception:  # noqa: BLE001 - the gateway has logged what it knows
            raise MCPError(types.INTERNAL_ERROR, "internal error", {"error": "INTERNAL"}) from None

    return fenced
