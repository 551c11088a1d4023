"""`canonry move`, killed with -9 between pages: run again it goes on, and both export the same."""

import os
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import anyio
import pytest

from canonry.app.embedded import open_embedded
from canonry.stores.sqlite import Durability
from canonry.testing.clocks import Scribe
from canonry.testing.example_items import MIDDLE_EARTH, a_fact, creation_entries
from tests.cli.run import SOURCE, run_canonry
from tests.conformance import mongodb_store, postgres_store

PAGES = {"postgres": 6, "polyglot": 4}
"""Pages that a store has; the server of the second kind takes long for each."""

PAGE = 40
"""Commits of a page, fewer than elsewhere."""

KILLS = {"postgres": 2, "polyglot": 1}
MOVER = """
import sys
from contextlib import contextmanager
import canonry.canon.maintenance.log_transfer as log
from canonry.cli import main, options

@contextmanager
def told(what):
    yield lambda done, total: print(what, done, flush=True)

options.show_progress, log.BATCH = told, int(sys.argv[1])
main(["move", *sys.argv[2:]])
"""
"""The command, which says after each page how far it is."""


def commits_of(kind: str) -> int:
    """So many a store has that is moved to a server of this kind and back."""
    return PAGES[kind] * PAGE - 7


async def fill_folder(folder: Path, commits: int) -> None:
    async with await open_embedded(folder, durability=Durability.NORMAL) as store:
        scribe = Scribe(store.canon)
        for start in range(0, commits, 100):
            names = [f"fact {n}" for n in range(start, min(start + 100, commits))]
            await scribe.append_batch(
                [
                    scribe.next_append(creation_entries(a_fact(name)), judged_at=start)
                    for name in names
                ]
            )
        assert await store.canon.ledger.head_position(MIDDLE_EARTH) == commits


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Mapping[str, str]]:
    """Yield the settings of a store on an unused server of this kind."""
    name = f"test_{uuid4().hex[:20]}"
    if request.param == "polyglot":
        mongodb_store.require_server()
        yield {"CANONRY_MONGODB_URL": mongodb_store.URL, "CANONRY_MONGODB_DATABASE": name}
        anyio.run(mongodb_store.drop_data, name)
        return
    if not postgres_store.URL:
        pytest.skip("no PostgreSQL server: `make servers` starts one")
    parts = urlsplit(postgres_store.URL)
    yield {
        "PGPASSWORD": parts.password or "",
        "CANONRY_POSTGRES_URL": (
            f"postgresql://{parts.username}@{parts.hostname}:{parts.port}{parts.path}"
        ),
        "CANONRY_POSTGRES_SCHEMA": name,
    }
    anyio.run(postgres_store.drop_data, name)


def killed_after(pages: int, words: list[str], environment: Mapping[str, str]) -> int:
    """Run the command until it has told of so many pages; the commits that it told of."""
    mover = subprocess.Popen(
        [sys.executable, "-c", MOVER, str(PAGE), *words],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(SOURCE), **environment},
        text=True,
    )
    assert mover.stdout is not None
    found = [mover.stdout.readline() for _ in range(pages)]
    mover.kill()
    mover.communicate()
    assert mover.returncode < 0, "it was killed too late"
    assert found[-1].startswith("moving"), found
    return int(found[-1].split()[1])


def moved_in_spite_of_kills(source: str, target: str, environment: Mapping[str, str]) -> None:
    """Killed at pages by lot, then run to the end: what was moved is not moved again."""
    lots, words = random.Random(f"{source} {target}"), ["--from", source, "--to", target]
    kind, reached = source if target == "embedded" else target, 0
    for _ in range(KILLS[kind]):
        pages = lots.randint(1, PAGES[kind] // 2)
        reached = max(reached, killed_after(pages, words, environment))

    done = run_canonry("move", *words, environment=environment)

    assert done.returncode == 0, done.stderr
    moved, known = (int(each.split()[0]) for each in (done.stdout[6:], done.stdout.split("; ")[1]))
    assert moved + known == commits_of(kind)
    assert known >= reached > 0


def export_store(path: Path, environment: Mapping[str, str]) -> bytes:
    done = run_canonry("export", str(path), environment=environment)
    assert done.returncode == 0, done.stderr
    return path.read_bytes()


@pytest.mark.parametrize(
    ("kind", "server"), [("postgres",) * 2, ("polyglot",) * 2], indirect=["server"]
)
def test_a_killed_mover_continues_in_both_directions(
    kind: str, server: Mapping[str, str], tmp_path: Path
) -> None:
    here, back = ({"CANONRY_DATA": str(tmp_path / name)} for name in ("here", "back"))
    anyio.run(fill_folder, tmp_path / "here", commits_of(kind))
    before = export_store(tmp_path / "before.jsonl", here)

    moved_in_spite_of_kills("embedded", kind, {**server, **here})
    there = export_store(tmp_path / "there.jsonl", {**server, "CANONRY_DATA": str(tmp_path / "x")})
    moved_in_spite_of_kills(kind, "embedded", {**server, **back})

    assert there == before
    assert export_store(tmp_path / "after.jsonl", back) == before
    assert run_canonry("verify", environment=back).returncode == 0
