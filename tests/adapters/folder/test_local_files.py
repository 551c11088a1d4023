"""Files named by path: only what lies below an allowed folder, by no link and no other way."""

import os
import threading
from pathlib import Path

import pytest

from canonry.stores.folder import FolderLocalFiles
from canonry.values.errors import InvalidInput, NotFound

pytestmark = pytest.mark.anyio


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An allowed folder, with a secret beside it and ways that would lead there."""
    root = tmp_path / "allowed"
    (root / "inner").mkdir(parents=True)
    (root / "bill.txt").write_bytes(b"words")
    (root / "inner" / "note.txt").write_bytes(b"more")
    (tmp_path / "secret.txt").write_bytes(b"secret")
    (tmp_path / "allowed-too").mkdir()
    (tmp_path / "allowed-too" / "other.txt").write_bytes(b"secret")
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    (root / "up").symlink_to(tmp_path)
    (root / "again.txt").symlink_to(root / "bill.txt")
    os.mkfifo(root / "pipe")
    return root


async def test_a_file_is_read_by_relative_or_absolute_path(root: Path) -> None:
    files = FolderLocalFiles([root])

    assert await files.read_file("bill.txt", most=5) == await files.read_file(
        str(root / "bill.txt"), most=5
    )
    inner = await files.read_file("inner/note.txt", most=5)
    assert (inner.name, inner.data) == ("note.txt", b"more")


async def test_a_folder_that_is_a_link_may_be_allowed(root: Path, tmp_path: Path) -> None:
    (tmp_path / "named").symlink_to(root)
    files = FolderLocalFiles([tmp_path / "named"])

    assert (await files.read_file("bill.txt", most=5)).data == b"words"
    assert (await files.read_file(str(tmp_path / "named" / "bill.txt"), most=5)).data == b"words"


@pytest.mark.parametrize(
    "path",
    [
        "link.txt",
        "again.txt",
        "up/secret.txt",
        "up/allowed/bill.txt",
        "../secret.txt",
        "inner/../../secret.txt",
        "inner/../bill.txt",
        "inner",
        ".",
        "pipe",
        "bill.txt/x",
        "missing.txt",
        "missing/bill.txt",
        "~/bill.txt",
        "file:bill.txt",
        "x" * 300,
    ],
)
async def test_no_other_path_reaches_a_file_and_all_errors_are_alike(root: Path, path: str) -> None:
    files = FolderLocalFiles([root])

    with pytest.raises(NotFound) as refused:
        await files.read_file(path, most=100)

    assert refused.value.code == "file.unknown"
    assert refused.value.details == {}
    assert refused.value.message == (
        "No such file exists below the folders in the setting truth.upload_roots. A relative path "
        "starts in the first of these folders."
    )


async def test_outside_paths_and_disallowed_folders_give_the_same_error(
    root: Path, tmp_path: Path
) -> None:
    asked = [
        (FolderLocalFiles([root]), str(tmp_path / "secret.txt")),
        (FolderLocalFiles([root]), str(tmp_path / "allowed-too" / "other.txt")),
        (FolderLocalFiles([root]), "/etc/passwd"),
        (FolderLocalFiles([root]), str(tmp_path / "missing.txt")),
        (FolderLocalFiles([]), str(root / "bill.txt")),
        (FolderLocalFiles([tmp_path / "absent"]), "bill.txt"),
    ]
    result = set()
    for files, path in asked:
        with pytest.raises(NotFound) as refused:
            await files.read_file(path, most=100)
        result.add((refused.value.code, refused.value.message))

    assert len(result) == 1


@pytest.mark.parametrize("path", ["", "a\0b", "x" * 5_000])
async def test_an_invalid_path_is_refused(root: Path, path: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        await FolderLocalFiles([root]).read_file(path, most=100)

    assert refused.value.code == "file.path"


async def test_a_file_of_the_largest_size_passes_and_one_more_byte_does_not(root: Path) -> None:
    files = FolderLocalFiles([root])

    assert (await files.read_file("bill.txt", most=5)).data == b"words"
    with pytest.raises(InvalidInput) as refused:
        await files.read_file("bill.txt", most=4)
    assert refused.value.code == "file.too-large"
    assert refused.value.details == {"file_size_bytes": 5, "max_size_bytes": 4}


async def test_a_link_that_replaces_a_folder_meanwhile_leads_nowhere(
    root: Path, tmp_path: Path
) -> None:
    """The folder is swapped for a link again and again while it is read."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "note.txt").write_bytes(b"secret")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            (root / "inner").rename(root / "kept")
            (root / "inner").symlink_to(tmp_path / "elsewhere")
            (root / "inner").unlink()
            (root / "kept").rename(root / "inner")

    swapping = threading.Thread(target=swap)
    swapping.start()
    seen = set()
    try:
        for _ in range(300):
            try:
                seen.add((await FolderLocalFiles([root]).read_file("inner/note.txt", most=99)).data)
            except NotFound:
                seen.add(b"")
    finally:
        stop.set()
        swapping.join()

    assert b"secret" not in seen
