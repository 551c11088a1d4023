"""Purging: no byte of a vector that was removed stays, in no file, for no process that has one."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import apsw
import numpy as np
import pytest

from canonry.readmodels.ports.text import Vector, VectorBatch
from canonry.recall.vectors import FolderVectors
from canonry.recall.vectors import rows as owner
from canonry.recall.vectors.rows import to_halves
from canonry.values.errors import Unavailable
from tests.adapters.vectors.entries import (
    MODEL,
    an_entry,
    make_entries,
    random_vector,
    search_memories,
    take_in,
    unit_vector,
)
from tests.adapters.vectors.test_index_files import another_owner

pytestmark = pytest.mark.anyio

SECRET = random_vector(77_777)
OTHER = replace(MODEL, version="0")


def vector_bytes(vector: Vector) -> tuple[bytes, bytes]:
    """A vector as the rows and as the published files hold it."""
    numbers = np.frombuffer(to_halves(vector), dtype="<f2")
    return to_halves(vector), numbers.astype("<f4").tobytes()


def files_with_vector(folder: Path, vector: Vector = SECRET) -> list[str]:
    """The files of the index that hold a trace of the vector."""
    files = [path for path in folder.iterdir() if path.is_file()]
    return [
        path.name
        for path in sorted(files)
        if any(trace in path.read_bytes() for trace in vector_bytes(vector))
    ]


async def test_removed_and_replaced_vectors_leave_every_file(tmp_path: Path) -> None:
    vectors = FolderVectors(tmp_path, waiting=4)
    neighbour = FolderVectors(tmp_path, waiting=4)
    everything = make_entries(400)
    everything[200] = an_entry("secret", SECRET)
    await take_in(vectors, everything)
    assert await vectors.compact_updates(MODEL)
    assert await search_memories(neighbour, SECRET, limit=1) == ["secret"]
    assert "recall-1-00000001.index" in files_with_vector(tmp_path)
    with (tmp_path / "recall-1-00000001.index").open("rb") as mapped_elsewhere:
        await take_in(vectors, [an_entry("e00007", random_vector(7_007))], removed=["secret"])

        await vectors.purge()

        assert not any(trace in mapped_elsewhere.read() for trace in vector_bytes(SECRET))
    assert files_with_vector(tmp_path) == []
    assert files_with_vector(tmp_path, random_vector(7)) == []
    assert len(files_with_vector(tmp_path, random_vector(8))) == 2
    assert "secret" not in await search_memories(neighbour, SECRET, limit=500)
    assert (await search_memories(neighbour, random_vector(8), limit=1)) == ["e00008"]
    await neighbour.close()
    await vectors.close()


async def test_the_vectors_of_every_model_are_purged(tmp_path: Path) -> None:
    vectors = FolderVectors(tmp_path, waiting=1)
    for model in (OTHER, MODEL):
        await take_in(
            vectors, [an_entry("secret", SECRET), *make_entries(3)], model=model, cursor="7"
        )
        assert await vectors.compact_updates(model)

    await vectors.remove(["secret"])
    await vectors.purge()

    assert files_with_vector(tmp_path) == []
    assert await vectors.cursors() == {OTHER: "7", MODEL: "7"}
    assert [status.count for status in await vectors.status()] == [3, 3]


async def test_the_last_vector_can_be_removed(tmp_path: Path) -> None:
    vectors = FolderVectors(tmp_path, waiting=0)
    await take_in(vectors, [an_entry("secret", SECRET)])
    assert await vectors.compact_updates(MODEL)

    await vectors.remove(["secret"])
    await vectors.purge()

    assert files_with_vector(tmp_path) == []
    assert await search_memories(vectors, SECRET) == []


async def test_a_dropped_model_takes_its_files_along(tmp_path: Path) -> None:
    vectors = FolderVectors(tmp_path, waiting=0)
    for model in (OTHER, MODEL):
        await take_in(vectors, [an_entry("secret", SECRET)], model=model)
        assert await vectors.compact_updates(model)

    await vectors.drop(OTHER)

    assert [path.name for path in tmp_path.glob("*.index")] == ["recall-2-00000001.index"]


async def test_purging_waits_for_a_publisher_and_reports_a_timeout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, "_TRIES", 2)
    vectors = FolderVectors(tmp_path)
    await take_in(vectors, [an_entry("secret", SECRET)], cursor="1")
    await vectors.remove(["secret"])

    with another_owner(tmp_path), pytest.raises(Unavailable) as caught:
        await vectors.purge()

    assert caught.value.code == "vectors.unfinished"
    await vectors.purge()
    assert files_with_vector(tmp_path) == []


@contextmanager
def keep_reading(path: Path) -> Iterator[None]:
    """Somebody whose question about the rows is under way."""
    db = apsw.Connection(str(path))
    db.execute("BEGIN")
    db.execute("SELECT count(*) FROM vectors").fetchone()
    yield
    db.close()


async def test_a_reader_that_blocks_purging_is_reported_and_a_retry_finishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("canonry.recall.vectors.rows._BUSY_MS", 50)
    vectors = FolderVectors(tmp_path)
    await take_in(vectors, [an_entry("secret", SECRET)])
    with keep_reading(tmp_path / "recall.db"):
        await vectors.remove(["secret"])
        with pytest.raises(Unavailable) as caught:
            await vectors.purge()
        assert await search_memories(vectors, SECRET) == []

    assert caught.value.code == "vectors.unfinished"
    await vectors.purge()
    assert files_with_vector(tmp_path) == []


async def test_leftovers_of_a_killed_process_are_purged(tmp_path: Path) -> None:
    vectors = FolderVectors(tmp_path, waiting=0)
    await take_in(vectors, make_entries(3))
    assert await vectors.compact_updates(MODEL)
    for name in ("recall-1-00000002.new", "recall-9-00000001.index"):
        (tmp_path / name).write_bytes(vector_bytes(SECRET)[1])

    await vectors.purge()

    assert files_with_vector(tmp_path) == []
    assert [path.name for path in tmp_path.glob("*.index")] == ["recall-1-00000001.index"]


async def test_purging_without_an_index_does_nothing(tmp_path: Path) -> None:
    await FolderVectors(tmp_path / "recall").purge()

    assert not (tmp_path / "recall").exists()


async def test_a_batch_after_another_cursor_is_refused(tmp_path: Path) -> None:
    vectors = FolderVectors(tmp_path)
    first = VectorBatch(model=MODEL, entries=make_entries(1), cursor="1", follows="")
    await vectors.apply(first)
    await vectors.apply(replace(first, cursor="2", follows="1"))

    for follows in ("", "1"):
        with pytest.raises(Unavailable) as caught:
            await vectors.apply(
                replace(first, entries=make_entries(5), cursor="3", follows=follows)
            )
        assert caught.value.code == "vectors.moved"

    assert await vectors.cursors() == {MODEL: "2"}
    assert len(await search_memories(vectors, unit_vector(1.0))) == 1


async def test_passages_about_an_entity_are_listed_by_page(tmp_path: Path) -> None:
    vectors = FolderVectors(tmp_path)
    frodo = [
        an_entry(name, unit_vector(1.0), part=part, entities=("frodo",))
        for name, part in (("b", 0), ("b", 1), ("a", 0), ("c", 0))
    ]
    await take_in(vectors, [*frodo, an_entry("d", unit_vector(1.0), entities=("sam",))])

    assert await vectors.passages_about(MODEL, "frodo", limit=2) == ["a", "b"]
    assert await vectors.passages_about(MODEL, "frodo", after="b", limit=2) == ["c"]
    assert await vectors.passages_about(OTHER, "frodo", limit=2) == []
