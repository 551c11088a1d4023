"""Indexing in the background: who fails notices when the cause is taken away; work is shared."""

from pathlib import Path

import pytest

from canonry.app import indexing
from canonry.app.indexing import BackgroundIndexing
from canonry.app.recalling import RECALL_FILE
from canonry.stores.memory.vectors import MemoryVectors
from canonry.testing.things import ident
from tests.server.recall_world import becomes
from tests.usecases.recall_scenario import Noting, a_scenario

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


async def test_two_machines_on_one_index_share_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "LOOKS_EVERY", 0.001)
    faults: list[str] = []
    async with a_scenario(tmp_path) as world:
        lines = [f"The {n}th ship leaves the harbour" for n in range(600)]
        for start in range(0, len(lines), 10):
            await world.say(*lines[start : start + 10], start=start + 1)
        vectors = MemoryVectors()
        machines: list[BackgroundIndexing] = []
        for name in ("one", "two"):
            recall = world.recall(vectors=vectors)
            recall.asked.set()
            folder = tmp_path / name
            folder.mkdir()
            machine = BackgroundIndexing(world.stage.canon, recall, folder, faults.append)
            machines.append(machine)
            machine.start()

        async def done() -> bool | None:
            known = await vectors.digests(Noting().model, list(map(ident, lines)))
            return len(known) == len(lines) or None

        await becomes(done, "every passage is indexed")
        for machine in machines:
            await machine.stop()

    assert faults == []
    assert len(world.embedders[384].texts) < 1.5 * len(lines)
