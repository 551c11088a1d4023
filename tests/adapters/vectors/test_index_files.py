"""Keeping the index: processes share it, and what is damaged is told, dropped and made again."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import apsw
import pytest

from canonry.recall.vectors import FolderVectors
from canonry.values.errors import BrokenInvariant, Unavailable
from tests.adapters.vectors.entries import (
    ELSEWHERE,
    MODEL,
    an_entry,
    as_stored,
    find_exactly,
    make_entries,
    random_vector,
    search_memories,
    take_in,
    unit_vector,
)

pytestmark = pytest.mark.anyio

LOCKER = """
import sys
from pathlib import Path
from canonry.recall.vectors.rows import try_owning
with try_owning(Path(sys.argv[1])) as owned:
    print(owned, flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_owner(folder: Path) -> Iterator[None]:
    """Another process that holds the owner's lock, and is killed in the end."""
    command = (sys.executable, "-c", LOCKER, str(folder / "recall.lock"))
    known = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=known) as other:
        assert other.stdout is not None
        assert other.stdout.readline().strip() == b"True"
        yield
        other.kill()


def list_versions(folder: Path) -> list[str]:
    """The files beside the rows."""
    return sorted(path.name for path in folder.glob("recall-*"))


async def test_a_second_process_finds_rows_written_and_published_by_the_first(
    tmp_path: Path,
) -> None:
    one, two = FolderVectors(tmp_path, waiting=2), FolderVectors(tmp_path, waiting=2)
    await take_in(one, [an_entry("a", unit_vector(1.0))])
    assert await search_memories(two, unit_vector(1.0)) == ["a"]

    await take_in(two, [an_entry("b", unit_vector(1.0, 0.1)), an_entry("c", unit_vector(1.0, 0.2))])
    assert await one.compact_updates(MODEL)
    await take_in(one, [an_entry("d", unit_vector(1.0, 0.3))], removed=["a"])

    assert await search_memories(two, unit_vector(1.0)) == ["b", "c", "d"]
    assert [status.waiting for status in await two.status()] == [1]
    await one.close()
    assert await search_memories(one, unit_vector(1.0)) == ["b", "c", "d"]


async def test_publishing_waits_until_it_pays_and_leaves_one_version(tmp_path: Path) -> None:
    vectors = FolderVectors(tmp_path, waiting=10)
    await take_in(vectors, make_entries(10))
    assert not await vectors.compact_updates(MODEL)
    await take_in(vectors, make_entries(10, first=10))
    assert await vectors.compact_updates(MODEL)
    assert not await vectors.compact_updates(MODEL)
    await take_in(vectors, make_entries(11, first=20))
    assert await vectors.compact_updates(MODEL)

    assert list_versions(tmp_path) == ["recall-1-00000002.index"]
    assert [(s.count, s.waiting) for s in await vectors.status()] == [(31, 0)]


async def test_removing_many_rows_publishes_again(tmp_path: Path) -> None:
    vectors = FolderVectors(tmp_path, waiting=4)
    await take_in(vectors, make_entries(10))
    assert await vectors.compact_updates(MODEL)

    await take_in(vectors, removed=[f"e{i:05}" for i in range(6)])

    assert await vectors.compact_updates(MODEL)
    assert await search_memories(vectors, unit_vector(1.0), limit=99) != []


async def test_only_the_owning_process_publishes(tmp_path: Path) -> None:
    vectors = FolderVectors(tmp_path, waiting=2)
    await take_in(vectors, make_entries(9))
    with another_owner(tmp_path):
        assert not await vectors.compact_updates(MODEL)
        assert len(await search_memories(vectors, unit_vector(1.0))) == 9

    assert await vectors.compact_updates(MODEL)


async def test_a_half_written_version_is_never_read(tmp_path: Path) -> None:
    vectors = FolderVectors(tmp_path, waiting=2)
    await take_in(vectors, make_entries(9))
    (tmp_path / "recall-1-00000001.new").write_bytes(b"half")

    assert await vectors.compact_updates(MODEL)
    assert list_versions(tmp_path) == ["recall-1-00000001.index"]


