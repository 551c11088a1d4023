"""The commands work on a store in MongoDB as on one in a folder."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import anyio
import pytest

from tests.cli.run import Done, run_canonry
from tests.conformance.mongodb_store import URL, drop_data, require_server

Run = Callable[..., Done]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    require_server()
    name = f"test_{uuid4().hex[:20]}"
    environment = {
        "CANONRY_MONGODB_URL": URL,
        "CANONRY_MONGODB_DATABASE": name,
        "CANONRY_DATA": str(tmp_path / "data"),
    }

    def call(*words: str, **more: str) -> Done:
        return run_canonry(*words, environment=environment | more)

    yield call
    anyio.run(drop_data, name)


def run_successfully(done: Done) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_store_is_moved_verified_rebuilt_backed_up_and_moved_back(
    run: Run, tmp_path: Path
) -> None:
    rules = tmp_path / "rules.md"
    rules.write_text("# Rest\n\nA night under the open sky heals nothing.\n")
    folder, back = str(tmp_path / "data"), str(tmp_path / "back")
    words = ("documents", str(rules), "--universe", "Home", "--source-type", "rulebook")
    assert run_canonry("import", *words, "--data", folder).returncode == 0
    exported = [tmp_path / f"{n}.jsonl" for n in range(3)]
    assert run_canonry("export", str(exported[0]), "--data", folder).returncode == 0

    result = run_successfully(run("move", "--from", "embedded", "--to", "polyglot"))
    again = run_successfully(run("move", "--from", "embedded", "--to", "polyglot"))
    run_successfully(run("verify"))
    assert "MongoDB" in run_successfully(run("doctor"))
    assert "rebuilt all views" in run_successfully(
        run("rebuild", CANONRY_DATA=str(tmp_path / "another"))
    )
    assert "backed up" in run_successfully(run("backup", str(tmp_path / "backup")))
    run_successfully(run("export", str(exported[1])))
    run_successfully(run("move", "--from", "polyglot", "--to", "embedded", CANONRY_DATA=back))
    assert run_canonry("export", str(exported[2]), "--data", back).returncode == 0

    assert "SHA-256" in result
    assert "moved 0 commits" in again
    assert len({path.read_bytes() for path in exported}) == 1
    heads = json.loads((tmp_path / "backup" / "manifest.json").read_bytes())["heads"]
    assert heads


@pytest.mark.parametrize(
    "url", ["mongodb://me:secret@127.0.0.1", "postgresql://127.0.0.1/canon", "127.0.0.1"]
)
def test_a_foreign_address_or_one_with_a_password_is_refused(url: str) -> None:
    done = run_canonry("verify", "--mongodb-url", url)

    assert done.returncode == 2
    assert "CANONRY_MONGODB_PASSWORD" in done.stderr
    assert "secret" not in done.stderr


def test_a_missing_server_is_reported_in_one_line(tmp_path: Path) -> None:
    done = run_canonry("verify", "--mongodb-url", "mongodb://127.0.0.1:1", "--data", str(tmp_path))

    assert done.returncode == 4
    assert "does not answer" in done.stderr
    assert "Traceback" not in done.stderr


def test_two_kinds_of_servers_at_once_are_refused() -> None:
    other = ("--postgres-url", "postgresql://canonry@127.0.0.1/canonry")
    done = run_canonry("verify", "--mongodb-url", "mongodb://127.0.0.1", *other)

    assert done.returncode == 2
    assert "exclude each other" in done.stderr


def test_a_store_on_servers_moves_to_a_folder_first() -> None:
    done = run_canonry("move", "--from", "postgres", "--to", "polyglot")

    assert done.returncode == 2
    assert "embedded first" in done.stderr
