"""A disk that is full for one server: it may not write on in any file, until it may again.

This needs no rights and no disk, because the owner of a process may bound its files. The process
gets EFBIG in place of ENOSPC when it writes into a file.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from canonry.canon.session.canon import Canon
from canonry.log.commits import Appended
from canonry.testing.clocks import Scribe
from canonry.testing.example_items import MIDDLE_EARTH, a_fact, creation_entries
from tests.servers.processes import as_nobody

WORDS = " ".join(f"{n * 7919:x}" for n in range(2_000))
"""A fact that says so much fills a small disk soon, and packs badly."""


@dataclass
class Filling:
    """Writes large facts, and keeps what was acknowledged."""

    canon: Canon
    acknowledged: set[str] = field(default_factory=set)

    async def write_facts(self, numbers: range) -> None:
        """One fact for each of these."""
        for n in numbers:
            scribe = Scribe(self.canon, f"full {n}")
            head = await self.canon.ledger.head_position(MIDDLE_EARTH)
            draft = scribe.next_append(creation_entries(a_fact(f"{n} {WORDS}")), judged_at=head)
            (outcome,) = await scribe.append_batch([draft])
            assert isinstance(outcome, Appended)
            self.acknowledged.add(draft.draft.id)


def bound_files(process: int, room: str) -> None:
    """No file of the process grows past so many bytes, or `unlimited`."""
    mine = Path(f"/proc/{process}").stat().st_uid == os.getuid()
    subprocess.run(
        ["prlimit", f"--pid={process}", f"--fsize={room}:"],
        check=True,
        **({} if mine else as_nobody()),
    )


@contextmanager
def limit_files(process: int, room: int) -> Iterator[None]:
    """No file of the server grows past `room` bytes within the block."""
    if shutil.which("prlimit") is None:
        pytest.skip("nothing here bounds the files of a process: prlimit is a part of util-linux")
    bound_files(process, str(room))
    try:
        yield
    finally:
        if Path(f"/proc/{process}").exists():
            bound_files(process, "unlimited")
