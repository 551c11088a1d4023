"""The one binding from a gateway to the MCP SDK: what is listed, and how an outcome is said."""

import contextlib
from base64 import b64encode
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any, Final
from weakref import WeakKeyDictionary

import mcp_types as types
from mcp import MCPError
from mcp.server import Server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from canonry.canon.session.caller import LastUsed
from canonry.gateway.call import Gateway
from canonry.gateway.catalogue import Offer
from canonry.gateway.contract import described
from canonry.gateway.principal import Principal
from canonry.gateway.replies import INTERNAL_ERROR, INVALID_PARAMS, Result
from canonry.gateway.tool import ErrorBody, File, Prompt, Resource, Tool, Toolset
from canonry.records.usecases.services import RecordServices
from canonry.server.client_model import Exchange, SessionModel, calling
from canonry.server.greeting import NO_OBJECT, Handlers, RequestContext, greet
from canonry.server.options import ServerOptions
from canonry.server.watching import WHOLE_LIST, Look, Watching
from canonry.values.errors import InvalidInput

EXTENSION_META: Final = "dev.canonry/extension"
CONSISTENCY_META: Final = "dev.canonry/consistency"
_STRUCTURED_SINCE: Final = "2025-06-18"
_NOT_FOUND: Final = -32002
_UPDATED: Final = "notifications/resources/updated"
_LEGACY_BAND: Final = range(-32019, -31999)
_MODERN_OFFSET: Final = 1000
_COMPLETE: Final = {"resultType": "complete"}  # said from 2026-07-28 on, dropped before
_LIST_HINTS: Final = {**_COMPLETE, "ttlMs": 300_000, "cacheScope": "private"}
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
        self,
        gateway: Gateway,
        principal: Callable[[], Principal],
        options: ServerOptions,
        *,
        alone: bool = False,
    ) -> None:
        """Each call is made by `principal()`.

        A client that is `alone` has one connection; else what each remembers ends with it, and a
        request without a session remembers nothing.
        """
        self._alone = LastUsed() if alone else None
        self._last_used: WeakKeyDictionary[Any, LastUsed] = WeakKeyDictionary()
        self._gateway = gateway
        self._principal = principal
        self._as_results = options.error_mode == "result"
        catalogue = gateway.catalogue
        filing = gateway.canon.service(RecordServices).filing
        if filing is not None:
            filing.client = SessionModel()
        self._watching = Watching(gateway.canon.ledger)
        self._entries: dict[str, list[tuple[Offer[Any], dict[str, Any]]]] = {
            "tools": [
                (each, _tool_entry(each.thing, each.toolset)) for each in catalogue.tools.values()
            ],
            "resources": [
                (each, _resource_entry(each.thing, "uri"))
                for each in catalogue.resources.values()
                if not _varies(each.thing)
            ],
            "resourceTemplates": [
                (each, _resource_entry(each.thing, "uriTemplate"))
                for each in catalogue.resources.values()
                if _varies(each.thing)
            ],
            "prompts": [(each, _prompt_entry(each.thing)) for each in catalogue.prompts.values()],
        }
        self.handlers: Handlers = {
            "list_tools": self._listing("tools"),
            "list_resources": self._list_resources,
            "list_resource_templates": self._listing("resourceTemplates"),
            "list_prompts": self._listing("prompts"),
            "call_tool": self._call_tool,
            "read_resource": self._read_resource,
            "get_prompt": self._get_prompt,
            "completion": self._complete,
            "subscribe_resource": self._subscribe,
            "unsubscribe_resource": self._unsubscribe,
            "subscriptions_listen": self._listen,
        }
        self._in_text_alone = frozenset(
            name for name, offer in catalogue.tools.items() if not offer.toolset.structured
        )
        self._header_schemas = {
            name: offer.thing.input_schema if _mirrors(offer.thing.input_schema) else _PLAIN_SCHEMA
            for name, offer in catalogue.tools.items()
        }

    def header_schema(self, name: str) -> Mapping[str, Any] | None:
        """The schema by which the SDK compares headers with arguments.

        It walks the whole schema for each call, so one that mirrors nothing is not shown to it.
        """
        return self._header_schemas.get(name)

    def _last_used_on(self, connection: Any) -> LastUsed:
        return self._alone or self._last_used.setdefault(connection, LastUsed())

    def _listing(self, name: str) -> Callable[[RequestContext, Any], Coroutine[Any, Any, Any]]:
        """What the caller may use of one kind, on one page."""

        async def listed(ctx: RequestContext, params: Any) -> Any:
            del params
            return {name: self._offered(name, ctx), **_LIST_HINTS}

        return listed

    def _offered(self, name: str, ctx: RequestContext) -> list[dict[str, Any]]:
        entries = self._entries[name]
        offers = (offer for offer, _ in entries)
        theirs = set(map(id, self._gateway.offered(offers, self._principal(), ctx.meta)))
        return [entry for offer, entry in entries if id(offer) in theirs]

    async def _call_tool(self, ctx: RequestContext, params: types.CallToolRequestParams) -> Any:
        exchange = Exchange(context=ctx, answers=params.input_responses or {})
        with calling(exchange):
            outcome = await self._gateway.call(
                params.name,
                [] if NO_OBJECT in (ctx.params or ()) else params.arguments,
                replace(self._principal(), last_used=self._last_used_on(_connection(ctx))),
                ctx.meta,
                ctx.session.report_progress,  # says nothing to a client that did not ask
            )
        error = outcome.error
        if error is not None and exchange.asked:
            return types.InputRequiredResult(input_requests=exchange.asked)
        if error is not None and (outcome.protocol or not self._as_results):
            raise _protocol_error(error, ctx.protocol_version)
        result: dict[str, Any] = {
            "content": _content(outcome),
            "resultType": "complete",
        }
        structured = (
            isinstance(outcome.body, Mapping)  # the protocol knows no other
            and params.name not in self._in_text_alone
        )
        if error is not None:
            result["isError"] = True  # with structured content, a client would hold it against the
        elif structured and ctx.protocol_version >= _STRUCTURED_SINCE:  # schema of replies
            result["structuredContent"] = outcome.body
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
        content = {"uri": uri, "mimeType": resource.mime_type}
        if isinstance(file := outcome.body, File):
            content |= {"mimeType": file.mime_type or resource.mime_type}
            content |= {"blob": b64encode(file.data).decode()}
        else:
            content |= {"text": outcome.text}
        return {"contents": [content], **_READ_HINTS}

    async def _list_resources(
        self, ctx: RequestContext, params: types.PaginatedRequestParams | None
    ) -> Any:
        """What is always there, then what can be browsed, page by page."""
        cursor = params.cursor if params else None
        try:
            page = await self._gateway.browse(cursor, self._principal(), ctx.meta)
        except InvalidInput as error:
            raise MCPError(INVALID_PARAMS, error.message, {"error": error.code}) from None
        if isinstance(page, Result):
            raise _said(page, ctx)
        await self._watch_list(ctx)
        found = [
            {"uri": uri, "name": title, "title": title, "mimeType": resource.mime_type}
            for resource, uri, title in page.entries
        ]
        following = {} if page.following is None else {"nextCursor": page.following}
        fixed = self._offered("resources", ctx) if cursor is None else []
        return {"resources": [*fixed, *found], **following, **_READ_HINTS}

    async def _complete(self, ctx: RequestContext, params: types.CompleteRequestParams) -> Any:
        named = params.ref.name if params.ref.type == "ref/prompt" else params.ref.uri
        argument = params.argument
        found = await self._gateway.complete(
            named, argument.name, argument.value, self._principal(), ctx.meta
        )
        if isinstance(found, Result):
            raise _said(found, ctx)
        values, total = found
        more = total > len(values)
        return {"completion": {"values": values, "total": total, "hasMore": more}, **_COMPLETE}

    def _look(self, ctx: RequestContext, uri: str) -> Look:
        """What the caller of now would read under `uri`, whenever it is asked."""
        principal, meta = self._principal(), ctx.meta

        async def look() -> str | None:
            if uri == WHOLE_LIST:
                page = await self._gateway.browse(None, principal, meta, counted=False)
                return None if isinstance(page, Result) else repr(page.entries)
            _, outcome = await self._gateway.read_resource(uri, principal, meta, counted=False)
            return None if outcome.error is not None else outcome.text

        return look

    async def _subscribe(self, ctx: RequestContext, params: types.SubscribeRequestParams) -> Any:
        uri = str(params.uri)
        resource, outcome = await self._gateway.read_resource(uri, self._principal(), ctx.meta)
        if resource is None or outcome.error is not None:
            raise _resource_error(outcome, uri, ctx.protocol_version)
        await self._watching.add(
            _connection(ctx),
            uri,
            self._look(ctx, uri),
            lambda connection: connection.notify(_UPDATED, {"uri": uri}),
        )
        return _COMPLETE

    async def _watch_list(self, ctx: RequestContext) -> None:
        """Whoever has seen the list of an earlier revision is told when it is another."""
        connection = _connection(ctx)
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:  # there one listens for it
            return
        if self._watching.has(connection, WHOLE_LIST):
            return
        look = self._look(ctx, WHOLE_LIST)
        with contextlib.suppress(MCPError):  # so much is watched that this is not
            await self._watching.add(
                connection, WHOLE_LIST, look, lambda one: one.send_resource_list_changed()
            )

    async def _unsubscribe(
        self, ctx: RequestContext, params: types.UnsubscribeRequestParams
    ) -> Any:
        self._watching.drop(_connection(ctx), str(params.uri))
        return _COMPLETE

    async def _listen(
        self, ctx: RequestContext, params: types.SubscriptionsListenRequestParams
    ) -> Any:
        wanted = params.notifications
        uris = list(wanted.resource_subscriptions or ())
        if wanted.resources_list_changed:
            uris.append(WHOLE_LIST)
        return await self._watching.listen(ctx, params, {uri: self._look(ctx, uri) for uri in uris})

    async def _get_prompt(self, ctx: RequestContext, params: types.GetPromptRequestParams) -> Any:
        prompt, outcome = await self._gateway.get_prompt(
            params.name, params.arguments, self._principal(), ctx.meta
        )
        if outcome.error is not None:
            raise _protocol_error(outcome.error, ctx.protocol_version)
        message = {"role": "user", "content": {"type": "text", "text": outcome.text}}
        described = {"description": prompt.description} if prompt else {}
        return {**described, "messages": [message], **_COMPLETE}


