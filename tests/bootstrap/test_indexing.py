"""Indexing in the background: who waits after a failure notices when its cause is taken away."""

from pathlib import Path

import pytest

from canonry.bootstrap import indexing
from canonry.bootstrap.indexing import BackgroundIndexing
from canonry.bootstrap.recalling import RECALL_FILE
from tests.server.recall_world import becomes
from tests.usecases.recall_scenario import a_scenario

pytestmark = pytest.mark.anyio


async def test_a_damaged_index_that_is_dropped_is_made_anew_without_waiting_any_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "_WAITS", (3_600.0,))
    faults: list[str] = []

    async def fault() -> str | None:
        return faults[0] if faults else None

    async with a_scenario(tmp_path) as world:
        await world.say("The dragon sleeps on gold.")
        world.folder.mkdir(exist_ok=True)
        damaged = world.folder / RECALL_FILE
        damaged.write_bytes(b"no database" * 1_000)
        recall = world.recall()
        recall.asked.set()
        background = BackgroundIndexing(world.stage.canon, recall, world.folder, faults.append)
        background.start()
        assert "the vector index is damaged" in await becomes(fault, "a fault that is told")

        damaged.unlink()

        async def made() -> tuple[str, ...] | None:
            return tuple(world.embedders[384].texts) or None

        assert "The dragon sleeps on gold." in "".join(await becomes(made, "a vector"))
        await background.stop()
