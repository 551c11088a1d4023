"""A person first sees groups of settings, findings and waits, and never a trace."""

import os
import pty
import subprocess
import sys
from pathlib import Path

from canonry.cli.world.command import atlas_bytes, demo_atlas
from tests.cli.run import SOURCE, canonry_process, run_canonry
from tests.cli.test_verb_commands import run_on, store

__all__ = ["store"]


def test_serve_lists_its_settings_group_by_group() -> None:
    reported = run_canonry("serve", "--help").stdout
    headings = [line for line in reported.splitlines() if line.endswith(":") and line[0] != " "]

    assert headings[:3] == ["Options:", "The store:", "Served tools and address:"]
    assert set(headings[3:]) == {
        "HTTP:",
        "Characters that speak:",
        "Callers:",
        "Calls and their log:",
        "Bearer tokens over HTTP:",
        "Search by meaning:",
        "Documents and records:",
    }
    callers = reported[reported.index("Callers:") : reported.index("Calls and their log:")]
    assert "--agent-type" in callers
    assert "--deadline" not in callers
    assert callers.count("--user ") == reported.count("--user ") == 1


def test_the_doctor_begins_with_findings_and_lists_settings(tmp_path: Path) -> None:
    words = ("doctor", "--data", str(tmp_path / "none"))
    reported = run_canonry(*words, environment={"CANONRY_RATE_LIMIT": "7"}).stdout
    lines = reported.splitlines()

    assert lines[0] == "findings"
    assert lines.index("findings") < lines.index("store") < lines.index("settings")
    assert "rate_limit  7  (CANONRY_RATE_LIMIT)" in reported
    assert "http_idle" not in reported
    assert "http_idle" in run_canonry(*words, "--all").stdout


def test_a_server_started_by_a_person_says_what_it_waits_for(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    server = subprocess.Popen(
        [sys.executable, "-m", "canonry.cli", "serve", "--data", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdin=theirs,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(theirs)
    assert server.stderr is not None
    first, second = server.stderr.readline(), server.stderr.readline()
    os.close(ours)
    server.communicate(timeout=60)

    assert first.startswith("canonry: Waiting for an MCP client on standard input")
    assert (
        second == f"canonry: To connect a client, run `{sys.executable} -m canonry.cli connect`.\n"
    )


def test_a_dry_run_leaves_no_trace(tmp_path: Path) -> None:
    world = tmp_path / "isles.json"
    world.write_bytes(atlas_bytes(demo_atlas()))
    rows = tmp_path / "rows.json"
    rows.write_text('{"entities": []}', encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    for words in (("world", "import", str(world)), ("catalog", "import", str(rows))):
        done = run_on(tmp_path, *words, "--dry-run")
        assert done.returncode == 0, done.stderr
    assert sorted(tmp_path.rglob("*")) == before

    assert run_on(tmp_path, "world", "import", str(world)).returncode == 0
    again = run_on(tmp_path, "world", "import", str(world), "--dry-run")
    assert "would change" in again.stdout
    assert " 0 of" in again.stdout


def test_a_shell_completes_commands_and_arguments() -> None:
    def asked(*words: str) -> list[str]:
        done = canonry_process(
            environment={
                "_CANONRY_COMPLETE": "bash_complete",
                "COMP_WORDS": " ".join(("canonry", *words)),
                "COMP_CWORD": str(len(words)),
            }
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    assert asked("pro") == ["plain,propose", "plain,proposals"]
    assert asked("decide", "re") == ["plain,reject", "plain,retcon", "plain,reveal", "plain,read"]


def test_a_file_called_minus_is_standard_output(store: Path) -> None:
    kept = run_on(store, "export").stdout

    assert kept.startswith("{")
    assert run_on(store, "export", "-").stdout == kept
    assert not (Path.cwd() / "-").exists()


def test_names_with_erase_options_are_listed(store: Path) -> None:
    found = run_on(store, "erase", "--find", "thorin").stdout.splitlines()

    assert found[0].startswith("--entity ")
    assert found[0].endswith("  Thorin")
    assert any(line.startswith("--turn ") and "Thorin waits under" in line for line in found)
    option, entity = found[0].split()[:2]
    plan = run_on(store, "erase", option, entity)
    assert plan.returncode == 0, plan.stderr
    assert "would be erased" in plan.stdout

    assert run_on(store, "erase", "--find", "Smaug").returncode == 3
    assert run_on(store, "erase", "--find", "thorin", "--yes").returncode == 2
