"""A second server of MongoDB's protocol, from Maven Central, with a launcher of our own.

It keeps everything in memory, so that nothing is tried on it but what a running server promises.
"""

import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.servers import maven
from tests.servers.documents import is_listening
from tests.servers.processes import (
    PORT,
    ROOT,
    SECONDS,
    home_of,
    is_running,
    process_in,
    start_process,
    stop_process,
)

ARTIFACT = "de.bwaldvogel:mongo-java-server:1.47.0"
DIGEST = "abbb759267f082f2fd88569235d3fa49b80708e1b4f77411af583ba068ad60be"
JAVA = ("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m")


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondDocuments:
    """A server by its name, which its data are kept under."""

    port: int
    name: str = "second"

    @property
    def url(self) -> str:
        return f"mongodb://127.0.0.1:{self.port}"

    def start(self) -> bool:
        """Start it, unless it runs, and wait until it listens; False: there is no Java here."""
        if is_running(self.process()):
            return True
        if not maven.is_there():
            print("no second server of documents: it needs a JDK of 17 and maven", file=sys.stderr)
            return False
        home, log = home_of(self.name), ROOT / f"{self.name}.log"
        path = maven.fetch_artifact(ARTIFACT, DIGEST, Path(__file__).parent / "Second.java")
        process = start_process((*JAVA, "-cp", path, "Second", self.port), home, log)
        self._kept().write_text(str(process.pid))
        ends = time.monotonic() + SECONDS
        while not is_listening(self.port):
            if process.poll() is not None or time.monotonic() > ends:
                sys.exit(
                    f"the second server of documents did not start:\n{log.read_text()[-2000:]}"
                )
            time.sleep(0.05)
        return True

    def stop(self, by: signal.Signals = signal.SIGTERM) -> None:
        """Let it end, or as `by` says; wait until it has ended."""
        stop_process(self.process(), by)

    def process(self) -> int:
        """The process of the server; 0 where none was started."""
        return process_in(self._kept(), ROOT / "home" / self.name)

    def _kept(self) -> Path:
        return ROOT / f"{self.name}.pid"


SECOND = SecondDocuments(port=PORT + 85)
