"""Processes under measurement: start one, ask the kernel what it used, stop it."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

SERVER_CPU, CLIENT_CPU = 0, 1
NANOSECONDS = 1e9


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """A server process on its own processor, listening on `port` when entered."""

    def __init__(
        self, command: Sequence[str], port: int, environment: Mapping[str, str] | None = None
    ) -> None:
        """Nothing runs before the block is entered."""
        self.port = port
        self._command = command
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        process = subprocess.Popen(
            self._command,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._process = process
        if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > 1:
            os.sched_setaffinity(process.pid, {SERVER_CPU})
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise RuntimeError(f"{self._command} ended with {process.returncode}")
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            time.sleep(0.05)
        raise TimeoutError(f"{self._command} does not listen")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        process = self._process
        assert process is not None
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    @property
    def pid(self) -> int:
        """The process id."""
        assert self._process is not None
        return self._process.pid

    def cpu_seconds(self) -> float:
        """Processor time of all threads so far, at nanosecond grain."""
        return cpu_seconds(self.pid)


def stay_off_the_servers_processor() -> None:
    """Keep this process, which makes the load, on another processor."""
    if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > 1:
        os.sched_setaffinity(0, {CLIENT_CPU})


def cpu_seconds(pid: int) -> float:
    """Processor time of all threads of a process so far, at nanosecond grain."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((each / "schedstat").read_text().split()[0]) for each in tasks) / NANOSECONDS


def children() -> frozenset[int]:
    """The processes that this one has started and that still run."""
    tasks = Path("/proc/self/task").iterdir()
    return frozenset(int(pid) for each in tasks for pid in (each / "children").read_text().split())


def resident_bytes(pid: int) -> int:
    """The process's resident memory."""
    return _memory(pid)[0]


def own_bytes(pid: int) -> int:
    """The process's resident memory without the pages of files, which can be dropped any time."""
    resident, shared = _memory(pid)
    return resident - shared


def _memory(pid: int) -> tuple[int, int]:
    _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text().split()
    page = os.sysconf("SC_PAGE_SIZE")
    return int(resident) * page, int(shared) * page
