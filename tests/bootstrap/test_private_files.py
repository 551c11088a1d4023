"""A program that opens a store writes files that other users cannot read."""

import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from canonry.app.doctor import restore_backup
from canonry.app.embedded import open_embedded
from canonry.app.settings import Settings
from canonry.canon.ports.files import FileHint
from canonry.canon.session.lookup import Account
from canonry.log.items.sources import account_space
from canonry.records.usecases.files import GivenFile
from canonry.records.usecases.ingest_file import ingest_file
from canonry.testing.clocks import a_caller
from canonry.values.provenance import Actor
from tests.usecases.recall_scenario import a_scenario, index_all

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(os.name != "posix", reason="rights of POSIX"),
]

USER = "00000000-0000-0000-0000-0000000000ad"


@pytest.fixture(autouse=True)
def usual_mask() -> Iterator[None]:
    """Set the mask that the shell of most people has."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def open_below(folder: Path) -> list[str]:
    """Return the files and folders that others can read or enter."""
    return [
        f"{path.relative_to(folder)} {stat.filemode(path.stat().st_mode)}"
        for path in folder.rglob("*")
        if path.stat().st_mode & 0o077
    ]


def ignore_progress(_done: int, _total: int | None) -> None:
    """Nobody watches."""


async def test_a_store_in_an_open_folder_is_closed_to_others(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    store = await open_embedded(home)
    try:
        caller = replace(a_caller(), actor=Actor(agent_id="a-1", agent_type="x", user=USER))
        account = Account(user_id=USER, space=account_space(USER))
        given = GivenFile(data=b"x" * 100_000, hint=FileHint(name="note.txt"))
        await ingest_file(store.canon, caller, account, given)
        await store.blobs.put_bytes(b"a payload")
        assert {path.name for path in home.iterdir()} >= {"canon.db-wal", "canon.db-shm", "blobs"}
        assert open_below(home) == []

        backup = tmp_path / "backup"
        backup.mkdir(mode=0o755)
        await store.maintenance.backup(backup, ignore_progress)
        assert open_below(backup) == []
    finally:
        await store.close()


async def test_a_vector_index_is_closed_to_others(tmp_path: Path) -> None:
    async with a_scenario(tmp_path) as scenario:
        await scenario.say_turns("We sail at dawn.")
        await index_all(scenario.open_recall())

        assert open_below(scenario.folder) == []


async def test_a_store_restored_from_an_open_backup_is_closed_to_others(tmp_path: Path) -> None:
    store = await open_embedded(tmp_path / "data")
    try:
        await store.blobs.put_bytes(b"a payload")
        await store.maintenance.backup(tmp_path / "backup", ignore_progress)
    finally:
        await store.close()
    for path in (tmp_path / "backup").rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    restored = tmp_path / "restored"

    await restore_backup(Settings(data=restored), tmp_path / "backup", ignore_progress)

    assert (restored.stat().st_mode & 0o077, open_below(restored)) == (0, [])
