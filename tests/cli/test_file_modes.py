"""Files that Canonry writes are closed to others, whatever mask the shell has."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.run import SOURCE, run_canonry
from tests.cli.test_store_commands import SESSION

pytestmark = pytest.mark.skipif(os.name != "posix", reason="rights of POSIX")


def under_022(*arguments: str) -> None:
    """Run the command as a shell with the usual mask does."""
    code = f"import os; os.umask(0o022); from canonry.cli import main; main({list(arguments)!r})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def open_below(folder: Path) -> list[str]:
    """The files and folders that others may enter, read or write."""
    every = [folder, *folder.rglob("*")]
    return [f"{p} {stat.filemode(p.stat().st_mode)}" for p in every if p.stat().st_mode & 0o077]


def test_every_written_file_is_closed_to_others(tmp_path: Path) -> None:
    outside = tmp_path / "home"
    outside.mkdir(mode=0o755)
    session = tmp_path / "session.json"
    session.write_text(json.dumps(SESSION), encoding="utf-8")
    data, made = str(outside / "deep" / "data"), [outside / "deep"]

    under_022("import", "transcript", str(session), "--universe", "Home", "--data", data)
    for words in (
        ("export", str(outside / "log.jsonl"), "--files", str(outside / "log-files")),
        ("backup", str(outside / "backup")),
        ("verify", "--record", str(outside / "heads.json")),
        ("rebuild", "--only", "vectors"),
        ("rebuild",),
    ):
        under_022(*words, "--data", data)
    under_022("restore", str(outside / "backup"), "--data", str(outside / "again"))

    made += [each for each in outside.iterdir() if each.name != "deep"]
    assert len(made) == 6
    assert [found for each in made for found in open_below(each)] == []


def test_the_doctor_reports_and_repairs_an_open_store(tmp_path: Path) -> None:
    session = tmp_path / "session.json"
    session.write_text(json.dumps(SESSION), encoding="utf-8")
    data = tmp_path / "data"
    known = ("--data", str(data))
    assert run_canonry("import", "transcript", str(session), "--universe", "Home", *known).stdout
    (data / "canon.db").chmod(0o644)
    data.chmod(0o755)

    reply = run_canonry("doctor", *known)
    assert "Other users of this machine may read 2 files and folders" in reply.stdout
    assert (data / "canon.db").stat().st_mode & 0o077

    repaired = run_canonry("doctor", "--mend", *known)
    assert "Other users" not in repaired.stdout
    assert open_below(data) == []


def test_files_beside_the_store_keep_their_modes(tmp_path: Path) -> None:
    session = tmp_path / "session.json"
    session.write_text(json.dumps(SESSION), encoding="utf-8")
    session.chmod(0o644)
    known = ("--data", str(tmp_path))
    assert run_canonry("import", "transcript", str(session), "--universe", "Home", *known).stdout
    tmp_path.chmod(0o755)

    run_canonry("doctor", "--mend", *known)

    assert stat.S_IMODE(session.stat().st_mode) == 0o644
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
