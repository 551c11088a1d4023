"""Lives of a writing process: started, read line by line, killed with -9, and judged."""

import asyncio
import contextlib
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from canonry.app.embedded import Embedded, open_embedded
from canonry.log.commits import ORIGIN
from canonry.stores.sqlite import Durability
from canonry.testing.conformance.maintenance import check_progress
from canonry.testing.example_items import MIDDLE_EARTH, uuid_of
from canonry.values.ids import CommitId

ROOT = Path(__file__).parents[2]
LOG_MAX = 100_000


class Life:
    """A running writer; `said` collects all that it acknowledged."""

    def __init__(self, folder: Path, work: str, name: str) -> None:
        """Start it; `hear` waits until it has the store open."""
        self.said: list[str] = []
        self._process = subprocess.Popen(
            [sys.executable, str(ROOT / "tests/crash/writer.py"), str(folder), work, name],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
            cwd=ROOT,
        )

    def _read_line(self) -> str:
        assert self._process.stdout is not None
        raw = self._process.stdout.readline()
        line = raw.decode().rstrip("\n")
        if line == "open":
            return self._read_line()
        if raw.endswith(b"\n") and not line.startswith("progress"):
            self.said.append(line)
        return line

    def hear_lines(self, lines: int) -> None:
        """Read so many lines; the writer must not end by itself."""
        for _ in range(lines):
            assert self._read_line(), f"the writer ended with {self._process.poll()}"

    def hear_progress(self, times: int) -> None:
        """Read until it told progress so many times."""
        for _ in range(times):
            while not (line := self._read_line()).startswith("progress"):
                assert line, f"the writer ended with {self._process.poll()}"

    def kill_writer(self) -> list[str]:
        """Kill it with -9; all that it acknowledged, also what nobody had read yet."""
        if self._process.returncode is None:
            self._process.kill()
            while self._read_line():
                pass
            self._process.wait()
            assert self._process.stdout is not None
            self._process.stdout.close()
        return self.said


@contextlib.contextmanager
def a_life(folder: Path, work: str, name: str) -> Iterator[Life]:
    """A writer that is killed in the end, whatever happens."""
    life = Life(folder, work, name)
    try:
        yield life
    finally:
        life.kill_writer()


def judge_store(folder: Path, acknowledged: list[str]) -> None:
    """Open the store again: nothing lost, nothing twice, nothing by halves, everything sound."""
    asyncio.run(_judge_store(folder, acknowledged))


async def _judge_store(folder: Path, acknowledged: list[str]) -> None:
    store = await open_embedded(folder, durability=Durability.NORMAL)
    try:
        names = {uuid_of(f"commit/{name}"): name for name in acknowledged if name[0] != "-"}
        log = await store.canon.ledger.read_commits(MIDDLE_EARTH, after=ORIGIN, limit=LOG_MAX)
        assert [c.position for c in log] == list(range(1, len(log) + 1))
        counted = Counter(commit.id for commit in log)
        assert not [i for i, times in counted.items() if times > 1], "nothing is there twice"
        assert not [n for i, n in names.items() if CommitId(i) not in counted], "nothing is lost"
        items = {uuid_of(f"{kind} {name}") for name in names.values() for kind in KINDS}
        found = await store.canon.state.items_by_id(items)
        assert set(found) == items, "every commit is whole in the views"
        for commit in log:
            assert len(commit.entries) in {1, len(KINDS)}
        verification = await store.maintenance.verify(check_progress)
        assert verification.findings == ()
        assert verification.commits == len(log)
        await _find_forgotten(store, [name[1:] for name in acknowledged if name[0] == "-"])
    finally:
        await store.close()


KINDS = ("fact", "turn")


async def _find_forgotten(store: Embedded, names: list[str]) -> None:
    for name in names:
        found = await store.canon.state.items_by_id([uuid_of(f"turn {name}")])
        assert name not in repr(found), "what was erased stays erased"
