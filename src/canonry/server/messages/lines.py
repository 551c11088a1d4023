"""Messages as lines of JSON: what the fast parser refuses is read slowly, or answered."""

import json
import re
from typing import Final

import mcp_types as types

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
