"""A disk that is full for one server: it may not write on in any file, until it may again.

So no rights are needed, and no disk is made: who owns a process may bound its files. What it gets
is EFBIG in place of ENOSPC, as what it writes into a file finds no room.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.servers.processes import as_nobody


def bound_files(process: int, room: str) -> None:
    """No file of the process grows past so many bytes, or `unlimited`."""
    mine = Path(f"/proc/{process}").stat().st_uid == os.getuid()
    subprocess.run(
        ["prlimit", f"--pid={process}", f"--fsize={room}:"],
        check=True,
        **({} if mine else as_nobody()),
    )


@contextmanager
def full(process: int, room: int) -> Iterator[None]:
    """No file of the server grows past `room` bytes within the block."""
    if shutil.which("prlimit") is None:
        pytest.skip("nothing here bounds the files of a process: prlimit is a part of util-linux")
    bound_files(process, str(room))
    try:
        yield
    finally:
        if Path(f"/proc/{process}").exists():
            bound_files(process, "unlimited")
