"""Processes of servers: started as somebody who may do nothing else, and waited for."""

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(os.environ.get("CANONRY_SERVERS", f"/var/tmp/canonry-servers-{os.getuid()}"))
NOBODY = "nobody"
PORT = int(os.environ.get("CANONRY_SERVERS_PORT", "25431"))
"""The first of a hundred; below those that a system gives to whoever connects to somebody, of which
a server that starts later would find its own taken."""

PASSWORD = "for-tests-on-loopback"
SECONDS = 60
STARTED: dict[int, subprocess.Popen[bytes]] = {}
"""Children of this process, which stay zombies until somebody waits for them."""


def home_of(name: str) -> Path:
    """The folder of a server, which it may write."""
    home = ROOT / "home" / name
    home.mkdir(parents=True, exist_ok=True)
    ROOT.chmod(0o755)
    if os.getuid() == 0:
        shutil.chown(home, NOBODY)
    return home


def start_process(command: Sequence[object], home: Path, log: Path) -> subprocess.Popen[bytes]:
    """A process of its own, in its own folder; what it says is in `log`."""
    with log.open("wb") as said:
        process = subprocess.Popen(
            [str(word) for word in command],
            cwd=home,
            env={"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home)},
            **as_nobody(),
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
        )
    STARTED[process.pid] = process
    return process


def as_nobody() -> dict[str, Any]:
    """Return the options by which a process of root runs as another user."""
    if os.getuid() != 0:
        return {}
    user = pwd.getpwnam(NOBODY)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def stop_process(process: int, by: signal.Signals) -> None:
    """Send a process the signal, and wait until it has ended."""
    if not is_running(process):
        return
    os.kill(process, by)
    ends = time.monotonic() + SECONDS
    # One that was killed may stay as a zombie for a moment, which pg0 takes for alive.
    while Path(f"/proc/{process}").exists() and time.monotonic() < ends:
        if process in STARTED and STARTED[process].poll() is not None:
            del STARTED[process]
        time.sleep(0.05)


def is_running(process: int) -> bool:
    """Return whether a process runs, and is no zombie."""
    try:
        said = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return process > 0 and said.rpartition(")")[2].split()[0] != "Z"


def process_in(path: Path, home: Path) -> int:
    """The process that a file names, if it runs in this folder; otherwise 0.

    A file outlives its process, and the system gives the number to another one.
    """
    try:
        process = int(path.read_text().split()[0])
        return process if Path(f"/proc/{process}/cwd").samefile(home) else 0
    except (OSError, IndexError, ValueError):
        return 0
