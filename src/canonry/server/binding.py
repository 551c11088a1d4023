"""Bind a gateway to the MCP SDK: lists, subscriptions and the form of outcomes."""

import asyncio
import contextlib
import weakref
from base64 import b64encode
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import mcp_types as types
from mcp import MCPError
from mcp.server import Server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
)
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from typing_extensions import override

from canonry.canon.session.caller import LastUsed
from canonry.canon.session.canon import Canon
from canonry.gateway.call import Gateway
from canonry.gateway.offers import Offer, add_descriptions
from canonry.gateway.principal import Principal
from canonry.gateway.replies import INTERNAL_ERROR, INVALID_PARAMS, Result
from canonry.gateway.tool import ErrorBody, File, Prompt, Resource, Tool, Toolset
from canonry.log.ports.ledger import Ledger
from canonry.models.outside_services import ASKED, ClientAnswer, ClientModel
from canonry.records.ports.interpreter import FileHost
from canonry.records.usecases.files import RecordServices
from canonry.server.options import ServerOptions
from canonry.server.startup import NO_OBJECT, Handlers, RequestContext, greeting_server
from canonry.values.errors import CanonryError, InvalidInput, NotSupported, Unavailable

if TYPE_CHECKING:
    import uvicorn


# The client's own model during the call that runs now, as the revision of the protocol offers it.
#
# Up to 2025-11-25 the server asks while the client waits. From 2026-07-28 on servers ask nothing:
# the call ends with the question, and the client repeats it with the answer. That revision also
# deprecates sampling, and clients may stop offering it.

_SAMPLING: Final = types.ClientCapabilities(sampling=types.SamplingCapability())


@dataclass(slots=True, kw_only=True)
class Exchange:
    """The answers and questions of the request that is being answered.

    Nothing is kept between two requests. The name of a question is a hash of its text, and an
    answer matches it in any process that gets the repeated call.
    """

    context: RequestContext
    answers: Mapping[str, types.InputResponse] = field(default_factory=dict)
    asked: dict[str, types.InputRequest] = field(default_factory=dict)


_CALLING: Final[ContextVar[Exchange | None]] = ContextVar("calling", default=None)


class calling:  # noqa: N801 - reads as a statement, and costs every call a third of a generator
    """Make `exchange` the current request within the block."""

    __slots__ = ("_exchange", "_token")

    def __init__(self, exchange: Exchange) -> None:
        """Set nothing before the block is entered."""
        self._exchange = exchange

    def __enter__(self) -> None:
        self._token = _CALLING.set(self._exchange)

    def __exit__(self, *_: object) -> None:
        _CALLING.reset(self._token)


class SessionModel(ClientModel):
    """Ask the client that waits for the answer to its call."""

    @override
    async def ask_model(
        self, *, system: str, question: str, temperature: float, tokens: int
    ) -> ClientAnswer:
        prompt = types.SamplingMessage(
            role="user", content=types.TextContent(type="text", text=question)
        )
        request = types.CreateMessageRequest(
            params=types.CreateMessageRequestParams(
                messages=[prompt], system_prompt=system, temperature=temperature, max_tokens=tokens
            )
        )
        exchange = _CALLING.get()
        try:
            answer = await _ask_client(exchange, _SAMPLING, request, types.CreateMessageResult)
        except MCPError as error:
            message = "The client refused to ask its model. The file is kept. Read it again later."
            raise Unavailable("interpretation.failed", message) from error
        if isinstance(answer, _ANSWERS) and isinstance(answer.content, types.TextContent):
            return ClientAnswer(text=answer.content.text, model=answer.model)
        if answer is not None:
            message = "The client's model did not answer with text. Repeat the call."
            raise Unavailable("interpretation.failed", message)
        if exchange is not None and exchange.asked:
            message = "The client gets the question. Repeat the call with its model's answer."
            raise Unavailable(ASKED, message)
        message = "This client offers no model of its own. Choose another provider."
        raise NotSupported("interpretation.no-client-model", message)


