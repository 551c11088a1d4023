"""Start-up: from process start to an answered `initialize`, and the memory that it takes."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from bench.processes import resident_bytes
from bench.report import Row, median

ROUNDS = 7
SECTION = "start-up"


def initialize(command: Sequence[str]) -> tuple[float, int]:
    """Seconds until the answer, and resident bytes then."""
    request = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        },
    }
    began = time.perf_counter()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        seconds = time.perf_counter() - began
        memory = resident_bytes(process.pid)
        process.stdin.close()
        process.wait(10)
    if "result" not in answer:
        raise RuntimeError(f"{command} answers {answer}")
    return seconds, memory


def run() -> list[Row]:
    """Both servers in turn, round by round."""
    with tempfile.TemporaryDirectory() as folder:
        floor = (sys.executable, "-m", "bench.floors", "stdio")
        ours = (
            *(sys.executable, "-m", "canonry.cli", "serve"),
            *("--data", folder, "--agent-type", "CanonKeeper"),
        )
        initialize(floor)
        initialize(ours)
        pairs = [(initialize(floor), initialize(ours)) for _ in range(ROUNDS)]
    times = [mine[0] / theirs[0] for theirs, mine in pairs]
    memory = [mine[1] / theirs[1] for theirs, mine in pairs]
    seconds = median([theirs[0] for theirs, _ in pairs])
    megabytes = median([theirs[1] for theirs, _ in pairs]) / 2**20
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
            what="resident memory / no-op server",
            value=median(memory),
            unit="x",
            budget=1.5,
            note=f"no-op {megabytes:.0f} MB",
        ),
    ]
