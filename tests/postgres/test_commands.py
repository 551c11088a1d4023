"""The commands work on a store in a database as on one in a folder."""

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from tests.cli.run import Done, run_canonry
from tests.conformance.postgres_store import URL

Run = Callable[..., Done]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    if not URL:
        pytest.skip("no PostgreSQL server: `make servers` starts one")
    parts, schema = urlsplit(URL), f"test_{uuid4().hex[:20]}"
    url = f"postgresql://{parts.username}@{parts.hostname}:{parts.port}{parts.path}"
    environment = {
        "PGPASSWORD": parts.password or "",
        "CANONRY_POSTGRES_URL": url,
        "CANONRY_POSTGRES_SCHEMA": schema,
        "CANONRY_DATA": str(tmp_path / "data"),
    }

    def call(*words: str, **more: str) -> Done:
        return run_canonry(*words, environment={**environment, **more})

    yield call
    with psycopg.connect(URL, autocommit=True) as db:
        db.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))


def run_successfully(done: Done) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_database_store_is_filled_verified_backed_up_and_moved(run: Run, tmp_path: Path) -> None:
    rules = tmp_path / "rules.md"
    rules.write_text("# Rest\n\nA night under the open sky heals nothing.\n")
    run_successfully(
        run("import", "documents", str(rules), "--universe", "Home", "--source-type", "rulebook")
    )

    run_successfully(run("verify"))
    assert "engine" in run_successfully(run("doctor"))
    assert "rebuilt all views" in run_successfully(run("rebuild"))
    assert "backed up" in run_successfully(run("backup", str(tmp_path / "backup")))
    assert "moved" in run_successfully(run("move", "--from", "postgres", "--to", "embedded"))
    again = run_successfully(run("move", "--from", "postgres", "--to", "embedded"))
    assert "moved 0 commits" in again
    copied = tmp_path / "copy"
    assert run_canonry("restore", str(tmp_path / "backup"), "--data", str(copied)).returncode == 0
    exported = [tmp_path / "there.jsonl", tmp_path / "here.jsonl"]
    run_successfully(run("export", str(exported[0])))
    assert run_canonry("export", str(exported[1]), "--data", str(copied)).returncode == 0
    assert exported[0].read_bytes() == exported[1].read_bytes()


def test_a_requested_replica_exists_at_once(run: Run) -> None:
    done = run("verify", CANONRY_POSTGRES_COPY="true")
    run_successfully(done)
    assert "postgres.copy has no effect" in done.stderr

    refused = run("verify", CANONRY_POSTGRES_COPY="false")
    assert refused.returncode == 2
    assert "cannot be turned off" in refused.stderr


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:secret@127.0.0.1/canon",
        "postgresql://127.0.0.1/canon?password=secret",
        "mysql://127.0.0.1/canon",
        "127.0.0.1",
    ],
)
def test_a_foreign_address_or_one_with_a_password_is_refused(url: str) -> None:
    done = run_canonry("verify", "--postgres-url", url)

    assert done.returncode == 2
    assert "PGPASSWORD" in done.stderr
    assert "secret" not in done.stderr


def test_a_missing_server_is_reported_in_one_line() -> None:
    done = run_canonry("verify", "--postgres-url", "postgresql://nobody@127.0.0.1:1/canon")

    assert done.returncode == 4
    assert "does not answer" in done.stderr
    assert "Traceback" not in done.stderr


def test_moving_a_store_to_its_own_place_is_refused() -> None:
    done = run_canonry("move", "--from", "embedded", "--to", "embedded")

    assert done.returncode == 2