async def _ask_client(
    exchange: Exchange | None,
    capability: types.ClientCapabilities,
    request: types.CreateMessageRequest | types.ElicitRequest,
    reply: type[Any],
) -> Any:
    """Return what the client of the call answers to a request; None without an answer.

    From 2026-07-28 on `exchange.asked` has the request then, and the repeated call the answer.

    Raises:
        MCPError: if the client refuses.
    """
    session = None if exchange is None else exchange.context.session
    if exchange is None or session is None or not session.check_client_capability(capability):
        return None
    if exchange.context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        words = request.model_dump_json(by_alias=True, exclude_none=True)
        name = f"{request.method.partition('/')[0]}-{sha256(words.encode()).hexdigest()[:32]}"
        if name not in exchange.answers:
            exchange.asked[name] = request
        return exchange.answers.get(name)
    if not session.can_send_request:
        return None
    about = ServerMessageMetadata(related_request_id=exchange.context.request_id)
    return await session.send_request(request, reply, metadata=about)


_ELICITING: Final = types.ClientCapabilities(elicitation=types.ElicitationCapability())
_ASKED_FOR: Final = frozenset({"decide.reason", "name.ambiguous"})


async def _ask_user(
    exchange: Exchange, error: ErrorBody, tool: Tool, given: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    """Return the arguments with the reason, or the one of several items, that the user names.

    Return None if the error asks for neither, or if the client cannot ask or brings no answer.
    """
    choices = error.data.get("candidates")
    if error.data.get("reason") not in _ASKED_FOR:
        return None
    value = {"type": "string", **({"enum": list(choices)} if choices else {"minLength": 1})}
    schema = {"type": "object", "properties": {"answer": value}, "required": ["answer"]}
    params = types.ElicitRequestFormParams(message=error.message, requested_schema=schema)
    request, answer = types.ElicitRequest(params=params), None
    with contextlib.suppress(MCPError):
        answer = await _ask_client(exchange, _ELICITING, request, types.ElicitResult)
    text = (getattr(answer, "content", None) or {}).get("answer")
    if not text or (choices and text not in choices):
        return None
    arguments = tool.mend(given or {}, tool.input_schema) if tool.mend else given or {}
    name, _, number = error.data["path"].removeprefix("/").partition("/")
    if not number:
        return {**arguments, name: text}
    chosen = text.rpartition(" ")[2].removesuffix(")")  # a candidate ends in its id
    items = [chosen if n == int(number) else each for n, each in enumerate(arguments[name])]
    return {**arguments, name: items}


_ANSWERS: Final = (types.CreateMessageResult, types.CreateMessageResultWithTools)


# Subscriptions: a client that watches a resource is notified when its own view of it changes.
#
# After a commit, the server reads again on the path of every call, as the watcher, and compares. A
# notification reveals no change that the watcher may not see.

WATCHED_EACH: Final = 100
"""The most resources that one client watches."""
WATCHED_MOST: Final = 2_000  # each commit reads them again: bounds the work of a change
_POLL_SECONDS: Final = 0.5  # engines without notifications are asked this often

WHOLE_LIST: Final = ""
"""The key of the list of resources, where a URI is the key of one resource."""

ReadWatched = Callable[[], Awaitable[str | None]]
"""Return a digest of the text that the watcher may read now; None if it may read none."""

NotifyWatcher = Callable[[Any], Awaitable[None]]
"""Notify the watcher. It is an argument, because a reference here would keep it alive."""


@dataclass(eq=False, slots=True, kw_only=True)
class _Subscription:
    who: "weakref.ref[Any]"
    read: ReadWatched
    notify: NotifyWatcher
    seen: bytes = b""


@dataclass(slots=True)
class Subscriptions:
    """All subscriptions. They are compared after a commit, and only while there are any."""

    ledger: Ledger
    _subscriptions: dict[tuple[int, str], _Subscription] = field(default_factory=dict)
    _task: asyncio.Task[None] | None = None

    async def add_subscription(
        self, who: object, name: str, read: ReadWatched, notify: NotifyWatcher
    ) -> None:
        """Watch `name` for `who` from now on.

        Raises:
            MCPError: `who` watches too many resources.
        """
        self._drop_gone()
        mine = sum(key[0] == id(who) for key in self._subscriptions)
        if mine >= WATCHED_EACH or len(self._subscriptions) >= WATCHED_MOST:
            message = (
                f"A client may watch at most {WATCHED_EACH} resources. End a subscription first."
            )
            raise MCPError(INVALID_PARAMS, message, {"error": "limits.watched"})
        seen = _digest_of(await read())
        who_then = weakref.ref(who)
        self._subscriptions[id(who), name] = _Subscription(
            who=who_then, read=read, notify=notify, seen=seen
        )
        if self._task is None:
            self._task = asyncio.create_task(self._watch_commits())

    def has_subscription(self, who: object, name: str) -> bool:
        """Return whether `who` watches `name`."""
        found = self._subscriptions.get((id(who), name))
        return found is not None and found.who() is who

    def drop_subscriptions(self, who: object, name: str | None = None) -> None:
        """Stop watching `name`, or everything, for `who`."""
        for key in [
            key for key in self._subscriptions if key[0] == id(who) and name in {None, key[1]}
        ]:
            del self._subscriptions[key]

    def _drop_gone(self) -> None:
        """Drop the subscriptions of clients that have gone."""
        for key in [key for key, each in self._subscriptions.items() if each.who() is None]:
            del self._subscriptions[key]

    async def serve_stream(
        self,
        ctx: Any,
        params: types.SubscriptionsListenRequestParams,
        reads: "dict[str, ReadWatched]",
    ) -> types.SubscriptionsListenResult:
        """Serve one stream of revision 2026-07-28; `reads` are by URI."""
        bus = InMemorySubscriptionBus()

        def publish_to(event: ServerEvent) -> NotifyWatcher:
            return lambda bus: bus.publish(event)

        try:
            for uri, read in reads.items():
                event = ResourcesListChanged() if uri == WHOLE_LIST else ResourceUpdated(uri=uri)
                await self.add_subscription(bus, uri, read, publish_to(event))
            return await ListenHandler(bus)(ctx, params)
        finally:
            self.drop_subscriptions(bus)

    async def _watch_commits(self) -> None:
        cursor = 0
        while self._subscriptions:
            self._drop_gone()
            touched = None
            with contextlib.suppress(CanonryError):
                touched = await self.ledger.touched_since(cursor, limit=1)
            # A cursor may stay the same while another caller's commit is under way.
            if touched is not None and (touched.cursor != cursor or touched.keys != frozenset()):
                cursor = touched.cursor
                for key, each in list(self._subscriptions.items()):
                    await self._compare_digest(key, each)
            await self.ledger.await_news(_POLL_SECONDS)
        self._task = None

    async def _compare_digest(self, key: tuple[int, str], each: _Subscription) -> None:
        now = _digest_of(await each.read())
        who = each.who()
        if now == each.seen or who is None:
            return
        each.seen = now
        try:
            await each.notify(who)
        except Exception:  # noqa: BLE001 - the client has gone; its subscription ends
            self._subscriptions.pop(key, None)


def _digest_of(text: str | None) -> bytes:
    return b"" if text is None else blake2b(text.encode(), digest_size=16).digest()


EXTENSION_META: Final = "dev.canonry/extension"
CONSISTENCY_META: Final = "dev.canonry/consistency"
_STRUCTURED_SINCE: Final = "2025-06-18"
_NOT_FOUND: Final = -32002
_UPDATED: Final = "notifications/resources/updated"
_LEGACY_BAND: Final = range(-32019, -31999)
_MODERN_OFFSET: Final = 1000
_COMPLETE: Final = {"resultType": "complete"}  # sent from 2026-07-28 on, dropped before
_LIST_HINTS: Final = {**_COMPLETE, "ttlMs": 300_000, "cacheScope": "private"}
_READ_HINTS: Final = {**_COMPLETE, "ttlMs": 0, "cacheScope": "private"}
_PLAIN_SCHEMA: Final[Mapping[str, Any]] = {"type": "object"}


def bind_gateway(
    gateway: Gateway, principal: Callable[[], Principal], options: ServerOptions
) -> Server:
    """Return an MCP server that offers everything of `gateway`; `principal()` makes each call."""
    binding = Binding(gateway, principal, options)

    async def ready_handlers() -> Handlers:
        return binding.handlers

    faces = gateway.catalogue.toolsets
    return greeting_server(faces, ready_handlers, header_schema=binding.header_schema)


class Binding:
    """The handlers of requests; constant replies are built once."""

    def __init__(
        self,
        gateway: Gateway,
        principal: Callable[[], Principal],
        options: ServerOptions,
        *,
        alone: bool = False,
    ) -> None:
        """Let `principal()` make each call.

        A client that is `alone` has one connection. Otherwise a subscription ends with its
        session, and a request without a session cannot subscribe.
        """
        self._alone = LastUsed() if alone else None
        self._last_used: WeakKeyDictionary[Any, LastUsed] = WeakKeyDictionary()
        self._gateway = gateway
        self._principal = principal
        self._as_results = options.error_mode == "result"
        catalogue, tools = gateway.catalogue, gateway.catalogue.tools
        filing = gateway.canon.find_service(RecordServices).filing
        if filing is not None:
            filing.client = SessionModel()
        self._subscriptions = Subscriptions(gateway.canon.ledger)
        self._entries: dict[str, list[tuple[Offer[Any], dict[str, Any]]]] = {
            "tools": [(each, tool_entry(each.item, each.toolset)) for each in tools.values()],
            "resources": [
                (each, _resource_entry(each.item, "uri"))
                for each in catalogue.resources.values()
                if not _has_variables(each.item)
            ],
            "resourceTemplates": [
                (each, _resource_entry(each.item, "uriTemplate"))
                for each in catalogue.resources.values()
                if _has_variables(each.item)
            ],
            "prompts": [(each, _prompt_entry(each.item)) for each in catalogue.prompts.values()],
        }
        self.handlers: Handlers = {
            "list_tools": self._list_handler("tools"),
            "list_resources": self._list_resources,
            "list_resource_templates": self._list_handler("resourceTemplates"),
            "list_prompts": self._list_handler("prompts"),
            "call_tool": self._call_tool,
            "read_resource": self._read_resource,
            "get_prompt": self._get_prompt,
            "completion": self._complete_argument,
            "subscribe_resource": self._subscribe_resource,
            "unsubscribe_resource": self._unsubscribe_resource,
            "subscriptions_listen": self._listen_stream,
        }
        self._in_text_alone = frozenset(
            name for name, offer in tools.items() if not offer.toolset.structured
        )
        self._header_schemas = {
            name: offer.item.input_schema
            if _has_mirrored(offer.item.input_schema)
            else _PLAIN_SCHEMA
            for name, offer in tools.items()
        }

    def header_schema(self, name: str) -> Mapping[str, Any] | None:
        """Return the schema by which the SDK compares headers with arguments.

        The SDK walks the whole schema for each call. A schema without mirrored headers is hidden.
        """
        return self._header_schemas.get(name)

    def _list_handler(self, name: str) -> Callable[[RequestContext, Any], Coroutine[Any, Any, Any]]:
        """Return the handler that lists the items of one kind for the caller, on one page."""

        async def list_entries(ctx: RequestContext, params: Any) -> Any:
            del params
            return {name: self._offered_entries(name, ctx), **_LIST_HINTS}

        return list_entries

    def _offered_entries(self, name: str, ctx: RequestContext) -> list[dict[str, Any]]:
        entries = self._entries[name]
        offers = (offer for offer, _ in entries)
        theirs = set(map(id, self._gateway.offers_for(offers, self._principal(), ctx.meta)))
        return [entry for offer, entry in entries if id(offer) in theirs]

    async def _call_tool(self, ctx: RequestContext, params: types.CallToolRequestParams) -> Any:
        exchange = Exchange(context=ctx, answers=params.input_responses or {})
        last_used = self._alone or self._last_used.setdefault(_connection_of(ctx), LastUsed())
        arguments: object = [] if NO_OBJECT in (ctx.params or ()) else params.arguments
        principal = replace(self._principal(), last_used=last_used)
        offer = self._gateway.catalogue.tools.get(params.name)
        report = ctx.session.report_progress  # sends nothing to a client that did not ask
        call, name = self._gateway.call, params.name
        with calling(exchange):
            outcome = await call(name, arguments, principal, ctx.meta, report)
            if outcome.error is not None and offer is not None and offer.item.asks:
                given = await _ask_user(exchange, outcome.error, offer.item, params.arguments)
                if given is not None:
                    outcome = await call(name, given, principal, ctx.meta, report)
        error = outcome.error
        if error is not None and exchange.asked:
            return types.InputRequiredResult(input_requests=exchange.asked)
        if error is not None and (outcome.protocol or not self._as_results):
            raise _protocol_error(error, ctx.protocol_version)
        result: dict[str, Any] = {"content": _content_parts(outcome), "resultType": "complete"}
        structured = (
            isinstance(outcome.body, Mapping)  # the protocol knows no other
            and params.name not in self._in_text_alone
        )
        if error is not None:
            result["isError"] = True  # with structured content, a client would check it against the
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
        """List the fixed resources, then the browsable ones, page by page."""
        cursor = params.cursor if params else None
        try:
            page = await self._gateway.browse_resources(cursor, self._principal(), ctx.meta)
        except InvalidInput as error:
            raise MCPError(INVALID_PARAMS, error.message, {"error": error.code}) from None
        if isinstance(page, Result):
            raise _failure_error(page, ctx)
        await self._watch_list(ctx)
        found = [
            {"uri": uri, "name": title, "title": title, "mimeType": resource.mime_type}
            for resource, uri, title in page.entries
        ]
        following = {} if page.following is None else {"nextCursor": page.following}
        fixed = self._offered_entries("resources", ctx) if cursor is None else []
        return {"resources": [*fixed, *found], **following, **_READ_HINTS}

    async def _complete_argument(
        self, ctx: RequestContext, params: types.CompleteRequestParams
    ) -> Any:
        named = params.ref.name if params.ref.type == "ref/prompt" else params.ref.uri
        argument = params.argument
        found = await self._gateway.complete_value(
            named, argument.name, argument.value, self._principal(), ctx.meta
        )
        if isinstance(found, Result):
            raise _failure_error(found, ctx)
        values, total = found
        more = total > len(values)
        return {"completion": {"values": values, "total": total, "hasMore": more}, **_COMPLETE}

    def _reader_of(self, ctx: RequestContext, uri: str) -> ReadWatched:
        """Return a function that reads `uri` as the current caller."""
        principal, meta = self._principal(), ctx.meta

        async def read_text() -> str | None:
            if uri == WHOLE_LIST:
                page = await self._gateway.browse_resources(None, principal, meta, counted=False)
                return None if isinstance(page, Result) else repr(page.entries)
            _, outcome = await self._gateway.read_resource(uri, principal, meta, counted=False)
            return None if outcome.error is not None else outcome.text

        return read_text

    async def _subscribe_resource(
        self, ctx: RequestContext, params: types.SubscribeRequestParams
    ) -> Any:
        uri = str(params.uri)
        resource, outcome = await self._gateway.read_resource(uri, self._principal(), ctx.meta)
        if resource is None or outcome.error is not None:
            raise _resource_error(outcome, uri, ctx.protocol_version)
        await self._subscriptions.add_subscription(
            _connection_of(ctx),
            uri,
            self._reader_of(ctx, uri),
            lambda connection: connection.notify(_UPDATED, {"uri": uri}),
        )
        return _COMPLETE

    async def _watch_list(self, ctx: RequestContext) -> None:
        """Notify a client of an earlier revision that has seen the list when the list changes."""
        connection = _connection_of(ctx)
        if (
            ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        ):  # in that revision, clients listen for changes
            return
        if self._subscriptions.has_subscription(connection, WHOLE_LIST):
            return
        read = self._reader_of(ctx, WHOLE_LIST)
        with contextlib.suppress(MCPError):  # the client watches too many resources already
            await self._subscriptions.add_subscription(
                connection, WHOLE_LIST, read, lambda one: one.send_resource_list_changed()
            )

    async def _unsubscribe_resource(
        self, ctx: RequestContext, params: types.UnsubscribeRequestParams
    ) -> Any:
        self._subscriptions.drop_subscriptions(_connection_of(ctx), str(params.uri))
        return _COMPLETE

    async def _listen_stream(
        self, ctx: RequestContext, params: types.SubscriptionsListenRequestParams
    ) -> Any:
        wanted = params.notifications
        uris = list(wanted.resource_subscriptions or ())
        if wanted.resources_list_changed:
            uris.append(WHOLE_LIST)
        return await self._subscriptions.serve_stream(
            ctx, params, {uri: self._reader_of(ctx, uri) for uri in uris}
        )

    async def _get_prompt(self, ctx: RequestContext, params: types.GetPromptRequestParams) -> Any:
        prompt, outcome = await self._gateway.get_prompt(
            params.name, params.arguments, self._principal(), ctx.meta
        )
        if outcome.error is not None:
            raise _protocol_error(outcome.error, ctx.protocol_version)
        message = {"role": "user", "content": {"type": "text", "text": outcome.text}}
        described = {"description": prompt.description} if prompt else {}
        return {**described, "messages": [message], **_COMPLETE}


def _content_parts(outcome: Result) -> list[Mapping[str, Any]]:
    if outcome.parts and outcome.body is None:
        return list(outcome.parts)
    return [{"type": "text", "text": outcome.text}, *outcome.parts]


def _failure_error(failed: Result, ctx: RequestContext) -> MCPError:
    assert failed.error is not None  # noqa: S101 - it has failed
    return _protocol_error(failed.error, ctx.protocol_version)


def _connection_of(ctx: RequestContext) -> Any:
    """Return the connection, the only object of the SDK that all requests of a client share."""
    return ctx.session._connection  # noqa: SLF001 - only middleware gets it otherwise


def _protocol_error(error: ErrorBody, version: str) -> MCPError:
    """Return the error as the protocol sends it.

    From 2026-07-28 on, servers may not use the numbers between -32019 and -32000. Ours move by a
    thousand; `data` holds their meaning.
    """
    code = error.code
    if version in MODERN_PROTOCOL_VERSIONS and code in _LEGACY_BAND:
        code += _MODERN_OFFSET
    return MCPError(code, error.message, dict(error.data))


def _resource_error(outcome: Result, uri: str, version: str) -> MCPError:
    """Return the error; a missing resource has its own number, another one from 2026-07-28 on."""
    error = outcome.error
    if error is None:
        return MCPError(INTERNAL_ERROR, "internal error", {"error": "INTERNAL"})
    if outcome.protocol or error.code == _NOT_FOUND:
        code = INVALID_PARAMS if version in MODERN_PROTOCOL_VERSIONS else _NOT_FOUND
        return MCPError(code, error.message, {**error.data, "uri": uri})
    return _protocol_error(error, version)


def tool_entry(tool: Tool, toolset: Toolset) -> dict[str, Any]:
    """Return the tool as clients list it."""
    hints = {"readOnlyHint": tool.read_only, "openWorldHint": False}
    if not tool.read_only:  # the protocol asks nothing else of read-only tools
        hints |= {"destructiveHint": tool.destructive, "idempotentHint": tool.idempotent}
    entry: dict[str, Any] = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": add_descriptions(tool.input_schema, toolset.descriptions),
        "annotations": hints,
    }
    structured = tool.output_schema.get("type") == "object"  # the protocol knows no other reply
    if structured and toolset.structured:
        own = toolset.descriptions if any(tool.output_schema.get("properties", {}).values()) else {}
        entry["outputSchema"] = add_descriptions(tool.output_schema, own)
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


