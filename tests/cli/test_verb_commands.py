"""Commands for people: the canon asked at a terminal, by names, through the tools of canon."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from canonry.cli import main
from canonry.cli.canon_commands import TOOLS
from tests.cli.run import SOURCE, Done, run_canonry

PEOPLE = (
    *("find", "show", "why", "timeline", "changes", "context", "tell", "propose"),
    *("proposals", "decide"),
)
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
    done = run_on(folder, "import", "transcript", session, "--universe", "Home", *casts)
    assert done.returncode == 0, done.stderr
    return folder


def run_on(folder: Path, *words: str) -> Done:
    return run_canonry(*words, "--data", str(folder / "data"), environment=PLAIN)


def run_reply(folder: Path, *words: str) -> dict[str, object]:
    done = run_on(folder, *words, "--json")
    assert done.returncode == 0, done.stderr
    said: dict[str, object] = json.loads(done.stdout)
    return said


def test_find_lists_rows_with_ids_by_words_without_quotes(store: Path) -> None:
    done = run_on(store, "find", "old", "oak")

    assert done.returncode == 0, done.stderr
    first = done.stdout.splitlines()
    assert first[:2] == ["Found 1 turn.", "Thorin waits under the old oak.  turn"]
    assert "  by  Thorin" in first


def test_json_output_is_the_tool_reply(store: Path) -> None:
    rows = run_reply(store, "find", "--kinds", "entity")["found"]

    assert isinstance(rows, list)
    assert {row["name"] for row in rows} > {"Thorin", "Thorgil"}
    assert list(rows[0])[:3] == ["kind", "id", "name"]


def test_a_name_prefix_is_enough_and_ambiguous_ones_are_listed(store: Path) -> None:
    assert run_on(store, "show", "thori").stdout.startswith("Thorin  character")
    both = run_on(store, "show", "thor")

    assert both.returncode == 2
    assert both.stdout == ""
    lines = both.stderr.splitlines()
    assert lines[0].startswith("canonry: NAME matches 2 items. Ask which one; give its id.")
    assert {line.split()[1] for line in lines[1:]} == {"Thorin", "Thorgil"}


def test_an_unknown_name_is_refused_with_the_nearest_ones(store: Path) -> None:
    done = run_on(store, "why", "Torin")

    assert done.returncode == 3
    assert "Did you mean Thorin?" in done.stderr


def test_history_reasons_and_times_are_shown(store: Path) -> None:
    answer = run_reply(store, "timeline", "Thorin")
    items = answer["timeline"]
    assert isinstance(items, list)
    event = items[0]["id"]
    explained = run_on(store, "why", event)
    assert "Rain falls on the road to Bree." in explained.stdout or "old oak" in explained.stdout
    assert "rule" in explained.stdout
    assert "canonry import transcript" in run_on(store, "changes").stdout
    cursor = run_reply(store, "changes")["cursor"]
    assert run_reply(store, "changes", str(cursor))["changes"] == []


def test_a_person_decides_pending_proposals(store: Path) -> None:
    assert run_reply(store, "proposals") == {
        "note": "Nothing needs a decision.",
        "waiting": [],
        "total": 0,
        "hint": "No proposal waits. For possible duplicates, review what=duplicates.",
    }
    other = str(run_reply(store, "show", "Thorgil")["id"])
    merged = run_reply(store, "decide", "merge", "Thorin", "Thorgil", "--reason", "one dwarf")
    assert merged["merged"] == "Thorgil"
    assert run_on(store, "show", "Thorgil").stdout.startswith("Thorin  character")
    assert run_reply(store, "decide", "separate", other)["id"] == other
    assert run_on(store, "show", "Thorgil").stdout.startswith("Thorgil  character")
    nothing = run_on(store, "decide", "accept", other, "--reason", "so")
    assert nothing.returncode == 2
    assert "NAME must name a proposal or a fact or an event or a relation" in nothing.stderr
    silent = run_on(store, "decide", "retcon", "Thorin")
    assert silent.returncode == 2
    assert "Give in --reason why" in silent.stderr


def test_a_missing_store_is_not_created(tmp_path: Path) -> None:
    for words in (("find",), ("show", "x"), ("decide", "judge", "x")):
        done = run_on(tmp_path, *words)
        assert done.returncode == 3
        assert "store.absent" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_text_is_recorded_while_another_process_serves(
    tmp_path: Path,
) -> None:
    with hold_open(tmp_path):
        answer = run_reply(tmp_path, "tell", "The", "mill", "is", "mine.", "--title", "Letter")
        assert answer["title"] == "Letter"
        opened = run_reply(
            tmp_path, "propose", '{"kind": "entity", "name": "Hilde", "type": "person"}'
        )
        assert (opened["accepted"], opened["of"]) == (1, 1)
    assert run_on(tmp_path, "show", "Hilde").stdout.startswith("Hilde  person")
    brief = run_on(
        tmp_path, "context", "Hilde", "--question", "Whose is the mill?", "--tokens", "400"
    )
    assert brief.returncode == 0, brief.stderr
    assert "# Hilde" in brief.stdout
    assert "searched  words only" in brief.stdout


def test_claims_are_words_or_json_and_a_refusal_sets_exit_code_one(
    store: Path,
) -> None:
    turns = ("--turns", "gm: The oak burns.", "--turns", '[{"by": "Thorin", "text": "Run!"}]')
    spoken = run_reply(store, "tell", "--scene", "Fire", *turns)["turns"]
    assert isinstance(spoken, list)
    assert [each["by"] for each in spoken] == ["gm", "Thorin"]
    claims = store / "claims.json"
    claims.write_text('[{"kind": "entity", "name": "Mor", "type": "character"}]', encoding="utf-8")
    done = run_on(
        store, "propose", f"@{claims}", "Mor guards the oak.", "--evidence", spoken[0]["id"]
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("Accepted 2 of 2.\naccepted  2\nof  2\n")
    alone = run_on(store, "propose", "Mor sleeps.", "--dry-run")
    assert alone.returncode == 1
    assert "accepted  0\nof  1\n" in alone.stdout
    assert "needs review" in alone.stdout
    for words in (("propose", "{x"), ("tell", "--turns", "no speaker")):
        assert run_on(store, *words).returncode == 2


def test_a_file_and_standard_input_are_recorded_unchanged(tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text("name,phone\nHilde,030 1234567\n", encoding="utf-8")
    assert run_reply(tmp_path, "tell", "--file", str(file))["title"] == "list.csv"
    typed = ("tell", "-", "--title", "Typed", "--data", str(tmp_path / "data"), "--json")
    done = CliRunner().invoke(main, typed, input="I moved to Bree.", env=PLAIN)
    assert json.loads(done.stdout)["title"] == "Typed"
    assert "I moved to Bree." in run_on(tmp_path, "find", "moved").stdout


@contextmanager
def hold_open(folder: Path) -> Iterator[None]:
    """The store is open in another process while the block runs."""
    code = (
        "import asyncio, sys\nfrom pathlib import Path\n"
        "from canonry.app.embedded import open_embedded\n"
        "async def run():\n    store = await open_embedded(Path(sys.argv[1]))\n"
        "    print('open', flush=True)\n    sys.stdin.read()\n    await store.close()\n"
        "asyncio.run(run())"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(folder / "data")],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        yield
        process.communicate()
    assert process.returncode == 0


def on_a_terminal(folder: Path, *words: str, **more: str) -> str:
    """Return the output that a terminal gets."""
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


def test_names_are_highlighted_only_on_a_terminal(store: Path) -> None:
    assert on_a_terminal(store, "show", "Thorin").startswith("\x1b[1mThorin\x1b[0m")
    assert "\x1b" not in on_a_terminal(store, "show", "Thorin", NO_COLOR="1")
    assert "\x1b" not in run_on(store, "show", "Thorin").stdout


@pytest.mark.parametrize("name", PEOPLE)
def test_help_has_examples_and_describes_every_argument(name: str) -> None:
    tool = {"show": "get", "proposals": "review"}.get(name, name)
    command = main.get_command(click.Context(main), name)
    assert command is not None
    given = {each.name for each in command.params}
    assert given >= set(TOOLS[tool].input_schema["properties"])
    reported = run_canonry(name, "--help").stdout
    assert f"\n    canonry {name}" in reported