def _content(outcome: Result) -> list[Mapping[str, Any]]:
    if outcome.parts and outcome.body is None:
        return list(outcome.parts)
    return [{"type": "text", "text": outcome.text}, *outcome.parts]


def _said(failed: Result, ctx: RequestContext) -> MCPError:
    assert failed.error is not None  # noqa: S101 - it has failed
    return _protocol_error(failed.error, ctx.protocol_version)


def _connection(ctx: RequestContext) -> Any:
    """What outlives the request; of all that the SDK hands out, only this is one for a client."""
    return ctx.session._connection  # noqa: SLF001 - it shows it to middleware alone


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


def _tool_entry(tool: Tool, toolset: Toolset) -> dict[str, Any]:
    hints = {"readOnlyHint": tool.read_only, "openWorldHint": False}
    if not tool.read_only:  # of what only reads, the protocol asks nothing else
        hints |= {"destructiveHint": tool.destructive, "idempotentHint": tool.idempotent}
    entry: dict[str, Any] = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": described(tool.input_schema, toolset.words),
        "annotations": hints,
    }
    structured = tool.output_schema.get("type") == "object"  # the protocol knows no other reply
    if structured and toolset.structured:
        typed = any(tool.output_schema.get("properties", {}).values())
        entry["outputSchema"] = described(tool.output_schema, toolset.words if typed else {})
    meta: dict[str, Any] = {EXTENSION_META: True} if tool.extension else {}
    if tool.consistency is not None:
        meta[CONSISTENCY_META] = tool.consistency
    if tool.app is not None:
        meta["ui"] = {"resourceUri": tool.app}
    return {**entry, "_meta": meta} if meta else entry


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