@pytest.mark.parametrize("harm", ["flip", "cut", "empty", "foreign"])
async def test_a_damaged_version_is_ignored_and_replaced(tmp_path: Path, harm: str) -> None:
    vectors = FolderVectors(tmp_path, waiting=2)
    await take_in(vectors, make_entries(50))
    assert await vectors.compact_updates(MODEL)
    wanted = await search_memories(vectors, unit_vector(1.0))
    await vectors.close()
    path = tmp_path / "recall-1-00000001.index"
    whole = path.read_bytes()
    path.unlink()
    flipped = whole[:70] + bytes([whole[70] ^ 1]) + whole[71:]
    harmed = {"flip": flipped, "cut": whole[:-9], "empty": b"", "foreign": b"x" * 999}
    path.write_bytes(harmed[harm])

    assert await search_memories(vectors, unit_vector(1.0)) == wanted
    assert await vectors.compact_updates(MODEL)
    assert await search_memories(vectors, unit_vector(1.0)) == wanted
    assert [status.waiting for status in await vectors.status()] == [0]


async def test_a_clustered_index_opens_and_is_replaced(tmp_path: Path) -> None:
    with ZipFile(Path(__file__).with_name("former.zip")) as former:
        former.extractall(tmp_path)
    assert list_versions(tmp_path) == ["recall-1-00000002.index"]
    vectors = FolderVectors(tmp_path)
    entries = [entry for entry in make_entries(43) if entry.id != "e00003"]
    everything = [*entries, *make_entries(5, first=100, space=ELSEWHERE)]
    wanted = find_exactly([as_stored(entry) for entry in everything], random_vector(9), 99)

    for published in (False, True):
        assert await search_memories(vectors, random_vector(9), limit=99) == wanted
        assert [(s.count, s.cursor) for s in await vectors.status()] == [(47, "8")]
        assert await vectors.compact_updates(MODEL) is not published

    assert list_versions(tmp_path) == ["recall-1-00000003.index"]
    assert [status.waiting for status in await vectors.status()] == [0]
    await vectors.close()


async def test_a_version_of_other_rows_is_not_used(tmp_path: Path) -> None:
    vectors = FolderVectors(tmp_path, waiting=2)
    await take_in(vectors, make_entries(9))
    assert await vectors.compact_updates(MODEL)
    await vectors.close()
    for path in tmp_path.glob("recall.db*"):
        path.unlink()

    await take_in(vectors, [an_entry("only", unit_vector(1.0))])

    assert await search_memories(vectors, unit_vector(1.0)) == ["only"]


@pytest.mark.parametrize("harm", [b"not a database " * 300, None])
async def test_unreadable_rows_are_reported_and_dropped(tmp_path: Path, harm: bytes | None) -> None:
    vectors = FolderVectors(tmp_path)
    await take_in(vectors, make_entries(9))
    await vectors.close()
    path = tmp_path / "recall.db"
    if harm is not None:
        path.write_bytes(harm)
    else:  # the version of the schema is one that nobody knows
        whole = bytearray(path.read_bytes())
        whole[60:64] = (99).to_bytes(4, "big")
        path.write_bytes(whole)

    for _ in range(2):
        with pytest.raises(Unavailable) as caught:
            await search_memories(vectors, unit_vector(1.0))
        assert caught.value.code == "vectors.corrupt"
        with pytest.raises(Unavailable):
            await take_in(vectors, make_entries(1))

    await vectors.drop()
    assert await vectors.status() == []
    await take_in(vectors, [an_entry("new", unit_vector(1.0))])
    assert await search_memories(vectors, unit_vector(1.0)) == ["new"]


async def test_a_reader_of_a_dropped_file_continues_with_the_new_one(
    tmp_path: Path,
) -> None:
    one, two = FolderVectors(tmp_path), FolderVectors(tmp_path)
    await take_in(one, [an_entry("old", unit_vector(1.0))])
    assert await search_memories(two, unit_vector(1.0)) == ["old"]

    await one.drop()
    await take_in(two, [an_entry("new", unit_vector(1.0))])

    assert await search_memories(one, unit_vector(1.0)) == ["new"]


async def test_a_folder_that_cannot_be_made_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    vectors = FolderVectors(tmp_path / "file")

    for asked in (
        search_memories(vectors, unit_vector(1.0)),
        vectors.compact_updates(MODEL),
        vectors.status(),
    ):
        with pytest.raises(Unavailable) as caught:
            await asked
        assert caught.value.code == "vectors.unavailable"


async def test_a_vector_of_another_size_is_refused(tmp_path: Path) -> None:
    vectors = FolderVectors(tmp_path)

    with pytest.raises(BrokenInvariant, match="wrong-size"):
        await take_in(vectors, [an_entry("a", unit_vector(1.0)), an_entry("b", b"1234")])

    assert await vectors.status() == []
    assert await search_memories(vectors, b"1234") == []


