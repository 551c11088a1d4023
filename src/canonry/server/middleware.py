"""Guards around every HTTP request: body, hosts, origins and published rates; worlds by path."""

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
from canonry.server.messages import (
    BATCHING,
    REVISION,
    SESSION,
    Batch,
    BatchedResponse,
    account_of,
    ask_oneself,
    header,
    read_batch,
    until_answered,
)
from canonry.values.ids import SpaceId, is_uuid

# Throttling: whoever has used up the published rate hears so from HTTP, before anything is read.
#
# The calls themselves are counted by the gateway; this only looks whether there is room.


def throttled(app: ASGIApp, gateway: Gateway, identify: Callable[[], Principal]) -> ASGIApp:
    """`app`, which answers 429 with `Retry-After` where a call would be refused anyway.

    `identify` is who makes the request that is being served.
    """

    def served(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["method"] != "POST":
            return app(scope, receive, send)
        wait = gateway.seconds_until_served(identify())
        if wait <= 0:
            return app(scope, receive, send)
        headers = {"Retry-After": str(math.ceil(wait))}
        told = PlainTextResponse("too many calls: wait as Retry-After says\n", 429, headers)
        return told(scope, receive, send)

    return served


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
    """Refuses what a browser may be made to send: a foreign name in Host, a foreign page in Origin.

    An allowed name is exact, or ends with `:*` and stands for every port and for none. Headers
    are read whole, by their grammar: what merely begins like an allowed name is another one.
    """

    def __init__(self, hosts: Iterable[str], origins: Iterable[str]) -> None:
        """Without any host, nothing is refused."""
        names = frozenset(each.lower() for each in hosts)
        pages = frozenset(each.lower() for each in origins)
        self._guards = bool(names)
        # A client says the same in each of its requests.
        self._is_host = lru_cache(_REMEMBERED)(lambda value: _allowed(value, _HOST, names))
        self._is_origin = lru_cache(_REMEMBERED)(lambda value: _allowed(value, _ORIGIN, pages))

    def refusal(self, scope: Scope) -> Response | None:
        """The answer to a request that must not be served."""
        if not self._guards:
            return None
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if not (len(hosts) == 1 and self._is_host(hosts[0])):
            return PlainTextResponse(
                "this server is not called that: add the name to http_allowed_hosts\n", 421
            )
        origins = [value for name, value in scope["headers"] if name == b"origin"]
        if not all(map(self._is_origin, origins)):
            return PlainTextResponse(
                "pages from there may not call: add the origin to http_allowed_origins\n", 403
            )
        return None

    def around(self, app: ASGIApp) -> ASGIApp:
        """`app`, for those who may call it."""

        def guarded(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
            return (self.refusal(scope) or app)(scope, receive, send)

        return guarded

    def around_pages(self, app: ASGIApp) -> ASGIApp:
        """`app`, which is pages for people: their own forms tell no origin, and carry a key.

        A page that says no referrer to anybody says `Origin: null` to its own server too.
        """

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            told = [each for each in scope["headers"] if tuple(each) != _NO_ORIGIN]
            await (self.refusal({**scope, "headers": told}) or app)(scope, receive, send)

        return guarded


class AllowedOrigins(CORSMiddleware):
    """Tells browsers that pages of these origins may call `app` and read what it answers.

    A request from any other origin goes on to `app`, whose guard refuses it.
    """

    def __init__(self, app: ASGIApp, origins: Iterable[str]) -> None:
        """Origins are written as for `HostGuard`."""
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
        if answer.status_code != 200:  # noqa: PLR2004 - what it says where all is allowed
            return answer
        named = {k: v for k, v in answer.headers.items() if not k.startswith("content-")}
        return Response(status_code=204, headers=named)


def open_to(origins: Collection[str], app: ASGIApp) -> ASGIApp:
    """`app`, which pages of these origins may call from a browser."""
    return AllowedOrigins(app, origins) if origins else app


def _allowed(value: bytes, grammar: re.Pattern[str], names: frozenset[str]) -> bool:
    text = value.decode("latin-1").lower()
    if (found := grammar.fullmatch(text)) is None:
        return False
    port = found["port"]
    name = text if port is None else text.removesuffix(f":{port}")
    return text in names or name + _ANY_PORT in names


PATH: Final = "/mcp/world"
_NAMED: Final[ContextVar[SpaceId | None]] = ContextVar("world", default=None)


def world_in(path: str) -> SpaceId | None:
    """The world that a path names, if it does."""
    folder, _, name = path.rpartition("/")
    return SpaceId(name.lower()) if folder == PATH and is_uuid(name) else None


@contextmanager
def about(world: SpaceId) -> Iterator[None]:
    """Within the block requests are about this world."""
    token = _NAMED.set(world)
    try:
        yield
    finally:
        _NAMED.reset(token)


def narrowed(principal: Principal) -> Principal:
    """The principal as bound to the world that the request names.

    Whoever is bound to another world already sees nothing through this path.
    """
    named = _NAMED.get()
    if named is None:
        return principal
    if principal.world not in {None, named}:
        return replace(principal, world=named, spaces=frozenset())
    return replace(principal, world=named)


# Bodies of requests: bounded for each caller, made readable, and refused where none could answer.
#
# This takes the place of the SDK's own bound on bodies, so that a body is gathered only once.

_SURROGATES: Final = (b"\\ud", b"\\uD")
_REWRITTEN: Final = 1 << 20
_GREETING: Final = 1 << 16
_SMALL: Final = 1 << 12
_NUL: Final = "canonry.nul-for-surrogates"
_VERSION: Final = MCP_PROTOCOL_VERSION_HEADER.encode()
_HANDSHAKES: Final = frozenset(each.encode() for each in HANDSHAKE_PROTOCOL_VERSIONS)
_NOTHING: Final = b'{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}'
"""A message that every session takes and nothing comes of."""


def _nul(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "\\u0000" * (error.end - error.start), error.end


codecs.register_error(_NUL, _nul)


class _Head(msgspec.Struct):
    """What says whether a message is a request, and which; the rest is skipped unread."""

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
    """What is held of requests that are being answered: bytes by account, and ids by session."""

    def __init__(self, each: int) -> None:
        """At most `each` bytes on one account."""
        self._each = each
        self._bytes: dict[Hashable, int] = {}
        self.answering: dict[tuple[bytes, str], asyncio.Event] = {}

    def take(self, account: Hashable, size: int) -> bool:
        """Whether so many bytes more may be held."""
        held = self._bytes.get(account, 0) + size
        if held > self._each:
            return False
        self._bytes[account] = held
        return True

    def give_back(self, account: Hashable, size: int) -> None:
        """They are held no more."""
        left = self._bytes.get(account, 0) - size
        if left > 0:
            self._bytes[account] = left
        else:
            self._bytes.pop(account, None)


class RequestBodies(RequestBodyLimitMiddleware):
    """Gathers the body of a request, and hands it on whole if it can be answered.

    - The SDK's parser for the handshake revisions refuses a whole body for one lone surrogate, and
      says neither which request it answers nor where. The gateway refuses NUL like a surrogate,
      and says both, so that small bodies get NUL instead.
    - It takes a request with an id that is none for a notification, and answers nothing.
    - Of two requests in one session that share an id while both run, it answers one at most, so
      that they run one after the other.
    - Each session holds its last message until the next, and with it the body it came in.
    """

    def __init__(self, app: ASGIApp, max_body_size: int, flight: InFlight) -> None:
        """Wrap `app`; `flight` is shared by all paths of a server."""
        super().__init__(app, max_body_size)
        self._flight = flight

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        account, held = account_of(scope), 0
        pieces: list[bytes] = []
        more = not self._declares_too_much(scope)
        refusal = None if more else _TOO_LARGE
        with until_answered(send, lambda: self._flight.give_back(account, held)) as sending:
            while more:
                message = await receive()
                if message["type"] != "http.request":
                    return
                piece = message.get("body", b"")
                if held + len(piece) > self.max_body_size:
                    refusal = _TOO_LARGE
                elif not self._flight.take(account, len(piece)):
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

    def _declares_too_much(self, scope: Scope) -> bool:
        declared = header(scope["headers"], b"content-length") or b""
        return declared.isdigit() and int(declared[:20]) > self.max_body_size

    async def _hand_on(
        self, waiting: list[bytes], scope: Scope, receive: Receive, send: Send
    ) -> None:
        session, size = header(scope["headers"], SESSION), len(waiting[0])
        version = header(scope["headers"], _VERSION)
        known = None
        batches = scope.get(REVISION) == BATCHING and version in (None, BATCHING.encode())
        batch = read_batch(waiting[0]) if batches else None
        if batch is not None:
            await self._hand_on_each(batch, scope, receive, send)
            return
        if version is None or version in _HANDSHAKES:
            if session is None:
                scope[REVISION] = _revision_in(waiting[0])
            known = _judged(waiting[0])
            waiting[0] = _readable(waiting[0])
        if isinstance(known, Response):
            await known(scope, receive, send)
            return
        replay = _replayed(waiting, receive)
        if session is None or known is None:
            await self.app(scope, replay, send)
        else:
            await self._answer((session, str(known)), scope, replay, send)
        if known is None and session is not None and size > _SMALL:
            await ask_oneself(self.app, scope, "POST", session, _NOTHING)

    async def _hand_on_each(
        self, batch: Batch | bytes, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Hand on the messages of a batch, one after the other, and answer them together."""
        if isinstance(batch, bytes):
            await Response(batch, 400, media_type="application/json")(scope, receive, send)
            return
        response = BatchedResponse(send)
        for body, _ in batch.messages:
            await self._hand_on([body], scope, receive, response.relay)
            if response.failed:
                return
        await response.finish(batch, scope, receive)

    async def _answer(
        self, claim: tuple[bytes, str], scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Let the SDK answer, after any other request of the session that has the same id."""
        answering = self._flight.answering
        while (former := answering.get(claim)) is not None:
            await former.wait()
        answering[claim] = answered = asyncio.Event()
        try:
            await self.app(scope, receive, send)
        finally:
            del answering[claim]
            answered.set()


def _replayed(waiting: list[bytes], receive: Receive) -> Receive:
    """The body that was gathered, and then whatever comes; nothing here keeps the body."""

    async def replay() -> Message:
        if not waiting:
            return await receive()
        return {"type": "http.request", "body": waiting.pop(), "more_body": False}

    return replay


def _judged(body: bytes) -> int | str | Response | None:
    """The id of a request, the answer to one that would get none, or nothing for anything else."""
    try:
        head = _HEAD.decode(body)
        known = msgspec.json.decode(head.id) if bytes(head.method) and bytes(head.id) else _ABSENT
    except (msgspec.DecodeError, RecursionError):
        return None  # the SDK says what is wrong with it
    if known is _ABSENT:
        return None
    if not isinstance(known, int | str) or isinstance(known, bool):
        return _refused(_NO_ID, None)
    if bytes(head.method) == b'"initialize"' and len(body) > _GREETING:
        return _TOO_LARGE
    return known


def _revision_in(body: bytes) -> str | None:
    """The revision that a session is opened with; the server speaks every one that has batches."""
    try:
        return _GREETED.decode(body).params.protocol_version if len(body) <= _GREETING else None
    except (msgspec.DecodeError, RecursionError):
        return None


def _refused(problem: str, known: int | str | None) -> Response:
    error = {"code": types.INVALID_REQUEST, "message": f"Invalid request: {problem}"}
    body = json.dumps({"jsonrpc": "2.0", "id": known, "error": error}, separators=(",", ":"))
    return Response(body, 400, media_type="application/json")


_ABSENT: Final = object()
_NO_ID: Final = "the id of a request is a string or an integer"
_TOO_LARGE: Final = PlainTextResponse("Request body too large\n", 413)
_TOO_MUCH: Final = PlainTextResponse(
    "too much of yours is being answered: wait for an answer and send it again\n",
    429,
    headers={"Retry-After": "1"},
)


def _readable(body: bytes) -> bytes:
    if len(body) > _REWRITTEN or not any(each in body for each in _SURROGATES):
        return body
    try:
        text = json.dumps(json.loads(body), ensure_ascii=False)
    except (ValueError, RecursionError):
        return body  # the SDK says what is wrong with it
    return text.encode(errors=_NUL)
