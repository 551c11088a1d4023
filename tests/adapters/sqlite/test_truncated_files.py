"""Files that are moved, emptied or cut beneath an open store: told, healed or refused, not lost."""

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from canonry.log.commits import ORIGIN
from canonry.stores.sqlite import Durability
from canonry.stores.sqlite.connections import Anchor
from canonry.testing.clocks import an_append
from canonry.testing.example_items import MIDDLE_EARTH, a_fact, a_space, a_turn, creation_entries
from canonry.values.errors import BrokenInvariant, Unavailable
from tests.adapters.sqlite.opened import a_store

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(os.name != "posix", reason="elsewhere an open file can be neither"),
]

CUT = """
import asyncio, os, sys, time
from pathlib import Path
from canonry.readmodels.ports.state import FactQuery
from canonry.testing.clocks import an_append
from canonry.testing.example_items import creation_entries
from canonry.testing.example_items import a_fact
from tests.adapters.sqlite.opened import a_store

async def main():
    folder, name, size = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    async with a_store(folder, mapped_from=int(sys.argv[4])) as store:
        # So few that no checkpoint begins: one that holds the index dies with it, anywhere.
        for n in range(200):
            entries = creation_entries(a_fact(f"fact {n}"))
            await store.ledger.append_drafts([an_append(f"{n}", entries)])
        if name == "canon.db":
            store.checkpoints.empty_log()
        await count(store, 0)
        os.truncate(folder / name, size)
        until = time.monotonic() + 0.002  # a look holds for one millisecond
        while time.monotonic() < until:
            pass
        for n in range(3):
            for step in (count, write):
                try:
                    await step(store, n)
                except Exception as error:
                    print(type(error).__name__, error.code)

async def count(store, n):
    print((await store.state.facts(FactQuery(limit=500))).total)

async def write(store, n):
    entries = creation_entries(a_fact(f"later {n}"))
    await store.ledger.append_drafts([an_append(f"later {n}", entries)])

asyncio.run(main())
"""


def cut_file(folder: Path, name: str, size: int, mapped_from: int = 2**26) -> tuple[int, list[str]]:
    """Cut the open file of a process, and return how the process ends and its output until then."""
    known = {**os.environ, "PYTHONPATH": os.pathsep.join(["src", *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", CUT, str(folder), name, str(size), str(mapped_from)],
        env=known,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    return done.returncode, done.stdout.splitlines()


@pytest.mark.parametrize("size", [0, 4096])
async def test_a_truncated_shared_index_is_recreated(tmp_path: Path, size: int) -> None:
    ended, reported = cut_file(tmp_path, "canon.db-shm", size)

    assert (ended, reported) == (0, ["200", "200", "201", "202"])
    async with a_store(tmp_path) as store:
        assert await store.ledger.head_position(MIDDLE_EARTH) == 203


@pytest.mark.parametrize("size", [0, 4096, 20480])
def test_a_truncated_database_is_an_error_and_no_crash(tmp_path: Path, size: int) -> None:
    ended, reported = cut_file(tmp_path, "canon.db", size)

    assert ended >= 0, reported
    assert len(reported) >= 4


@pytest.mark.parametrize("size", [0, 4096, 20480])
def test_a_truncated_mapped_database_is_an_error_and_no_crash(tmp_path: Path, size: int) -> None:
    async def made_large() -> None:
        async with a_store(tmp_path) as store:
            await store.ledger.append_drafts(
                [an_append("first", creation_entries(a_fact("first")))]
            )

    asyncio.run(made_large())
    ended, reported = cut_file(tmp_path, "canon.db", size, mapped_from=1)

    assert ended >= 0, reported
    assert (len(reported) >= 4, reported[0]) == (True, "201")


def test_a_writers_check_does_not_hide_truncation_from_readers(
    tmp_path: Path,
) -> None:
    path = tmp_path / "canon.db"
    path.write_bytes(bytes(8192))
    anchor = Anchor(path)
    anchor.mapped = True
    anchor.record_files()

    os.truncate(path, 4096)
    anchor.check_files()
    anchor.require_same_files()

    assert anchor.is_shorter()
    assert not anchor.is_shorter()


@pytest.mark.parametrize("durability", Durability)
@pytest.mark.parametrize("how", ["deleted", "moved", "replaced", "log deleted"])
async def test_a_write_into_a_deleted_folder_is_not_acknowledged(
    tmp_path: Path, durability: Durability, how: str
) -> None:
    folder = tmp_path / "data"
    async with a_store(folder, durability=durability) as store:
        await store.ledger.append_drafts([an_append("space", creation_entries(a_space()))])
        match how:
            case "deleted":
                shutil.rmtree(folder)
            case "moved":
                folder.rename(tmp_path / "elsewhere")
            case "replaced":
                folder.rename(tmp_path / "elsewhere")
                async with a_store(folder, prefix=7):
                    pass
            case _:
                (folder / "canon.db-wal").unlink()

        for n in range(2):
            with pytest.raises(Unavailable) as caught:
                await store.ledger.append_drafts(
                    [an_append(f"{n}", creation_entries(a_fact(f"fact {n}")))]
                )
            assert caught.value.code == "store.moved"
        with pytest.raises(Unavailable):
            async with store.ledger.lock_appends():
                pass

    if how == "moved":
        async with a_store(tmp_path / "elsewhere") as store:
            assert await store.ledger.head_position(MIDDLE_EARTH) == 1


@pytest.mark.parametrize("left", ["empty", "missing"])
@pytest.mark.parametrize("beside", ["files/u/0a/0a", "blobs/0a/0a", "canon.db-wal"])
async def test_an_emptied_database_is_no_new_store(tmp_path: Path, beside: str, left: str) -> None:
    record = tmp_path / beside
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_bytes(b"kept")
    if left == "empty":
        (tmp_path / "canon.db").touch()

    with pytest.raises(BrokenInvariant) as caught:
        async with a_store(tmp_path):
            pass

    assert caught.value.code == "store.emptied"
    assert "canonry restore" in caught.value.message
    assert record.read_bytes() == b"kept"


async def test_an_empty_database_alone_is_a_new_store(tmp_path: Path) -> None:
    (tmp_path / "canon.db").touch()
    (tmp_path / "blobs").mkdir()

    async with a_store(tmp_path) as store:
        await store.ledger.append_drafts([an_append("one", creation_entries(a_turn()))])
        assert len(await store.ledger.read_commits(MIDDLE_EARTH, after=ORIGIN, limit=5)) == 1
