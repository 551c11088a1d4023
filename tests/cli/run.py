"""Running the command: in this process, or in one of its own where the process itself matters."""

import os
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from canonry.cli import main

SOURCE = Path(__file__).parents[2] / "src"
SECONDS = 90


@dataclass(frozen=True, slots=True)
class Done:
    """The exit code of a command, and its output."""

    returncode: int
    stdout: str
    stderr: str


def run_canonry(*arguments: str, environment: Mapping[str, str] | None = None) -> Done:
    """Run `canonry ARGUMENTS` in this process."""
    result = CliRunner().invoke(main, arguments, env=dict(environment or {}))
    return Done(result.exit_code, result.stdout, result.stderr)


def canonry_in_a_thread(*arguments: str, environment: Mapping[str, str] | None = None) -> Done:
    """The same in a thread of its own, for a test that runs in an event loop itself."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(run_canonry, *arguments, environment=environment).result(SECONDS)


def canonry_process(*arguments: str, environment: Mapping[str, str] | None = None) -> Done:
    """Run it in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "canonry.cli", *arguments],
        env={**os.environ, "PYTHONPATH": str(SOURCE), **(environment or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)
