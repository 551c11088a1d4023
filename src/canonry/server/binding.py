"""The one binding from a gateway to the MCP SDK: what is listed, watched and said of outcomes."""

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
from canonry.gateway.catalogue import Offer, described
from canonry.gateway.principal import Principal
from canonry.gateway.replies import INTERNAL_ERROR, INVALID_PARAMS, Result
from canonry.gateway.tool import ErrorBody, File, Prompt, Resource, Tool, Toolset
from canonry.log.ports.ledger import Ledger
from canonry.models.outside_services import ASKED, ClientAnswer, ClientModel
from canonry.records.ports.interpreter import FileHost
from canonry.records.usecases.services import RecordServices
from canonry.server.greeting import NO_OBJECT, Handlers, RequestContext, greet
from canonry.server.options import ServerOptions
from canonry.values.errors import CanonryError, InvalidInput, NotSupported, Unavailable

if TYPE_CHECKING:
    import uvicorn


# The model of the client behind the call that runs now, as its revision of the protocol offers it.
#
# Up to 2025-11-25 the server asks while the client waits. From 2026-07-28 on no server asks
# anything:
# the call ends with the question, and the client makes it again with the answer. The revision that
# brought this also calls sampling deprecated, so that clients may stop offering it.

_SAMPLING: Final = types.ClientCapabilities(sampling=types.SamplingCapability())


@dataclass(slots=True, kw_only=True)
class Exchange:
    """A request that is being answered: what its client has answered, and what it is asked.

    Nothing is kept between two requests: the name of a question follows from its words, so that
    an answer finds it in whichever process the call is made again.
    """

    context: RequestContext
    answers: Mapping[str, types.InputResponse] = field(default_factory=dict)
    asked: dict[str, types.InputRequest] = field(default_factory=dict)


_CALLING: Final[ContextVar[Exchange | None]] = ContextVar("calling", default=None)


class calling:  # noqa: N801 - reads as a statement, and costs every call a third of a generator
    """Within the block this is the request that is answered; after it nothing remembers it."""

    __slots__ = ("_exchange", "_token")

    def __init__(self, exchange: Exchange) -> None:
        """Nothing is set before the block is entered."""
        self._exchange = exchange

    def __enter__(self) -> None:
        self._token = _CALLING.set(self._exchange)

    def __exit__(self, *_: object) -> None:
        _CALLING.reset(self._token)


class SessionModel(ClientModel):
    """Puts the question to the client that waits for the answer to its call."""

    @override
    async def ask(
        self, *, system: str, question: str, temperature: float, tokens: int
    ) -> ClientAnswer:
        exchange = _CALLING.get()
        session = None if exchange is None else exchange.context.session
        if exchange is None or session is None or not session.check_client_capability(_SAMPLING):
            raise _no_model()
        prompt = types.SamplingMessage(
            role="user", content=types.TextContent(type="text", text=question)
        )
        request = types.CreateMessageRequest(
            params=types.CreateMessageRequestParams(
                messages=[prompt], system_prompt=system, temperature=temperature, max_tokens=tokens
            )
        )
        if exchange.context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return _said(_answered(exchange, request))
        if not session.can_send_request:
            raise _no_model()
        about = ServerMessageMetadata(related_request_id=exchange.context.request_id)
        try:
            return _said(
                await session.send_request(request, types.CreateMessageResult, metadata=about)
            )
        except MCPError as error:
            message = (
                "the client refused to ask its model; the file is kept and can be read again later"
            )
            raise Unavailable("interpretation.failed", message) from error


def _answered(exchange: Exchange, request: types.CreateMessageRequest) -> types.InputResponse:
    """The answer that came with the call.

    Raises:
        Unavailable: `interpretation.asked`, none did; the exchange has the question now.
    """
    words = request.model_dump_json(by_alias=True, exclude_none=True)
    name = f"model-{sha256(words.encode()).hexdigest()[:32]}"
    answer = exchange.answers.get(name)
    if answer is None:
        exchange.asked[name] = request
        raise Unavailable(ASKED, "the client is asked; call again with its model's answer")
    return answer


