"""The anchor tells an index that was cut from one that grew while it was looked at."""

import os
from pathlib import Path

import pytest

from canonry.stores.sqlite import connections as anchor
from canonry.stores.sqlite.connections import Anchor

BLOCK = 32_768
"""SQLite gives the shared index as many bytes more whenever the log has outgrown it."""


def make_anchor(folder: Path) -> tuple[Anchor, Path]:
    """An anchor that has seen an index of two blocks."""
    index = folder / "canon.db-shm"
    (folder / "canon.db").write_bytes(b"")
    index.write_bytes(b"x" * 2 * BLOCK)
    found = Anchor(folder / "canon.db")
    found.record_files()
    return found, index


def test_an_index_that_grows_during_a_read_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, index = make_anchor(tmp_path)
    looking = [index]

    def outrun(path: str) -> os.stat_result:
        """Return the status of a file, read after the index has grown and a thread has seen it."""
        found = Path(path).stat()
        if path == str(index) and looking:
            looking.clear()
            index.write_bytes(b"x" * 3 * BLOCK)
            one.check_files()
        return found

    monkeypatch.setattr(anchor, "_stat", outrun)
    one.check_files()

    assert index.read_bytes() == b"x" * 3 * BLOCK
    assert one.index_repairs == 0


def test_a_truncated_index_is_extended_again_once(tmp_path: Path) -> None:
    one, index = make_anchor(tmp_path)
    os.truncate(index, 100)

    one.check_files()
    one.check_files()

    assert index.read_bytes() == bytes(2 * BLOCK)
    assert one.index_repairs == 1
