"""Blobs in a folder: only whole files count, and a folder that refuses is reported."""

from pathlib import Path

import pytest

from canonry.stores.folder import FolderBlobs
from canonry.values.errors import Unavailable

pytestmark = pytest.mark.anyio


async def test_an_unfinished_file_is_no_blob(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path / "blobs")
    digest = await blobs.put_bytes(b"ring")
    (tmp_path / "blobs" / digest[:2] / ".new-half").write_bytes(b"ri")

    assert await blobs.list_digests(limit=10) == [digest]


async def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("a file")

    with pytest.raises(Unavailable) as caught:
        await FolderBlobs(tmp_path / "blobs").put_bytes(b"ring")

    assert caught.value.code == "blobs.io"


async def test_a_blob_has_its_storage_time(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path)
    digest = await blobs.put_bytes(b"ring")

    assert await blobs.stored_at(digest) == (tmp_path / digest[:2] / digest).stat().st_mtime
    assert await blobs.stored_at("0" * 64) is None
    assert await blobs.stored_at("no digest") is None
