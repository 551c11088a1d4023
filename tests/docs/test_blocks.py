"""Every code block of the documents is well formed, and every one that is marked `run` runs."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.markdown import ROOT, Block, fenced_blocks

LANGUAGES = frozenset(
    {
        "bash",
        "console",
        "cypher",
        "diff",
        "json",
        "python",
        "toml",
        "text",
        "markdown",
        "mermaid",
        "sql",
    }
)
RUNNABLE = [block for block in fenced_blocks() if "run" in block.marks]
SCRIPTS = [block for block in RUNNABLE if block.language == "python"]
SHELL = [block for block in RUNNABLE if block.language in {"bash", "console"}]
SHELL_PAGES = sorted({block.path for block in SHELL})
SECONDS = 150


def run_block(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a block's text as a reader would: in a folder of its own, with Canonry installed."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def commands_of(block: Block) -> str:
    """The shell commands of a block; of a console session, only what is typed."""
    if block.language != "console":
        return block.text
    typed = (line[2:] for line in block.text.splitlines() if line.startswith(("$ ", "> ")))
    return "\n".join(typed)


def find_malformed(parse: Callable[[Block], object], *languages: str) -> dict[str, str]:
    """The blocks in one of `languages` that do not parse, with what is said about them."""
    found = {}
    for block in fenced_blocks(*languages):
        try:
            parse(block)
        except (SyntaxError, ValueError) as error:
            found[str(block)] = str(error)
    return found


def test_every_block_names_its_language() -> None:
    assert [str(block) for block in fenced_blocks() if block.language not in LANGUAGES] == []


def test_json_parses() -> None:
    assert find_malformed(lambda block: json.loads(block.text), "json") == {}


def test_toml_parses() -> None:
    assert find_malformed(lambda block: tomllib.loads(block.text), "toml") == {}


def test_python_compiles() -> None:
    assert (
        find_malformed(
            lambda block: compile(block.text, str(block), "exec", dont_inherit=True), "python"
        )
        == {}
    )


def test_bash_parses(tmp_path: Path) -> None:
    def parse(block: Block) -> None:
        done = run_block(["bash", "-n", "-c", commands_of(block)], tmp_path)
        if done.returncode:
            raise ValueError(done.stderr)

    assert find_malformed(parse, "bash", "console") == {}


@pytest.mark.parametrize("block", SCRIPTS, ids=str)
def test_python_blocks_marked_run_are_run(block: Block, tmp_path: Path) -> None:
    done = run_block([sys.executable, "-c", block.text], tmp_path)

    assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("page", SHELL_PAGES, ids=lambda page: page.stem)
def test_commands_marked_run_are_run_in_order(page: Path, tmp_path: Path) -> None:
    script = "\n".join(commands_of(block) for block in SHELL if block.path == page)

    done = run_block(["bash", "-euxo", "pipefail", "-c", script], tmp_path)

    assert done.returncode == 0, f"{page}\n{done.stdout}\n{done.stderr}"


def test_the_documents_contain_blocks_that_run() -> None:
    assert SCRIPTS
    assert SHELL
    assert len(RUNNABLE) == len(SCRIPTS) + len(SHELL), "only bash, console and python can run"
