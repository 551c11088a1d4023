"""Run `python -m bench.first_contact`: from a clone to the first canonical fact, timed.

It does what the README says to somebody new: clone, set up, connect, and let a real client tell
and propose. It needs the package index, git and make.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

ROOT = Path(__file__).parents[1]
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("open", {"name": "Saltmere", "about": "A harbour town in the fog"}),
    ("tell", {"title": "The Harbour Book", "text": "Odo Brand keeps the light at Marrow."}),
    (
        "propose",
        {
            "evidence": ["The Harbour Book"],
            "claims": [
                {"kind": "entity", "name": "Odo Brand", "type": "character"},
                {"kind": "fact", "says": "Odo Brand keeps the light", "about": ["Odo Brand"]},
            ],
        },
    ),
)


def main() -> int:
    """Print how long each step took; exit code 1 where nothing became canon."""
    steps: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="canonry-first-") as name:
        home = Path(name)
        checkout = home / "canonry"
        with _timed(steps, "git clone"):
            _run("git", "clone", "--quiet", str(ROOT), str(checkout), home=home)
        with _timed(steps, "set up"):
            _run("make", "--silent", "-C", str(checkout), ".venv/run.done", home=home)
        with _timed(steps, "connect"):
            program = str(checkout / ".venv" / "bin" / "canonry")
            printed = _run(program, "connect", "json", "--data", str(home / "store"), home=home)
        entry = json.loads(printed)["mcpServers"]["canonry"]
        with _timed(steps, "the first fact"):
            accepted = asyncio.run(_play(entry["command"], entry["args"], home))
    for step, seconds in (*steps.items(), ("together", sum(steps.values()))):
        sys.stdout.write(f"{step:<16}{seconds:6.1f} s\n")
    sys.stdout.write(f"{accepted} claims became canon\n")
    return int(accepted != len(CALLS[-1][1]["claims"]))


async def _play(command: str, arguments: list[str], home: Path) -> int:
    server = StdioServerParameters(command=command, args=arguments, env={"HOME": str(home)})
    reply: dict[str, Any] = {}
    with (home / "server.log").open("w", encoding="utf-8") as log:
        async with Client(stdio_client(server, errlog=log)) as client:
            for tool, given in CALLS:
                said: Any = await client.call_tool(tool, given)
                reply = json.loads(said.content[0].text)
    return int(reply.get("accepted", 0))


@contextmanager
def _timed(steps: dict[str, float], step: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    steps[step] = time.perf_counter() - started


def _run(*command: str, home: Path) -> str:
    environment = {**os.environ, "HOME": str(home)}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return done.stdout


if __name__ == "__main__":
    raise SystemExit(main())