def _said(answer: types.InputResponse) -> ClientAnswer:
    one = answer.content if isinstance(answer, _ANSWERS) else None
    if isinstance(answer, _ANSWERS) and isinstance(one, types.TextContent):
        return ClientAnswer(text=one.text, model=answer.model)
    message = "the client's model answers with something that is no text"
    raise Unavailable("interpretation.failed", message)


_ANSWERS: Final = (types.CreateMessageResult, types.CreateMessageResultWithTools)


def _no_model() -> NotSupported:
    message = "this client offers no model of its own; choose another provider"
    return NotSupported("interpretation.no-client-model", message)


# Subscriptions: whoever watches a resource is told when what *they* would read has changed.
#
# A change is found by reading again after a commit and comparing, as the watcher and by the path of
# every call: nobody learns from a notification that something changed which they may not see.

WATCHED_EACH: Final = 100
"""The most resources that one client watches."""
WATCHED_MOST: Final = 2_000
_BETWEEN_LOOKS: Final = 0.5

WHOLE_LIST: Final = ""
"""Stands for the list of resources where a URI names one of them."""

Look = Callable[[], Awaitable[str | None]]
"""What the watcher would read now; None where they may not."""

Tell = Callable[[Any], Awaitable[None]]
"""Tells the watcher, who is handed in: whoever watches is not kept alive by it."""


@dataclass(eq=False, slots=True, kw_only=True)
class _Watched:
    who: "weakref.ref[Any]"
    look: Look
    tell: Tell
    seen: bytes = b""


@dataclass(slots=True)
class Watching:
    """What is watched, by everybody; it looks only while somebody does, and after a commit."""

    ledger: Ledger
    _watched: dict[tuple[int, str], _Watched] = field(default_factory=dict)
    _task: asyncio.Task[None] | None = None

    async def add(self, who: object, name: str, look: Look, tell: Tell) -> None:
        """Watch `name` for `who`, from now on.

        Raises:
            MCPError: too much is watched.
        """
        self._forget()
        mine = sum(key[0] == id(who) for key in self._watched)
        if mine >= WATCHED_EACH or len(self._watched) >= WATCHED_MOST:
            message = f"one client watches at most {WATCHED_EACH} resources: end a subscription"
            raise MCPError(INVALID_PARAMS, message, {"error": "limits.watched"})
        seen = _digest(await look())
        who_then = weakref.ref(who)
        self._watched[id(who), name] = _Watched(who=who_then, look=look, tell=tell, seen=seen)
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    def has(self, who: object, name: str) -> bool:
        """Whether `who` watches `name`."""
        found = self._watched.get((id(who), name))
        return found is not None and found.who() is who

    def drop(self, who: object, name: str | None = None) -> None:
        """Watch `name`, or everything, for `who` no longer."""
        for key in [key for key in self._watched if key[0] == id(who) and name in {None, key[1]}]:
            del self._watched[key]

    def _forget(self) -> None:
        """Those who are gone watch no longer."""
        for key in [key for key, each in self._watched.items() if each.who() is None]:
            del self._watched[key]

    async def listen(
        self, ctx: Any, params: types.SubscriptionsListenRequestParams, looks: "dict[str, Look]"
    ) -> types.SubscriptionsListenResult:
        """Serve one stream of the revision of 2026-07-28: `looks` are by URI."""
        bus = InMemorySubscriptionBus()

        def telling(event: ServerEvent) -> Tell:
            return lambda bus: bus.publish(event)

        try:
            for uri, look in looks.items():
                event = ResourcesListChanged() if uri == WHOLE_LIST else ResourceUpdated(uri=uri)
                await self.add(bus, uri, look, telling(event))
            return await ListenHandler(bus)(ctx, params)
        finally:
            self.drop(bus)

    async def _run(self) -> None:
        cursor = 0
        while self._watched:
            self._forget()
            touched = None
            with contextlib.suppress(CanonryError):
                touched = await self.ledger.touched_since(cursor, limit=1)
            # A cursor may stand still while somebody else's work is under way.
            if touched is not None and (touched.cursor != cursor or touched.keys != frozenset()):
                cursor = touched.cursor
                for key, each in list(self._watched.items()):
                    await self._look(key, each)
            await self.ledger.await_news(_BETWEEN_LOOKS)
        self._task = None

    async def _look(self, key: tuple[int, str], each: _Watched) -> None:
        now = _digest(await each.look())
        who = each.who()
        if now == each.seen or who is None:
            return
        each.seen = now
        try:
            await each.tell(who)
        except Exception:  # noqa: BLE001 - whoever has gone watches no longer
            self._watched.pop(key, None)


