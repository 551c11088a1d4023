"""The rows of the index: what processes share in memory is mended, and never while it grows."""

import os
from contextlib import suppress
from pathlib import Path

import pytest

from canonry.recall.vectors.rows import VectorRows


def open_rows(tmp_path: Path) -> tuple[VectorRows, Path]:
    """Rows with a free connection, which have seen their shared memory."""
    rows = VectorRows(tmp_path / "rows.db")
    for _time in range(2):
        with rows.write_transaction() as db:
            db.execute("CREATE TABLE IF NOT EXISTS told (text)")
    return rows, tmp_path / "rows.db-shm"


def test_shared_memory_that_grows_during_a_read_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, shared = open_rows(tmp_path)
    look, grown = Path.stat, list[int]()

    def outrun(self: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        """Return the status of a file, read after it has grown and a thread has seen it."""
        found = look(self, follow_symlinks=follow_symlinks)
        if self == shared and not grown:
            grown.append(found.st_size * 2)
            shared.write_bytes(b"x" * grown[0])
            with suppress(OSError), rows.read_transaction():
                pass
        return found

    monkeypatch.setattr(Path, "stat", outrun)
    with rows.read_transaction():
        pass

    assert shared.read_bytes()[-8:] == b"x" * 8


def test_truncated_shared_memory_is_extended_again(tmp_path: Path) -> None:
    rows, shared = open_rows(tmp_path)
    whole = shared.stat().st_size
    os.truncate(shared, 100)

    with rows.read_transaction() as db:
        assert db.execute("SELECT count(*) FROM told").fetchone() == (0,)

    assert shared.stat().st_size == whole
    rows.close()
