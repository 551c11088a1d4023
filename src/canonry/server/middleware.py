"""Guards around every HTTP request: body, host, origin, published rate, and world by path."""

import asyncio
import codecs
import json
import math
import re
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import lru_cache
from typing import Final

import mcp_types as types
import msgspec
from mcp.server.transport_security import RequestBodyLimitMiddleware
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from typing_extensions import override

from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.server import messages
from canonry.values.ids import SpaceId, is_uuid

# Throttling: a caller that has used up the published rate gets 429 before its request is read.
#
# The gateway counts the calls. This only checks whether there is room.


def throttle_app(app: ASGIApp, gateway: Gateway, identify: Callable[[], Principal]) -> ASGIApp:
    """Return `app` with 429 and `Retry-After` where the gateway would refuse the call anyway.

    `identify` returns the principal of the request that is being served.
    """

    def serve_throttled(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["method"] != "POST":
            return app(scope, receive, send)
        wait = gateway.seconds_until_served(identify())
        if wait <= 0:
            return app(scope, receive, send)
        headers = {"Retry-After": str(math.ceil(wait))}
        told = PlainTextResponse("too many calls: wait as Retry-After says\n", 429, headers)
        return told(scope, receive, send)

    return serve_throttled


_AUTHORITY: Final = r"(?P<host>\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253})(?::(?P<port>[0-9]{1,5}))?"
_HOST: Final = re.compile(_AUTHORITY)
_ORIGIN: Final = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]{0,30}://)" + _AUTHORITY)
_ANY_PORT: Final = ":*"
_REMEMBERED: Final = 64
_METHODS: Final = ("GET", "POST", "DELETE")
_READ_BY_PAGES: Final = (
    *("Mcp-Session-Id", "MCP-Protocol-Version"),
    *("WWW-Authenticate", "Retry-After"),
)
_NO_ORIGIN: Final = (b"origin", b"null")