def _digest(text: str | None) -> bytes:
    return b"" if text is None else blake2b(text.encode(), digest_size=16).digest()


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
        last_used = self._alone or self._last_used.setdefault(_connection(ctx), LastUsed())
        with calling(exchange):
            outcome = await self._gateway.call(
                params.name,
                [] if NO_OBJECT in (ctx.params or ()) else params.arguments,
                replace(self._principal(), last_used=last_used),
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
            raise _failed(page, ctx)
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
            raise _failed(found, ctx)
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


def _failed(failed: Result, ctx: RequestContext) -> MCPError:
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


_LOOPBACK: Final = "127.0.0.1"


class KnownHost(FileHost):
    """A server that runs anyway, under an address that somebody told."""

    def __init__(self, address: str) -> None:
        """Clients reach it there."""
        self._address = address.rstrip("/")

    @override
    async def address(self) -> str:
        return self._address

    @override
    async def close(self) -> None:
        """It is not ours to stop."""


class LoopbackHost(FileHost):
    """A server for links alone, reachable from this machine, that starts with the first link."""

    def __init__(self, canon: Canon) -> None:
        """Serve the files of `canon`."""
        self._canon = canon
        self._address = ""
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()

    @override
    async def address(self) -> str:
        async with self._starting:
            if self._serving is None or self._serving.done():
                await self._start()
            return self._address

    @override
    async def close(self) -> None:
        server, serving = self._server, self._serving
        self._server = self._serving = None
        if server is not None and serving is not None:
            server.should_exit = True
            with contextlib.suppress(asyncio.CancelledError):
                await serving

    async def _start(self) -> None:
        # A session that asks for no link needs none of this.
        from starlette.applications import Starlette  # noqa: PLC0415 - as above

        from canonry.server.listening import bounded_config, listen  # noqa: PLC0415 - as above
        from canonry.server.options import HttpLimits  # noqa: PLC0415 - as above
        from canonry.server.pages import file_route  # noqa: PLC0415 - as above

        try:
            taken = listen(_LOOPBACK, 0)
        except Unavailable as error:
            message = "no port of this machine can be taken to serve files; try again"
            raise Unavailable("file.signing-failed", message) from error
        app = Starlette(routes=[file_route(self._canon)])
        config = bounded_config(app, HttpLimits(), 0, shutdown_seconds=1)
        self._server = _quiet_server(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=[taken]))
        # The socket listens already, so a client that comes at once waits and is served.
        self._address = f"http://{_LOOPBACK}:{taken.getsockname()[1]}"


def _quiet_server(config: "uvicorn.Config") -> "uvicorn.Server":
    """A server that leaves the signals of the process to whoever has them."""
    import uvicorn  # noqa: PLC0415 - see above

    class Quiet(uvicorn.Server):
        @override
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    return Quiet(config)


def host_files(canon: Canon, public_url: str | None) -> None:
    """Let links lead to `public_url`, or to a server that starts with the first of them."""
    filing = canon.service(RecordServices).filing
    if filing is not None and filing.host is None:
        filing.host = LoopbackHost(canon) if public_url is None else KnownHost(public_url)
