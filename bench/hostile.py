"""A well-behaved client beside hostile ones: its slowest calls against its quiet median.

`python -m bench.hostile ATTACK PORT SECONDS` is one attack, against a server of this machine only.
"""

import asyncio
import contextlib
import os
import random
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Final

from bench.loads import Connection, call_body, request_bytes
from bench.processes import Server, free_port, stay_off_the_servers_processor
from bench.report import Row, median

SECTION = "hostile"
SECONDS: Final = 8.0
WARM: Final = 2.0
HELD: Final = 1_500
PAUSE: Final = 0.004
PATIENCE: Final = 20.0
BUDGET: Final = 5.0


def run() -> list[Row]:
    """Measure the client alone, and then beside each attack."""
    port = free_port()
    serve: tuple[str, ...] = (
        sys.executable,
        "-m",
        "canonry.cli",
        "serve",
        "--memory",
        "--trust-meta",
    )
    serve += ("--toolsets", "narrative")
    quick = {"CANONRY_RECALL_EMBEDDER": "none", "CANONRY_LOG_LEVEL": "warning"}
    stay_off_the_servers_processor()
    with Server((*serve, "--http", f"127.0.0.1:{port}"), port, quick) as server:
        asyncio.run(_calls(port, 2.0))
        spent = _spent(server.pid)
        quiet = sorted(asyncio.run(_calls(port, SECONDS)))
        alone = (_spent(server.pid) - spent) / SECONDS
        usual = median(quiet)
        rows = [_row("nobody", quiet, usual, f", server {alone:.0%} of a processor")]
        for attack in ATTACKS:
            before, spent = _resident(server.pid), _spent(server.pid)
            with _attacked(attack, port):
                times = sorted(asyncio.run(_calls(port, SECONDS)))
            grown = (_resident(server.pid) - before) >> 20
            share = (_spent(server.pid) - spent) / (SECONDS + WARM)
            more = f", {grown:+d} MiB, server {share:.0%} of a processor"
            rows.append(_row(attack, times, usual, more))
    return rows


def _row(who: str, times: list[float], usual: float, more: str) -> Row:
    slow = times[int(len(times) * 0.99)]
    note = f"p50 {median(times) * 1e3:.2f}, p99 {slow * 1e3:.2f}, worst {times[-1] * 1e3:.1f} ms"
    return Row(
        section=SECTION,
        what=f"p99 beside {who} / quiet median",
        value=slow / usual,
        unit="x",
        budget=BUDGET,
        note=f"{len(times)} calls, {note}{more}",
    )


@contextlib.contextmanager
def _attacked(attack: str, port: int) -> Iterator[None]:
    words = (sys.executable, "-m", "bench.hostile", attack, str(port), str(SECONDS + 4))
    with subprocess.Popen(words) as process:
        time.sleep(WARM)  # until it is in full swing
        try:
            yield
        finally:
            process.kill()


async def _calls(port: int, seconds: float) -> list[float]:
    """The durations of calls, each over the same connection, until it is lost."""
    arguments = {"limit": 1}
    times: list[float] = []
    until = time.monotonic() + seconds
    connection, number = Connection(port), 0
    while time.monotonic() < until:
        number += 1
        body = call_body(number, "neo4j_query_universes", arguments, "Narrator")
        request = request_bytes(port, "/mcp", "neo4j_query_universes", body)
        begun = time.perf_counter()
        while True:
            try:
                async with asyncio.timeout(PATIENCE):
                    await connection.ask(request)
                break
            except (OSError, EOFError, TimeoutError):
                connection = Connection(port)  # the time for it counts
                if time.perf_counter() - begun > PATIENCE:
                    break
        times.append(time.perf_counter() - begun)
        if number % 20 == 0:
            connection.close()
            connection = Connection(port)  # so that getting in is measured as well
        await asyncio.sleep(PAUSE)
    return times


def _resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * 4096


def _spent(pid: int) -> float:
    """The seconds of a processor that it has used; the load of others does not count."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _drip(port: int, until: float, begin: bytes, drop: bytes) -> None:
    """Hold a connection by saying a little each second; connect again when it is lost."""
    while time.monotonic() < until:
        await asyncio.sleep(random.uniform(0.5, 1.5))  # noqa: S311 - so that they do not march
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(begin)
            while time.monotonic() < until and not writer.is_closing():
                await asyncio.sleep(1.0)
                writer.write(drop)
                await writer.drain()
            writer.transport.abort()


def _dripping(begin: bytes, drop: bytes) -> Callable[[int, float], Awaitable[None]]:
    async def attack(port: int, until: float) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(HELD):
                group.create_task(_drip(port, until, begin, drop))

    return attack


async def _bombs(port: int, until: float) -> None:
    """Pour heads of 60 MB into three connections at a time, a few each second."""
    piece = b"x" * 65_536

    async def pour() -> None:
        while time.monotonic() < until:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Bomb: ")
                for _ in range(900):
                    writer.write(piece)
                    await writer.drain()
                writer.transport.abort()
            await asyncio.sleep(0.1)

    await asyncio.gather(pour(), pour(), pour())


ATTACKS: Final[dict[str, Callable[[int, float], Awaitable[None]]]] = {
    "idle": _dripping(b"", b""),
    "loris": _dripping(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", b"x"),
    "half-open": _dripping(
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999\r\n\r\nx", b""
    ),
    "bombs": _bombs,
}


async def _attack(name: str, port: int, seconds: float) -> None:
    await ATTACKS[name](port, time.monotonic() + seconds)


if __name__ == "__main__":
    stay_off_the_servers_processor()
    asyncio.run(_attack(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