class HostGuard:
    """Refuses requests that a hostile page makes a browser send: foreign Host or Origin headers.

    An allowed name is exact, or ends with `:*` for every port and for none. Headers are parsed
    whole, by their grammar: a name that only begins like an allowed one is another name.
    """

    def __init__(self, hosts: Iterable[str], origins: Iterable[str]) -> None:
        """Refuse no request if there are no allowed hosts."""
        names = frozenset(each.lower() for each in hosts)
        pages = frozenset(each.lower() for each in origins)
        self._guards = bool(names)
        # A client sends the same headers in each of its requests.
        self._is_host = lru_cache(_REMEMBERED)(lambda value: _is_allowed(value, _HOST, names))
        self._is_origin = lru_cache(_REMEMBERED)(lambda value: _is_allowed(value, _ORIGIN, pages))

    def refusal_for(self, scope: Scope) -> Response | None:
        """Return the answer to a request that must not be served; None if it may."""
        if not self._guards:
            return None
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if not (len(hosts) == 1 and self._is_host(hosts[0])):
            return PlainTextResponse(
                "The Host header names another server. Add its name to http_allowed_hosts.\n", 421
            )
        origins = [value for name, value in scope["headers"] if name == b"origin"]
        if not all(map(self._is_origin, origins)):
            return PlainTextResponse(
                "Pages of this origin may not call. Add the origin to http_allowed_origins.\n", 403
            )
        return None

    def wrap_app(self, app: ASGIApp) -> ASGIApp:
        """Return `app` behind this guard."""

        def serve_guarded(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
            return (self.refusal_for(scope) or app)(scope, receive, send)

        return serve_guarded

    def wrap_pages(self, app: ASGIApp) -> ASGIApp:
        """Return `app` behind this guard, for pages whose own forms send no origin but a key.

        A page with the policy `no-referrer` sends `Origin: null` to its own server, too.
        """

        async def serve_guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            told = [each for each in scope["headers"] if tuple(each) != _NO_ORIGIN]
            await (self.refusal_for({**scope, "headers": told}) or app)(scope, receive, send)

        return serve_guarded


class AllowedOrigins(CORSMiddleware):
    """Tells browsers that pages of these origins may call `app` and read its answers.

    A request from another origin goes on to `app`, whose guard refuses it.
    """

    def __init__(self, app: ASGIApp, origins: Iterable[str]) -> None:
        """Take the origins, written as for `HostGuard`."""
        ports = re.escape(_ANY_PORT)
        names = (re.escape(each).replace(ports, "(:[0-9]{1,5})?") for each in origins)
        super().__init__(
            app,
            allow_origin_regex=f"(?i:{'|'.join(names)})",
            allow_methods=_METHODS,
            allow_headers=("*",),
            allow_private_network=True,
            expose_headers=_READ_BY_PAGES,
        )

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = Headers(scope=scope).get("origin", "") if scope["type"] == "http" else ""
        inner = super().__call__ if self.is_allowed_origin(origin) else self.app
        await inner(scope, receive, send)

    @override
    def preflight_response(self, request_headers: Headers) -> Response:
        answer = super().preflight_response(request_headers)
        if answer.status_code != 200:  # noqa: PLR2004 - the status if all is allowed
            return answer
        named = {k: v for k, v in answer.headers.items() if not k.startswith("content-")}
        return Response(status_code=204, headers=named)


def open_to(origins: Collection[str], app: ASGIApp) -> ASGIApp:
    """Return `app` for calls from pages of these origins."""
    return AllowedOrigins(app, origins) if origins else app


def _is_allowed(value: bytes, grammar: re.Pattern[str], names: frozenset[str]) -> bool:
    text = value.decode("latin-1").lower()
    if (found := grammar.fullmatch(text)) is None:
        return False
    port = found["port"]
    name = text if port is None else text.removesuffix(f":{port}")
    return text in names or name + _ANY_PORT in names


PATH: Final = "/mcp/world"
_NAMED: Final[ContextVar[SpaceId | None]] = ContextVar("world", default=None)


def world_in(path: str) -> SpaceId | None:
    """Return the world that a path names, or None."""
    folder, _, name = path.rpartition("/")
    return SpaceId(name.lower()) if folder == PATH and is_uuid(name) else None


@contextmanager
def bind_world(world: SpaceId) -> Iterator[None]:
    """Let requests within the block be about this world."""
    token = _NAMED.set(world)
    try:
        yield
    finally:
        _NAMED.reset(token)


def narrow_principal(principal: Principal) -> Principal:
    """Return the principal bound to the world in the path of the request.

    A principal that is bound to another world already sees nothing through this path.
    """
    named = _NAMED.get()
    if named is None:
        return principal
    if principal.world not in {None, named}:
        return replace(principal, world=named, spaces=frozenset())
    return replace(principal, world=named)


# Bodies of requests: bounded for each caller, corrected for the SDK's parser, and refused early.
#
# This replaces the SDK's own bound on bodies, because it would gather each body a second time.

_SURROGATES: Final = (b"\\ud", b"\\uD")
_REWRITTEN: Final = 1 << 20
_GREETING: Final = 1 << 16
_SMALL: Final = 1 << 12
_NUL: Final = "canonry.nul-for-surrogates"
_VERSION: Final = MCP_PROTOCOL_VERSION_HEADER.encode()
_HANDSHAKES: Final = frozenset(each.encode() for each in HANDSHAKE_PROTOCOL_VERSIONS)
_NOTHING: Final = b'{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}'
"""A message that every session accepts and that has no effect."""


def _replace_surrogates(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "\\u0000" * (error.end - error.start), error.end


codecs.register_error(_NUL, _replace_surrogates)


class _Head(msgspec.Struct):
    """The members that tell whether a message is a request, and which; the rest is skipped."""

    id: msgspec.Raw = msgspec.Raw()
    method: msgspec.Raw = msgspec.Raw()


_HEAD: Final = msgspec.json.Decoder(_Head)


class _WantedRevision(msgspec.Struct, rename="camel"):
    """The revision of the protocol that a client wants to speak."""

    protocol_version: str = ""


class _Greeting(msgspec.Struct):
    """The parameters of the request that opens a session."""

    params: _WantedRevision = msgspec.field(default_factory=_WantedRevision)


_GREETED: Final = msgspec.json.Decoder(_Greeting)


class InFlight:
    """The bytes by account and the ids by session of requests in flight."""

    def __init__(self, each: int) -> None:
        """Allow at most `each` bytes per account."""
        self._each = each
        self._bytes: dict[Hashable, int] = {}
        self.answering: dict[tuple[bytes, str], asyncio.Event] = {}

    def take_bytes(self, account: Hashable, size: int) -> bool:
        """Count `size` more bytes and return True, or return False if they are too many."""
        held = self._bytes.get(account, 0) + size
        if held > self._each:
            return False
        self._bytes[account] = held
        return True

    def give_back(self, account: Hashable, size: int) -> None:
        """Count the bytes no more."""
        left = self._bytes.get(account, 0) - size
        if left > 0:
            self._bytes[account] = left
        else:
            self._bytes.pop(account, None)


class RequestBodies(RequestBodyLimitMiddleware):
    """Gathers the body of a request, and passes it on whole if it can be answered.

    - The SDK's parser for the handshake revisions refuses a whole body for one lone surrogate, and
      its error names neither the request nor the path. The gateway refuses NUL and names both;
      small bodies get NUL in place of the surrogate.
    - It takes a request with an invalid id for a notification and does not answer.
    - If two requests of a session share an id while both run, it answers at most one. Here they
      run one after the other.
    - Each session holds its last message until the next one, with the body of that message.
    """

    def __init__(self, app: ASGIApp, max_body_size: int, flight: InFlight) -> None:
        """Wrap `app`; all paths of a server share `flight`."""
        super().__init__(app, max_body_size)
        self._flight = flight

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        account, held = messages.account_of(scope), 0
        pieces: list[bytes] = []
        declared = messages.find_header(scope["headers"], b"content-length") or b""
        more = not (declared.isdigit() and int(declared[:20]) > self.max_body_size)
        refusal = None if more else _TOO_LARGE
        with messages.until_answered(
            send, lambda: self._flight.give_back(account, held)
        ) as sending:
            while more:
                message = await receive()
                if message["type"] != "http.request":
                    return
                piece = message.get("body", b"")
                if held + len(piece) > self.max_body_size:
                    refusal = _TOO_LARGE
                elif not self._flight.take_bytes(account, len(piece)):
                    refusal = _TOO_MUCH
                else:
                    held += len(piece)
                    pieces.append(piece)
                more = refusal is None and message.get("more_body", False)
                del message, piece
            if refusal is not None:
                await refusal(scope, receive, sending)
            else:
                body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
                pieces.clear()
                waiting = [body]
                del body
                await self._hand_on(waiting, scope, receive, sending)

    async def _hand_on(
        self, waiting: list[bytes], scope: Scope, receive: Receive, send: Send
    ) -> None:
        session, size = messages.find_header(scope["headers"], messages.SESSION), len(waiting[0])
        version = messages.find_header(scope["headers"], _VERSION)
        known = None
        batches = scope.get(messages.REVISION) == messages.BATCHING and version in (
            None,
            messages.BATCHING.encode(),
        )
        batch = messages.read_batch(waiting[0]) if batches else None
        if batch is not None:
            await self._hand_on_each(batch, scope, receive, send)
            return
        if version is None or version in _HANDSHAKES:
            if session is None:
                scope[messages.REVISION] = _revision_in(waiting[0])
            known = _check_request(waiting[0])
            waiting[0] = _without_surrogates(waiting[0])
        if isinstance(known, Response):
            await known(scope, receive, send)
            return
        replay = replay_body(waiting, receive)
        if session is None or known is None:
            await self.app(scope, replay, send)
        else:
            # Let the SDK answer, after any other request of the session with the same id.
            claim = (session, str(known))
            answering = self._flight.answering
            while (former := answering.get(claim)) is not None:
                await former.wait()
            answering[claim] = answered = asyncio.Event()
            try:
                await self.app(scope, replay, send)
            finally:
                del answering[claim]
                answered.set()
        if known is None and session is not None and size > _SMALL:
            await messages.send_internal(self.app, scope, "POST", session, _NOTHING)

    async def _hand_on_each(
        self, batch: messages.Batch | bytes, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Pass on the messages of a batch one after the other, and answer them together."""
        if isinstance(batch, bytes):
            await Response(batch, 400, media_type="application/json")(scope, receive, send)
            return
        response = messages.BatchedResponse(send)
        for body, _ in batch.messages:
            await self._hand_on([body], scope, receive, response.relay_message)
            if response.failed:
                return
        await response.finish_response(batch, scope, receive)


def replay_body(waiting: list[bytes], receive: Receive) -> Receive:
    """Return a `receive` that yields the gathered body and then the rest; it drops the body."""

    async def receive_replayed() -> Message:
        if not waiting:
            return await receive()
        return {"type": "http.request", "body": waiting.pop(), "more_body": False}

    return receive_replayed


def _check_request(body: bytes) -> int | str | Response | None:
    """Return the id of a request, the answer to a malformed one, or None for another message."""
    try:
        head = _HEAD.decode(body)
        known = msgspec.json.decode(head.id) if bytes(head.method) and bytes(head.id) else _ABSENT
    except (msgspec.DecodeError, RecursionError):
        return None  # the SDK says what is wrong with it
    if known is _ABSENT:
        return None
    if not isinstance(known, int | str) or isinstance(known, bool):
        return _refusal_response(_NO_ID, None)
    return _TOO_LARGE if bytes(head.method) == b'"initialize"' and len(body) > _GREETING else known


def _revision_in(body: bytes) -> str | None:
    """Return the revision that opens a session; the server speaks each one that has batches."""
    try:
        return _GREETED.decode(body).params.protocol_version if len(body) <= _GREETING else None
    except (msgspec.DecodeError, RecursionError):
        return None


def _refusal_response(problem: str, known: int | str | None) -> Response:
    error = {"code": types.INVALID_REQUEST, "message": f"Invalid request: {problem}"}
    body = json.dumps({"jsonrpc": "2.0", "id": known, "error": error}, separators=(",", ":"))
    return Response(body, 400, media_type="application/json")


_ABSENT: Final = object()
_NO_ID: Final = "The id of a request must be a string or an integer."
_TOO_LARGE: Final = PlainTextResponse("Request body too large\n", 413)
_TOO_MUCH: Final = PlainTextResponse(
    "Too many bytes of your requests are in flight. Wait for an answer, then send this again.\n",
    429,
    headers={"Retry-After": "1"},
)


def _without_surrogates(body: bytes) -> bytes:
    if len(body) > _REWRITTEN or not any(each in body for each in _SURROGATES):
        return body
    try:
        text = json.dumps(json.loads(body), ensure_ascii=False)
    except (ValueError, RecursionError):
        return body  # the SDK says what is wrong with it
    return text.encode(errors=_NUL)
