"""A server of lamps in a process of its own, spoken to line by line or over HTTP."""

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

REPOSITORY: Final = Path(__file__).parents[2]
PATIENCE: Final = 30.0
CLIENT: Final = {"name": "test", "version": "1"}
VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN: Final = "2026-07-28"
ENVELOPE: Final = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": CLIENT,
}

Message = dict[str, Any]


def lamp_command(*words: str) -> list[str]:
    return [sys.executable, "-m", "tests.server.lamp_server", *words]


def lamp_environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(REPOSITORY / "src"), str(REPOSITORY)))}


@contextlib.contextmanager
def lamp_process(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        lamp_command(*words),
        cwd=REPOSITORY,
        env=lamp_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


class Wire:
    """JSON-RPC, line by line, with a process; threads drain both outputs."""

    def __init__(self, process: subprocess.Popen[bytes], version: str = "2025-11-25") -> None:
        self.process = process
        self.version = version
        self.errors: list[bytes] = []
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._count = 0
        self._threads = [
            threading.Thread(target=self._read_lines, daemon=True),
            threading.Thread(target=self._drain_errors, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def greet_server(self) -> Message:
        hello = {"protocolVersion": self.version, "capabilities": {}, "clientInfo": CLIENT}
        answer = self.ask("initialize", hello)
        self.send_line(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return answer

    def ask(self, method: str, params: Message | None = None) -> Message:
        self.send_request(method, params)
        return self.receive_answer()

    def call(self, name: str, arguments: Message, meta: Message | None = None) -> Message:
        params: Message = {"name": name, "arguments": arguments}
        if meta:
            params["_meta"] = meta
        return self.ask("tools/call", params)

    def send_request(self, method: str, params: Message | None = None) -> int:
        self._count += 1
        params = dict(params or {})
        if self.version == MODERN:
            params["_meta"] = {**ENVELOPE, **params.get("_meta", {})}
        message = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": params}
        self.send_line(json.dumps(message).encode())
        return self._count

    def send_line(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive_answer(self) -> Message:
        """Return the next answer; fail if the process ends instead. pytest ends one that hangs.

        No wait here has a limit, because a slow machine may take long to start a process.
        """
        line = self._lines.get()
        assert line is not None, f"the process ended: {b''.join(self.errors).decode()}"
        message: Message = json.loads(line)
        return message

    def receive_rest(self) -> list[Message]:
        """Return the messages until the process closes its output."""
        for thread in self._threads:
            thread.join()
        return [json.loads(line) for line in iter(self._lines.get, None)]

    def hang_up(self) -> None:
        """Close the process's input, and wait until it ends."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def _read_lines(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _drain_errors(self) -> None:
        assert self.process.stderr is not None
        self.errors.extend(self.process.stderr)
