"""Messages: one in each line, or several in a batch."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Final

import mcp_types as types
import msgspec
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from canonry.server.sessions import header

_PARSE_ERROR: Final = -32700
_HEAD: Final = re.compile(
    rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?(?:"method"\s*:\s*"[^"\\]*"\s*,\s*)?'
    rb'"id"\s*:\s*(\d{1,15}|"[\w-]{1,64}")\s*,'
)
"""The beginning of a request whose id is certain, though the rest of it cannot be read."""


def decode(line: bytes) -> types.JSONRPCMessage | bytes | None:
    """The message in a line, nothing for an empty line, or the answer to what is no message.

    The fast parser refuses lone surrogates and deep nesting; the slow one lets them through to
    the gateway, whose error names the spot.
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
        advice = "a line must be one JSON-RPC message in UTF-8, not nested hundreds of levels deep"
        head = _HEAD.match(line)
        known = json.loads(head[1]) if head else None
        return _refusal(_PARSE_ERROR, f"Parse error: {advice}", known)
    known = value.get("id") if isinstance(value, dict) else None
    try:
        message = types.jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValueError:
        return refusal("this is no JSON-RPC message", known)
    if isinstance(message, types.JSONRPCNotification) and "id" in value:
        return refusal("the id of a request is a string or an integer", None)
    return message


def refusal(problem: str, request: object) -> bytes:
    """The answer to a request that is none of the protocol."""
    return _refusal(types.INVALID_REQUEST, f"Invalid request: {problem}", request)


def _refusal(code: int, message: str, request: object) -> bytes:
    known = request if isinstance(request, int | str) else None
    error = {"jsonrpc": "2.0", "id": known, "error": {"code": code, "message": message}}
    return json.dumps(error, separators=(",", ":")).encode() + b"\n"


def encode(message: types.JSONRPCMessage) -> bytes:
    """The line of a message."""
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
    except ValueError:  # text that is no UTF-8, repeated from the request
        value = message.model_dump(by_alias=True, exclude_unset=True)
        return json.dumps(value, separators=(",", ":")).encode() + b"\n"


# Batches of JSON-RPC messages, which revision 2025-03-26 of the protocol has servers receive.
#
# No other revision has them, and the SDK knows none: it is handed the messages one by one.

BATCHING: Final = "2025-03-26"
"""The only revision of the protocol with batches."""
BATCH_MAX: Final = 100
"""The most messages of one batch; each of them may be a call."""
_BAD: Final = 400
_ACCEPTED: Final = 202
_PARTS: Final = msgspec.json.Decoder(list[msgspec.Raw])

BatchPart = tuple[bytes, types.JSONRPCMessage]


class Batch:
    """The messages of a batch that can be handed on, and the answers to those that cannot."""

    def __init__(self, parts: Sequence[bytes]) -> None:
        """Read each part of the array."""
        self.messages: list[BatchPart] = []
        self.answers: list[bytes] = []
        self.due: set[int | str] = set()
        for each in parts:
            message = decode(each)
            if isinstance(message, types.JSONRPCRequest):
                message = self._expect(message)
            if isinstance(message, bytes):
                self.answers.append(message.rstrip())
            elif message is not None:
                self.messages.append((each, message))

    def _expect(self, request: types.JSONRPCRequest) -> types.JSONRPCRequest | bytes:
        if request.method == "initialize":
            return refusal("initialize cannot be part of a batch: send it alone", request.id)
        if request.id in self.due:
            return refusal("another request of this batch has the same id", request.id)
        self.due.add(request.id)
        return request

    def together(self) -> bytes:
        """All answers as one array."""
        return b"[" + b",".join(self.answers) + b"]"


def read_batch(data: bytes) -> Batch | bytes | None:
    """The batch, the answer to one that is empty or too long, or nothing where it is no array."""
    if data.lstrip()[:1] != b"[":
        return None
    try:
        parts = _PARTS.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None
    if 0 < len(parts) <= BATCH_MAX:
        return Batch([bytes(each) for each in parts])
    return refusal(f"a batch holds 1 to {BATCH_MAX} messages, and this one {len(parts)}", None)


class BatchedLines:
    """Answers that wait on standard output for the others of their batch."""

    def __init__(self, put: Callable[[bytes], None]) -> None:
        """`put` queues a line."""
        self._put = put
        self._batches: dict[int | str, Batch] = {}

    def open(self, batch: Batch) -> None:
        """Wait for an answer to every request of the batch."""
        self._batches |= dict.fromkeys(batch.due, batch)
        self._end(batch)

    def take(self, request: int | str | None, answer: bytes | None) -> bool:
        """Whether the request is one of a batch; its answer, if there is any, goes out with it."""
        batch = None if request is None else self._batches.pop(request, None)
        if batch is None or request is None:
            return False
        batch.due.discard(request)
        if answer is not None:
            batch.answers.append(answer.rstrip())
        self._end(batch)
        return True

    def _end(self, batch: Batch) -> None:
        if not batch.due and batch.answers:
            self._put(batch.together() + b"\n")


class BatchedResponse:
    """One response to an HTTP request whose body is a batch: a stream of events, or 202."""

    def __init__(self, send: Send) -> None:
        """`send` takes the response."""
        self._send = send
        self._begun = self._streams = False
        self._status = 0
        self.failed = False
        """Whether one message was refused by HTTP, such as in a session that is over."""

    async def relay(self, message: Message) -> None:
        """Take a piece of the response to one of the messages."""
        if message["type"] == "http.response.start":
            kind = header(message.get("headers", ()), b"content-type") or b""
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
                await self._more(piece)
            elif self._status != _ACCEPTED:
                await self._more(_event(piece))

    async def finish(self, batch: Batch, scope: Scope, receive: Receive) -> None:
        """Add the answers to what was no message, and end the response."""
        if self._begun:
            for each in batch.answers:
                await self._more(_event(each))
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
        elif batch.answers:
            refused = Response(batch.together(), _BAD, media_type="application/json")
            await refused(scope, receive, self._send)
        else:
            await Response(status_code=_ACCEPTED)(scope, receive, self._send)

    async def _more(self, piece: bytes) -> None:
        await self._send({"type": "http.response.body", "body": piece, "more_body": True})


def _event(data: bytes) -> bytes:
    return b"event: message\r\ndata: " + data + b"\r\n\r\n"
