"""Files of Maven Central are fetched once, and refused if they have changed."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from tests.servers.processes import ROOT

COPIES = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>canonry</groupId><artifactId>fetched</artifactId>
<version>1</version><dependencies><dependency><groupId>{}</groupId>
<artifactId>{}</artifactId><version>{}</version></dependency></dependencies></project>
"""
SECONDS = 20 * 60


def is_there() -> bool:
    """Return whether this machine can fetch and run such a server."""
    return shutil.which("javac") is not None and shutil.which("mvn") is not None


def fetch_artifact(artifact: str, digest: str, launcher: Path) -> str:
    """The class path of `group:name:version` with all that it needs, and of its launcher.

    `digest` is of the names and bytes of all of them.
    """
    group, name, version = artifact.split(":")
    place = ROOT / f"{name}-{version}"
    if not (place / "done").exists():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        (place / "pom.xml").write_text(POM.format(group, name, version))
        run_tool(
            "mvn", "-q", "-B", COPIES, "-DoutputDirectory=lib", "-DincludeScope=runtime", at=place
        )
        if (found := digest_of(place / "lib")) != digest:
            sys.exit(f"{artifact} is not what it was: {found}")
        (place / "done").touch()
    compiled = place / "classes" / launcher.with_suffix(".class").name
    if not compiled.exists() or compiled.stat().st_mtime < launcher.stat().st_mtime:
        run_tool("javac", "-cp", "lib/*", "-d", "classes", str(launcher), at=place)
    return f"{place}/classes:{place}/lib/*"


def run_tool(*command: str, at: Path) -> None:
    """Run a tool in a folder, and end where it fails."""
    ended = subprocess.run(
        command,
        cwd=at,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=SECONDS,
        text=True,
        check=False,
    )
    if ended.returncode:
        sys.exit(f"{command[0]} failed:\n{ended.stdout[-2000:]}")


def digest_of(folder: Path) -> str:
    """The digest of the names and bytes of files."""
    result = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        with path.open("rb") as file:
            result.update(
                f"{path.name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode()
            )
    return result.hexdigest()
