"""The one binding from a gateway to the MCP SDK: what is listed, and how an outcome is said."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final

import mcp_types as types
from mcp import MCPError
from mcp.server import Server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.gateway.replies import INTERNAL_ERROR, INVALID_PARAMS, Result
from canonry.gateway.tool import ErrorBody, Prompt, Resource, Tool
from canonry.server.client_model import Exchange, SessionModel, calling
from canonry.server.greeting import Handlers, RequestContext, greet
from canonry.server.middleware import NO_OBJECT
from canonry.server.options import ServerOptions

EXTENSION_META: Final = "dev.canonry/extension"
_STRUCTURED_SINCE: Final = "2025-06-18"
_NOT_FOUND: Final = -32002
_LEGACY_BAND: Final = range(-32019, -31999)
_MODERN_OFFSET: Final = 1000
_COMPLETE: Final = {"resultType": "complete"}  # said from 2026-07-28 on, dropped before
_LIST_HINTS: Final = {**_COMPLETE, "ttlMs": 300_000, "cacheScope": "public"}
_READ_HINTS: Final = {**_COMPLETE, "ttlMs": 0, "cacheScope": "private"}
_PLAIN_SCHEMA: Final[Mapping[str, Any]] = {"type": "object"}


def bind(gateway: Gateway, principal: Callable[[], Principal], options: ServerOptions) -> Server:
    """An MCP server that offers everything of `gateway`, each call made by `principal()`."""
    binding = Binding(gateway, principal, options)

    async def ready() -> Handlers:
        return binding.handlers

    faces = gateway.catalogue.toolsets
    return greet(faces, ready, header_schema=binding.header_schema)


class Binding:
    """The handlers; what never changes is built once."""

    def __init__(
        self, gateway: Gateway, principal: Callable[[], Principal], options: ServerOptions
    ) -> None:
        """Each call is made by `principal()`."""
        self._gateway = gateway
        self._principal = principal
        self._as_results = options.error_mode == "result"
        catalogue = gateway.catalogue
        if gateway.canon.filing is not None:
            gateway.canon.filing.client = SessionModel()
        resources = [offer.thing for offer in catalogue.resources.values()]
        fixed = [_resource_entry(each, "uri") for each in resources if not _varies(each)]
        varying = [_resource_entry(each, "uriTemplate") for each in resources if _varies(each)]
        tools = [_tool_entry(offer.thing) for offer in catalogue.tools.values()]
        prompts = [_prompt_entry(offer.thing) for offer in catalogue.prompts.values()]
        self.handlers: Handlers = {
            "list_tools": _listing("tools", tools),
            "list_resources": _listing("resources", fixed),
            "list_resource_templates": _listing("resourceTemplates", varying),
            "list_prompts": _listing("prompts", prompts),
            "call_tool": self._call_tool,
            "read_resource": self._read_resource,
            "get_prompt": self._get_prompt,
        }
        self._header_schemas = {
            name: offer.thing.input_schema if _mirrors(offer.thing.input_schema) else _PLAIN_SCHEMA
            for name, offer in catalogue.tools.items()
        }

    def header_schema(self, name: str) -> Mapping[str, Any] | None:
        """The schema by which the SDK compares headers with arguments.

        It walks the whole schema for each call, so one that mirrors nothing is not shown to it.
        """
        return self._header_schemas.get(name)

    async def _call_tool(self, ctx: RequestContext, params: types.CallToolRequestParams) -> Any:
        exchange = Exchange(context=ctx, answers=params.input_responses or {})
        with calling(exchange):
            outcome = await self._gateway.call(
                params.name,
                [] if NO_OBJECT in (ctx.params or ()) else params.arguments,
                self._principal(),
                ctx.meta,
                ctx.session.report_progress,  # says nothing to a client that did not ask
            )
        error = outcome.error
        if error is not None and exchange.asked:
            return types.InputRequiredResult(input_requests=exchange.asked)
        if error is not None and (outcome.protocol or not self._as_results):
            raise _protocol_error(error, ctx.protocol_version)
        result: dict[str, Any] = {
            "content": [{"type": "text", "text": outcome.text}],
            "resultType": "complete",
        }
        structured = isinstance(outcome.body, Mapping)  # the protocol knows no other
        if structured and ctx.protocol_version >= _STRUCTURED_SINCE:
            result["structuredContent"] = outcome.body
        if error is not None:
            result["isError"] = True
        if outcome.meta:
            result["_meta"] = outcome.meta
        return result

    async def _read_resource(
        self, ctx: RequestContext, params: types.ReadResourceRequestParams
    ) -> Any:
        uri = params.uri
        resource, outcome = await self._gateway.read_resource(uri, self._principal(), ctx.meta)
        if resource is None or outcome.error is not None:
            raise _resource_error(outcome, uri, ctx.protocol_version)
        content = {"uri": uri, "mimeType": resource.mime_type, "text": outcome.text}
        return {"contents": [content], **_READ_HINTS}

    async def _get_prompt(self, ctx: RequestContext, params: types.GetPromptRequestParams) -> Any:
        prompt, outcome = await self._gateway.get_prompt(
            params.name, params.arguments, self._principal(), ctx.meta
        )
        if outcome.error is not None:
            raise _protocol_error(outcome.error, ctx.protocol_version)
        message = {"role": "user", "content": {"type": "text", "text": outcome.text}}
        described = {"description": prompt.description} if prompt else {}
        return {**described, "messages": [message], **_COMPLETE}


def _listing(
    name: str, entries: Sequence[Any]
) -> Callable[[RequestContext, Any], Coroutine[Any, Any, Any]]:
    reply = {name: entries, **_LIST_HINTS}

    async def listed(ctx: RequestContext, params: Any) -> Any:
        del ctx, params  # everybody is told the same, on one page
        return reply

    return listed


def _protocol_error(error: ErrorBody, version: str) -> MCPError:
    """The error on the wire.

    From 2026-07-28 on the numbers between -32019 and -32000 may not be used by servers, so ours
    move by a thousand; what they mean stands in `data`.
    """
    code = error.code
    if version in MODERN_PROTOCOL_VERSIONS and code in _LEGACY_BAND:
        code += _MODERN_OFFSET
    return MCPError(code, error.message, dict(error.data))


def _resource_error(outcome: Result, uri: str, version: str) -> MCPError:
    """A resource that does not exist has a number of its own, and another one from 2026-07-28."""
    error = outcome.error
    if error is None:
        return MCPError(INTERNAL_ERROR, "internal error", {"error": "INTERNAL"})
    if outcome.protocol or error.code == _NOT_FOUND:
        code = INVALID_PARAMS if version in MODERN_PROTOCOL_VERSIONS else _NOT_FOUND
        return MCPError(code, error.message, {**error.data, "uri": uri})
    return _protocol_error(error, version)


def _tool_entry(tool: Tool) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "annotations": {
            "readOnlyHint": tool.read_only,
            "destructiveHint": tool.destructive,
            "idempotentHint": tool.idempotent or tool.read_only,
            "openWorldHint": False,
        },
    }
    if tool.output_schema.get("type") == "object":  # the protocol knows no other reply
        entry["outputSchema"] = tool.output_schema
    if tool.extension:
        entry["_meta"] = {EXTENSION_META: True}
    return entry


def _resource_entry(resource: Resource, address: str) -> dict[str, Any]:
    return {
        address: resource.uri_template,
        "name": resource.name,
        "title": resource.title,
        "description": resource.description,
        "mimeType": resource.mime_type,
    }


def _prompt_entry(prompt: Prompt) -> dict[str, Any]:
    arguments = [
        {"name": each.name, "description": each.description, "required": each.required}
        for each in prompt.arguments
    ]
    return {
        "name": prompt.name,
        "title": prompt.title,
        "description": prompt.description,
        "arguments": arguments,
    }


def _varies(resource: Resource) -> bool:
    return "{" in resource.uri_template


def _mirrors(schema: Any) -> bool:
    """Whether the schema asks for an argument to be repeated in a header."""
    if isinstance(schema, Mapping):
        return "x-mcp-header" in schema or any(_mirrors(value) for value in schema.values())
    return isinstance(schema, list) and any(_mirrors(value) for value in schema)