def _has_variables(resource: Resource) -> bool:
    return "{" in resource.uri_template


def _has_mirrored(schema: Any) -> bool:
    """Return whether the schema asks for an argument to be repeated in a header."""
    if isinstance(schema, Mapping):
        return "x-mcp-header" in schema or any(_has_mirrored(value) for value in schema.values())
    return isinstance(schema, list) and any(_has_mirrored(value) for value in schema)


_LOOPBACK: Final = "127.0.0.1"


class KnownHost(FileHost):
    """A server that runs anyway, at an address from the settings."""

    def __init__(self, address: str) -> None:
        """Take the `address` at which clients reach it."""
        self._address = address.rstrip("/")

    @override
    async def link_address(self) -> str:
        return self._address

    @override
    async def close(self) -> None:
        """Do nothing: another part of the program stops it."""


class LoopbackHost(FileHost):
    """A server for links alone, reachable from this machine. The first link starts it."""

    def __init__(self, canon: Canon) -> None:
        """Serve the files of `canon`."""
        self._canon = canon
        self._address = ""
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()

    @override
    async def link_address(self) -> str:
        async with self._starting:
            if self._serving is None or self._serving.done():
                await self._start_server()
            return self._address

    @override
    async def close(self) -> None:
        server, serving = self._server, self._serving
        self._server = self._serving = None
        if server is not None and serving is not None:
            server.should_exit = True
            with contextlib.suppress(asyncio.CancelledError):
                await serving

    async def _start_server(self) -> None:
        # Imported here: a session that asks for no link needs none of this.
        from starlette.applications import Starlette  # noqa: PLC0415 - as above

        from canonry.server.options import HttpLimits  # noqa: PLC0415 - as above
        from canonry.server.pages import file_route  # noqa: PLC0415 - as above
        from canonry.server.sockets import bounded_config, open_socket  # noqa: PLC0415 - as above

        try:
            taken = open_socket(_LOOPBACK, 0)
        except Unavailable as error:
            message = "No port of this machine is free to serve files. Try again later."
            raise Unavailable("file.signing-failed", message) from error
        app = Starlette(routes=[file_route(self._canon)])
        config = bounded_config(app, HttpLimits(), 0, shutdown_seconds=1)
        self._server = _quiet_server(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=[taken]))
        # The socket listens already: a client that connects at once waits and is served.
        self._address = f"http://{_LOOPBACK}:{taken.getsockname()[1]}"


def _quiet_server(config: "uvicorn.Config") -> "uvicorn.Server":
    """Return a server that leaves the signal handlers of the process alone."""
    import uvicorn  # noqa: PLC0415 - see above

    class Quiet(uvicorn.Server):
        @override
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    return Quiet(config)


def host_files(canon: Canon, public_url: str | None) -> None:
    """Let links lead to `public_url`, or to a server that the first link starts."""
    filing = canon.find_service(RecordServices).filing
    if filing is not None and filing.host is None:
        filing.host = LoopbackHost(canon) if public_url is None else KnownHost(public_url)
