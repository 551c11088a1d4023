"""Objects whose server is killed, cut off, silent or full: what was put is there, none hangs."""

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from hashlib import sha256
from random import Random
from uuid import uuid4

import pytest

from canonry.gateway.limits import run_within
from canonry.stores.objects import ObjectBlobs, ObjectStore
from canonry.values.errors import Unavailable
from tests.conformance.s3_store import ENDPOINT, KEYS
from tests.faults.disks import limit_files
from tests.faults.relay import relayed_url
from tests.servers.__main__ import Objects
from tests.servers.processes import PORT

pytestmark = pytest.mark.anyio
WRITERS, EACH, SIZE = 4, 15, 20_000
ROOM, TOO_LARGE = 100_000, 150_000


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    if not ENDPOINT:
        pytest.skip("no server of objects: `make servers` starts one")
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="module")
def server() -> Iterator[Objects]:
    if not ENDPOINT:
        pytest.skip("no server of objects: `make servers` starts one")
    own = Objects(name="harmed-objects", port=PORT + 66)
    own.start()
    yield own
    own.stop(signal.SIGKILL)


def blobs_at(url: str) -> ObjectBlobs:
    return ObjectStore(f"s3://canonry-tests/{uuid4().hex}", url).blobs_of("somebody")


@asynccontextmanager
async def clear_prefix(blobs: ObjectBlobs) -> AsyncIterator[None]:
    yield
    for each in await blobs.list_digests(limit=1_000):
        await blobs.delete_bytes(each)


def a_file(name: str) -> bytes:
    return name.encode().ljust(SIZE, b".")


async def put_while(blobs: ObjectBlobs, harmed: Callable[[], Awaitable[None]]) -> set[str]:
    """The digests that some writers were told of, who go on whatever happens; twice it does."""
    result: set[str] = set()
    news: asyncio.Queue[str] = asyncio.Queue()

    async def write(writer: int) -> None:
        for n in range(EACH):
            while True:
                try:
                    digest = await blobs.put_bytes(a_file(f"{writer}/{n}"))
                except Unavailable:
                    await asyncio.sleep(0.05)
                else:
                    break
            result.add(digest)
            news.put_nowait(digest)

    async def harm() -> None:
        for _ in range(2):
            for _ in range(EACH):
                await news.get()
            await harmed()

    await asyncio.gather(harm(), *(write(each) for each in range(WRITERS)))
    return result


async def require_all(blobs: ObjectBlobs, reported: set[str]) -> None:
    """Check that the store has each acknowledged file once and whole, and no other."""
    files = [a_file(f"{writer}/{n}") for writer in range(WRITERS) for n in range(EACH)]
    assert reported == {sha256(each).hexdigest() for each in files}
    assert await blobs.list_digests(limit=1_000) == sorted(reported)
    assert [await blobs.get_bytes(sha256(each).hexdigest()) for each in files] == files


async def test_a_killed_and_restarted_server_has_all_acknowledged_files(
    server: Objects,
) -> None:
    blobs = blobs_at(server.url)

    async def kill() -> None:
        await asyncio.to_thread(server.stop, signal.SIGKILL)
        await asyncio.to_thread(server.start)

    await require_all(blobs, await put_while(blobs, kill))


async def test_cut_connections_lose_nothing() -> None:
    async with relayed_url(ENDPOINT) as (relay, url):
        blobs = blobs_at(url)
        async with clear_prefix(blobs):
            await require_all(blobs, await put_while(blobs, relay.cut_lines))


@pytest.mark.parametrize("harm", ["silent", "away"])
async def test_a_call_ends_in_time_without_an_answer(harm: str) -> None:
    async with relayed_url(ENDPOINT) as (relay, url):
        blobs = blobs_at(url)
        async with clear_prefix(blobs):
            digest = await blobs.put_bytes(b"before")
            relay.delay, relay.away = (30.0, False) if harm == "silent" else (0.0, True)
            await relay.cut_lines()

            for ask in (blobs.get_bytes(digest), blobs.put_bytes(b"late")):
                began = asyncio.get_running_loop().time()
                with pytest.raises(Unavailable) as raised:
                    await run_within(0.3, ask)
                assert raised.value.code in {"call.deadline", "blobs.unreachable"}
                assert asyncio.get_running_loop().time() - began < 3
            relay.delay, relay.away = 0.0, False
            await relay.cut_lines()

            late = await blobs.put_bytes(b"late")
            assert await blobs.list_digests(limit=9) == sorted((digest, late))


async def test_a_full_disk_refuses_files_until_there_is_room(server: Objects) -> None:
    blobs = blobs_at(server.url)
    first = await blobs.put_bytes(b"first")
    late = Random("late").randbytes(TOO_LARGE)  # the server would pack anything else

    with limit_files(server.process(), ROOM):
        for _ in range(3):
            with pytest.raises(Unavailable) as refused:
                await blobs.put_bytes(late)
            assert refused.value.code == "blobs.unreachable"
            assert "room" in refused.value.message
        assert await blobs.get_bytes(first) == b"first"
        assert await blobs.list_digests(limit=9) == [first]
    stored = await blobs.put_bytes(late)

    assert await blobs.get_bytes(stored) == late
    assert await blobs.list_digests(limit=9) == sorted((first, stored))
