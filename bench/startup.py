"""Start-up: from process start to an answered `initialize`, to listed tools, and memory then."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from typing import IO, Any

from bench.processes import resident_bytes
from bench.report import Row, median

ROUNDS = 7
SECTION = "start-up"


HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


def start(command: Sequence[str]) -> tuple[float, float, int]:
    """Seconds until the greeting, seconds until the tools are listed, and resident bytes then."""
    began = time.perf_counter()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        send = partial(_send, process.stdin)
        send(id=1, method="initialize", params=HELLO)
        hello = json.loads(process.stdout.readline())
        greeted = time.perf_counter() - began
        send(method="notifications/initialized")
        send(id=2, method="tools/list")
        tools = json.loads(process.stdout.readline())
        listed = time.perf_counter() - began
        memory = resident_bytes(process.pid)
        process.stdin.close()
        process.wait(10)
    if "result" not in hello or "result" not in tools:
        raise RuntimeError(f"{command} answers {hello} and {tools}")
    return greeted, listed, memory


def _send(stream: IO[bytes], **message: Any) -> None:
    stream.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    stream.flush()


def run() -> list[Row]:
    """Both servers in turn, round by round."""
    with tempfile.TemporaryDirectory() as folder:
        floor = (sys.executable, "-m", "bench.floors", "stdio")
        ours = (
            *(sys.executable, "-m", "canonry.cli", "serve", "--toolsets", "narrative"),
            *("--data", folder, "--agent-type", "CanonKeeper"),
        )
        start(floor)
        start(ours)
        pairs = [(start(floor), start(ours)) for _ in range(ROUNDS)]
    times = [mine[0] / theirs[0] for theirs, mine in pairs]
    listed = [mine[1] / theirs[1] for theirs, mine in pairs]
    memory = [mine[2] / theirs[2] for theirs, mine in pairs]
    seconds = median([theirs[0] for theirs, _ in pairs])
    megabytes = median([theirs[2] for theirs, _ in pairs]) / 2**20
    return [
        Row(
            section=SECTION,
            what="process start to answered initialize / no-op server",
            value=median(times),
            unit="x",
            budget=1.25,
            note=f"no-op {seconds:.2f} s",
        ),
        Row(
            section=SECTION,
            what="process start to listed tools / no-op server",
            value=median(listed),
            unit="x",
        ),
        Row(
            section=SECTION,
            what="resident memory with listed tools / no-op server",
            value=median(memory),
            unit="x",
            budget=1.5,
            note=f"no-op {megabytes:.0f} MB",
        ),
    ]
