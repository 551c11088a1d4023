"""Clients that others wrote list the tools, call one, and are told an error in its own words.

Their environments are made by `make clients`; `CANONRY_REQUIRE_CLIENTS` makes a missing one fail.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.server.http_process import printed_address

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
NODE = HERE / "node_modules" / "node" / "bin" / "node"
PYTHONS = {line: ROOT / f".venv-clients-{line}" / "bin" / "python" for line in (1, 2)}
SECONDS: Final = 120
UNKNOWN: Final = "00000000-0000-4000-8000-000000000001"
OWN_WORDS: Final = f"There is no entity with the id {UNKNOWN}."
CALLS: Final = [
    ["neo4j_create_universe", {"name": "Saltmere", "description": "A harbour in the fog."}],
    ["neo4j_get_entity", {"entity_id": UNKNOWN}],
]

PROGRAMS: Final[Mapping[str, tuple[Path, str]]] = {
    "typescript-1": (NODE, "typescript_1.mjs"),
    "typescript-2": (NODE, "typescript_2.mjs"),
    "python-1": (PYTHONS[1], "python_1.py"),
    "python-2": (PYTHONS[2], "python_2.py"),
    "fastmcp": (PYTHONS[2], "fastmcp_client.py"),
    "langchain": (PYTHONS[1], "langchain_client.py"),
    "openai-agents": (PYTHONS[2], "openai_agents_client.py"),
    "pydantic-ai": (PYTHONS[2], "pydantic_ai_client.py"),
}
INSPECTORS: Final = {
    "inspector-0": "node_modules/inspector-legacy/cli/build/cli.js",
    "inspector-2": "node_modules/.bin/mcp-inspector",
}


def serve_command(data: Path) -> list[str]:
    """The command that a client starts."""
    return [
        *(sys.executable, "-m", "canonry.cli", "serve", "--toolsets", "narrative"),
        *("--agent-type", "CanonKeeper", "--data", str(data)),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The address of the server for a client: a command that starts it, or a URL."""

    command: Sequence[str] = ()
    url: str = ""

    def program_arguments(self) -> str:
        """Return the arguments of a program."""
        where = {"url": self.url} if self.url else {"command": list(self.command)}
        return json.dumps({**where, "calls": CALLS})


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Place]]:
    """A store behind standard input and output, and one behind HTTP."""
    data = tmp_path_factory.mktemp("store")
    with subprocess.Popen(
        [*serve_command(data), "--http", "127.0.0.1:0"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        yield {
            "stdio": Place(command=serve_command(data)),
            "http": Place(url=f"{printed_address(server)}/mcp"),
        }
        server.terminate()


def run_program(words: Sequence[str | Path], home: Path) -> subprocess.CompletedProcess[str]:
    """Run a program of a client, whose environment has to be there where it is required."""
    program = Path(words[0])
    if not program.exists():
        assert not os.environ.get("CANONRY_REQUIRE_CLIENTS"), f"{program} is missing: make clients"
        pytest.skip("the clients are installed by `make clients`")
    return subprocess.run(
        [str(word) for word in words],
        cwd=HERE,
        env={**os.environ, "HOME": str(home), "PYTHONPATH": "", "OPENAI_API_KEY": "unused"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("client", PROGRAMS)
def test_a_client_lists_calls_and_sees_an_error_in_its_own_words(
    client: str, transport: str, places: Mapping[str, Place], tmp_path: Path
) -> None:
    program, script = PROGRAMS[client]
    done = run_program(
        [program, HERE / "programs" / script, places[transport].program_arguments()], tmp_path
    )

    assert done.returncode == 0, done.stderr
    reply: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    made, refused = reply["results"]
    assert {"neo4j_create_universe", "neo4j_get_entity"} <= set(reply["tools"])
    assert "Saltmere" in made["text"]
    assert OWN_WORDS in refused["text"]
    assert not refused.get("raised")


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("inspector", INSPECTORS)
def test_an_inspector_lists_and_sees_an_error_in_its_own_words(
    inspector: str, transport: str, places: Mapping[str, Place], tmp_path: Path
) -> None:
    place = places[transport]
    where = [place.url, "--transport", "http"] if place.url else list(place.command)
    legacy = inspector == "inspector-0"
    started: list[str | Path] = [NODE, HERE / INSPECTORS[inspector], "--cli"]

    def inspect(*words: str) -> str:
        order = [*where, *words] if legacy or place.url else [*words, "--", *where]
        done = run_program([*started, *order], tmp_path)
        return done.stdout + done.stderr

    listed = inspect("--method", "tools/list")
    call = ("--method", "tools/call", "--tool-name", "neo4j_get_entity")
    refused = inspect(*call, "--tool-arg", f"entity_id={UNKNOWN}")

    assert "neo4j_create_universe" in listed
    assert OWN_WORDS in refused.replace("\\", "")
