"""Commands on a store with files: they look at the files too, copy them, and erase them."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from canonry.app.embedded import open_embedded
from canonry.records.usecases.files import filing_of
from tests.cli.run import Done, run_canonry
from tests.usecases.test_check_files import age_file, path_of
from tests.usecases.test_forget_files import ADA, SECRET, bytes_below, keep_file


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A store in which a user has a file, and the id of its source."""
    folder = tmp_path_factory.mktemp("truth") / "data"

    async def keep() -> str:
        store = await open_embedded(folder)
        try:
            return (await keep_file(store.canon, ADA, SECRET)).id
        finally:
            await store.close()

    return folder, asyncio.run(keep())


@pytest.fixture
def data(made: tuple[Path, str], tmp_path: Path) -> Path:
    """A copy to change."""
    shutil.copytree(made[0], tmp_path / "data")
    return tmp_path / "data"


def run_on(data: Path, *words: str) -> Done:
    return run_canonry(*words, "--data", str(data))


def parse_output(done: Done) -> Any:
    return json.loads(done.stdout)


def test_a_missing_file_is_found_by_doctor_and_verify(data: Path) -> None:
    assert run_on(data, "verify").returncode == 0
    assert parse_output(run_on(data, "doctor", "--json"))["store"]["files"] == 1
    path_of(data, ADA, SECRET).unlink()
    seen = run_on(data, "verify", "--json")
    assert seen.returncode == 1
    (finding,) = parse_output(seen)["findings"]
    assert finding["what"].startswith("its bytes are missing")
    doctor = run_on(data, "doctor", "--json")
    assert doctor.returncode == 1
    assert "its bytes are missing" in parse_output(doctor)["wrong"][0]["what"]


def test_an_altered_file_is_found_by_verify(data: Path) -> None:
    path_of(data, ADA, SECRET).write_bytes(b"Other words altogether.")
    seen = run_on(data, "verify", "--json")
    assert seen.returncode == 1
    assert parse_output(seen)["findings"][0]["what"].startswith("its bytes were altered")


def test_a_rebuild_deletes_only_unreferenced_files(data: Path) -> None:
    async def leave() -> None:
        store = await open_embedded(data)
        await filing_of(store.canon).blobs_of(ADA).put_bytes(b"left behind")
        await store.close()

    asyncio.run(leave())
    age_file(path_of(data, ADA, b"left behind"), 2)
    hints = [each["what"] for each in parse_output(run_on(data, "doctor", "--json"))["hints"]]
    assert any("belong to no source" in each for each in hints)
    assert "deleted 1 unreferenced files" in run_on(data, "rebuild").stdout
    assert bytes_below(data, ADA) == {SECRET}
    assert run_on(data, "verify").returncode == 0


def test_a_backup_restores_the_files(data: Path, tmp_path: Path) -> None:
    assert run_on(data, "backup", str(tmp_path / "backup")).returncode == 0
    restored = tmp_path / "restored"
    assert run_on(restored, "restore", str(tmp_path / "backup")).returncode == 0
    assert bytes_below(restored, ADA) == {SECRET}
    assert run_on(restored, "verify").returncode == 0


@pytest.fixture
def exported(data: Path, tmp_path: Path) -> tuple[Path, Path]:
    """The log of the store, and a folder with its files."""
    log, files = tmp_path / "log.jsonl", tmp_path / "files-of-log"
    done = run_on(data, "export", str(log), "--files", str(files))
    assert done.returncode == 0, done.stderr
    assert "copied 1 files" in done.stderr
    return log, files


def test_a_log_names_files_and_neighbouring_files_are_imported(
    exported: tuple[Path, Path], tmp_path: Path
) -> None:
    log, files = map(str, exported)
    copy = tmp_path / "copy"
    assert run_on(copy, "import", "log", log).returncode == 0
    assert run_on(copy, "verify").returncode == 1, "a log alone holds no files"

    first = run_on(copy, "import", "log", log, "--files", files)
    again = run_on(copy, "import", "log", log, "--files", files)

    assert "imported 1 files; 0 were there already" in first.stdout
    assert "imported 0 files; 1 were there already" in again.stdout
    assert bytes_below(copy, ADA) == {SECRET}
    assert run_on(copy, "verify").returncode == 0


def test_an_altered_file_is_refused_before_anything_is_written(
    exported: tuple[Path, Path], tmp_path: Path
) -> None:
    log, files = exported
    (one,) = (each for each in files.rglob("*") if each.is_file())
    one.write_bytes(b"Other words.")
    copy = tmp_path / "copy"

    done = run_on(copy, "import", "log", str(log), "--files", str(files))

    assert done.returncode not in {0, 1}
    assert one.name in done.stderr
    assert not copy.exists()


def test_a_missing_file_is_reported_and_may_be_imported_later(
    exported: tuple[Path, Path], data: Path, tmp_path: Path
) -> None:
    log, files = exported
    (one,) = (each for each in files.rglob("*") if each.is_file())
    one.unlink()
    copy = tmp_path / "copy"

    done = run_on(copy, "import", "log", str(log), "--files", str(files))

    assert done.returncode == 1
    assert "1 files are missing" in done.stderr
    assert run_on(copy, "import", "log", str(log), "--files", str(data / "files")).returncode == 0
    assert run_on(copy, "verify").returncode == 0


def test_an_erased_file_stays_erased_even_if_its_bytes_remain(
    exported: tuple[Path, Path], data: Path, made: tuple[Path, str], tmp_path: Path
) -> None:
    old_log, old_files = exported
    assert run_on(data, "erase", "--source", made[1], "--yes").returncode == 0
    log, files = tmp_path / "new.jsonl", tmp_path / "new-files"
    assert run_on(data, "export", str(log), "--files", str(files)).returncode == 0
    assert not [each for each in files.rglob("*") if each.is_file()]

    copy = tmp_path / "copy"
    for target, given in ((copy, log), (data, old_log)):
        done = run_on(target, "import", "log", str(given), "--files", str(old_files))
        assert done.returncode == 0, done.stderr
        assert "left out 1 files" in done.stdout
        assert bytes_below(target, ADA) == set()


def test_files_are_exported_only_into_an_empty_folder(
    exported: tuple[Path, Path], data: Path, tmp_path: Path
) -> None:
    done = run_on(data, "export", str(tmp_path / "x.jsonl"), "--files", str(exported[1]))

    assert done.returncode == 2
    assert "is not empty" in done.stderr
    assert not (tmp_path / "x.jsonl").exists()


def test_an_erased_source_takes_its_file_along(data: Path, made: tuple[Path, str]) -> None:
    done = run_on(data, "erase", "--source", made[1], "--yes")
    assert done.returncode == 0, done.stderr
    assert bytes_below(data, ADA) == set()
    assert run_on(data, "verify").returncode == 0
