"""A client of the handshake revisions that speaks plain HTTP, to say what no library would."""

import json
from types import TracebackType
from typing import Any, Final, Self

import httpx2

from tests.server.lamp_process import CLIENT, PATIENCE, Message

ACCEPT: Final = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
}
AS_KEEPER: Final = {"dev.canonry/agent": {"agent_id": "keeper-9", "agent_type": "Keeper"}}


class Session:
    """One session, opened at once; `id` is its own."""

    def __init__(
        self,
        address: str,
        token: str | None = None,
        path: str = "/mcp",
        revision: str = "2025-06-18",
    ) -> None:
        self._url = address + path
        self._headers = dict(ACCEPT)
        if token is not None:
            self._headers["authorization"] = f"Bearer {token}"
        self._client = httpx2.Client(timeout=PATIENCE)
        hello = {"protocolVersion": revision, "capabilities": {}, "clientInfo": CLIENT}
        self.opening = self.post_message({"id": 1, "method": "initialize", "params": hello})
        self.id = self.opening.headers.get("mcp-session-id", "")
        self._headers["mcp-session-id"] = self.id
        if self.id:
            self.post_message({"method": "notifications/initialized"})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        self._client.close()

    def post_message(self, message: Message, **headers: str) -> httpx2.Response:
        """Send a message of JSON-RPC."""
        return self.post_body(json.dumps({"jsonrpc": "2.0", **message}), **headers)

    def post_body(self, body: str | bytes, **headers: str) -> httpx2.Response:
        """Send a body as it is."""
        return self._client.post(self._url, content=body, headers={**self._headers, **headers})

    def ping_server(self) -> int:
        """The status of a ping."""
        return self.post_message({"id": 2, "method": "ping"}).status_code

    def call(self, name: str, arguments: Any, number: Any = 3) -> httpx2.Response:
        """Call a tool."""
        params = {"name": name, "arguments": arguments, "_meta": AS_KEEPER}
        return self.post_message({"id": number, "method": "tools/call", "params": params})

    def end_session(self) -> int:
        """The status of ending the session."""
        return self._client.delete(self._url, headers=self._headers).status_code


def message_in(response: httpx2.Response) -> Message:
    """Return the message of JSON-RPC in a response, which is JSON or an event."""
    text = response.text
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    message: Message = json.loads(lines[0] if lines else text)
    return message