async def test_searching_continues_while_others_write_and_publish(tmp_path: Path) -> None:
    vectors = FolderVectors(tmp_path, waiting=20)
    await take_in(vectors, [an_entry("first", unit_vector(1.0))])

    async def write() -> None:
        for start in range(0, 400, 40):
            await take_in(vectors, make_entries(40, first=start))
            await vectors.compact_updates(MODEL)

    async def look() -> None:
        for _ in range(40):
            assert (await search_memories(vectors, unit_vector(1.0), limit=1)) == ["first"]

    await asyncio.gather(write(), look(), look())
    assert [status.count for status in await vectors.status()] == [401]


async def test_a_file_of_the_previous_version_is_taken_over(tmp_path: Path) -> None:
    old = FolderVectors(tmp_path)
    await take_in(old, [an_entry("a", unit_vector(1.0))])
    await old.close()
    db = apsw.Connection(str(tmp_path / "recall.db"))
    db.execute("ALTER TABLE vectors DROP COLUMN digest; PRAGMA user_version = 1")
    db.close()

    vectors = FolderVectors(tmp_path)
    assert await search_memories(vectors, unit_vector(1.0)) == ["a"]
    assert await vectors.vector_digests(MODEL, ["a", "b"]) == {"a": (b"",)}
    again = [
        replace(an_entry("a", unit_vector(1.0), part=part), digest=bytes([part])) for part in (1, 0)
    ]
    await take_in(vectors, again)
    assert await vectors.vector_digests(MODEL, ["a"]) == {"a": (b"\0", b"\1")}
    await vectors.close()


async def test_an_incomplete_schema_is_not_created(tmp_path: Path) -> None:
    refused: list[str | None] = []

    def refuse_one(
        action: int, name: str | None, _other: str | None, _db: str | None, _by: str | None
    ) -> int:
        if action == apsw.SQLITE_CREATE_TABLE and name == "vectors" and not refused:
            refused.append(name)
            return apsw.SQLITE_DENY
        return apsw.SQLITE_OK

    def watch(db: apsw.Connection) -> None:
        db.authorizer = refuse_one

    vectors = FolderVectors(tmp_path)
    apsw.connection_hooks.append(watch)
    try:
        with pytest.raises(Unavailable):
            await take_in(vectors, [an_entry("a", unit_vector(1.0))])
    finally:
        apsw.connection_hooks.remove(watch)
    assert refused == ["vectors"]

    await take_in(vectors, [an_entry("a", unit_vector(1.0))])

    assert await search_memories(vectors, unit_vector(1.0)) == ["a"]
    await vectors.close()


CUT = """
import asyncio, os, sys
from pathlib import Path
from canonry.recall.vectors import FolderVectors
from tests.adapters.vectors.entries import MODEL, make_entries, random_vector
from tests.adapters.vectors.entries import search_memories, take_in

async def main():
    folder = Path(sys.argv[1])
    vectors = FolderVectors(folder, waiting=2)
    await take_in(vectors, make_entries(500))
    assert await vectors.compact_updates(MODEL)
    before = await search_memories(vectors, random_vector(1))
    for path in folder.glob(sys.argv[2]):
        os.truncate(path, 0)
    print(await search_memories(vectors, random_vector(1)) == before)
    await take_in(vectors, make_entries(3, first=900))
    print(await search_memories(vectors, random_vector(901), limit=1))
    await vectors.close()

asyncio.run(main())
"""


@pytest.mark.skipif(os.name != "posix", reason="elsewhere nobody can cut what is mapped")
@pytest.mark.parametrize("name", ["recall.db-shm", "recall-*.index"])
def test_a_truncated_index_crashes_no_process(tmp_path: Path, name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CUT, str(tmp_path), name],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["src", *sys.path])},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )

    assert (done.returncode, done.stdout.splitlines()) == (0, ["True", "['e00901']"]), done.stderr


async def test_damaged_pages_are_noticed_when_the_whole_file_is_read(
    tmp_path: Path,
) -> None:
    vectors = FolderVectors(tmp_path)
    await take_in(vectors, make_entries(500))
    await vectors.check_rows()
    await vectors.close()
    path = tmp_path / "recall.db"
    whole = path.read_bytes()
    middle = len(whole) // 2 // 4096 * 4096
    path.write_bytes(whole[:middle] + b"\xff" * 4096 + whole[middle + 4096 :])

    with pytest.raises(Unavailable) as caught:
        await vectors.check_rows()

    assert caught.value.code == "vectors.corrupt"
