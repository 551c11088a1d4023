"""Four servers on one folder, two killed with -9: each acknowledged write is there once."""

import asyncio
import sys
from pathlib import Path

import pytest

from canonry.app.embedded import open_embedded
from canonry.stores.sqlite import Durability
from tests.crash.racing import Place, Race, World, read_writes, run_race

RACE = Race(servers=4, writes=250, late=50, killed_after={0: 40, 2: 120})

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="asyncio pipes differ there")


async def kept_in(folder: Path, world: World) -> dict[str, str]:
    return await read_writes(await open_embedded(folder, durability=Durability.NORMAL), world)


def test_each_acknowledged_write_exists_once(tmp_path: Path) -> None:
    place = Place(folder=tmp_path / "store", log=tmp_path / "servers.log")

    world, answered = asyncio.run(run_race(RACE, [place] * RACE.servers))

    assert len(answered) == RACE.total
    assert asyncio.run(kept_in(place.folder, world)) == answered
