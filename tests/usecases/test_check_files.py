"""Checking files: what is missing or altered is reported, and what nobody names is collected."""

import os
from pathlib import Path

import pytest

from canonry.app.compose import compose_memory
from canonry.app.embedded import open_embedded
from canonry.app.store_files import users_in
from canonry.canon.maintenance.erase import erase_items, plan_erasure
from canonry.records.usecases.files import RecordServices, check_files, collect_files, filing_of
from canonry.testing.clocks import a_caller
from canonry.values.moments import DAY, SECOND
from tests.usecases.test_forget_files import ADA, EVE, SECRET, bytes_below, keep_file

pytestmark = pytest.mark.anyio


def path_of(folder: Path, user: str, data: bytes) -> Path:
    """Return the path of a user's file."""
    below = (folder / "files" / user).rglob("*")
    return next(path for path in below if path.is_file() and path.read_bytes() == data)


def age_file(path: Path, days: int) -> None:
    """Let the file be as old as that."""
    then = path.stat().st_mtime - days * DAY / SECOND
    os.utime(path, (then, then))


async def test_files_named_by_sources_exist_and_are_unchanged(tmp_path: Path) -> None:
    store = await open_embedded(tmp_path)
    try:
        await keep_file(store.canon, ADA, SECRET)
        source = await keep_file(store.canon, ADA, b"Other words.")
        await keep_file(store.canon, EVE, SECRET)
        seen = await check_files(store.canon, whole=True)
        assert (seen.files, seen.findings, seen.orphans) == (3, (), 0)

        path_of(tmp_path, ADA, b"Other words.").write_bytes(b"Forged words.")
        path_of(tmp_path, EVE, SECRET).unlink()

        quick = await check_files(store.canon, whole=False)
        assert [each.what.partition(":")[0] for each in quick.findings] == ["its bytes are missing"]
        both = await check_files(store.canon, whole=True)
        assert [each.where.partition("/")[0] for each in both.findings] == ["file files"] * 2
        assert {each.what.partition(":")[0] for each in both.findings} == {
            "its bytes are missing",
            "its bytes were altered",
        }
        assert any(source.files[0] in each.where for each in both.findings)
    finally:
        await store.close()


async def test_unreferenced_bytes_are_collected_after_a_day(tmp_path: Path) -> None:
    store = await open_embedded(tmp_path)
    try:
        await keep_file(store.canon, ADA, SECRET)
        for data in (b"left today", b"left long ago"):
            await filing_of(store.canon).blobs_of(ADA).put_bytes(data)
        age_file(path_of(tmp_path, ADA, SECRET), 9)
        age_file(path_of(tmp_path, ADA, b"left long ago"), 2)

        assert (await check_files(store.canon, whole=True)).orphans == 2
        assert await collect_files(store.canon) == 1

        assert bytes_below(tmp_path, ADA) == {SECRET, b"left today"}
        assert users_in(tmp_path) == [ADA]
    finally:
        await store.close()


async def test_an_erased_source_names_no_file(tmp_path: Path) -> None:
    store = await open_embedded(tmp_path)
    try:
        source = await keep_file(store.canon, ADA, SECRET)
        plan = await plan_erasure(store.canon, "source", source.id)
        await erase_items(store.canon, store.maintenance, a_caller(), plan, reason="asked for")
        seen = await check_files(store.canon, whole=True)
        assert (seen.files, seen.findings, seen.orphans) == (0, (), 0)
    finally:
        await store.close()


async def test_a_store_without_files_has_none_to_check_or_to_collect() -> None:
    canon = compose_memory().revise_service(RecordServices, filing=None)

    seen = await check_files(canon, whole=True)

    assert (seen.files, seen.findings, seen.orphans) == (0, (), 0)
    assert await collect_files(canon) == 0
