"""A client that speaks JSON-RPC lines with a real server process, and can kill it with -9."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PROTOCOL = "2025-06-18"
_CHUNK = 65536


class Server:
    """`canonry serve` over standard input and output."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self._sent = 0
        self._said = ""
        self._silent = False
        self._heard = asyncio.Condition()
        self._listening = asyncio.create_task(self._copy_log(log))

    @classmethod
    @asynccontextmanager
    async def running(
        cls, folder: Path, log: Path, environment: Mapping[str, str] | None = None
    ) -> AsyncIterator["Server"]:
        """One on the store in `folder` that has shaken hands; it is killed in the end.

        `environment` may say that the store is elsewhere, and `folder` is the machine's own then.
        """
        server = await cls._start_process(folder, log, environment or {})
        try:
            await server._shake_hands()
            yield server
        finally:
            await server.kill_process()

    @classmethod
    async def _start_process(cls, folder: Path, log: Path, more: Mapping[str, str]) -> "Server":
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "canonry.cli", "serve", "--data", str(folder)),
            *("--toolsets", "narrative"),
            *("--trust-meta", "--authorities", "source,gm,player,system"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **more},
        )
        return cls(process, log)

    async def _copy_log(self, log: Path) -> None:
        """Copy what it logs into the file, and wake whoever waits for a word of it."""
        assert self._process.stderr is not None
        with log.open("ab") as file:
            while part := await self._process.stderr.read(_CHUNK):
                file.write(part)
                file.flush()
                async with self._heard:
                    self._said += part.decode(errors="replace")
                    self._heard.notify_all()
        async with self._heard:
            self._silent = True
            self._heard.notify_all()

    async def until_said(self, text: str) -> None:
        """Wait until it has logged this; it must not end before."""
        async with self._heard:
            await self._heard.wait_for(lambda: text in self._said or self._silent)
        assert text in self._said, f"the server ended without a word of {text!r}"

    async def _shake_hands(self) -> None:
        about = {"name": "test", "version": "1"}
        hello = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": about}
        await self.ask("initialize", hello)
        self._write_message({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send_request(self, method: str, params: Mapping[str, Any]) -> int:
        """Send a request without waiting; its number."""
        self._sent += 1
        self._write_message(
            {"jsonrpc": "2.0", "id": self._sent, "method": method, "params": params}
        )
        return self._sent

    def _write_message(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")

    async def read_answer(self) -> Mapping[str, Any] | None:
        """The next answer; None once the server has ended."""
        assert self._process.stdout is not None
        while (line := await self._process.stdout.readline()).endswith(b"\n"):
            message: Mapping[str, Any] = json.loads(line)
            if "id" in message:
                return message
        return None

    async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send a request and wait for its answer; nothing else may be on its way."""
        number = self.send_request(method, params)
        message = await self.read_answer()
        assert message is not None, "the server ended"
        assert message["id"] == number
        result: Mapping[str, Any] = message["result"]
        return result

    async def kill_process(self) -> Sequence[Mapping[str, Any]]:
        """Kill it with -9; the answers that it had already written."""
        if self._process.returncode is None:
            self._process.kill()
        answers: list[Mapping[str, Any]] = []
        while (message := await self.read_answer()) is not None:
            answers.append(message)
        await self._process.wait()
        await self._listening
        return answers

    async def end_process(self) -> int:
        """Close its input and wait for it; the exit code."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert await self.read_answer() is None
        await self._listening
        return await self._process.wait()


def a_call(name: str, agent_type: str, arguments: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The parameters of a tool call by an agent of this type, with its idempotency key."""
    meta = {
        "dev.canonry/agent": {"agent_id": "test-001", "agent_type": agent_type},
        "dev.canonry/idempotency-key": key,
    }
    return {"name": name, "arguments": arguments, "_meta": meta}


def tool_answer(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the answer of a tool; it must not be an error."""
    assert "error" not in message, message
    result = message["result"]
    assert not result.get("isError"), result
    answered: Mapping[str, Any] = result["structuredContent"]
    return answered
