"""Messages, one per line or several in a batch, and the HTTP sessions that hold them."""

import asyncio
import contextlib
import json
import re
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Sequence
from http import HTTPStatus
from typing import Final

import mcp_types as types
import msgspec
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import principal_components
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from canonry.gateway.rates import KEPT, Full, Seats
from canonry.server.options import HttpLimits

SESSION: Final = MCP_SESSION_ID_HEADER.encode()
REVISION: Final = "canonry.revision"
"""The key in a scope for the revision of the protocol that opened its session."""
_FIXED: Final = (
    (b"content-type", b"application/json"),
    (b"accept", b"application/json, text/event-stream"),
)


def account_of(scope: Scope) -> Hashable:
    """Return the authenticated user, or else the address of the client.

    A caller cannot open a second account by a header.
    """
    user = scope.get("user")
    if isinstance(user, AuthenticatedUser):
        return principal_components(user.access_token)
    client = scope.get("client")
    return client[0] if client else None


def find_header(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> bytes | None:
    """Return the first value of a header."""
    for each, value in headers:  # a generator would cost more than the loop
        if each == name:
            return value
    return None


@contextlib.contextmanager
def until_answered(send: Send, put_away: Callable[[], None]) -> Iterator[Send]:
    """Yield a `send` that calls `put_away` once, before it sends the last part of an answer.

    A client with a whole answer may rely on the end of its request: after the last part, another
    task may run first. A request without an answer is put away at the end.
    """
    left = [put_away]

    async def send_watched(message: Message) -> None:
        if left and message["type"] == "http.response.body" and not message.get("more_body"):
            left.pop()()
        await send(message)

    try:
        yield send_watched
    finally:
        if left:
            left.pop()()


async def send_internal(
    app: ASGIApp, scope: Scope, method: str, session: bytes, body: bytes = b""
) -> None:
    """Send a request to `app` as the caller of `scope`, and ignore the answer."""
    own = {**scope, "method": method, "headers": [*_FIXED, (SESSION, session)]}
    waiting = [body]

    async def receive_body() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return {"type": "http.disconnect"}

    async def ignore_answer(_: Message) -> None:
        pass

    await app(own, receive_body, ignore_answer)


# Sessions, shared fairly: a caller with too many loses the one that was idle the longest.
#
# The SDK counts the sessions of all callers together and refuses new ones when there are too many.
# One client could lock out all others for as long as sessions live.

_IDLE: Final = 0
_LISTENING: Final = 1
_RANKS: Final = 2
_BAD: Final = 400
_RETRIES: Final = 20  # with the pause a second, until a session has its answer
_RETRY_SECONDS: Final = 0.05
_OF_A_CALLER: Final = (
    *("type", "asgi", "http_version", "scheme", "path", "raw_path", "root_path", "query_string"),
    *("server", "client", "user", "auth", "state"),
)
_TOO_MANY: Final = PlainTextResponse(
    "All your sessions are busy. End one, or wait for an answer.\n",
    HTTPStatus.TOO_MANY_REQUESTS,
    headers={"Retry-After": "1"},
)


class Session:
    """One session: its caller, its address, and its requests in flight."""

    __slots__ = ("app", "calls", "key", "owner", "revision", "scope", "streams")

    def __init__(self, app: ASGIApp, key: bytes, scope: Scope) -> None:
        """Take the `app` that serves the session and the `scope` of the request that opened it."""
        self.app = app
        self.key = key
        self.owner = account_of(scope)
        self.revision = scope.get(REVISION)
        self.scope: Scope = {name: scope[name] for name in _OF_A_CALLER if name in scope}
        self.calls = 0
        self.streams = 0

    @property
    def rank(self) -> int:
        """Return the order in which sessions are closed; a busy session is never closed."""
        if self.calls:
            return KEPT
        return _LISTENING if self.streams else _IDLE


class Sessions:
    """All sessions of a server, on all paths."""

    def __init__(self, limits: HttpLimits) -> None:
        """Start without sessions."""
        self._seats: Seats[Hashable, Session] = Seats(
            total=limits.sessions, each=limits.each_principal, ranks=_RANKS
        )
        self._known: dict[bytes, Session] = {}

    def wrap_app(self, app: ASGIApp) -> ASGIApp:
        """Return `app` with a bound on its sessions."""

        def serve_bounded(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
            key = find_header(scope["headers"], SESSION)
            if key is None:
                return self._serve_new(app, scope, receive, send)
            return self._serve_known(app, key, scope, receive, send)

        return serve_bounded

    async def _serve_new(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request without a session; if it opens one, close another where needed."""
        opened: list[Session] = []
        refused = False

        async def watch_response(message: Message) -> None:
            nonlocal refused
            if message["type"] == "http.response.start" and message["status"] < _BAD:
                key = find_header(message.get("headers", ()), SESSION)
                if key is not None:
                    opened.append(Session(app, key, scope))
                    refused = not await self._admit_session(opened[0])
                    if refused:
                        await _TOO_MANY(scope, receive, send)
            if not refused:
                await ending(message)

        def put_away() -> None:
            for session in opened:
                session.calls = 0
                self._move_back(session)

        with until_answered(send, put_away) as ending:
            try:
                await app(scope, receive, watch_response)
            finally:
                if refused:
                    await self._end_session(opened[0])

    async def _serve_known(
        self, app: ASGIApp, key: bytes, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Serve a request of a session, and move it behind all that are idle longer."""
        session = self._known.get(key)
        if session is None or ("user" in scope and account_of(scope) != session.owner):
            await app(
                scope, receive, send
            )  # the SDK knows the caller of the session and does not reveal it
            return
        gone = False

        async def watch_response(message: Message) -> None:
            nonlocal gone
            if message["type"] == "http.response.start":
                status = message["status"]
                gone = status == HTTPStatus.NOT_FOUND or (
                    scope["method"] == "DELETE" and status < _BAD
                )
            await ending(message)

        def put_away() -> None:
            session.streams -= listens
            session.calls -= not listens
            if gone:
                self._remove_session(session)
            else:
                self._move_back(session)

        listens = scope["method"] == "GET"
        session.streams += listens
        session.calls += not listens
        self._seats.seat_holder(session.owner, session, session.rank)
        with until_answered(send, put_away) as ending:
            await app({**scope, REVISION: session.revision}, receive, watch_response)

    async def _admit_session(self, session: Session) -> bool:
        """Admit a new session, and close another one if there are too many."""
        for _ in range(_RETRIES):
            try:
                found = self._seats.find_leaver(session.owner)
                break
            except Full:  # a client gets an answer before the request is put away
                await asyncio.sleep(_RETRY_SECONDS)
        else:
            return False
        session.calls = 1
        self._known[session.key] = session
        self._seats.seat_holder(session.owner, session, KEPT)
        if found is not None:
            await self._end_session(found[1])
        return True

    def _move_back(self, session: Session) -> None:
        """Move a session behind all that were idle before it, unless it has ended."""
        if session.key in self._known:
            self._seats.seat_holder(session.owner, session, session.rank)

    async def _end_session(self, session: Session) -> None:
        """End a session as its client would, together with its state and streams."""
        self._remove_session(session)
        await send_internal(session.app, session.scope, "DELETE", session.key)

    def _remove_session(self, session: Session) -> None:
        self._known.pop(session.key, None)
        self._seats.release_seat(session.owner, session)


_PARSE_ERROR: Final = -32700
_HEAD: Final = re.compile(
    rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?(?:"method"\s*:\s*"[^"\\]*"\s*,\s*)?'
    rb'"id"\s*:\s*(\d{1,15}|"[\w-]{1,64}")\s*,'
)
"""The beginning of a request whose id is certain, though the rest is unreadable."""


def decode_line(line: bytes) -> types.JSONRPCMessage | bytes | None:
    """Return the message in a line, None for an empty line, or the answer to a malformed line.

    The fast parser refuses lone surrogates and deep nesting. The slow one passes them to the
    gateway, whose error names their path.
    """
    if not line.strip():
        return None
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        pass
    else:
        if not (isinstance(message, types.JSONRPCNotification) and b'"id"' in line):
            return message
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        advice = "A line must be one JSON-RPC message in UTF-8, not nested too deeply."
        head = _HEAD.match(line)
        known = json.loads(head[1]) if head else None
        return _error_line(_PARSE_ERROR, f"Parse error: {advice}", known)
    known = value.get("id") if isinstance(value, dict) else None
    try:
        message = types.jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValueError:
        return refusal_line("The line is JSON, but no JSON-RPC message.", known)
    if isinstance(message, types.JSONRPCNotification) and "id" in value:
        return refusal_line("The id of a request must be a string or an integer.", None)
    return message


def refusal_line(problem: str, request: object) -> bytes:
    """Return the answer to a message that breaks the protocol."""
    return _error_line(types.INVALID_REQUEST, f"Invalid request: {problem}", request)


def _error_line(code: int, message: str, request: object) -> bytes:
    known = request if isinstance(request, int | str) else None
    error = {"jsonrpc": "2.0", "id": known, "error": {"code": code, "message": message}}
    return json.dumps(error, separators=(",", ":")).encode() + b"\n"


def encode_message(message: types.JSONRPCMessage) -> bytes:
    """Return the line of a message."""
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
    except ValueError:  # text that is not UTF-8, repeated from the request
        value = message.model_dump(by_alias=True, exclude_unset=True)
        return json.dumps(value, separators=(",", ":")).encode() + b"\n"


# Batches of JSON-RPC messages: servers must accept them in revision 2025-03-26 of the protocol.
#
# No other revision has batches, and the SDK has none: it gets the messages one by one.

BATCHING: Final = "2025-03-26"
"""The only revision of the protocol with batches."""
BATCH_MAX: Final = 100
"""The most messages in a batch; each may be a call."""
_ACCEPTED: Final = 202
_PARTS: Final = msgspec.json.Decoder(list[msgspec.Raw])

BatchPart = tuple[bytes, types.JSONRPCMessage]


class Batch:
    """The valid messages of a batch, and the answers to the invalid ones."""

    def __init__(self, parts: Sequence[bytes]) -> None:
        """Read each part of the array."""
        self.messages: list[BatchPart] = []
        self.answers: list[bytes] = []
        self.due: set[int | str] = set()
        for each in parts:
            message = decode_line(each)
            if isinstance(message, types.JSONRPCRequest):
                message = self._expect_answer(message)
            if isinstance(message, bytes):
                self.answers.append(message.rstrip())
            elif message is not None:
                self.messages.append((each, message))

    def _expect_answer(self, request: types.JSONRPCRequest) -> types.JSONRPCRequest | bytes:
        if request.method == "initialize":
            return refusal_line("A batch cannot contain initialize. Send it alone.", request.id)
        if request.id in self.due:
            return refusal_line(
                "Another request of this batch has the same id. Give each request its own.",
                request.id,
            )
        self.due.add(request.id)
        return request

    def joined_answers(self) -> bytes:
        """Return all answers as one array."""
        return b"[" + b",".join(self.answers) + b"]"


def read_batch(data: bytes) -> Batch | bytes | None:
    """Return the batch, the answer to an empty or too long one, or None if it is no array."""
    if data.lstrip()[:1] != b"[":
        return None
    try:
        parts = _PARTS.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None
    if 0 < len(parts) <= BATCH_MAX:
        return Batch([bytes(each) for each in parts])
    return refusal_line(
        f"A batch holds 1 to {BATCH_MAX} messages; this one has {len(parts)}.", None
    )


class BatchedLines:
    """Answers that wait for the other answers of their batch, on standard output."""

    def __init__(self, put: Callable[[bytes], None]) -> None:
        """Take the function that queues a line."""
        self._put = put
        self._batches: dict[int | str, Batch] = {}

    def open_batch(self, batch: Batch) -> None:
        """Wait for an answer to every request of the batch."""
        self._batches |= dict.fromkeys(batch.due, batch)
        self._send_complete(batch)

    def take_answer(self, request: int | str | None, answer: bytes | None) -> bool:
        """Return whether the request is part of a batch, which then sends its answer, if any."""
        batch = None if request is None else self._batches.pop(request, None)
        if batch is None or request is None:
            return False
        batch.due.discard(request)
        if answer is not None:
            batch.answers.append(answer.rstrip())
        self._send_complete(batch)
        return True

    def _send_complete(self, batch: Batch) -> None:
        if not batch.due and batch.answers:
            self._put(batch.joined_answers() + b"\n")


class BatchedResponse:
    """One response to an HTTP request with a batch: a stream of events, or 202."""

    def __init__(self, send: Send) -> None:
        """Take the function that sends the response."""
        self._send = send
        self._begun = self._streams = False
        self._status = 0
        self.failed = False
        """True if HTTP refused one message, for example because its session is over."""

    async def relay_message(self, message: Message) -> None:
        """Take a piece of the response to one of the messages."""
        if message["type"] == "http.response.start":
            kind = find_header(message.get("headers", ()), b"content-type") or b""
            self._status = message["status"]
            self._streams = kind.startswith(b"text/event-stream")
            self.failed = self._status >= _BAD and not self._begun
            if self.failed or (self._streams and not self._begun):
                self._begun = True
                await self._send(message)
        elif self.failed:
            await self._send(message)
        elif piece := message.get("body", b""):
            if self._streams:
                await self._send_piece(piece)
            elif self._status != _ACCEPTED:
                await self._send_piece(_event_bytes(piece))

    async def finish_response(self, batch: Batch, scope: Scope, receive: Receive) -> None:
        """Add the answers to malformed messages, and end the response."""
        if self._begun:
            for each in batch.answers:
                await self._send_piece(_event_bytes(each))
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
        elif batch.answers:
            refused = Response(batch.joined_answers(), _BAD, media_type="application/json")
            await refused(scope, receive, self._send)
        else:
            await Response(status_code=_ACCEPTED)(scope, receive, self._send)

    async def _send_piece(self, piece: bytes) -> None:
        await self._send({"type": "http.response.body", "body": piece, "more_body": True})


def _event_bytes(data: bytes) -> bytes:
    return b"event: message\r\ndata: " + data + b"\r\n\r\n"
