"""Filing as the settings say: whose paths are read, which interpreters exist, which key signs."""

import asyncio
from pathlib import Path

import pytest

from canonry.app.compose import compose_memory
from canonry.app.doctor import examine_store
from canonry.app.load_settings import load_settings
from canonry.app.settings import Settings
from canonry.app.store_files import apply_file_settings
from canonry.canon.session.canon import Canon
from canonry.records.usecases.files import filing_of, read_local
from canonry.records.usecases.record_source import plan_run
from canonry.values.errors import InvalidInput, NotFound

pytestmark = pytest.mark.anyio


@pytest.fixture
def working(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, and another one beside it, each with a file."""
    for name in ("working", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "bill.txt").write_text(name)
    monkeypatch.chdir(tmp_path / "working")
    return tmp_path


def set_up_by(settings: Settings) -> Canon:
    canon = compose_memory()
    apply_file_settings(filing_of(canon), settings)
    return canon


async def read_settings(canon: Canon, path: Path | str) -> bytes | None:
    try:
        return (await read_local(canon, str(path))).data
    except NotFound:
        return None


async def test_a_local_caller_may_name_files_in_the_working_folder(working: Path) -> None:
    canon = set_up_by(Settings())

    assert await read_settings(canon, "bill.txt") == b"working"
    assert await read_settings(canon, working / "working" / "bill.txt") == b"working"
    assert await read_settings(canon, working / "other" / "bill.txt") is None


async def test_over_http_only_named_folders_are_read(working: Path) -> None:
    closed = set_up_by(Settings(http="127.0.0.1:8000"))
    roots = (str(working / "other"),)
    named = set_up_by(Settings(http="127.0.0.1:8000", truth_upload_roots=roots))

    assert await read_settings(closed, working / "working" / "bill.txt") is None
    assert await read_settings(named, working / "other" / "bill.txt") == b"other"
    assert await read_settings(named, working / "working" / "bill.txt") is None


@pytest.mark.parametrize("provider", ["rules", "openai", "anthropic"])
def test_the_configured_interpreter_is_used_and_rules_always_exist(provider: str) -> None:
    settings = Settings(
        truth_interpreter=provider, truth_url="http://127.0.0.1:9/v1", truth_model="m-1"
    )
    canon = set_up_by(settings)

    assert plan_run(canon).configuration["provider"] == provider
    assert plan_run(canon, {"provider": "rules"}).configuration["provider"] == "rules"


def test_servers_that_share_a_key_sign_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANONRY_FILES_KEY", "a key that several servers share")

    assert filing_of(set_up_by(Settings())).secret == b"a key that several servers share"


def test_a_guessable_shared_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANONRY_FILES_KEY", "too short")

    with pytest.raises(InvalidInput, match="fewer than 16 bytes") as refused:
        set_up_by(Settings())
    assert refused.value.code == "settings.malformed"


@pytest.mark.parametrize("key", ["truth_url", "truth_public_url"])
@pytest.mark.parametrize("address", ["ftp://files.example", "https://", "http://me:word@files"])
def test_an_unfetchable_address_is_refused(key: str, address: str) -> None:
    with pytest.raises(InvalidInput, match="an http or https address") as refused:
        load_settings({key: address}, environment={})
    assert refused.value.code == "settings.malformed"


def test_a_missing_upload_folder_is_reported(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data", truth_upload_roots=(str(tmp_path / "nowhere"),))

    diagnosis = asyncio.run(examine_store(settings))

    assert [each.what for each in diagnosis.wrong] == [
        f"truth.upload_roots names {tmp_path / 'nowhere'}, which is no folder."
    ]
