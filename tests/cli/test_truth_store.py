"""Commands on a store with files: they look at the files too, copy them, and erase them."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from canonry.bootstrap.embedded import open_embedded
from tests.cli.run import Done, canonry
from tests.usecases.test_check_files import aged, path_of
from tests.usecases.test_forget_files import ADA, SECRET, bytes_below, kept


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A store in which a user has a file, and the id of its source."""
    folder = tmp_path_factory.mktemp("truth") / "data"

    async def keep() -> str:
        store = await open_embedded(folder)
        try:
            return (await kept(store.canon, ADA, SECRET)).id
        finally:
            await store.close()

    return folder, asyncio.run(keep())


@pytest.fixture
def data(made: tuple[Path, str], tmp_path: Path) -> Path:
    """A copy to change."""
    shutil.copytree(made[0], tmp_path / "data")
    return tmp_path / "data"


def on(data: Path, *words: str) -> Done:
    return canonry(*words, "--data", str(data))


def told(done: Done) -> Any:
    return json.loads(done.stdout)


def test_a_missing_file_is_found_by_doctor_and_verify(data: Path) -> None:
    assert on(data, "verify").returncode == 0
    assert told(on(data, "doctor", "--json"))["store"]["files"] == 1
    path_of(data, ADA, SECRET).unlink()
    seen = on(data, "verify", "--json")
    assert seen.returncode == 1
    (finding,) = told(seen)["findings"]
    assert finding["what"].startswith("its bytes are missing")
    doctor = on(data, "doctor", "--json")
    assert doctor.returncode == 1
    assert "its bytes are missing" in told(doctor)["wrong"][0]["what"]


def test_an_altered_file_is_found_by_verify(data: Path) -> None:
    path_of(data, ADA, SECRET).write_bytes(b"Other words altogether.")
    seen = on(data, "verify", "--json")
    assert seen.returncode == 1
    assert told(seen)["findings"][0]["what"].startswith("its bytes were altered")


def test_a_rebuild_deletes_what_nobody_names_and_nothing_else(data: Path) -> None:
    async def leave() -> None:
        store = await open_embedded(data)
        assert store.canon.filing is not None
        await store.canon.filing.blobs_of(ADA).put(b"left behind")
        await store.close()

    asyncio.run(leave())
    aged(path_of(data, ADA, b"left behind"), 2)
    hints = [each["what"] for each in told(on(data, "doctor", "--json"))["hints"]]
    assert any("no source names" in each for each in hints)
    assert "deleted 1 files" in on(data, "rebuild").stdout
    assert bytes_below(data, ADA) == {SECRET}
    assert on(data, "verify").returncode == 0


def test_a_backup_brings_the_files_back_and_a_log_does_not_hold_them(
    data: Path, tmp_path: Path
) -> None:
    assert on(data, "backup", str(tmp_path / "backup")).returncode == 0
    restored = tmp_path / "restored"
    assert on(restored, "restore", str(tmp_path / "backup")).returncode == 0
    assert bytes_below(restored, ADA) == {SECRET}
    assert on(restored, "verify").returncode == 0

    assert on(data, "export", str(tmp_path / "log.jsonl")).returncode == 0
    copy = tmp_path / "copy"
    assert on(copy, "import", "log", str(tmp_path / "log.jsonl")).returncode == 0
    assert on(copy, "verify").returncode == 1, "the files have to be copied beside it"
    shutil.copytree(data / "files", copy / "files")
    assert on(copy, "verify").returncode == 0


def test_an_erased_source_takes_its_file_along(data: Path, made: tuple[Path, str]) -> None:
    done = on(data, "erase", "--source", made[1], "--yes")
    assert done.returncode == 0, done.stderr
    assert bytes_below(data, ADA) == set()
    assert on(data, "verify").returncode == 0
