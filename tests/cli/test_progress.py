"""Progress: a bar on a terminal, and nothing but what a log can hold elsewhere."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from canonry.cli.options import show_progress
from tests.cli.run import SOURCE, run_canonry

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_short_work_prints_nothing_if_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress("counting") as result:
        for done in range(100):
            result(done, 100)

    assert capsys.readouterr().err == ""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_terminal_gets_a_bar_that_is_cleared_at_the_end(tmp_path: Path) -> None:
    session = str(EXAMPLES / "session.json")
    words = ("import", "transcript", session, "--universe", "Saltmere", "--data", str(tmp_path))
    assert run_canonry(*words).returncode == 0
    watcher, terminal = os.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "canonry.cli", "export", "--data", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=terminal,
        timeout=60,
        check=True,
    )
    os.close(terminal)
    shown = os.read(watcher, 65_536).decode()
    os.close(watcher)

    assert b"canonry-log" in done.stdout
    assert "exporting commits [##############################] 100%" in shown
    assert shown.endswith("\r\x1b[K")
