"""A server that speaks MongoDB's protocol as contracts see it: each store is a database."""

import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from canonry.app.backends.mongodb import SplitStore, open_mongodb
from canonry.app.backends.servers import COPY
from canonry.stores.mongodb import MongoDatabase
from canonry.testing.clocks import CountingIdentities, HandClock
from canonry.testing.conformance import Backend, Damages
from tests.conformance.sqlite_store import Folders, files_of
from tests.servers.documents import Documents
from tests.servers.processes import PORT, ROOT

URL = os.environ.get("TEST_MONGODB_URL", "")
SECOND_URL = os.environ.get("TEST_SECOND_MONGODB_URL", "")
"""Another server of the protocol, by somebody else: what holds on both rests on neither."""


@dataclass(kw_only=True)
class Databases:
    """Opens stores in databases of their own, and drops all of them in the end."""

    closing: AsyncExitStack
    folder: Path
    url: str = URL
    machines: int = 0
    opened: int = 0

    async def fresh(self) -> Backend:
        name = f"test_{uuid4().hex}"
        self.closing.push_async_callback(drop_data, name, self.url)
        return await self.open(name, HandClock(), self.make_machine())

    def make_machine(self) -> Path:
        """The folder of a machine that has no copy yet."""
        self.machines += 1
        return self.folder / f"machine {self.machines}"

    async def open(self, name: str, clock: HandClock, folder: Path) -> Backend:
        self.opened += 1  # whoever opens a store again makes other identities than before
        opened = await open_mongodb(
            self.url,
            database=name,
            folder=folder,
            clock=clock,
            identities=CountingIdentities(prefix=self.opened),
        )
        self.closing.push_async_callback(opened.close)
        return self._make_backend(opened, name, clock, folder)

    def _make_backend(
        self, opened: SplitStore, name: str, clock: HandClock, folder: Path
    ) -> Backend:
        async def reopen() -> Backend:
            await opened.close()
            return await self.open(name, clock, folder)

        async def open_backup(target: Path) -> Backend:
            return await Folders(root=self.folder, closing=self.closing).open(target, clock)

        return Backend(
            canon=opened.canon,
            blobs=opened.copy.blobs,
            clock=clock,
            another=self.fresh,
            maintenance=opened.maintenance,
            close=opened.close,
            reopen=reopen,
            second=lambda: self.open(name, clock, self.make_machine()),
            open_backup=open_backup,
            files=lambda: files_of(folder / COPY),
            damages=damages_of(opened),
        )


def damages_of(opened: SplitStore) -> Damages:
    async def all_shown() -> None:
        """Documents follow the log a moment later; verifying waits until they show all of it."""
        await opened.maintenance.verify(lambda *_: None)

    def documents(name: str, change: dict[str, object]) -> Callable[[], Awaitable[None]]:
        async def harm() -> None:
            await all_shown()
            done = await opened.store.database.committed_collection(name).update_many(
                {}, {"$set": change}
            )
            assert done.modified_count, f"this harms nothing: {name}"

        return harm

    def commits(position: int, change: dict[str, object]) -> Callable[[], Awaitable[None]]:
        async def harm() -> None:
            done = await opened.store.database.committed_collection("commits").update_many(
                {"position": position}, {"$set": change}
            )
            assert done.modified_count, f"this harms nothing: {position}"

        return harm

    async def lost() -> None:
        await all_shown()
        done = await opened.store.database.committed_collection("character_memories").delete_many(
            {}
        )
        assert done.deleted_count

    async def strange() -> None:
        await all_shown()
        scenes = opened.store.database.committed_collection("scenes")
        one = await scenes.find_one({})
        assert one is not None
        await scenes.insert_one({**one, "_id": "nobody"})

    async def cut_out() -> None:
        done = await opened.store.database.committed_collection("commits").delete_many(
            {"position": 2}
        )
        assert done.deleted_count

    async def alter(digest: str) -> None:
        raise NotImplementedError(digest)

    return Damages(
        views={
            "a turn says something else": documents("turns", {"text": "something else"}),
            "memories are missing": lost,
            "a scene is there that nobody told": strange,
        },
        records={
            "a payload says something else": commits(2, {"payloads": ["{}"]}),
            "a commit is missing": cut_out,
            "a commit has another hash": commits(2, {"hash": "00"}),
        },
        blob=alter,
    )


def server_of_our_own(place: int) -> Iterator[Documents]:
    """A server that a test may harm, at this place among the ports."""
    require_server()
    if not (ROOT / "documents.python").is_file():
        pytest.skip("no server of documents of our own: `make servers` starts one")
    own = Documents(name=f"documents-{uuid4().hex}", port=PORT + place)
    own.start()
    yield own
    own.stop(signal.SIGKILL)


def require_server() -> None:
    if not URL:
        pytest.skip("no server of MongoDB's protocol: `make servers` starts one")


async def drop_data(name: str, url: str = URL) -> None:
    database = MongoDatabase(url, name)
    await database.drop_database()
    await database.close()


@asynccontextmanager
async def open_databases(folder: Path, url: str = URL) -> AsyncIterator[Databases]:
    require_server()
    async with AsyncExitStack() as closing:
        yield Databases(closing=closing, folder=folder, url=url)
