"""A store or a backup whose files hold what Canonry does not make: restore and doctor refuse it."""

import json
import shutil
from pathlib import Path

import apsw
import pytest

from tests.cli.run import run_canonry

FOREIGN = {
    "a trigger": "CREATE TRIGGER bite AFTER INSERT ON commits BEGIN DELETE FROM commits; END",
    "a trigger on views": "CREATE TRIGGER bite AFTER DELETE ON things BEGIN DELETE FROM parts; END",
    "a view": "CREATE VIEW seen AS SELECT * FROM commits",
    "a table": "CREATE TABLE other (x)",
    "an index": "CREATE INDEX other ON commits (hash)",
    "a computed index": "CREATE INDEX other ON commits (length(body) / 0)",
    "a missing index": "DROP INDEX parts_by_blob",
    "a column": "ALTER TABLE parts ADD COLUMN other TEXT",
    "a check": (
        "PRAGMA writable_schema = ON;"
        " UPDATE sqlite_schema SET sql = replace(sql, 'blob TEXT', 'blob TEXT CHECK (seq < 9)')"
        " WHERE name = 'parts'"
    ),
    "a renamed trigger": (
        "CREATE TRIGGER bite AFTER INSERT ON commits BEGIN DELETE FROM commits; END;"
        " PRAGMA writable_schema = ON;"
        " UPDATE sqlite_schema SET name = 'sqlite_stat1' WHERE name = 'bite'"
    ),
    "a trigger and views of another version": (
        "CREATE TRIGGER bite AFTER INSERT ON commits BEGIN DELETE FROM commits; END;"
        " UPDATE meta SET value = 3 WHERE name = 'views'"
    ),
}
"""The changes to the file, by their trace in its schema."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store, whose vectors are made, and a backup of it."""
    folder = tmp_path_factory.mktemp("made")
    turns = [{"speaker": "GM", "text": "The chest is open."}]
    session = folder / "session.json"
    session.write_text(json.dumps({"title": "Chest", "turns": turns}), encoding="utf-8")
    data = ("--data", str(folder / "data"))
    for words in (
        ("import", "transcript", str(session), "--universe", "Home", *data),
        ("rebuild", "--only", "vectors", *data),
        ("backup", str(folder / "backup"), *data),
    ):
        done = run_canonry(*words)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "copy")
    return tmp_path / "copy"


def run_in(file: Path, statements: str) -> None:
    db = apsw.Connection(str(file))
    db.execute(statements)
    db.close()


@pytest.mark.parametrize("what", FOREIGN)
def test_restore_refuses_a_backup_with_foreign_tables(copy: Path, what: str) -> None:
    run_in(copy / "backup" / "canon.db", FOREIGN[what])

    done = run_canonry("restore", str(copy / "backup"), "--data", str(copy / "restored"))

    assert done.returncode == 3, done.stdout
    assert "restore.damaged" in done.stderr or "store.corrupt" in done.stderr
    assert not (copy / "restored").exists()


@pytest.mark.parametrize("what", FOREIGN)
def test_the_doctor_reports_foreign_tables(copy: Path, what: str) -> None:
    data = copy / "data"
    run_in(data / "canon.db", FOREIGN[what])

    done = run_canonry("doctor", "--data", str(data), "--json")

    assert done.returncode == 1
    reported = json.loads(done.stdout)["wrong"]
    assert "canon.db" in str(reported) or "damaged" in str(reported)


@pytest.mark.parametrize("file", ["data", "backup"])
def test_the_vector_index_is_checked_as_well(copy: Path, file: str) -> None:
    vectors = copy / file / "recall" / "recall.db"
    if not vectors.exists():
        shutil.copytree(copy / "data" / "recall", copy / file / "recall")
    run_in(vectors, "CREATE TRIGGER bite AFTER INSERT ON vectors BEGIN DELETE FROM models; END")

    if file == "data":
        assert "recall.db" in run_canonry("doctor", "--data", str(copy / "data")).stdout
    else:
        done = run_canonry("restore", str(copy / "backup"), "--data", str(copy / "restored"))
        assert (done.returncode, "recall.db" in done.stderr) == (3, True)


def test_tables_of_any_canonry_version_are_accepted(copy: Path) -> None:
    for file in (copy / "backup" / "canon.db", copy / "data" / "canon.db"):
        run_in(file, "UPDATE meta SET value = 3 WHERE name = 'views'; CREATE TABLE old (x)")
    vectors = copy / "data" / "recall" / "recall.db"
    run_in(vectors, "ALTER TABLE vectors DROP COLUMN digest; PRAGMA user_version = 1")
    run_in(vectors, "ALTER TABLE vectors ADD COLUMN digest BLOB NOT NULL DEFAULT x''")
    run_in(vectors, "ANALYZE; PRAGMA user_version = 2")

    done = run_canonry("doctor", "--data", str(copy / "data"))
    assert "Canonry creates" not in done.stdout
    assert "created by Canonry" not in done.stdout
    assert run_canonry("verify", "--data", str(copy / "data")).returncode == 0
    restored = run_canonry("restore", str(copy / "backup"), "--data", str(copy / "restored"))
    assert restored.returncode == 0, restored.stderr
