"""A server that speaks MongoDB's protocol, from a package of the environment of the servers.

It is a program of that environment's Python, which nobody else can enter where root made it: so it
runs as whoever started it.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.servers.processes import (
    PORT,
    ROOT,
    SECONDS,
    STARTED,
    is_running,
    process_in,
    stop_process,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """A server by its name, which its data are kept under."""

    name: str
    port: int

    @property
    def url(self) -> str:
        return f"mongodb://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, unless it runs; wait until it listens."""
        if is_running(self.process()):
            return
        home = ROOT / "home" / self.name
        home.mkdir(parents=True, exist_ok=True)
        started = subprocess.Popen(
            [
                *(find_interpreter(), "-m", "nx_27017.nx_27017"),
                *("--host", "127.0.0.1", "--port", str(self.port)),
                *("--data-dir", str(home), "--log-file", str(home / "log")),
                *("--pid-file", str(home / "own.pid")),
            ],
            cwd=home,
            env={"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"},
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        STARTED[started.pid] = started
        self._said().write_text(str(started.pid))
        ends = time.monotonic() + SECONDS
        while not is_listening(self.port):
            if started.poll() is not None or time.monotonic() > ends:
                sys.exit("the server of documents did not start")
            time.sleep(0.05)

    def stop(self, by: signal.Signals = signal.SIGTERM) -> None:
        """Let it end, or as `by` says; wait until it has ended."""
        stop_process(self.process(), by)

    def process(self) -> int:
        """The process of the server; 0 where none was started."""
        return process_in(self._said(), ROOT / "home" / self.name)

    def _said(self) -> Path:
        return ROOT / f"{self.name}.pid"


def find_interpreter() -> str:
    """The Python of the environment of the servers, for who asks from another one."""
    kept = ROOT / "documents.python"
    if find_spec("nx_27017") is not None:
        kept.write_text(sys.executable)
    return kept.read_text()


def is_listening(port: int) -> bool:
    """Return whether a process listens on the port."""
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


DOCUMENTS = Documents(name="documents", port=PORT + 80)
