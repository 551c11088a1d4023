"""The stores that settings name: opened to serve, to look at and to read only; and brought back."""

from pathlib import Path
from typing import Any

import pytest

from canonry.app.doctor import DISK_HINT, MANIFEST, examine_store, restore_backup
from canonry.app.load_settings import load_settings
from canonry.app.settings import Settings
from canonry.app.stores import (
    STORE_FILE,
    open_kept_store,
    open_sealed_store,
    open_store,
    open_store_to_read,
)
from canonry.canon.commands.universes import create_universe
from canonry.canon.session.canon import Canon
from canonry.recall.usecases.search_by_meaning import RecallServices
from canonry.testing.clocks import a_caller
from canonry.values.errors import CanonryError, Conflict, InvalidInput
from canonry.values.ids import SpaceKind

pytestmark = pytest.mark.anyio


def settings_for(data: Path, **more: Any) -> Settings:
    given = {"data": data, "recall_embedder": "none", "durability": "normal", **more}
    return load_settings(given, environment={})


async def find_names(canon: Canon, name: str) -> None:
    await create_universe(
        canon, a_caller(), kind=SpaceKind.UNIVERSE, name=name, description="", properties={}
    )


async def names_in(canon: Canon) -> set[str]:
    page = await canon.state.spaces(kind=SpaceKind.UNIVERSE, parent=None, limit=99, offset=0)
    return {space.name for space in page.items}


async def a_backup(folder: Path, *names: str) -> Path:
    store = await open_kept_store(settings_for(folder / "first"))
    for name in names:
        await find_names(store.canon, name)
    await store.maintenance.backup(folder / "backup", lambda *_: None)
    await store.close()
    return folder / "backup"


def bytes_in(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


async def test_a_store_in_memory_writes_nothing_and_keeps_the_policy(tmp_path: Path) -> None:
    config = tmp_path / "canonry.toml"
    config.write_text("[policy.limits]\nturn = 77\n", encoding="utf-8")
    data = tmp_path / "data"
    options = {"data": data, "memory": True}
    store = await open_store(load_settings(options, config=config, environment={}))

    await find_names(store.canon, "Home")

    assert store.canon.policy.limits.turn == 77
    assert await names_in(store.canon) == {"Home"}
    await store.close()
    assert not data.exists()


async def test_a_kept_store_exists_when_it_is_opened_again(tmp_path: Path) -> None:
    settings = settings_for(tmp_path / "data")
    store = await open_store(settings)
    await find_names(store.canon, "Home")
    await store.close()

    again = await open_kept_store(settings, existing=True)

    assert await names_in(again.canon) == {"Home"}
    assert again.canon.find_service(RecallServices).recall is None, (
        "the settings want no search by meaning"
    )
    await again.close()


async def test_reading_creates_no_store(tmp_path: Path) -> None:
    settings = settings_for(tmp_path / "data")

    with pytest.raises(CanonryError) as refused:
        await open_store_to_read(settings)

    assert refused.value.code == "store.absent"
    assert "--data" in refused.value.message
    assert not (tmp_path / "data").exists()


async def test_a_store_opened_for_reading_is_created_and_takes_no_write(
    tmp_path: Path,
) -> None:
    settings = settings_for(tmp_path / "data")

    store = await open_sealed_store(settings)

    assert (tmp_path / "data" / STORE_FILE).is_file()
    assert await names_in(store.canon) == set()
    with pytest.raises(CanonryError):
        await find_names(store.canon, "Home")
    await store.close()


async def test_a_damaged_store_is_neither_served_nor_recreated(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / STORE_FILE).write_bytes(b"something else altogether" * 500)
    before = bytes_in(data)

    for opening in (open_store, open_sealed_store, open_kept_store):
        with pytest.raises(CanonryError):
            await opening(settings_for(data))

    assert (data / STORE_FILE).read_bytes() == before[STORE_FILE]


@pytest.mark.parametrize("there", [False, True])
async def test_a_backup_is_restored_to_a_missing_or_empty_folder(
    there: bool, tmp_path: Path
) -> None:
    backup = await a_backup(tmp_path, "Home", "Away")
    settings = settings_for(tmp_path / "again")
    if there:
        settings.data.mkdir()

    verification = await restore_backup(settings, backup, lambda *_: None)

    assert verification.findings == ()
    assert len(verification.heads) == 2
    store = await open_kept_store(settings, existing=True)
    assert await names_in(store.canon) == {"Home", "Away"}
    await store.close()
    assert not (settings.data / MANIFEST).exists(), "what the backup says of itself is no store's"
    assert [path.name for path in tmp_path.glob("*.restoring")] == []


async def test_no_store_is_overwritten(tmp_path: Path) -> None:
    backup = await a_backup(tmp_path, "Home")
    first = settings_for(tmp_path / "first")
    before = bytes_in(first.data)

    with pytest.raises(Conflict) as refused:
        await restore_backup(first, backup, lambda *_: None)

    assert refused.value.code == "restore.exists"
    assert bytes_in(first.data) == before


@pytest.mark.parametrize("missing", [MANIFEST, STORE_FILE])
async def test_an_incomplete_backup_is_refused(missing: str, tmp_path: Path) -> None:
    backup = await a_backup(tmp_path, "Home")
    (backup / missing).unlink()
    settings = settings_for(tmp_path / "again")

    with pytest.raises(InvalidInput) as refused:
        await restore_backup(settings, backup, lambda *_: None)

    assert refused.value.code == "restore.no-backup"
    assert not settings.data.exists()


async def test_a_backup_with_wrong_heads_leaves_nothing(tmp_path: Path) -> None:
    backup = await a_backup(tmp_path, "Home")
    other = await a_backup(tmp_path / "other", "Home", "Away")
    (backup / MANIFEST).write_bytes((other / MANIFEST).read_bytes())
    settings = settings_for(tmp_path / "again")

    with pytest.raises(Conflict) as refused:
        await restore_backup(settings, backup, lambda *_: None)

    assert refused.value.code == "restore.damaged"
    assert not settings.data.exists()
    assert [path.name for path in tmp_path.glob("*.restoring")] == []


async def test_the_doctor_reports_memory_stores_and_invalid_roots(
    tmp_path: Path,
) -> None:
    gone = tmp_path / "bills"
    options = {"data": tmp_path / "data", "memory": True, "truth_upload_roots": (str(gone),)}

    diagnosis = await examine_store(load_settings(options, environment={}))

    assert any("in memory" in hint.what for hint in diagnosis.hints)
    (wrong,) = [each for each in diagnosis.wrong if "upload_roots" in each.what]
    assert str(gone) in wrong.what
    assert diagnosis.store == {}


@pytest.mark.parametrize(("most", "wrong"), [(DISK_HINT * 10**9, True), (0, False)])
async def test_the_doctor_reports_a_nearly_full_disk(
    most: int, wrong: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same disk, with other ideas of how much should be free."""
    monkeypatch.setattr("canonry.app.doctor.DISK_WRONG", most)
    monkeypatch.setattr("canonry.app.doctor.DISK_HINT", DISK_HINT * 10**9)

    diagnosis = await examine_store(settings_for(tmp_path / "data"))

    said = diagnosis.wrong if wrong else diagnosis.hints
    assert any("MB are free" in each.what for each in said)


async def test_the_doctor_does_not_take_a_file_for_a_folder(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file", encoding="utf-8")

    diagnosis = await examine_store(settings_for(tmp_path / "data"))

    assert any("is no folder" in each.what for each in diagnosis.wrong)
