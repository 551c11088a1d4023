"""Commands for people: the canon asked at a terminal, by names, through the tools of canon."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import click
import pytest

from canonry.cli import main
from canonry.cli.people import TOOLS
from tests.cli.run import SOURCE, Done, canonry

PEOPLE = ("find", "show", "why", "timeline", "changes", "proposals", "decide")
SAID = {
    "title": "Session 1",
    "turns": [
        {"speaker": "GM", "text": "Rain falls on the road to Bree."},
        {"speaker": "Ben", "text": "Thorin waits under the old oak."},
        {"speaker": "Cleo", "text": "Thorgil sleeps in Bree."},
    ],
    "summaries": [{"start": 0, "end": 2, "text": "In the rain on the road to Bree waits Thorin."}],
}
PLAIN = {"CANONRY_RECALL_EMBEDDER": "none"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("people")
    (folder / "session.json").write_text(json.dumps(SAID), encoding="utf-8")
    casts = ("--cast", "Ben=Thorin", "--cast", "Cleo=Thorgil")
    session = str(folder / "session.json")
    done = on(folder, "import", "transcript", session, "--universe", "Home", *casts)
    assert done.returncode == 0, done.stderr
    return folder


def on(folder: Path, *words: str) -> Done:
    return canonry(*words, "--data", str(folder / "data"), environment=PLAIN)


def reply(folder: Path, *words: str) -> dict[str, object]:
    done = on(folder, *words, "--json")
    assert done.returncode == 0, done.stderr
    said: dict[str, object] = json.loads(done.stdout)
    return said


def test_find_tells_rows_with_ids_by_words_without_quotes(store: Path) -> None:
    done = on(store, "find", "old", "oak")

    assert done.returncode == 0, done.stderr
    first = done.stdout.splitlines()
    assert first[0] == "Thorin waits under the old oak.  turn"
    assert "  by  Thorin" in first


def test_json_is_the_reply_of_the_tool(store: Path) -> None:
    rows = reply(store, "find", "--kinds", "entity")["found"]

    assert isinstance(rows, list)
    assert {row["name"] for row in rows} > {"Thorin", "Thorgil"}
    assert list(rows[0])[:3] == ["kind", "id", "name"]


def test_a_beginning_of_a_name_is_enough_and_two_that_fit_are_listed(store: Path) -> None:
    assert on(store, "show", "thori").stdout.startswith("Thorin  character")
    both = on(store, "show", "thor")

    assert both.returncode == 2
    assert both.stdout == ""
    lines = both.stderr.splitlines()
    assert lines[0] == "canonry: NAME matches 2 items. Name one of them by its id. (name.ambiguous)"
    assert {line.split()[1] for line in lines[1:]} == {"Thorin", "Thorgil"}


def test_an_unknown_name_is_refused_with_what_is_called_nearly_so(store: Path) -> None:
    done = on(store, "why", "Torin")

    assert done.returncode == 3
    assert "Did you mean Thorin?" in done.stderr


def test_what_happened_why_and_when_it_was_written(store: Path) -> None:
    told = reply(store, "timeline", "Thorin")
    items = told["timeline"]
    assert isinstance(items, list)
    event = items[0]["id"]
    explained = on(store, "why", event)
    assert "Rain falls on the road to Bree." in explained.stdout or "old oak" in explained.stdout
    assert "rule" in explained.stdout
    assert "canonry import transcript" in on(store, "changes").stdout
    cursor = reply(store, "changes")["cursor"]
    assert reply(store, "changes", str(cursor))["changes"] == []


def test_a_person_decides_what_waits(store: Path) -> None:
    assert reply(store, "proposals") == {
        "waiting": [],
        "total": 0,
        "hint": "No proposal waits. For possible duplicates, review what=duplicates.",
    }
    other = str(reply(store, "show", "Thorgil")["id"])
    merged = reply(store, "decide", "merge", "Thorin", "Thorgil", "--reason", "one dwarf")
    assert merged["merged"] == "Thorgil"
    assert on(store, "show", "Thorgil").stdout.startswith("Thorin  character")
    assert reply(store, "decide", "separate", other)["id"] == other
    assert on(store, "show", "Thorgil").stdout.startswith("Thorgil  character")
    nothing = on(store, "decide", "accept", other, "--reason", "so")
    assert nothing.returncode == 2
    assert "NAME must name a proposal, but names an entity." in nothing.stderr
    silent = on(store, "decide", "retcon", "Thorin")
    assert silent.returncode == 2
    assert "Give in --reason why" in silent.stderr


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    for words in (("find",), ("show", "x"), ("decide", "judge", "x")):
        done = on(tmp_path, *words)
        assert done.returncode == 3
        assert "store.absent" in done.stderr
    assert list(tmp_path.iterdir()) == []


def on_a_terminal(folder: Path, *words: str, **more: str) -> str:
    """What a terminal is sent."""
    ours, theirs = pty.openpty()
    kept = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    done = subprocess.Popen(
        [sys.executable, "-m", "canonry.cli", *words, "--data", str(folder / "data")],
        env={**kept, **PLAIN, "PYTHONPATH": str(SOURCE), **more},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.PIPE,
    )
    os.close(theirs)
    said = b""
    try:
        while part := os.read(ours, 65_536):
            said += part
    except OSError:  # Linux tells the end of a terminal so
        pass
    finally:
        os.close(ours)
    _, complaint = done.communicate()
    assert done.returncode == 0, complaint
    return said.decode()


def test_names_stand_out_on_a_terminal_and_nowhere_else(store: Path) -> None:
    assert on_a_terminal(store, "show", "Thorin").startswith("\x1b[1mThorin\x1b[0m")
    assert "\x1b" not in on_a_terminal(store, "show", "Thorin", NO_COLOR="1")
    assert "\x1b" not in on(store, "show", "Thorin").stdout


@pytest.mark.parametrize("name", PEOPLE)
def test_help_has_examples_and_says_every_argument_of_the_tool(name: str) -> None:
    tool = {"show": "get", "proposals": "review"}.get(name, name)
    command = main.get_command(click.Context(main), name)
    assert command is not None
    given = {each.name for each in command.params}
    assert given >= set(TOOLS[tool].input_schema["properties"])
    told = canonry(name, "--help").stdout
    assert f"\n    canonry {name}" in told
