"""Floods of a server over HTTP: whoever behaves well is served through all of them."""

import json
import random
import socket
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from bench.processes import Server, free_port, resident_bytes

ROUNDS = 150
QUIET = 50
FLOODERS = 64
RATIO_MAX = 5.0
GROWTH_MAX = 256 * 2**20
SLACK_SECONDS = 0.05
"""A pause of the machine itself is no failure of the server."""


def floods(lots: random.Random, folder: Path) -> Counter[str]:
    """One kind of flood against a server of its own, beside a client that behaves."""
    port = free_port()
    command = (
        *(sys.executable, "-m", "canonry.cli", "serve", "--data", str(folder / "data")),
        *("--toolsets", "narrative", "--agent-type", "Narrator", "--http", f"127.0.0.1:{port}"),
    )
    quick = {"CANONRY_DURABILITY": "normal", "CANONRY_RECALL_EMBEDDER": "none"}
    with Server(command, port, quick) as server:
        quiet = [_asked(port) for _ in range(QUIET)]
        before = resident_bytes(server.pid)
        stop, kind = threading.Event(), lots.choice(list(FLOODS))
        counted: Counter[str] = Counter()
        threads = [
            threading.Thread(target=_flood, args=(FLOODS[kind], port, stop, counted, kind))
            for _ in range(FLOODERS)
        ]
        for thread in threads:
            thread.start()
        try:
            took = sorted(_asked(port) for _ in range(ROUNDS))
        finally:
            stop.set()
            for thread in threads:
                thread.join(10)
        grown = resident_bytes(server.pid) - before
    slow, usual = took[int(len(took) * 0.99)], statistics.median(quiet)
    assert grown < GROWTH_MAX, f"{kind}: {grown / 2**20:.0f} MB more"
    assert slow <= max(RATIO_MAX * usual, SLACK_SECONDS), f"{kind}: {slow:.3f} s, {usual:.3f} usual"
    counted["asked meanwhile"] += ROUNDS
    return counted


def _asked(port: int) -> float:
    """Return the seconds until a well-behaved client has connected and got its answer."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nConnection: close\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode()
    started = time.perf_counter()
    with socket.create_connection(("127.0.0.1", port), timeout=30) as line:
        line.sendall(head + body)
        answer = line.recv(65_536)
    assert answer.startswith(b"HTTP/1.1 "), answer[:40]
    return time.perf_counter() - started


def _flood(
    send: Callable[[socket.socket, threading.Event], None],
    port: int,
    stop: threading.Event,
    counted: Counter[str],
    kind: str,
) -> None:
    while not stop.is_set():
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as line:
                send(line, stop)
        except OSError:
            counted[f"{kind}: turned away"] += 1
            stop.wait(0.02)
        else:
            counted[f"{kind}: connections"] += 1


def _idle(line: socket.socket, stop: threading.Event) -> None:
    del line
    stop.wait(2)


def _slowly(line: socket.socket, stop: threading.Event) -> None:
    line.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n")
    for number in range(100):
        if stop.wait(0.1):
            return
        line.sendall(f"X-{number}: a\r\n".encode())


def _long_header(line: socket.socket, stop: threading.Event) -> None:
    line.sendall(b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ")
    for _ in range(64):
        if stop.is_set():
            return
        line.sendall(b"a" * 65_536)


def _body_that_never_comes(line: socket.socket, stop: threading.Event) -> None:
    line.sendall(
        b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Content-Length: 1000000\r\n\r\n{"
    )
    stop.wait(5)


def _rubbish(line: socket.socket, stop: threading.Event) -> None:
    del stop
    line.sendall(b"\x16\x03\x01" + bytes(range(256)) * 64 + b"\r\n\r\n")
    line.recv(1024)


FLOODS: dict[str, Callable[[socket.socket, threading.Event], None]] = {
    "idle": _idle,
    "slow headers": _slowly,
    "long headers": _long_header,
    "bodies that never come": _body_that_never_comes,
    "rubbish": _rubbish,
}
