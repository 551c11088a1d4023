"""Neo4j, from Maven Central, with a launcher of our own: the package has no program."""

import hashlib
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.servers.processes import (
    PASSWORD,
    PORT,
    ROOT,
    SECONDS,
    home_of,
    is_running,
    process_in,
    start_process,
    stop_process,
)

VERSION = "5.26.30"
DIGEST = "3dbd87c057cf3eee63575b5c056d23047ce27e43b2842391403144d0ae79c4d2"
"""Of the names and bytes of everything that the version brings along."""

COPIES = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>canonry</groupId><artifactId>graph</artifactId>
<version>1</version><dependencies><dependency><groupId>org.neo4j</groupId>
<artifactId>neo4j</artifactId><version>{VERSION}</version></dependency></dependencies></project>
"""
SETTINGS = """\
dbms.security.auth_enabled=true
server.bolt.enabled=true
server.bolt.listen_address=127.0.0.1:{port}
server.bolt.advertised_address=127.0.0.1:{port}
server.http.enabled=false
server.memory.pagecache.size=64m
db.tx_log.preallocate=false
db.tx_log.rotation.size=16m
dbms.usage_report.enabled=false
dbms.cypher.min_replan_interval=1h
"""
OPENED = ("java.nio", "java.lang", "java.io", "sun.nio.ch")
JAVA = (
    *("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xms128m", "-Xmx512m"),
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED),
)
MINUTES = 20 * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """A server by its name, which its data are kept under."""

    name: str
    port: int

    @property
    def url(self) -> str:
        return f"bolt://neo4j:{PASSWORD}@127.0.0.1:{self.port}"

    def start(self) -> bool:
        """Start it, unless it runs, and wait until it answers; False: there is no Java here."""
        if is_running(self.process()):
            return True
        if shutil.which("javac") is None or shutil.which("mvn") is None:
            print("no Neo4j: it needs a JDK of 17 and maven", file=sys.stderr)
            return False
        place, home, log = unpack_server(), home_of(self.name), ROOT / f"{self.name}.log"
        settings = ROOT / f"{self.name}.conf"
        settings.write_text(SETTINGS.format(port=self.port))
        command = (*JAVA, "-cp", f"{place}/classes:{place}/lib/*", "Graph", home, settings)
        process = start_process((*command, PASSWORD), home, log)
        self._kept().write_text(str(process.pid))
        ends = time.monotonic() + SECONDS
        while "READY" not in log.read_text():
            if process.poll() is not None or time.monotonic() > ends:
                sys.exit(f"Neo4j did not start:\n{log.read_text()[-2000:]}")
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


def unpack_server() -> Path:
    """The folder of the server's own files, which are fetched once."""
    place = ROOT / f"neo4j-{VERSION}"
    done = place / "done"
    if not done.exists():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        (place / "pom.xml").write_text(POM)
        for command in (
            ("mvn", "-q", "-B", COPIES, "-DoutputDirectory=lib", "-DincludeScope=runtime"),
            ("javac", "-cp", "lib/*", "-d", "classes", str(Path(__file__).parent / "Graph.java")),
        ):
            ended = subprocess.run(
                command,
                cwd=place,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=MINUTES,
                text=True,
                check=False,
            )
            if ended.returncode:
                sys.exit(f"{command[0]} failed:\n{ended.stdout[-2000:]}")
        found = digest_of(place / "lib")
        if found != DIGEST:
            sys.exit(f"Neo4j {VERSION} is not what it was: {found}")
        done.touch()
    return place


def digest_of(folder: Path) -> str:
    """The digest of the names and bytes of files."""
    result = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        with path.open("rb") as file:
            result.update(
                f"{path.name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode()
            )
    return result.hexdigest()


GRAPH = Graph(name="neo4j", port=PORT + 40)
