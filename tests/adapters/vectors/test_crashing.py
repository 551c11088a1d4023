"""Crashing: a process that is killed while it indexes leaves whole batches, and nothing else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from canonry.recall.vectors import FolderVectors
from tests.adapters.vectors.entries import (
    MODEL,
    SPACE,
    make_entries,
    search_memories,
    take_in,
    unit_vector,
)

pytestmark = pytest.mark.anyio

INDEXER = """
import asyncio, sys
from pathlib import Path
from canonry.recall.vectors import FolderVectors
from tests.adapters.vectors.entries import MODEL, make_entries, take_in

async def main():
    vectors = FolderVectors(Path(sys.argv[1]), waiting=60)
    for number in range(100_000):
        await take_in(vectors, make_entries(50, first=50 * number), cursor=str(number + 1))
        print(number + 1, flush=True)
        await vectors.compact_updates(MODEL)

asyncio.run(main())
"""


def killed_after(folder: Path, batches: int) -> int:
    """Kill an indexing process once it has told of so many batches; how many it told of."""
    known = {**os.environ, "PYTHONPATH": os.pathsep.join((*sys.path, str(Path.cwd())))}
    command = (sys.executable, "-c", INDEXER, str(folder))
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=known) as indexer:
        assert indexer.stdout is not None
        listed = [int(indexer.stdout.readline()) for _ in range(batches)]
        indexer.kill()
    return listed[-1]


@pytest.mark.parametrize("batches", [1, 2, 5, 9])
async def test_a_killed_indexer_leaves_exactly_the_rows_of_its_cursor(
    tmp_path: Path, batches: int
) -> None:
    result = killed_after(tmp_path, batches)

    vectors = FolderVectors(tmp_path, waiting=60)
    (status,) = await vectors.status()
    reached = int(status.cursor)
    assert reached >= result
    assert status.count == 50 * reached
    assert len(await search_memories(vectors, unit_vector(1.0), limit=9999)) == status.count

    await take_in(vectors, make_entries(100, first=50 * reached), cursor=str(reached + 2))
    assert await vectors.compact_updates(MODEL)
    everything = await search_memories(
        vectors, unit_vector(1.0), spaces=frozenset((SPACE,)), limit=99_999
    )
    assert len(everything) == 50 * (reached + 2)
    await vectors.close()
