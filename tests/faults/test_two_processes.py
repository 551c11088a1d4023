"""Two servers on two machines and one store, one killed with -9: each write is there once."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from canonry.app.backends.mongodb import open_mongodb
from canonry.app.backends.postgres import open_postgres
from canonry.app.stores import KeptStore
from tests.conformance import mongodb_store, postgres_store
from tests.crash.racing import Place, Race, read_writes, run_race

pytestmark = pytest.mark.anyio
RACE = Race(servers=2, writes=40, late=10, killed_after={0: 15})


@dataclass(frozen=True, slots=True)
class Shared:
    """A store on servers, by the name that it has there."""

    kind: str
    name: str

    def make_environment(self) -> Mapping[str, str]:
        """Return the environment that tells a process of it."""
        if self.kind == "mongodb":
            url = mongodb_store.URL
            return {"CANONRY_MONGODB_URL": url, "CANONRY_MONGODB_DATABASE": self.name}
        parts = urlsplit(postgres_store.URL)
        url = f"postgresql://{parts.username}@{parts.hostname}:{parts.port}{parts.path}"
        return {
            "PGPASSWORD": parts.password or "",
            "CANONRY_POSTGRES_URL": url,
            "CANONRY_POSTGRES_SCHEMA": self.name,
        }

    async def open_store(self, folder: Path) -> KeptStore:
        """The store as a third machine has it."""
        if self.kind == "mongodb":
            return await open_mongodb(mongodb_store.URL, database=self.name, folder=folder)
        return await open_postgres(
            postgres_store.URL, schema=self.name, folder=folder, connections=4
        )

    async def drop_store(self) -> None:
        """Leave nothing of it."""
        which = mongodb_store if self.kind == "mongodb" else postgres_store
        await which.drop_data(self.name)


@pytest.mark.parametrize("kind", ["mongodb", "postgres"])
async def test_each_acknowledged_write_exists_once(kind: str, tmp_path: Path) -> None:
    if not (mongodb_store.URL if kind == "mongodb" else postgres_store.URL):
        pytest.skip("no such server: `make servers` starts one")
    shared = Shared(kind, f"test_{uuid4().hex[:20]}")
    places = [
        Place(
            folder=tmp_path / f"machine {n}",
            log=tmp_path / f"{n}.log",
            environment=shared.make_environment(),
        )
        for n in range(RACE.servers)
    ]

    world, answered = await run_race(RACE, places)

    assert len(answered) == RACE.total
    assert await read_writes(await shared.open_store(tmp_path / "third"), world) == answered
    await shared.drop_store()
