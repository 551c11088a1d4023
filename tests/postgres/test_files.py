"""Files of a store in PostgreSQL lie in an object store: links, checks, moving, erasing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import obstore
import pytest

from canonry.app.backends.postgres import Shared, open_postgres
from canonry.app.doctor import move_store, report_nothing
from canonry.app.embedded import open_embedded
from canonry.records.usecases.files import check_files, filing_of, sign_url
from canonry.stores.objects import ObjectStore
from canonry.values.errors import InvalidInput, Unavailable
from tests.cli.run import run_canonry
from tests.conformance.postgres_store import URL, drop_data
from tests.conformance.s3_store import ENDPOINT, KEYS, a_bucket
from tests.server.test_files import ADA, PAGE, keep_file, open_client

pytestmark = pytest.mark.anyio


@pytest.fixture
async def place() -> AsyncIterator[ObjectStore]:
    async with a_bucket() as found:
        yield found


@pytest.fixture
async def store(place: ObjectStore, tmp_path: Path) -> AsyncIterator[Shared]:
    if not URL:
        pytest.skip("no PostgreSQL server: `make servers` starts one")
    schema = f"test_{uuid4().hex[:20]}"
    async with AsyncExitStack() as closing:
        closing.push_async_callback(drop_data, schema)
        yield await closing.enter_async_context(
            await open_postgres(
                URL, schema=schema, folder=tmp_path / "own", connections=3, objects=place
            )
        )


async def test_a_signed_link_returns_a_file_of_the_object_store(
    store: Shared, place: ObjectStore
) -> None:
    signed = await sign_url(store.canon, ADA, await keep_file(store.canon))

    async with open_client(store.canon) as client:
        answer = await client.get(signed.url)

    assert answer.content == PAGE
    assert await place.list_owners() == [ADA]
    assert len(await place.blobs_of(ADA).list_digests(limit=10)) == 1
    assert await store.store.database.fetch_rows("SELECT count(*) FROM blobs") == [(0,)]


async def test_a_lost_or_altered_file_is_found(store: Shared, place: ObjectStore) -> None:
    await keep_file(store.canon)
    await keep_file(store.canon, data=b"whole")
    assert (await check_files(store.canon, whole=True)).findings == ()
    first, second = await place.blobs_of(ADA).list_digests(limit=10)
    await place.blobs_of(ADA).delete_bytes(first)
    await obstore.put_async(place.store, f"{ADA}/{second}", b"something else")

    found = await check_files(store.canon, whole=True)
    assert [each.what.partition(":")[0] for each in found.findings] == [
        "its bytes are missing",
        "its bytes were altered",
    ]


async def test_files_move_to_the_object_store_and_back(store: Shared, tmp_path: Path) -> None:
    async with (
        await open_embedded(tmp_path / "before") as before,
        await open_embedded(tmp_path / "after") as after,
    ):
        await keep_file(before.canon)

        there = await move_store(before.canon, store.canon, report_nothing)
        back = await move_store(store.canon, after.canon, report_nothing)

        assert (there.files.files, back.files.files) == (1, 1)
        assert there.digest == back.digest
        (digest,) = await filing_of(after.canon).blobs_of(ADA).list_digests(limit=10)
        assert await filing_of(after.canon).blobs_of(ADA).get_bytes(digest) == PAGE


async def test_commands_use_the_object_store(
    store: Shared, place: ObjectStore, tmp_path: Path
) -> None:
    await keep_file(store.canon)
    parts = urlsplit(URL)
    environment = {
        **KEYS,
        "PGPASSWORD": parts.password or "",
        "CANONRY_POSTGRES_URL": (
            f"postgresql://{parts.username}@{parts.hostname}:{parts.port}{parts.path}"
        ),
        "CANONRY_POSTGRES_SCHEMA": store.store.database.name,
        "CANONRY_FILES_URL": place.url,
        "CANONRY_FILES_ENDPOINT": ENDPOINT,
        "CANONRY_DATA": str(tmp_path / "data"),
    }
    run = partial(asyncio.to_thread, run_canonry, environment=environment)
    done = await run("verify")
    assert done.returncode == 0, done.stderr
    (digest,) = await place.blobs_of(ADA).list_digests(limit=10)
    await place.blobs_of(ADA).delete_bytes(digest)

    assert (await run("verify")).returncode != 0
    assert "missing" in (await run("doctor")).stdout


async def test_an_unresponsive_object_store_is_reported(place: ObjectStore) -> None:
    away = ObjectStore(place.url, "http://127.0.0.1:9")
    with pytest.raises(Unavailable) as caught:
        await away.blobs_of(ADA).put_bytes(b"nobody hears")

    assert caught.value.code == "blobs.unreachable"


async def test_wrong_keys_are_refused(place: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    with pytest.raises(Unavailable) as caught:
        await ObjectStore(place.url, ENDPOINT).blobs_of(ADA).put_bytes(b"not mine")

    assert caught.value.code == "blobs.unreachable"


@pytest.mark.parametrize("url", ["", "canon", "http://bucket", "s3://", "s3://key@bucket/x"])
def test_an_invalid_bucket_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        ObjectStore(url)

    assert caught.value.code == "settings.malformed"
