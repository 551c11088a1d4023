"""The programs that the page about agent frameworks shows, each with the framework itself."""

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cli.run import run_canonry
from tests.clients.test_clients import PYTHONS, run_program
from tests.docs.markdown import ROOT, blocks_of
from tests.server.http_process import printed_address

ADDRESS: Final = "http://127.0.0.1:8000/mcp"
BLOCKS: Final = [*blocks_of(ROOT / "docs" / "how-to" / "agent-frameworks.md")]
PROGRAMS: Final = {
    "langchain_mcp_adapters": 1,
    "llama_index": 2,
    "pydantic_ai": 2,
    "agents": 2,
}
"""The environment of each framework, by its package."""
HOOKS: Final = json.loads(next(each.text for each in BLOCKS if each.language == "json"))["hooks"]
SAID: Final = "Hilde owns the lighthouse."


def program_of(package: str) -> str:
    """The program of the page that imports a package."""
    (found,) = (each.text for each in BLOCKS if f"\nfrom {package}" in each.text)
    return found


def event_hook(event: str) -> dict[str, Any]:
    """The hook of an event."""
    ((made,),) = (each["hooks"] for each in HOOKS[event])
    return dict(made)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one document, told as the second hook tells a prompt."""
    folder = tmp_path_factory.mktemp("frameworks")
    made = event_hook("UserPromptSubmit")
    given = {name: each.replace("${prompt}", SAID) for name, each in made["input"].items()}
    done = run_canonry(
        made["tool"], given.pop("text"), "--space", given.pop("space"), "--data", str(folder)
    )
    assert (done.returncode, given) == (0, {}), done.stderr
    return folder


@pytest.fixture(scope="module")
def address(data: Path) -> Iterator[str]:
    """The address of a server of that store, started as the page starts it."""
    _, *words = command_words(data, next(each.text for each in BLOCKS if "serve" in each.text))
    with subprocess.Popen(
        [sys.executable, "-m", "canonry.cli", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        yield f"{printed_address(server)}/mcp"
        server.terminate()


def command_words(data: Path, command: str) -> list[str]:
    """The words of a command of the page about this store, at a free port."""
    words = shlex.split(command.replace(":8000", ":0"))
    return [str(data) if each == "./saltmere" else each for each in words]


@pytest.mark.parametrize("package", PROGRAMS)
def test_a_program_of_the_page_finds_recorded_facts(
    package: str, address: str, tmp_path: Path
) -> None:
    script = tmp_path / "program.py"
    script.write_text(program_of(package).replace(ADDRESS, address), encoding="utf-8")
    done = run_program([PYTHONS[PROGRAMS[package]], script], tmp_path)

    assert done.returncode == 0, done.stderr
    assert SAID in done.stdout


def test_every_program_of_the_page_is_run() -> None:
    assert len([each for each in BLOCKS if each.language == "python"]) == len(PROGRAMS)


def test_the_session_hook_lists_current_facts(data: Path) -> None:
    _, *words = command_words(data, event_hook("SessionStart")["command"])
    done = run_canonry(*words)

    assert done.returncode == 0, done.stderr
    assert SAID in done.stdout


def test_another_program_generates_tools_from_the_openapi_document(
    address: str, tmp_path: Path
) -> None:
    asked = {"url": address, "calls": [["find", {"text": "lighthouse"}], ["get", {"of": "Nobody"}]]}
    script = Path(__file__).parent / "programs" / "openapi_client.py"
    done = run_program([PYTHONS[2], script, json.dumps(asked)], tmp_path)

    assert done.returncode == 0, done.stderr
    reply = json.loads(done.stdout.splitlines()[-1])
    found, refused = reply["results"]
    assert {"find", "propose", "list_tools"} <= {*reply["tools"]}
    assert SAID in found["text"]
    assert refused["refused"]
    assert "NOT_FOUND" in refused["text"]
